import type { PageDescription } from '../../transports/talk-protocol.js';
import { Call, type CallEvents, type CallStats } from './call.js';
import { Controls } from './controls.js';
import { Daemon } from './daemon.js';
import { byId } from './elements.js';
import { endingWords } from './endings.js';
import { Forms } from './forms.js';
import { Microphone, MicrophoneError } from './microphone.js';
import { Notice } from './notice.js';
import type { Phase } from './phase.js';
import { Ring } from './ring.js';
import { Transcript } from './transcript.js';
import { TimesSummary } from './turn-times.js';

declare global {
  /** What the call under way (or the last one) measured, for the console and for tests. */
  var parleyStats: CallStats | null;
}

const READY_POLL_MS = 1000;
const LINE_POLL_MS = 400;

/** The page: one daemon, at most one call at a time. */
class Page {
  readonly #daemon = new Daemon();
  readonly #notice = new Notice(
    byId('notice', HTMLElement),
    byId('notice-text', HTMLElement),
    byId('notice-action', HTMLButtonElement),
  );
  readonly #transcript = new Transcript(byId('transcript', HTMLElement), byId('scroller', HTMLElement));
  readonly #summary = new TimesSummary(byId('summary', HTMLElement));
  readonly #forms = new Forms(byId('forms', HTMLElement), (id, value) => {
    this.#call?.answerForm(id, value);
    this.#controls.focusText();
  });
  readonly #controls: Controls;
  #description: PageDescription | null = null;
  #call: Call | null = null;
  /** Counts attempts, so that one that was given up cannot come true later. */
  #attempt = 0;
  #untold: string[] = [];

  constructor() {
    this.#controls = new Controls({
      onTalk: () => {
        if (this.#controls.phase === 'idle') void this.#begin('voice');
        else this.#hangUp();
      },
      onMute: (muted) => {
        if (this.#call !== null) this.#call.muted = muted;
      },
      onDigit: (digit) => {
        this.#call?.press(digit);
        if (this.#call !== null) this.#transcript.keyed(digit);
      },
      onText: (text) => {
        this.#type(text);
      },
    });
    new Ring(byId('ring', HTMLCanvasElement), () => {
      const stats = this.#call?.stats;
      return { phase: this.#controls.phase, microphone: stats?.microphoneLevel ?? 0, agent: stats?.level ?? 0 };
    });
    setInterval(() => {
      this.#showLine();
    }, LINE_POLL_MS);
    addEventListener('pagehide', () => this.#call?.hangUp());
    void this.#meet();
  }

  /** Learns who can be talked to, and waits until the engines are warm. */
  async #meet(): Promise<void> {
    this.#controls.status = 'Looking for the server …';
    try {
      let description = await this.#daemon.describe();
      this.#controls.agents = description.agents;
      while (!description.ready) {
        this.#controls.status = 'The engines are warming up …';
        await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
        description = await this.#daemon.describe();
      }
      this.#description = description;
      this.#controls.status = 'Ready';
      this.#controls.ready = true;
    } catch (error) {
      this.#controls.ready = false;
      this.#controls.status = 'Not connected';
      this.#notice.show(messageOf(error), { label: 'Try again', run: () => void this.#meet() });
    }
  }

  async #begin(how: 'voice' | 'typing'): Promise<void> {
    const { agent } = this.#controls;
    if (this.#description === null || agent === null) return;
    const attempt = ++this.#attempt;
    this.#notice.hide();
    this.#onPhase('connecting');
    let stream: MediaStream | null = null;
    try {
      stream = how === 'voice' ? await Microphone.ask() : null;
      const token = await this.#daemon.sessionToken(this.#description.public_key);
      if (attempt !== this.#attempt) throw new Error('given up');
      const call = await Call.begin({ token, agentId: agent.id, stream }, this.#callEvents());
      if (attempt !== this.#attempt) {
        call.hangUp();
        return;
      }
      this.#call = call;
      globalThis.parleyStats = call.stats;
      this.#transcript.begin(agent.name);
      this.#controls.hasMicrophone = call.hasMicrophone;
    } catch (error) {
      for (const track of stream?.getTracks() ?? []) track.stop();
      if (attempt === this.#attempt) this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#onPhase('idle');
    if (error instanceof MicrophoneError) {
      this.#notice.show(`${error.message} You can type instead.`, {
        label: 'Type instead',
        run: () => {
          void this.#begin('typing');
          this.#controls.focusText();
        },
      });
    } else {
      this.#untold = [];
      this.#notice.show(messageOf(error), { label: 'Try again', run: () => void this.#meet() });
    }
  }

  #callEvents(): CallEvents {
    const transcript = this.#transcript;
    return {
      onPhase: (phase) => {
        this.#onPhase(phase);
        if (phase === 'listening') for (const text of this.#untold.splice(0)) this.#type(text);
      },
      onTranscript: (text, isFinal) => {
        transcript.user(text, isFinal);
      },
      onResponse: (text, isFinal) => {
        transcript.agent(text, isFinal);
      },
      onInterrupted: () => {
        transcript.interrupted();
      },
      onFalseAlarm: () => {
        transcript.falseAlarm();
      },
      onTimes: (times) => {
        transcript.times(times);
        this.#summary.add(times);
      },
      onAction: (action) => {
        if (!this.#forms.take(action)) transcript.note(`${action.name} …`);
      },
      onProblem: (message) => {
        this.#notice.show(message, { label: 'Dismiss', run: () => undefined });
      },
      onEnded: (status, error) => {
        this.#over(endingWords(status));
        if (error !== null) {
          this.#controls.ready = false;
          this.#notice.show(error, { label: 'Try again', run: () => void this.#meet() });
        }
      },
    };
  }

  /** A typed message; without a call it begins one. */
  #type(text: string): void {
    if (this.#call !== null && this.#controls.phase !== 'connecting') {
      this.#transcript.typed(text);
      this.#call.type(text);
      return;
    }
    this.#untold.push(text);
    if (this.#controls.phase === 'idle') void this.#begin('typing');
  }

  #hangUp(): void {
    this.#attempt++;
    const call = this.#call;
    call?.hangUp();
    this.#over(call === null ? null : 'You hung up');
  }

  #over(note: string | null): void {
    this.#showLine();
    this.#call = null;
    this.#untold = [];
    this.#onPhase('idle');
    this.#forms.clear();
    this.#transcript.end();
    if (note !== null) this.#transcript.note(note);
    this.#controls.status = 'Ready';
  }

  #onPhase(phase: Phase): void {
    this.#controls.phase = phase;
  }

  #showLine(): void {
    if (this.#call === null) return;
    const { stats } = this.#call;
    globalThis.parleyStats = stats;
    this.#controls.line = stats;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

globalThis.parleyStats = null;
new Page();
