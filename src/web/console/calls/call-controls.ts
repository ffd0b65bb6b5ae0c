import { el } from '../../shared/elements.js';
import { actionButton, actionForm, labelled, select, type ToggleButton, toggleButton } from '../actions.js';
import type { ConsoleApi } from '../api.js';
import { Guests } from './guests.js';
import { keepOwnName, ownName, SupervisorLine, type SupervisorMode } from './supervisor-line.js';
import type { WatchedEvent, WatchedParticipant } from './watched-event.js';

type Command = Readonly<Record<string, unknown>>;

/** A supervisor's controls of a running call. */
export class CallControls {
  readonly element: HTMLElement;
  /** The buttons by what they do. */
  readonly buttons: ReadonlyMap<string, HTMLButtonElement>;
  readonly #api: ConsoleApi;
  readonly #sessionId: string;
  readonly #line: SupervisorLine;
  readonly #guests: Guests;
  /** What a supervisor can do in the call: one at a time. */
  readonly #modes = new Map<SupervisorMode, ToggleButton>([
    ['listen', toggleButton('Listen', 'Stop listening', (on) => this.#be('listen', on))],
    ['whisper', toggleButton('Whisper', 'Stop whispering', (on) => this.#be('whisper', on))],
    ['take_over', toggleButton('Take over', 'Give back', (on) => this.#be('take_over', on))],
  ]);
  readonly #hold = toggleButton('Hold', 'Take off hold', (on) => this.#send({ type: on ? 'hold' : 'unhold' }));
  readonly #mute = toggleButton('Mute the agent', 'Unmute the agent', (on) =>
    this.#send({ type: 'mute', side: 'agent', on }),
  );

  constructor(api: ConsoleApi, sessionId: string) {
    this.#api = api;
    this.#sessionId = sessionId;
    this.#line = new SupervisorLine(api, sessionId, () => this.#show(null));
    this.#guests = new Guests(api, sessionId);
    const stop = actionButton('Stop the agent', () => this.#send({ type: 'interrupt' }));
    const end = actionButton('End this call', () => this.#send({ type: 'end' }), {
      class: 'quiet-button danger',
      confirm: 'Really end the call?',
    });
    const [sayForm, transferForm, callForm] = [this.#say(), this.#pass(), this.#guests.form];
    const actions: [string, HTMLElement][] = [
      ...Array.from(this.#modes, ([name, { element }]): [string, HTMLElement] => [name, element]),
      ['say', formButton('Tell the agent …', sayForm)],
      ['transfer', formButton('Transfer …', transferForm)],
      ['call_in', formButton('Call in …', callForm)],
      ['hold', this.#hold.element],
      ['mute', this.#mute.element],
      ['stop', stop],
      ['end', end],
    ];
    this.buttons = new Map(actions.flatMap(([name, element]) => buttonsIn(element).map((button) => [name, button])));
    this.element = el(
      'div',
      { class: 'call-controls' },
      el('div', { class: 'row' }, ...actions.map(([, element]) => element)),
      sayForm,
      transferForm,
      callForm,
      nameField(),
      this.#guests.element,
    );
  }

  /** Somebody has joined the call, does something else, or has left. */
  takeParticipant(participant: WatchedParticipant): void {
    this.#line.take(participant);
    if (participant.participant_id !== this.#line.participantId) this.#guests.take(participant);
  }

  /** What commands, of anybody, have changed. */
  take(event: Extract<WatchedEvent, { type: 'state' }>): void {
    if (event.held !== undefined) this.#hold.set(event.held);
    if (event.agent_muted !== undefined) this.#mute.set(event.agent_muted);
  }

  /** The call is over. */
  end(): void {
    this.#line.end();
  }

  /** Leaves the call. May be called twice. */
  close(): void {
    void this.#line.leave();
  }

  #say(): HTMLFormElement {
    const text = el('input', { name: 'text', required: '', maxlength: '4000' });
    const how = select('how', 'say', [
      ['say', 'word for word'],
      ['generate', 'as an instruction'],
      ['add_message', 'as a note, to know'],
    ]);
    const when = select('when', 'next', [
      ['next', 'when it has finished'],
      ['after_sentence', 'after this sentence'],
      ['now', 'at once'],
    ]);
    const fields = [labelled('Tell the agent', text), labelled('How', how), labelled('When', when)];
    return actionForm('What the agent should say or know', fields, 'Tell', async () => {
      const said = text.value;
      text.value = '';
      if (how.value === 'say') await this.#send({ type: 'say', text: said, when: when.value }, 1);
      else if (how.value === 'generate') {
        await this.#send({ type: 'generate', instructions: said, when: when.value }, 1);
      } else await this.#send({ type: 'add_message', role: 'system', content: said });
    });
  }

  #pass(): HTMLFormElement {
    const target = el('input', { name: 'target', required: '', maxlength: '300', inputmode: 'tel' });
    return actionForm('Transfer', [labelled('Connect the caller to', target)], 'Transfer', () =>
      this.#send({ type: 'transfer', target: target.value.trim() }),
    );
  }

  /** @param waitS how long to wait for what comes of it: speech may take long, and its refusals come at once */
  async #send(command: Command, waitS = 10): Promise<void> {
    const path = `/sessions/${encodeURIComponent(this.#sessionId)}/control?wait_s=${String(waitS)}`;
    await this.#api.send('POST', path, command);
  }

  async #be(mode: SupervisorMode, on: boolean): Promise<void> {
    if (!on) {
      await this.#line.leave();
      return;
    }
    this.#show(null);
    await this.#line.be(mode);
    this.#show(mode);
  }

  #show(mode: SupervisorMode | null): void {
    for (const [name, button] of this.#modes) button.set(name === mode);
  }
}

/** What the supervisor is called, from the next time on that they join a call. */
function nameField(): HTMLElement {
  const field = el('input', {
    name: 'own_name',
    maxlength: '80',
    autocomplete: 'name',
    placeholder: 'the name of your key',
  });
  field.value = ownName();
  field.addEventListener('change', () => keepOwnName(field.value));
  return el('div', { class: 'filters action-form' }, labelled('Your name in calls', field));
}

/** A button that shows and hides a form. Escape in the form leads back to it. */
function formButton(text: string, form: HTMLFormElement): HTMLElement {
  const button = el('button', { type: 'button', class: 'quiet-button', 'aria-expanded': 'false' }, text);
  const show = (isShown: boolean): void => {
    form.hidden = !isShown;
    button.setAttribute('aria-expanded', String(isShown));
  };
  form.hidden = true;
  button.addEventListener('click', () => {
    const isShown = form.hasAttribute('hidden');
    show(isShown);
    if (isShown) form.querySelector('input')?.focus();
  });
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    show(false);
    button.focus();
  });
  return button;
}

function buttonsIn(element: HTMLElement): HTMLButtonElement[] {
  return element instanceof HTMLButtonElement ? [element] : [...element.querySelectorAll('button')];
}
