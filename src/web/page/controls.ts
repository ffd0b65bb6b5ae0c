import type { PageDescription } from '../../transports/talk-protocol.js';
import type { CallStats } from './call.js';
import { byId } from './elements.js';
import { Keypad } from './keypad.js';
import { type Phase, PHASE_WORDS } from './phase.js';

export type Agent = PageDescription['agents'][number];

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
  #agents: readonly Agent[] = [];
  #phase: Phase = 'idle';
  #ready = false;
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
      if (text === '' || !this.#ready) return;
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

  /** Whether calls can be made. */
  set ready(ready: boolean) {
    this.#ready = ready;
    this.#show();
  }

  set hasMicrophone(has: boolean) {
    this.#hasMicrophone = has;
    this.#show();
  }

  set status(text: string) {
    this.#status.textContent = text;
  }

  set agents(agents: readonly Agent[]) {
    this.#agents = agents;
    this.#agentSelect.replaceChildren(...agents.map(({ id, name }) => new Option(name, id)));
    this.#agentSelect.hidden = agents.length < 2;
    this.#agentName.hidden = agents.length > 1;
    this.#agentName.textContent = agents[0]?.name ?? 'No agent';
    document.title = `${agents[0]?.name ?? 'parley'} · parley`;
  }

  /** The one that is chosen. */
  get agent(): Agent | null {
    return this.#agents.find(({ id }) => id === this.#agentSelect.value) ?? null;
  }

  /** How the line does. */
  set line({ bufferedMs, targetMs, underruns, sampleRateHz, droppedChunks }: CallStats) {
    const parts = [`${String(sampleRateHz / 1000)} kHz`, `buffer ${Math.max(bufferedMs, targetMs).toFixed(0)} ms`];
    if (underruns > 0) parts.push(`${String(underruns)} late`);
    if (droppedChunks > 0) parts.push(`${String(droppedChunks)} chunks lost`);
    this.#line.textContent = parts.join(' · ');
  }

  focusText(): void {
    this.#input.focus();
  }

  #show(): void {
    const phase = this.#phase;
    const calling = phase !== 'idle';
    const connected = calling && phase !== 'connecting';
    document.body.dataset['phase'] = phase;
    this.#phaseText.textContent = phase === 'idle' && !this.#ready ? 'One moment …' : PHASE_WORDS[phase];
    this.#talk.disabled = !this.#ready && !calling;
    this.#talk.setAttribute('aria-label', calling ? 'Hang up' : 'Start talking');
    this.#mute.disabled = !connected || !this.#hasMicrophone;
    this.#keypadToggle.disabled = !connected;
    this.#agentSelect.disabled = calling;
    this.#input.disabled = !this.#ready && !calling;
    if (!connected) this.#line.textContent = '';
    if (calling) {
      if (connected)
        this.#status.textContent = this.#hasMicrophone ? 'On the line' : 'On the line, without a microphone';
      return;
    }
    this.#keypad.open = false;
    this.#mute.setAttribute('aria-pressed', 'false');
    this.#hasMicrophone = true;
  }
}
