import { type Cancel, type Clock, delay } from '../../base/clock.js';
import { raceAbort } from '../../base/deadlines.js';
import { type Failure, failureOf, ParleyError } from '../../base/errors.js';
import type {
  SpeechHints,
  SttEvents,
  SttOptions,
  SttProvider,
  SttStream,
  SttTranscript,
} from '../../providers/stt/stt.js';
import type { ProviderOutcome } from '../../providers/outcome.js';
import { OutcomeTimer } from '../outcome-timer.js';
import type { UsedProvider } from '../record/usage.js';
import type { SessionContext } from '../session-context.js';
import type { ExpectedAnswer } from '../../agent/expected-answer.js';
import { HEARING_RATE_HZ } from '../../audio/frame.js';

/** Maximum audio to keep while there is no recogniser. */
const MAX_BACKLOG_SAMPLES = 10 * HEARING_RATE_HZ;

type Entry =
  | { type: 'push'; samples: Int16Array; startSample: number }
  | { type: 'speechStarted' | 'speechStopped'; sample: number }
  | { type: 'expect'; answer: ExpectedAnswer | null }
  | { type: 'endTurn' };

/** Collects audio while a recogniser is being opened, so that the first words are not lost. */
export class SttBacklog implements SttStream {
  #entries: Entry[] = [];
  #samples = 0;

  push(samples: Int16Array, startSample: number): void {
    this.#entries.push({ type: 'push', samples: samples.slice(), startSample });
    this.#samples += samples.length;
    while (this.#samples > MAX_BACKLOG_SAMPLES) {
      const oldest = this.#entries.findIndex((entry) => entry.type === 'push');
      const [entry] = this.#entries.splice(oldest, 1);
      const length = entry?.type === 'push' ? entry.samples.length : 0;
      this.#samples -= length;
    }
  }

  speechStarted(sample: number): void {
    this.#entries.push({ type: 'speechStarted', sample });
  }

  speechStopped(sample: number): void {
    this.#entries.push({ type: 'speechStopped', sample });
  }

  endTurn(): void {
    this.#entries.push({ type: 'endTurn' });
  }

  expect(answer: ExpectedAnswer | null): void {
    this.#entries.push({ type: 'expect', answer });
  }

  /** Replays everything to `stt`. */
  replayTo(stt: SttStream): void {
    for (const entry of this.#entries) {
      if (entry.type === 'push') stt.push(entry.samples, entry.startSample);
      else if (entry.type === 'endTurn') stt.endTurn();
      else if (entry.type === 'expect') stt.expect?.(entry.answer);
      else stt[entry.type](entry.sample);
    }
    this.#entries = [];
    this.#samples = 0;
  }

  close(): Promise<void> {
    this.#entries = [];
    return Promise.resolve();
  }
}

type RecogniserContext = Pick<SessionContext, 'clock' | 'emit' | 'fault'>;

export interface RecogniserOptions {
  stt: SttProvider;
  language: string;
  model?: string | undefined;
  multilingual?: boolean | undefined;
  hints: SpeechHints;
  signal: AbortSignal;
  onTranscript: (transcript: SttTranscript) => void;
  /** Reports the provider that recognises from now on. */
  onListener?: (who: UsedProvider) => void;
  onOutcome?: (outcome: ProviderOutcome) => void;
}

/** What a recogniser goes on with. The rest stays. */
export type NextRecogniser = Pick<RecogniserOptions, 'stt' | 'language' | 'hints'> &
  Partial<Pick<RecogniserOptions, 'model' | 'multilingual'>>;

/** A pause closes the stream after this: what was said before it has its final transcript by then. */
const PAUSE_AFTER_MS = 2000;
/** Deadline for opening a stream. */
const OPEN_TIMEOUT_MS = 8000;
/** Waits before reopening after a failure; after the last one the recogniser has failed. */
const RETRY_DELAYS_MS = [0, 250, 1000];
/** After this time a stream's failure counts as the first again, unless it was deaf. */
const PROVEN_MS = 30_000;

/**
 * The session's speech recognition: one stream for its callers, on top of the provider's streams, which may fail. Audio
 * between two streams goes to the next one, and segment numbers continue.
 */
export class Recogniser implements SttStream {
  readonly #context: RecogniserContext;
  #options: RecogniserOptions;
  /** Null = recognition has ended. */
  #stream: SttStream | null = new SttBacklog();
  /** Called when that stream fails. */
  #onFault: (error: unknown) => void = () => undefined;
  /** Start of the current speech according to the VAD. */
  #speechSample: number | null = null;
  /** Measures from the end of speech to its final transcript. */
  #final: OutcomeTimer | null = null;
  /** There was speech since the latest stream was requested. */
  #spokenTo = false;
  #expected: ExpectedAnswer | null = null;
  #lastSegment = -1;
  /** Turns up to this segment are over: later results for them are ignored. */
  #overSegment = -1;
  #attempt = 0;
  /** What recognises from the next turn on. */
  #next: NextRecogniser | null = null;
  /** Counts changes: results of earlier generations are ignored. */
  #generation = 0;
  #closed = false;
  /** Withdraws a pause that has not begun. */
  #stopPause: Cancel | null = null;
  #isPaused = false;

  constructor(context: RecogniserContext, options: RecogniserOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** A method without a closure, because it runs for each frame. */
  push(samples: Int16Array, startSample: number): void {
    const onFault = this.#onFault;
    try {
      this.#stream?.push(samples, startSample);
    } catch (error) {
      onFault(error);
    }
  }

  speechStarted(sample: number): void {
    this.#speechSample = sample;
    this.#final = null;
    this.#spokenTo = true;
    this.#tell((stream) => {
      stream.speechStarted(sample);
    });
  }

  speechStopped(sample: number): void {
    this.#speechSample = null;
    this.#final = this.#timer();
    this.#tell((stream) => {
      stream.speechStopped(sample);
    });
  }

  endTurn(): void {
    this.#overSegment = this.#lastSegment;
    this.#final = null;
    this.#change();
    this.#tell((stream) => {
      stream.endTurn();
    });
  }

  expect(answer: ExpectedAnswer | null): void {
    this.#expected = answer;
    this.#tell((stream) => {
      stream.expect?.(answer);
    });
  }

  /** Opens the first stream, and another whenever one fails. Returns at once. */
  open(): void {
    void this.#open();
  }

  /** Recognises otherwise from the next turn on; at once if there was no speech in this one. */
  use(next: NextRecogniser): void {
    this.#next = next;
    if (this.#speechSample === null && this.#lastSegment === this.#overSegment) this.#change();
  }

  /** There is nothing to recognise for a while: closes the stream, once it has the words of what was said before. */
  pause(): void {
    const { clock } = this.#context;
    this.#stopPause ??= clock.schedule(clock.nowMs() + PAUSE_AFTER_MS, () => {
      const stream = this.#stream;
      if (this.#closed || stream === null) return;
      this.#generation++;
      this.#stream = null;
      this.#isPaused = true;
      if (!(stream instanceof SttBacklog)) closeQuietly(stream);
    });
  }

  /** There is again; opens another stream if the last one was closed. */
  resume(): void {
    this.#stopPause?.();
    this.#stopPause = null;
    if (!this.#isPaused || this.#closed) return;
    this.#isPaused = false;
    this.#keepForLater();
    this.#attempt = 0;
    if (this.#next !== null) this.#options = { ...this.#options, ...this.#next };
    this.#next = null;
    void this.#open();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopPause?.();
    const stream = this.#stream;
    this.#stream = null;
    await stream?.close();
  }

  #finalCame(): void {
    this.#final?.first();
    this.#final = null;
  }

  #timer(): OutcomeTimer {
    const { stt, onOutcome = () => undefined } = this.#options;
    return new OutcomeTimer(stt, this.#context.clock, onOutcome);
  }

  #tell(say: (stream: SttStream) => void): void {
    if (this.#stream === null) return;
    const onFault = this.#onFault;
    try {
      say(this.#stream);
    } catch (error) {
      onFault(error);
    }
  }

  #change(): void {
    if (this.#isPaused) return;
    const next = this.#next;
    this.#next = null;
    if (next === null || this.#closed || this.#stream === null) return;
    this.#options = { ...this.#options, ...next };
    const old = this.#stream;
    this.#generation++;
    this.#keepForLater();
    if (!(old instanceof SttBacklog)) closeQuietly(old);
    this.#attempt = 0;
    void this.#open();
  }

  async #open(): Promise<void> {
    const { model, multilingual } = this.#options;
    const generation = this.#generation;
    const { stt, language, hints, signal, onTranscript, onListener, onOutcome } = this.#options;
    const { clock, emit, fault } = this.#context;
    onListener?.({ provider: stt.name, model: model ?? null });
    const openedMs = clock.nowMs();
    const base = this.#lastSegment + 1;
    let opened: SttStream | null = null;
    let failed = false;
    let understood = false;
    this.#spokenTo = this.#speechSample !== null;
    // Another stream may have taken its place.
    const isOver = (): boolean => this.#closed || generation !== this.#generation;
    const fail = (error: unknown): void => {
      // A stream that ends with the session has not failed.
      if (failed || signal.aborted || isOver()) return;
      failed = true;
      this.#final = null;
      this.#timer().failed();
      closeQuietly(opened);
      const isDeaf = this.#spokenTo && !understood;
      if (clock.nowMs() - openedMs > PROVEN_MS && !isDeaf) this.#attempt = 0;
      this.#keepForLater();
      void this.#retry(failureOf(error));
    };
    this.#onFault = fail;
    const deadline = new Deadline(clock, signal, () => {
      return new ParleyError('PROVIDER_TIMEOUT', { provider: stt.name, timeoutMs: OPEN_TIMEOUT_MS });
    });
    const opening = openStream(
      stt,
      { language, hints, clock, signal: deadline.signal, model, multilingual },
      {
        onTranscript: (transcript) => {
          if (failed || isOver()) return;
          const segment = base + transcript.segment;
          if (segment <= this.#overSegment) return;
          this.#lastSegment = Math.max(this.#lastSegment, segment);
          understood ||= transcript.text !== '';
          if (transcript.isFinal) this.#finalCame();
          onTranscript({ ...transcript, segment });
        },
        onTurnEnds: (probability) => {
          if (!failed && !isOver()) emit({ type: 'turn.judged', probability });
        },
        onListener: (who) => {
          if (!failed && !isOver()) onListener?.(who);
        },
        onOutcome: (outcome) => {
          if (!isOver()) onOutcome?.(outcome);
        },
        onFault: (reason) => {
          if (!isOver()) fault('stt.second', reason);
        },
        onError: fail,
      },
    );
    try {
      opened = await raceAbort(opening, deadline.signal);
    } catch (error) {
      void opening.then(closeQuietly, () => undefined);
      fail(error);
      return;
    } finally {
      deadline.lift();
    }
    const kept = this.#stream;
    if (failed || isOver()) {
      closeQuietly(opened);
      return;
    }
    this.#stream = opened;
    if (!(kept instanceof SttBacklog)) return;
    this.#tell((stream) => {
      kept.replayTo(stream);
    });
  }

  /** Audio is kept until there is a stream again. */
  #keepForLater(): void {
    if (this.#stream instanceof SttBacklog) return;
    const backlog = new SttBacklog();
    if (this.#expected !== null) backlog.expect(this.#expected);
    // The next stream must learn that the user is in the middle of a sentence.
    if (this.#speechSample !== null) backlog.speechStarted(this.#speechSample);
    this.#stream = backlog;
  }

  async #retry(failure: Failure): Promise<void> {
    const generation = this.#generation;
    const { clock, emit, fault } = this.#context;
    const { signal } = this.#options;
    const waitMs = RETRY_DELAYS_MS[this.#attempt++];
    if (waitMs === undefined) {
      this.#stream = null;
      emit({ type: 'ears.failed', ...failure });
      return;
    }
    fault('stt.failed', failure.reason, failure.cause);
    try {
      if (waitMs > 0) await delay(clock, waitMs, signal);
    } catch {
      return; // the session is over
    }
    if (!this.#closed && generation === this.#generation) await this.#open();
  }
}

/** The deadline for opening a stream. Its signal stays valid afterwards and is aborted with the session. */
class Deadline {
  readonly signal: AbortSignal;
  readonly lift: Cancel;

  constructor(clock: Clock, session: AbortSignal, error: () => Error) {
    const timeout = new AbortController();
    this.signal = AbortSignal.any([session, timeout.signal]);
    this.lift = clock.schedule(clock.nowMs() + OPEN_TIMEOUT_MS, () => {
      timeout.abort(error());
    });
  }
}

/** Like `stt.open`, but a synchronous throw becomes a rejection. */
async function openStream(stt: SttProvider, options: SttOptions, events: SttEvents): Promise<SttStream> {
  return stt.open(options, events);
}

/** Closes a stream that has failed or timed out. */
function closeQuietly(stream: SttStream | null): void {
  try {
    void stream?.close().catch(() => undefined);
  } catch {
    // nothing more can be done
  }
}
