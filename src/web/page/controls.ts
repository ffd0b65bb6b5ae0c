import type { CallStats } from './call.js';
import { byId } from './elements.js';
import { Keypad } from './keypad.js';
import { type Phase, PHASE_WORDS } from './phase.js';
import { SERVER_WORDS, type ServerState, type TalkAgent } from './talk.js';

export interface ControlEvents {
  /** The big button: calls or hangs up. */
  onTalk(): void;
  onMute(muted: boolean): void;
  onDigit(digit: string): void;
  /** A message was typed; never empty. */
  onText(text: string): void;
}

/** Everything that is pressed, chosen or typed into, and what says how things stand. */
export class Controls {
  readonly #talk = byId('talk', HTMLButtonElement);
  readonly #mute = byId('mute', HTMLButtonElement);
  readonly #keypadToggle = byId('keypad-toggle', HTMLButtonElement);
  readonly #input = byId('text', HTMLInputElement);
  readonly #agentName = byId('agent-name', HTMLElement);
  readonly #agentSelect = byId('agent', HTMLSelectElement);
  readonly #phaseText = byId('phase', HTMLElement);
  readonly #status = byId('status', HTMLElement);
  readonly #line = byId('line', HTMLElement);
  readonly #keypad: Keypad;
  #agents: readonly TalkAgent[] = [];
  #phase: Phase = 'idle';
  #server: ServerState = 'looking';
  #hasMicrophone = true;

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
      events.onMute(muted);
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
    this.#phase = phase;
    this.#show();
  }

  /** How the daemon does: calls can be made when it is ready. */
  set server(state: ServerState) {
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
    this.#agentName.hidden = agents.length > 1;
    this.#agentName.textContent = agents[0]?.name ?? 'No agent';
    document.title = `${agents[0]?.name ?? 'parley'} · parley`;
  }

  /** The one that is chosen. */
  get agent(): TalkAgent | null {
    return this.#agents.find(({ id }) => id === this.#agentSelect.value) ?? null;
  }

  /** How the line does. */
  set line({ bufferedMs, targetMs, underruns, sampleRateHz, droppedChunks }: CallStats) {
    const parts = [`${String(sampleRateHz / 1000)} kHz`, `buffer ${Math.max(bufferedMs, targetMs).toFixed(0)} ms`];
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

  #show(): void {
    const phase = this.#phase;
    const ready = this.#server === 'ready';
    const calling = phase !== 'idle';
    const connected = calling && phase !== 'connecting';
    document.body.dataset['phase'] = phase;
    const waits = this.#server === 'lost' ? SERVER_WORDS.lost : 'One moment …';
    this.#phaseText.textContent = phase === 'idle' && !ready ? waits : PHASE_WORDS[phase];
    this.#talk.disabled = !ready && !calling;
    this.#talk.setAttribute('aria-label', calling ? 'Hang up' : 'Start talking');
    this.#mute.disabled = !connected || !this.#hasMicrophone;
    this.#keypadToggle.disabled = !connected;
    this.#agentSelect.disabled = calling;
    this.#input.disabled = !ready && !calling;
    if (!connected) this.#line.textContent = '';
    if (calling) {
      if (connected)
        this.#status.textContent = this.#hasMicrophone ? 'On the line' : 'On the line, without a microphone';
      return;
    }
    this.#status.textContent = SERVER_WORDS[this.#server];
    this.#keypad.open = false;
    this.#mute.setAttribute('aria-pressed', 'false');
    this.#hasMicrophone = true;
  }
}
