import type { Cancel } from '../../base/clock.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import type { SttEvents, SttOptions, SttStream, SttTranscript } from '../stt/stt.js';
import { allFailed, inOrder, type Switch } from './health.js';
import { HeardAudio } from './heard-audio.js';
import type { DeadlineBounds } from './latency-window.js';
import { type SttEntry, SttAttempt } from './stt-attempt.js';

export interface FailoverStreamOptions extends SttOptions {
  /** At least one. */
  entries: readonly SttEntry[];
  onSwitch: (what: Switch) => void;
}

/** Until a stream is open, until the first words of somebody who speaks, until the final ones of somebody who stopped. */
const OPEN: DeadlineBounds = { defaultMs: 2000, minMs: 500, maxMs: 4000 };
const WORDS: DeadlineBounds = { defaultMs: 2500, minMs: 1200, maxMs: 4000 };
const FINAL: DeadlineBounds = { defaultMs: 700, minMs: 300, maxMs: 2000 };
/** So often every provider is tried in one turn, before there is nobody left. */
const ROUNDS = 2;

/**
 * A session's ears, whoever listens: one provider, and for as long as that is late another one beside it, which hears the
 * turn from its beginning. The first to have the words that are waited for goes on alone. Where one fails, the next hears
 * what the user has said since the turn began.
 */
export class FailoverStream implements SttStream {
  readonly #options: FailoverStreamOptions;
  readonly #events: SttEvents;
  readonly #heard = new HeardAudio();
  #lane: SttAttempt | null = null;
  #helper: { lane: SttAttempt; reason: string } | null = null;
  /** What everybody waits for, and since when. */
  #awaited: 'words' | 'final' | null = null;
  #awaitedSinceMs = 0;
  #due: Cancel = () => undefined;
  /** Segments as the session knows them: the first one of this turn, and the last one that was told. */
  #turnSegment: number | null = null;
  #lastSegment = -1;
  /** Streams that were started since the turn began, or something was understood. */
  #tries = 0;
  /** Streams that said nothing to what they were told, since something was understood: turns may go by meanwhile. */
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
    // Who has understood something of this turn listens.
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
    // Whoever was late is late for nothing now.
    this.#dismiss();
    this.#turnSegment = null;
    this.#tries = 0;
    this.#errors = [];
    this.#got();
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
      onError: (error) => this.#onError(lane, error),
    });
    // Not before the lane is known here: a provider may answer at once.
    queueMicrotask(() => lane.start(this.#heard));
    return lane;
  }

  #onOpen(lane: SttAttempt): void {
    if (this.#closed) return;
    // Whoever opens first listens.
    if (this.#settleOpening !== null && this.#helper?.lane === lane) this.#promote();
    this.#settleOpening?.(null);
    this.#settleOpening = null;
    if (lane !== this.#lane) return;
    this.#due();
    // The time of whoever had it before does not count against it.
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
      // An empty answer is no better than none.
      if (!isAwaited || transcript.text === '') return;
      this.#promote();
    }
    if (lane !== this.#lane) return;
    if (transcript.text !== '') this.#deaf = 0;
    if (isAwaited) {
      const { health } = lane.entry;
      const tookMs = this.#options.clock.nowMs() - this.#awaitedSinceMs;
      // A helper was asked late: how long it all took tells nothing of it.
      if (!helped) (this.#awaited === 'final' ? health.first : health.words).add(tookMs);
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
    this.#errors.push({ name: lane.entry.provider.name, error });
    if (error instanceof ParleyError && error.code === 'PROVIDER_TIMEOUT') this.#deaf++;
    if (lane === this.#helper?.lane) {
      this.#helper = null;
      return;
    }
    if (lane !== this.#lane) return;
    if (this.#helper !== null) {
      this.#helper.reason = reasonOf(error);
      this.#promote();
      return;
    }
    const next = this.#next(lane);
    if (next === null) {
      this.#giveUp();
      return;
    }
    this.#told(lane.entry, next, reasonOf(error));
    this.#lane = this.#listening(this.#start(next));
    this.#awaitOpen(this.#lane);
  }

  /** Who is asked after `lane`: the next in the list that does well, in the end itself again; null = all have been. */
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

  /** Somebody is asked to help as soon as `lane` takes longer than it ever does. */
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
    // Without these ears the model would hear nothing: they are replaced where they fail, not where they are slow.
    if (this.#lane.entry.provider.abilities?.feedsModel === true) return;
    const next = this.#next(this.#lane);
    if (next !== null) this.#helper = { lane: this.#start(next), reason };
  }

  /** The helper was first: from here on it listens alone. */
  #promote(): void {
    const helper = this.#helper;
    const slow = this.#lane;
    if (helper === null || slow === null) return;
    this.#helper = null;
    this.#lane = this.#listening(helper.lane);
    this.#told(slow.entry, helper.lane.entry, helper.reason);
    slow.entry.health.breaker.failed(this.#options.clock.nowMs());
    void slow.close().catch(() => undefined);
    if (!this.#lane.isOpen) this.#awaitOpen(this.#lane);
  }

  /** No help is needed any more. */
  #dismiss(): void {
    const helper = this.#helper?.lane;
    this.#helper = null;
    helper?.entry.health.breaker.abandoned();
    void helper?.close().catch(() => undefined);
  }

  /** Tells who listens. */
  #listening(lane: SttAttempt): SttAttempt {
    const { provider, options } = lane.entry;
    this.#events.onListener?.({ provider: provider.name, model: (options ?? this.#options).model ?? null });
    return lane;
  }

  #told(from: SttEntry, to: SttEntry, reason: string): void {
    this.#options.onSwitch({ stage: 'stt', from: from.provider.name, to: to.provider.name, reason });
  }

  #arm(ms: number, then: () => void): void {
    const { clock } = this.#options;
    this.#due();
    this.#due = clock.schedule(clock.nowMs() + ms, then);
  }
}
