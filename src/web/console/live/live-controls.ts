import type { PageDescription } from '../../../transports/talk-protocol.js';
import { el } from '../../shared/elements.js';
import { SERVER_WORDS, type DaemonState } from '../../page/talk.js';
import { duration } from '../../page/times.js';
import type { RibbonState } from './ribbon.js';

type Agent = PageDescription['agents'][number];

export interface LiveControlEvents {
  /** Starts or ends a call. */
  onTalk(): void;
  onMute(muted: boolean): void;
  /** A typed message; never empty. */
  onText(text: string): void;
}

const STATE_WORDS: Readonly<Record<RibbonState, string>> = {
  connecting: 'Connecting …',
  listening: 'Listening',
  thinking: 'Thinking …',
  speaking: 'Speaking',
  held: 'Held: is this an interruption?',
  interrupted: 'Interrupted: go ahead',
};

/** The choice of the agent, and the state of the call. */
export class LiveControls {
  readonly element: HTMLElement;
  readonly typing: HTMLFormElement;
  readonly #select = el('select', { 'aria-label': 'Agent' });
  readonly #talk = el('button', { type: 'button', class: 'main-button', disabled: '' }, 'Talk');
  readonly #mute = el(
    'button',
    { type: 'button', class: 'quiet-button', 'aria-pressed': 'false', disabled: '' },
    'Mute',
  );
  readonly #warnings = el('p', { class: 'agent-warnings', role: 'status' });
  readonly #state = el('p', { class: 'live-state' });
  /** Read out when a call starts or ends, not for each phase. */
  readonly #spoken = el('span', { class: 'unseen', role: 'status' });
  readonly #time = el('p', { class: 'live-time figure', 'aria-live': 'off' });
  readonly #field = el('input', {
    type: 'text',
    maxlength: '2000',
    placeholder: 'Or type …',
    'aria-label': 'Message to the agent',
    enterkeyhint: 'send',
    disabled: '',
  });
  #agents: readonly Agent[] = [];
  #server: DaemonState = 'looking';
  #shown: RibbonState | null = null;

  constructor(events: LiveControlEvents) {
    const send = el('button', { type: 'submit', class: 'send', 'aria-label': 'Send' }, '↑');
    this.typing = el('form', { class: 'typing', autocomplete: 'off' }, this.#field, send);
    this.element = el(
      'div',
      { class: 'stack' },
      el('div', { class: 'live-bar' }, this.#select, this.#talk, this.#mute),
      this.#warnings,
      el('div', { class: 'row' }, this.#state, this.#spoken, this.#time),
    );
    this.#select.addEventListener('change', () => this.#showWarnings());
    this.#talk.addEventListener('click', () => events.onTalk());
    this.#mute.addEventListener('click', () => {
      const muted = this.#mute.getAttribute('aria-pressed') !== 'true';
      this.#setMuted(muted);
      events.onMute(muted);
    });
    this.typing.addEventListener('submit', (event) => {
      event.preventDefault();
      const text = this.#field.value.trim();
      if (text === '' || this.agent === null) return;
      this.#field.value = '';
      events.onText(text);
    });
    this.state = null;
  }

  /** @param wanted id of the agent to select first */
  setAgents(agents: readonly Agent[], wanted: string): void {
    this.#agents = agents;
    this.#select.replaceChildren(...agents.map(({ id, name }) => el('option', { value: id }, name)));
    if (agents.some(({ id }) => id === wanted)) this.#select.value = wanted;
    this.#showWarnings();
    this.#showIdle();
  }

  /** The daemon's state: calls are possible when it is ready. */
  set server(state: DaemonState) {
    this.#server = state;
    this.#showIdle();
  }

  get agent(): Agent | null {
    return this.#agents.find(({ id }) => id === this.#select.value) ?? null;
  }

  set hasMicrophone(has: boolean) {
    this.#mute.disabled = !has;
  }

  /** Null = no call. */
  set state(state: RibbonState | null) {
    this.#shown = state;
    if (state !== null) this.#showState(state);
    this.#state.dataset['state'] = state ?? 'idle';
    this.#talk.textContent = state === null ? 'Talk' : 'Hang up';
    this.#talk.classList.toggle('hangs-up', state !== null);
    this.#select.disabled = state !== null;
    if (state === null) {
      this.#mute.disabled = true;
      this.#setMuted(false);
      this.#showIdle();
    } else if (state === 'connecting') this.responseMs = null;
  }

  focusText(): void {
    this.#field.focus();
  }

  focusTalk(): void {
    this.#talk.focus();
  }

  /** Of the latest answer. */
  set responseMs(ms: number | null) {
    this.#time.replaceChildren(
      ...(ms === null ? [] : [el('span', { class: 'soft' }, 'answered after '), el('b', {}, duration(ms))]),
    );
  }

  #showWarnings(): void {
    this.#warnings.textContent = this.agent?.warnings.join(' ') ?? '';
  }

  /** Between calls. */
  #showIdle(): void {
    if (this.#shown !== null) return;
    const isReady = this.#server === 'ready';
    const hasNoAgent = isReady && this.#agents.length === 0;
    this.#talk.disabled = this.#field.disabled = !isReady || hasNoAgent;
    const words = isReady ? 'Not in a call' : SERVER_WORDS[this.#server];
    this.#state.textContent = hasNoAgent ? 'There is no agent to talk with.' : words;
    this.#say(this.#state.textContent);
  }

  /** During a call. */
  #showState(state: RibbonState): void {
    const isMuted = state === 'listening' && this.#mute.getAttribute('aria-pressed') === 'true';
    this.#state.textContent = isMuted ? 'Muted: the agent does not hear you' : STATE_WORDS[state];
    this.#say(state === 'connecting' ? STATE_WORDS.connecting : 'In a call');
  }

  #say(text: string): void {
    if (this.#spoken.textContent !== text) this.#spoken.textContent = text;
  }

  #setMuted(muted: boolean): void {
    this.#mute.setAttribute('aria-pressed', String(muted));
    this.#mute.textContent = muted ? 'Muted' : 'Mute';
    if (this.#shown !== null) this.#showState(this.#shown);
  }
}
