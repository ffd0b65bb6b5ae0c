import { el } from '../../shared/elements.js';
import { actionButton, actionForm, labelled, select, toggleButton } from '../actions.js';
import type { ConsoleApi } from '../api.js';
import type { WatchedParticipant } from './watched-event.js';

interface Phone {
  id: string;
}

/** Other people in a running call: a form that calls them by phone, and who has joined. */
export class Guests {
  readonly element = el('ul', { class: 'call-guests', 'aria-label': 'People in this call' });
  readonly form: HTMLFormElement;
  readonly #api: ConsoleApi;
  readonly #path: string;
  readonly #rows = new Map<string, HTMLElement>();

  constructor(api: ConsoleApi, sessionId: string) {
    this.#api = api;
    this.#path = `/sessions/${encodeURIComponent(sessionId)}/participants`;
    this.form = this.#callForm();
    void this.#load();
  }

  /** Who joined before the page was opened. */
  async #load(): Promise<void> {
    const none = { participants: [] };
    const { participants } = await this.#api.get<{ participants: WatchedParticipant[] }>(this.#path).catch(() => none);
    for (const participant of participants) this.take(participant);
  }

  /** Somebody joins, does something else, or has left. */
  take({ participant_id: id, name, status }: WatchedParticipant): void {
    const before = this.#rows.get(id);
    if (status === 'joined') {
      if (before !== undefined) return;
      const row = this.#row(id, name);
      this.#rows.set(id, row);
      this.element.append(row);
    } else if (status !== 'connecting') {
      before?.remove();
      this.#rows.delete(id);
    }
  }

  #row(id: string, name: string): HTMLElement {
    const path = `${this.#path}/${encodeURIComponent(id)}`;
    const hold = toggleButton('Hold', 'Take off hold', async (held) => {
      await this.#api.send('PUT', path, { held, music: held });
    });
    const leave = actionButton('Let go', async () => {
      await this.#api.send('DELETE', path);
    });
    return el('li', {}, el('span', {}, name), ' ', hold.element, ' ', leave);
  }

  #callForm(): HTMLFormElement {
    const number = el('input', { name: 'phone_number', required: '', maxlength: '40', inputmode: 'tel' });
    const name = el('input', { name: 'name', required: '', maxlength: '80' });
    const from = select('from', '', [['', 'the number of the call']]);
    const mode = select('mode', 'barge_in', [
      ['barge_in', 'speaks with the caller and the agent'],
      ['take_over', 'takes over from the agent'],
      ['whisper', 'whispers to the agent'],
      ['listen', 'listens'],
    ]);
    const fields = [
      labelled('Number', number),
      labelled('Name', name),
      labelled('What they do', mode),
      labelled('Called from', from),
    ];
    const form = actionForm('Call somebody into the call', fields, 'Call', async () => {
      const wish = { channel: 'phone', phone_number: number.value.trim(), name: name.value.trim(), mode: mode.value };
      await this.#api.send('POST', this.#path, from.value === '' ? wish : { ...wish, from: from.value });
      form.reset();
    });
    // Our numbers, once somebody wants to call.
    const load = async (): Promise<void> => {
      const phones = await this.#api.get<Phone[]>('/phones').catch(() => []);
      from.append(...phones.map(({ id }) => el('option', { value: id }, id)));
    };
    form.addEventListener('focusin', () => void load(), { once: true });
    return form;
  }
}
