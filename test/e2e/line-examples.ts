import type { CallAgent, Engine, SessionEvent, SessionReport, SttProvider } from '@parley-voice/parley';
import { energyVad, functionLlm, toneTts } from '@parley-voice/parley/testing';
import { levelOf } from '../../src/audio/dsp/level.js';

/** 20 ms of the user: a loud tone, at 16 kHz. */
const FRAME = Int16Array.from({ length: 320 }, (_, at) => 9_000 * Math.sin(at * 0.25));
const SPOKEN_FRAMES = 30;
/** Until speech is over for every line. */
const SILENT_FRAMES = 60;
const LOUD_DBFS = -40;
/** Deadline of each step, which a busy machine keeps too. */
const PATIENCE_MS = 20_000;

/** A frame at 8 kHz, without a filter: it holds one low tone. */
export function halved(frame: Int16Array): Int16Array {
  return frame.filter((_, at) => at % 2 === 0);
}

/** Somebody at the far end of a line, who hears and speaks. */
export interface FarSide {
  /** Sends 20 ms of 16 kHz. */
  send(frame: Int16Array): void;
  /** Hangs up. May be called twice. */
  leave(): Promise<void> | void;
}

/** One conversation: an agent of doubles, what it notes, and what its user hears. */
export class Heard {
  readonly words = 'a table for two';
  readonly engine: Engine;
  readonly events: SessionEvent[] = [];
  /** What the examples' `agent` is. */
  readonly agent: CallAgent;
  readonly #waiting = new Set<() => void>();
  #loud = 0;

  constructor(engine: Engine) {
    this.engine = engine;
    this.agent = {
      agent: { prompt: 'You are a waiter.', first_message: 'Good evening.' },
      vad: energyVad(),
      stt: recogniser(this.words),
      llm: functionLlm(({ messages }) => `You want ${String(messages.at(-1)?.content)}.`),
      tts: toneTts({ charMs: 25 }),
      observe: (event) => {
        this.events.push(event);
        this.#wake();
      },
    };
  }

  /** For the far side: what it hears, at any rate. */
  readonly hear = (samples: Int16Array): void => {
    if (samples.length === 0 || levelOf(samples).rmsDbfs <= LOUD_DBFS) return;
    this.#loud++;
    this.#wake();
  };

  /** The greeting is heard, words are said and understood, the answer is heard, and the user hangs up. */
  async converse(far: FarSide): Promise<SessionReport> {
    await this.#until(() => this.#loud >= 5);
    await this.#agentFalls();
    const before = this.#loud;
    await this.#speak(far);
    await this.#until(() => this.events.some(({ type }) => type === 'user'));
    await this.#until(() => this.#loud >= before + 5);
    await this.#agentFalls();
    await far.leave();
    return this.ended();
  }

  /** The agent hears its user speak. */
  spokenTo(): Promise<void> {
    return this.#until(() => this.events.some((event) => event.type === 'speaking' && event.who === 'user'));
  }

  /** The report of the conversation, once it is over. */
  async ended(): Promise<SessionReport> {
    let report: SessionReport | null = null;
    await this.#until(() => {
      for (const event of this.events) if (event.type === 'ended') ({ report } = event);
      return report !== null;
    });
    return report as unknown as SessionReport;
  }

  /** The agent has spoken, and does no longer. */
  #agentFalls(): Promise<void> {
    return this.#until(() => {
      const last = this.events.findLast((event) => event.type === 'speaking' && event.who === 'agent');
      return last?.type === 'speaking' && !last.isSpeaking;
    });
  }

  #speak(far: FarSide): Promise<void> {
    let left = SPOKEN_FRAMES + SILENT_FRAMES;
    const silence = new Int16Array(FRAME.length);
    return new Promise((resolve) => {
      const stop = this.engine.ticker.subscribe(() => {
        far.send(left-- > SILENT_FRAMES ? FRAME : silence);
        if (left > 0) return;
        stop();
        resolve();
      });
    });
  }

  async #until(isSo: () => boolean): Promise<void> {
    const late = AbortSignal.timeout(PATIENCE_MS);
    while (!isSo()) {
      await new Promise<void>((resolve, reject) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          late.removeEventListener('abort', giveUp);
          resolve();
        };
        const giveUp = (): void => reject(new Error(`it never came to that: ${this.#sofar()}`));
        this.#waiting.add(wake);
        late.addEventListener('abort', giveUp, { once: true });
      });
    }
  }

  #sofar(): string {
    return `${String(this.#loud)} loud frames, ${JSON.stringify(this.events)}`;
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}

/** Understands these words in each turn in which it hears sound, in however many pieces that comes. */
function recogniser(words: string): SttProvider {
  return {
    name: 'words',
    virtualTime: false,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    open: (_options, events) => {
      let [segment, isHeard] = [0, false];
      return Promise.resolve({
        push: (samples) => void (isHeard ||= levelOf(samples).rmsDbfs > LOUD_DBFS),
        speechStarted: () => undefined,
        speechStopped: () => {
          const text = isHeard ? words : '';
          events.onTranscript({ segment, text, isFinal: true, understood: isHeard, confidence: 1 });
        },
        endTurn: () => void ([segment, isHeard] = [segment + 1, false]),
        close: () => Promise.resolve(),
      });
    },
  };
}
