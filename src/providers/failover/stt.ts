import type { ExpectedAnswer } from '../../agent/expected-answer.js';
import { raceAbort } from '../../base/deadlines.js';
import type { SttAbilities, SttEvents, SttOptions, SttProvider, SttStream, SttTranscript } from '../stt/stt.js';
import { type Switch, allFailed, inOrder, type DeadlineBounds, type Health } from './health.js';
import type { Cancel } from '../../base/clock.js';
import { ParleyError, reasonOf, errorOf } from '../../base/errors.js';
import { HeardAudio } from './heard-audio.js';

export interface FailoverSttOptions {
  /** In order of preference. At least one. */
  entries: readonly SttEntry[];
  onSwitch: (what: Switch) => void;
}

/** STT with fallbacks, see FailoverStream. With a single entry it reopens failed streams and replays the turn. */
export class FailoverStt implements SttProvider {
  readonly name: string;
  readonly virtualTime: boolean;
  readonly tellsOutcomes = true;
  readonly abilities: SttAbilities;
  readonly #options: FailoverSttOptions;

  constructor(options: FailoverSttOptions) {
    this.#options = options;
    const [first] = options.entries;
    this.name = first?.provider.name ?? 'none';
    this.abilities = first?.provider.abilities ?? {};
    this.virtualTime = options.entries.every(({ provider }) => provider.virtualTime);
  }

  /** Warms up all entries; one success is enough. */
  async warmUp(): Promise<void> {
    await Promise.any(this.#options.entries.map(({ provider }) => provider.warmUp())).catch((error: unknown) => {
      throw error instanceof AggregateError ? error.errors[0] : error;
    });
  }

  async open(options: SttOptions, events: SttEvents): Promise<SttStream> {
    options.signal.throwIfAborted();
    const stream = new FailoverStream({ ...options, ...this.#options }, events);
    const onAbort = (): void => void stream.close().catch(() => undefined);
    options.signal.addEventListener('abort', onAbort, { once: true });
    await raceAbort(stream.opened, options.signal);
    return stream;
  }

  async close(): Promise<void> {
    await Promise.all(this.#options.entries.map(({ provider }) => provider.close()));
  }
}

interface FailoverStreamOptions extends SttOptions {
  /** In order of preference. At least one. */
  entries: readonly SttEntry[];
  onSwitch: (what: Switch) => void;
}

/**
 * Deadlines for opening a stream, for the first interim transcript after speech starts, and for the final one after it
 * stops.
 */
const OPEN: DeadlineBounds = { defaultMs: 2000, minMs: 500, maxMs: 4000 };
const WORDS: DeadlineBounds = { defaultMs: 2500, minMs: 1200, maxMs: 4000 };
const FINAL: DeadlineBounds = { defaultMs: 700, minMs: 300, maxMs: 2000 };
/** How often each provider is tried per turn before the stream fails. */
const ROUNDS = 2;

/**
 * A recognition stream with fallbacks. While the active provider is late, a second one runs beside it and gets the
 * turn's audio from the start. The first to deliver the awaited transcript becomes the active one. If a provider fails,
 * the next one gets everything said since the turn began.
 */
class FailoverStream implements SttStream {
  readonly #options: FailoverStreamOptions;
  readonly #events: SttEvents;
  readonly #heard = new HeardAudio();
  #lane: SttAttempt | null = null;
  #helper: { lane: SttAttempt; reason: string } | null = null;
  /** What the stream waits for, and since when. */
  #awaited: 'words' | 'final' | null = null;
  #awaitedSinceMs = 0;
  #due: Cancel = () => undefined;
  /** Segment numbers as the session sees them: the first one of this turn, and the last one reported. */
  #turnSegment: number | null = null;
  #lastSegment = -1;
  /** Streams started since the turn began or since the last transcript. */
  #tries = 0;
  /** Streams that received speech but returned nothing, since the last transcript; counts across turns. */
  #deaf = 0;
  #errors: { name: string; error: unknown }[] = [];
  #settleOpening: ((error: Error | null) => void) | null;
  readonly opened: Promise<void>;
  #closed = false;

  constructor(options: FailoverStreamOptions, events: SttEvents) {
    this.#options = options;
    this.#events = events;
    let settle: (error: Error | null) => void = () => undefined;
    this.opened = new Promise((resolve, reject) => {
      settle = (error) => (error === null ? resolve() : reject(error));
    });
    this.opened.catch(() => undefined);
    this.#settleOpening = settle;
    this.#lane = this.#listening(this.#start(inOrder(options.entries, options.clock.nowMs())[0] as SttEntry));
    this.#awaitOpen(this.#lane);
  }

  push(samples: Int16Array, startSample: number): void {
    if (this.#closed) return;
    this.#heard.push(samples, startSample);
    this.#tell((stream) => stream.push(samples, startSample));
  }

  speechStarted(sample: number): void {
    if (this.#closed) return;
    this.#heard.speechStarted(sample);
    this.#tell((stream) => stream.speechStarted(sample));
    // A provider that has understood part of this turn becomes the active one.
    if (this.#turnSegment === null) this.#await('words');
    else this.#got();
  }

  speechStopped(sample: number): void {
    if (this.#closed) return;
    this.#heard.speechStopped(sample);
    this.#tell((stream) => stream.speechStopped(sample));
    this.#await('final');
  }

  endTurn(): void {
    if (this.#closed) return;
    this.#heard.endTurn();
    this.#lane?.endTurn();
    // Nothing is awaited any more, so a late provider needs no replacement.
    this.#dismiss();
    this.#turnSegment = null;
    this.#tries = 0;
    this.#errors = [];
    this.#got();
  }

  expect(answer: ExpectedAnswer | null): void {
    this.#heard.expect(answer);
    this.#tell((stream) => stream.expect?.(answer));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#due();
    this.#settleOpening = null;
    this.#lane?.entry.health.breaker.abandoned();
    await Promise.all([this.#lane?.close(), this.#helper?.lane.close()]);
  }

  #tell(say: (stream: SttStream) => void): void {
    this.#lane?.tell(say);
    this.#helper?.lane.tell(say);
  }

  #start(entry: SttEntry): SttAttempt {
    this.#tries++;
    const { entries: _entries, onSwitch: _onSwitch, ...options } = this.#options;
    const lane: SttAttempt = new SttAttempt(entry, options, {
      onOpen: () => this.#onOpen(lane),
      onTranscript: (transcript) => this.#onTranscript(lane, transcript),
      onTurnEnds: (probability) => {
        if (lane === this.#lane) this.#events.onTurnEnds?.(probability);
      },
      onFault: (reason) => this.#events.onFault?.(reason),
      onError: (error) => this.#onError(lane, error),
    });
    // Only after the lane is set: a provider may answer synchronously.
    queueMicrotask(() => lane.start(this.#heard));
    return lane;
  }

  #onOpen(lane: SttAttempt): void {
    if (this.#closed) return;
    // The first to open becomes the active one.
    if (this.#settleOpening !== null && this.#helper?.lane === lane) this.#promote();
    this.#settleOpening?.(null);
    this.#settleOpening = null;
    if (lane !== this.#lane) return;
    this.#due();
    // The previous provider's time does not count against this one.
    if (this.#awaited !== null) this.#await(this.#awaited);
  }

  #onTranscript(lane: SttAttempt, transcript: SttTranscript): void {
    if (this.#closed) return;
    const place = lane.place(transcript);
    if (place === null) return;
    const isAwaited =
      (this.#awaited === 'final' && transcript.isFinal) || (this.#awaited === 'words' && transcript.text !== '');
    const helped = lane === this.#helper?.lane;
    if (helped) {
      // An empty transcript is no better than none.
      if (!isAwaited || transcript.text === '') return;
      this.#promote();
    }
    if (lane !== this.#lane) return;
    if (transcript.text !== '') this.#deaf = 0;
    if (isAwaited) {
      const { health } = lane.entry;
      const tookMs = this.#options.clock.nowMs() - this.#awaitedSinceMs;
      // The hedge started late, so the total time is not its latency.
      if (!helped) {
        (this.#awaited === 'final' ? health.first : health.words).add(tookMs);
        if (this.#awaited === 'final') {
          this.#events.onOutcome?.({ provider: lane.entry.provider.name, firstMs: tookMs });
        }
      }
      if (transcript.text !== '') health.breaker.succeeded();
      this.#tries = 0;
      this.#dismiss();
      this.#got();
    }
    this.#turnSegment ??= this.#lastSegment + 1;
    const segment = this.#turnSegment + place;
    this.#lastSegment = Math.max(this.#lastSegment, segment);
    this.#events.onTranscript({ ...transcript, segment });
  }

  #onError(lane: SttAttempt, error: Error): void {
    if (this.#closed) return;
    lane.entry.health.failed(this.#options.clock.nowMs(), error);
    this.#events.onOutcome?.({ provider: lane.entry.provider.name, failed: 'error' });
    this.#errors.push({ name: lane.entry.provider.name, error });
    if (error instanceof ParleyError && error.code === 'PROVIDER_TIMEOUT') this.#deaf++;
    if (lane === this.#helper?.lane) {
      this.#helper = null;
      return;
    }
    if (lane !== this.#lane) return;
    if (this.#helper !== null) {
      this.#helper.reason = reasonOf(error);
      this.#promote(true);
      return;
    }
    const next = this.#next(lane);
    if (next === null) {
      this.#giveUp();
      return;
    }
    this.#reportSwitch(lane.entry, next, reasonOf(error));
    this.#lane = this.#listening(this.#start(next));
    this.#awaitOpen(this.#lane);
  }

  /**
   * The provider to try after `lane`: the next healthy one in the list, finally the same one again; null = all have
   * been tried.
   */
  #next(lane: SttAttempt): SttEntry | null {
    const { entries, clock } = this.#options;
    const rounds = this.#settleOpening === null ? ROUNDS : 1;
    if (Math.max(this.#tries, this.#deaf) >= entries.length * rounds) return null;
    if (lane.entry.provider.abilities?.feedsModel === true && this.#tries < ROUNDS) return lane.entry;
    const at = entries.indexOf(lane.entry);
    const others = [...entries.slice(at + 1), ...entries.slice(0, at + 1)];
    return inOrder(others, clock.nowMs())[0] ?? null;
  }

  #giveUp(): void {
    const error = allFailed(this.#errors);
    const opening = this.#settleOpening;
    this.#closed = true;
    this.#due();
    if (opening === null) this.#events.onError(error);
    else opening(error);
  }

  /** Starts a hedge if `lane` takes longer than usual to open. */
  #awaitOpen(lane: SttAttempt): void {
    const ms = lane.entry.health.open.deadlineMs(OPEN);
    this.#arm(ms, () => {
      if (lane === this.#lane && !lane.isOpen) this.#help(`it was not open within ${String(Math.round(ms))} ms`);
    });
  }

  #await(what: 'words' | 'final'): void {
    this.#awaited = what;
    this.#awaitedSinceMs = this.#options.clock.nowMs();
    const lane = this.#lane;
    if (lane?.isOpen !== true) return;
    const { words, first } = lane.entry.health;
    const ms = what === 'words' ? words.deadlineMs(WORDS) : first.deadlineMs(FINAL);
    this.#arm(ms, () => {
      if (this.#awaited !== what) return;
      const wanted = what === 'words' ? 'words' : 'final words';
      this.#help(`no ${wanted} within ${String(Math.round(ms))} ms`);
    });
  }

  #got(): void {
    this.#awaited = null;
    if (this.#lane?.isOpen === true) this.#due();
  }

  #help(reason: string): void {
    if (this.#helper !== null || this.#lane === null || this.#closed) return;
    // A speech-to-speech model needs this stream to get audio: it is replaced when it fails, not when it is slow.
    if (this.#lane.entry.provider.abilities?.feedsModel === true) return;
    const next = this.#next(this.#lane);
    if (next !== null) this.#helper = { lane: this.#start(next), reason };
  }

  /** The hedge was faster, or the only one left (`hasFailed`): it becomes the active provider. */
  #promote(hasFailed = false): void {
    const helper = this.#helper;
    const slow = this.#lane;
    if (helper === null || slow === null) return;
    this.#helper = null;
    this.#lane = this.#listening(helper.lane);
    this.#reportSwitch(slow.entry, helper.lane.entry, helper.reason);
    slow.entry.health.breaker.failed(this.#options.clock.nowMs());
    if (!hasFailed) this.#events.onOutcome?.({ provider: slow.entry.provider.name, failed: 'late' });
    void slow.close().catch(() => undefined);
    if (!this.#lane.isOpen) this.#awaitOpen(this.#lane);
  }

  /** Cancels the hedge. */
  #dismiss(): void {
    const helper = this.#helper?.lane;
    this.#helper = null;
    helper?.entry.health.breaker.abandoned();
    void helper?.close().catch(() => undefined);
  }

  /** Reports which provider is active. */
  #listening(lane: SttAttempt): SttAttempt {
    const { provider, options } = lane.entry;
    this.#events.onListener?.({ provider: provider.name, model: (options ?? this.#options).model ?? null });
    return lane;
  }

  #reportSwitch(from: SttEntry, to: SttEntry, reason: string): void {
    this.#options.onSwitch({ stage: 'stt', from: from.provider.name, to: to.provider.name, reason });
  }

  #arm(ms: number, then: () => void): void {
    const { clock } = this.#options;
    this.#due();
    this.#due = clock.schedule(clock.nowMs() + ms, then);
  }
}

export interface SttEntry {
  provider: SttProvider;
  /** Options to use as a fallback. Default: those of the session. */
  options?: Pick<SttOptions, 'model' | 'multilingual'>;
  health: Health;
}

export interface SttAttemptEvents extends SttEvents {
  onOpen: () => void;
}

/** Timeout for opening a stream. */
const OPEN_TIMEOUT_MS = 6000;

/** One provider's stream for a session: opening, open or closed. */
export class SttAttempt {
  readonly entry: SttEntry;
  readonly startedMs: number;
  readonly #options: SttOptions;
  readonly #events: SttAttemptEvents;
  readonly #abort = new AbortController();
  #stream: SttStream | null = null;
  #over = false;
  #openDue: Cancel = () => undefined;
  /** Index of its first segment in the current turn, and of its last one in earlier turns. */
  #firstOfTurn: number | null = null;
  #lastBefore = -1;
  #lastSeen = -1;

  constructor(entry: SttEntry, options: SttOptions, events: SttAttemptEvents) {
    this.entry = entry;
    this.#options = options;
    this.#events = events;
    this.startedMs = options.clock.nowMs();
  }

  get isOpen(): boolean {
    return this.#stream !== null && !this.#over;
  }

  /** Opens the stream and replays the audio of the turn so far. */
  start(heard: HeardAudio): void {
    const { clock, signal, model: _model, multilingual: _multilingual, ...rest } = this.#options;
    const { provider, health, options } = this.entry;
    const asked = options === undefined ? this.#options : { ...rest, ...options };
    health.breaker.begin(this.startedMs);
    this.#openDue = clock.schedule(this.startedMs + OPEN_TIMEOUT_MS, () => {
      this.#fail(new ParleyError('PROVIDER_TIMEOUT', { provider: provider.name, timeoutMs: OPEN_TIMEOUT_MS }));
    });
    const opening = (async () =>
      provider.open(
        { ...asked, clock, signal: AbortSignal.any([signal, this.#abort.signal]) },
        {
          onTranscript: (transcript) => this.#onTranscript(transcript),
          onTurnEnds: (probability) => {
            if (!this.#over) this.#events.onTurnEnds?.(probability);
          },
          onFault: (reason) => this.#events.onFault?.(reason),
          onError: (error) => this.#fail(error),
        },
      ))();
    opening.then(
      (stream) => {
        this.#openDue();
        if (this.#over) {
          void stream.close().catch(() => undefined);
          return;
        }
        this.#stream = stream;
        health.open.add(clock.nowMs() - this.startedMs);
        this.#events.onOpen();
        this.tell((open) => heard.replayTo(open));
      },
      (error: unknown) => this.#fail(errorOf(error)),
    );
  }

  /** Passes a call on to the stream, if it is open. */
  tell(say: (stream: SttStream) => void): void {
    if (this.#stream === null || this.#over) return;
    try {
      say(this.#stream);
    } catch (error) {
      this.#fail(errorOf(error));
    }
  }

  endTurn(): void {
    this.#lastBefore = this.#lastSeen;
    this.#firstOfTurn = null;
    this.tell((stream) => stream.endTurn());
  }

  /** Index of the transcript's segment within the turn, from 0; null = it belongs to an earlier turn. */
  place({ segment }: SttTranscript): number | null {
    if (segment <= this.#lastBefore) return null;
    this.#lastSeen = Math.max(this.#lastSeen, segment);
    this.#firstOfTurn ??= segment;
    return Math.max(0, segment - this.#firstOfTurn);
  }

  async close(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    this.#openDue();
    this.#abort.abort(new DOMException('Another recogniser listens', 'AbortError'));
    await this.#stream?.close();
  }

  #onTranscript(transcript: SttTranscript): void {
    if (!this.#over) this.#events.onTranscript(transcript);
  }

  #fail(error: Error): void {
    if (this.#over || this.#options.signal.aborted) return;
    this.#over = true;
    this.#openDue();
    this.#abort.abort(error);
    void this.#stream?.close().catch(() => undefined);
    this.#events.onError(error);
  }
}
