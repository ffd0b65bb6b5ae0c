import { el } from '../../shared/elements.js';
import { actionButton, actionForm, labelled, select, toggleButton } from '../actions.js';
import type { ConsoleApi } from '../api.js';
import { CallListener } from './call-listener.js';
import type { WatchedEvent } from './watched-event.js';

type Command = Readonly<Record<string, unknown>>;

/** A supervisor's controls of a running call. */
export class CallControls {
  readonly element: HTMLElement;
  /** The buttons by what they do. */
  readonly buttons: ReadonlyMap<string, HTMLButtonElement>;
  readonly #api: ConsoleApi;
  readonly #sessionId: string;
  readonly #listen = toggleButton('Listen', 'Stop listening', async (on) => this.#listenIn(on));
  readonly #hold = toggleButton('Hold', 'Take off hold', (on) => this.#send({ type: on ? 'hold' : 'unhold' }));
  readonly #mute = toggleButton('Mute the agent', 'Unmute the agent', (on) =>
    this.#send({ type: 'mute', side: 'agent', on }),
  );
  #listening: CallListener | null = null;

  constructor(api: ConsoleApi, sessionId: string) {
    this.#api = api;
    this.#sessionId = sessionId;
    const stop = actionButton('Stop the agent', () => this.#send({ type: 'interrupt' }));
    const end = actionButton('End this call', () => this.#send({ type: 'end' }), {
      class: 'quiet-button danger',
      confirm: 'Really end the call?',
    });
    const [sayForm, transferForm] = [this.#say(), this.#pass()];
    const actions: [string, HTMLElement][] = [
      ['listen', this.#listen.element],
      ['say', formButton('Tell the agent …', sayForm)],
      ['transfer', formButton('Transfer …', transferForm)],
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
    );
  }

  /** What commands, of anybody, have changed. */
  take(event: Extract<WatchedEvent, { type: 'state' }>): void {
    if (event.held !== undefined) this.#hold.set(event.held);
    if (event.agent_muted !== undefined) this.#mute.set(event.agent_muted);
  }

  /** May be called twice. */
  close(): void {
    this.#listening?.close();
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

  #listenIn(on: boolean): Promise<void> {
    this.#listening?.close();
    this.#listening = null;
    if (!on) return Promise.resolve();
    return new Promise((resolve, reject) => {
      // Refusals come at once; an announcement to the caller may come first.
      const accepted = setTimeout(resolve, 1000);
      this.#listening = new CallListener(this.#sessionId, this.#api.key, (reason) => {
        clearTimeout(accepted);
        this.#listening = null;
        this.#listen.set(false);
        if (reason !== null) reject(new Error(reason));
      });
    });
  }
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
