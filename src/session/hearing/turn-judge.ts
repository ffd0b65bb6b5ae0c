import { AudioHistory } from '../../audio/audio-history.js';
import { HEARING_RATE_HZ, msToSamples, samplesToMs } from '../../audio/frame.js';
import { reasonOf } from '../../base/errors.js';
import type { SttStream } from '../../providers/stt/stt.js';
import type { TurnModel, TurnStream } from '../../providers/turn/turn.js';
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

/** A longer pause ends the turn anyway: the model hears no more of it. */
const MAX_PAUSE_MS = 4000;
/** A result that differs less from the one before changes nothing. */
const LEAST_CHANGE = 0.02;

/**
 * Gets the same audio as the recogniser, and asks the audio model at each pause whether the turn is over. A model that
 * takes audio as it comes hears the turn while it lasts, and is asked again with each of its steps in the pause.
 */
export class TurnJudge implements Pick<SttStream, 'push' | 'speechStarted' | 'speechStopped'> {
  readonly #context: TurnJudgeContext;
  readonly #options: TurnJudgeOptions;
  readonly #history: AudioHistory;
  readonly #stream: TurnStream | null;
  readonly #leadSamples: number;
  /** Start of the turn: earlier audio is ignored. */
  #turnSample: number | null = null;
  /** Where the pause was noticed; null = the user speaks, or the turn has not begun. */
  #pauseSample: number | null = null;
  /** Where the model was last asked in the pause. */
  #askedSample = 0;
  /** What it said in this pause; null = nothing yet. */
  #said: number | null = null;
  /** Whether the stream hears what comes. */
  #feeding = false;
  #asking: AbortController | null = null;

  constructor(context: TurnJudgeContext, options: TurnJudgeOptions) {
    this.#context = context;
    this.#options = options;
    const windowSamples = options.model.windowS * HEARING_RATE_HZ;
    this.#history = new AudioHistory(windowSamples);
    this.#stream = options.model.open?.(context.clock) ?? null;
    this.#leadSamples =
      this.#stream === null ? LEAD_SAMPLES : Math.min(windowSamples, msToSamples(this.#stream.leadMs, HEARING_RATE_HZ));
  }

  push(samples: Int16Array, startSample: number): void {
    this.#history.write(samples, startSample);
    if (!this.#feeding || this.#stream === null) return;
    this.#stream.push(samples);
    if (this.#pauseSample !== null) this.#goOn(this.#stream, this.#pauseSample);
  }

  speechStarted(sample: number): void {
    this.#asking?.abort();
    this.#pauseSample = null;
    this.#turnSample ??= Math.max(0, sample - this.#leadSamples);
    if (this.#stream === null || this.#feeding) return;
    this.#feeding = true;
    this.#stream.start();
    // After a pause that it did not hear to the end, the model begins with the new speech.
    this.#stream.push(this.#history.readFrom(Math.max(this.#turnSample, sample - this.#leadSamples)));
  }

  speechStopped(): void {
    this.#pauseSample = this.#history.end;
    this.#said = null;
    if (this.#stream === null || this.#feeding) void this.#ask();
  }

  /** The turn has ended: the next speech starts a new one. */
  endTurn(): void {
    this.#asking?.abort();
    this.#turnSample = null;
    this.#pauseSample = null;
    this.#feeding = false;
  }

  close(): void {
    this.#asking?.abort();
    this.#feeding = false;
    this.#stream?.close();
  }

  /** More of a pause: the model is asked again, unless it still thinks. */
  #goOn({ stepMs }: TurnStream, pauseSample: number): void {
    if (samplesToMs(this.#history.end - pauseSample, HEARING_RATE_HZ) > MAX_PAUSE_MS) {
      this.#feeding = false;
      return;
    }
    if (this.#asking !== null || samplesToMs(this.#history.end - this.#askedSample, HEARING_RATE_HZ) < stepMs) return;
    void this.#ask();
  }

  async #ask(): Promise<void> {
    const { clock, emit, fault } = this.#context;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    this.#askedSample = this.#history.end;
    const cancel = clock.schedule(clock.nowMs() + DEADLINE_MS, () => {
      asking.abort();
      this.#stopFeeding();
      fault('turnModel.failed', `no judgement within ${String(DEADLINE_MS)} ms`);
    });
    try {
      const probability = await this.#judged(asking.signal);
      if (asking.signal.aborted) return;
      if (this.#said !== null && Math.abs(probability - this.#said) < LEAST_CHANGE) return;
      this.#said = probability;
      emit({ type: 'turn.judged', probability });
    } catch (error) {
      if (asking.signal.aborted) return;
      this.#stopFeeding();
      fault('turnModel.failed', reasonOf(error));
    } finally {
      cancel();
      if (this.#asking === asking) this.#asking = null;
    }
  }

  #judged(signal: AbortSignal): Promise<number> {
    const { model, language } = this.#options;
    if (this.#stream !== null) return this.#stream.judge(signal);
    const { clock } = this.#context;
    const samples = this.#history.readFrom(this.#turnSample ?? 0);
    return model.judge({ samples, language: language(), clock, signal });
  }

  /** A model that failed in a pause is not asked again in it, but hears the next speech anew. */
  #stopFeeding(): void {
    this.#feeding = false;
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
