import type { CallStats } from '@parley-voice/web';
import { byId, el } from '../shared/elements.js';
import { Keypad } from './keypad.js';
import { type Phase, PHASE_WORDS } from './phase.js';
import { SERVER_WORDS, type DaemonState, type TalkAgent } from './talk.js';

/** The agent that parley includes. */
const DEMO = {
  id: 'the-crooked-fork',
  about:
    'A restaurant that takes bookings and answers questions. Press the button and talk to it, or try one of these:',
  examples: ['A table for four tomorrow at eight', 'When are you open?', 'Where are you?'],
} as const;

export interface ControlEvents {
  /** The main button: starts or ends a call. */
  onTalk(): void;
  onMute(muted: boolean): void;
  onDigit(digit: string): void;
  /** A message was typed; never empty. */
  onText(text: string): void;
}

/** All buttons, lists and inputs, and the display of the state. */
export class Controls {
  readonly #talk = byId('talk', HTMLButtonElement);
  readonly #mute = byId('mute', HTMLButtonElement);
  readonly #keypadToggle = byId('keypad-toggle', HTMLButtonElement);
  readonly #input = byId('text', HTMLInputElement);
  readonly #agentName = byId('agent-name', HTMLElement);
  readonly #agentSelect = byId('agent', HTMLSelectElement);
  readonly #warnings = byId('agent-warnings', HTMLElement);
  readonly #phaseText = byId('phase', HTMLElement);
  readonly #status = byId('status', HTMLElement);
  readonly #line = byId('line', HTMLElement);
  readonly #keypad: Keypad;
  #agents: readonly TalkAgent[] = [];
  #phase: Phase = 'idle';
  #server: DaemonState = 'looking';
  #hasMicrophone = true;
  #calledMs = 0;

  constructor(events: ControlEvents) {
    this.#keypad = new Keypad(byId('keypad', HTMLElement), this.#keypadToggle, (digit) => {
      events.onDigit(digit);
    });
    this.#talk.addEventListener('click', () => {
      events.onTalk();
    });
    this.#mute.addEventListener('click', () => {
      const muted = this.#mute.getAttribute('aria-pressed') !== 'true';
      this.#mute.setAttribute('aria-pressed', String(muted));
      this.#show();
      events.onMute(muted);
    });
    this.#agentSelect.addEventListener('change', () => this.#showWarnings());
    byId('examples', HTMLElement).addEventListener('click', ({ target }) => {
      if (target instanceof HTMLButtonElement && this.#server === 'ready') events.onText(target.textContent);
    });
    byId('typing', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault();
      const text = this.#input.value.trim();
      if (text === '' || this.#server !== 'ready') return;
      this.#input.value = '';
      events.onText(text);
    });
    this.#show();
  }

  get phase(): Phase {
    return this.#phase;
  }

  set phase(phase: Phase) {
    if (phase === 'connecting') this.#calledMs = performance.now();
    this.#phase = phase;
    this.#show();
  }

  /** The daemon's state: calls are possible when it is ready. */
  set server(state: DaemonState) {
    this.#server = state;
    this.#status.textContent = SERVER_WORDS[state];
    this.#show();
  }

  set hasMicrophone(has: boolean) {
    this.#hasMicrophone = has;
    this.#show();
  }

  set agents(agents: readonly TalkAgent[]) {
    this.#agents = agents;
    this.#agentSelect.replaceChildren(...agents.map(({ id, name }) => new Option(name, id)));
    this.#agentSelect.hidden = agents.length < 2;
    this.#agentName.classList.toggle('unseen', agents.length > 1);
    this.#agentName.textContent = agents[0]?.name ?? 'No agent';
    this.#introduce();
    document.title = `${agents[0]?.name ?? 'parley'} · parley`;
    this.#showWarnings();
  }

  /** Describes the demo agent, with phrases to try. */
  #introduce(): void {
    if (this.agent?.id !== DEMO.id) return;
    byId('about', HTMLElement).textContent = DEMO.about;
    const examples = DEMO.examples.map((text) => el('button', { type: 'button', class: 'example' }, text));
    byId('examples', HTMLElement).replaceChildren(...examples);
  }

  /** The selected agent. */
  get agent(): TalkAgent | null {
    return this.#agents.find(({ id }) => id === this.#agentSelect.value) ?? null;
  }

  /** Statistics of the line. */
  set line({ bufferedMs, targetMs, underruns, sampleRateHz, droppedChunks }: CallStats) {
    const seconds = Math.floor((performance.now() - this.#calledMs) / 1000);
    const time = `${String(Math.floor(seconds / 60))}:${String(seconds % 60).padStart(2, '0')}`;
    const parts = [
      time,
      `${String(sampleRateHz / 1000)} kHz`,
      `buffer ${Math.max(bufferedMs, targetMs).toFixed(0)} ms`,
    ];
    if (underruns > 0) parts.push(`${String(underruns)} late`);
    if (droppedChunks > 0) parts.push(`${String(droppedChunks)} chunks lost`);
    this.#line.textContent = parts.join(' · ');
  }

  focusTalk(): void {
    this.#talk.focus();
  }

  focusText(): void {
    this.#input.focus();
  }

  #showWarnings(): void {
    this.#warnings.textContent = this.agent?.warnings.join(' ') ?? '';
  }

  #show(): void {
    const phase = this.#phase;
    const ready = this.#server === 'ready';
    const calling = phase !== 'idle';
    const connected = calling && phase !== 'connecting';
    document.body.dataset['phase'] = phase;
    const notReady = this.#server === 'lost' ? SERVER_WORDS.lost : 'One moment …';
    this.#phaseText.textContent = phase === 'idle' && !ready ? notReady : PHASE_WORDS[phase];
    const isMuted = connected && this.#mute.getAttribute('aria-pressed') === 'true';
    if (isMuted && phase === 'listening') this.#phaseText.textContent = 'Muted: the agent does not hear you';
    this.#talk.disabled = !ready && !calling;
    this.#talk.setAttribute('aria-label', calling ? 'Hang up' : 'Start talking');
    this.#mute.disabled = !connected || !this.#hasMicrophone;
    this.#keypadToggle.disabled = !connected;
    this.#agentSelect.disabled = calling;
    this.#input.disabled = !ready && !calling;
    if (!connected) this.#line.textContent = '';
    if (calling) {
      const waits = this.#server === 'lost' ? SERVER_WORDS.lost : PHASE_WORDS.connecting;
      const onLine = this.#hasMicrophone ? 'On the line' : 'On the line, without a microphone';
      this.#status.textContent = connected ? onLine : waits;
      return;
    }
    this.#status.textContent = SERVER_WORDS[this.#server];
    this.#keypad.open = false;
    this.#mute.setAttribute('aria-pressed', 'false');
    this.#hasMicrophone = true;
  }
}
