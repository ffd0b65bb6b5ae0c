import { HEARING_RATE_HZ } from '../../audio/frame.js';
import { reasonOf } from '../../base/errors.js';
import type { SttStream } from '../../providers/stt/stt.js';
import type { TurnModel } from '../../providers/turn/turn.js';
import type { SessionContext } from '../session-context.js';

type TurnJudgeContext = Pick<SessionContext, 'clock' | 'emit' | 'fault'>;

export interface TurnJudgeOptions {
  model: TurnModel;
  /** The current language. */
  language: () => string;
}

/** A result later than this after the pause was detected is useless. */
const DEADLINE_MS = 500;
/** Silence before the speech that the model gets, so that its first sound is complete. */
const LEAD_SAMPLES = HEARING_RATE_HZ / 5;

/** Gets the same audio as the recogniser, and asks the audio model at each pause whether the turn is over. */
export class TurnJudge implements Pick<SttStream, 'push' | 'speechStarted' | 'speechStopped'> {
  readonly #context: TurnJudgeContext;
  readonly #options: TurnJudgeOptions;
  readonly #ring: Int16Array;
  #endSample = 0;
  /** Start of the turn: earlier audio is ignored. */
  #turnSample: number | null = null;
  #asking: AbortController | null = null;

  constructor(context: TurnJudgeContext, options: TurnJudgeOptions) {
    this.#context = context;
    this.#options = options;
    this.#ring = new Int16Array(options.model.windowS * HEARING_RATE_HZ);
  }

  push(samples: Int16Array, startSample: number): void {
    for (const [index, sample] of samples.entries()) this.#ring[(startSample + index) % this.#ring.length] = sample;
    this.#endSample = startSample + samples.length;
  }

  speechStarted(sample: number): void {
    this.#asking?.abort();
    this.#turnSample ??= Math.max(0, sample - LEAD_SAMPLES);
  }

  speechStopped(): void {
    void this.#ask();
  }

  /** The turn has ended: the next speech starts a new one. */
  endTurn(): void {
    this.#asking?.abort();
    this.#turnSample = null;
  }

  close(): void {
    this.#asking?.abort();
  }

  async #ask(): Promise<void> {
    const { clock, emit, fault } = this.#context;
    const { model, language } = this.#options;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const cancel = clock.schedule(clock.nowMs() + DEADLINE_MS, () => {
      asking.abort();
      fault('turnModel.failed', `no judgement within ${String(DEADLINE_MS)} ms`);
    });
    try {
      const samples = this.#latest();
      const probability = await model.judge({ samples, language: language(), clock, signal: asking.signal });
      if (!asking.signal.aborted) emit({ type: 'turn.judged', probability });
    } catch (error) {
      if (!asking.signal.aborted) fault('turnModel.failed', reasonOf(error));
    } finally {
      cancel();
    }
  }

  #latest(): Int16Array {
    const from = Math.max(this.#turnSample ?? 0, this.#endSample - this.#ring.length);
    return Int16Array.from(
      { length: this.#endSample - from },
      (_, at) => this.#ring[(from + at) % this.#ring.length] ?? 0,
    );
  }
}

/** Feeds several listeners. */
export function together(
  ...all: readonly Pick<SttStream, 'push' | 'speechStarted' | 'speechStopped'>[]
): Pick<SttStream, 'push' | 'speechStarted' | 'speechStopped'> {
  return {
    push: (samples, startSample) => {
      for (const one of all) one.push(samples, startSample);
    },
    speechStarted: (sample) => {
      for (const one of all) one.speechStarted(sample);
    },
    speechStopped: (sample) => {
      for (const one of all) one.speechStopped(sample);
    },
  };
}
