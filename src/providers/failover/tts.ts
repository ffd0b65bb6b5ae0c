import { reasonOf, ParleyError } from '../../base/errors.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice, TtsVoiceChoice, TtsWord } from '../tts/tts.js';
import type { Health, Switch, DeadlineBounds } from './health.js';
import { type Contender, hedged } from './hedge.js';
import type { Cancel, Clock } from '../../base/clock.js';

export interface TtsEntry {
  provider: TtsProvider;
  /** Voice to use as a fallback. Default: that of the request, which only the agent's own provider understands. */
  voice?: Pick<TtsRequest, 'voiceId' | 'model' | 'settings'>;
  health: Health;
  /**
   * Retry this entry once on another connection, if it fails or is slow, before falling back to the next. Default
   * false.
   */
  again?: boolean;
  /**
   * Last resort: speaks, in the languages it supports, when all others have failed or none has produced audio for a
   * long time. Never becomes the current voice.
   */
  last?: boolean;
}

export interface FailoverTtsOptions {
  /** The agent's own voice first. At least one. */
  entries: readonly TtsEntry[];
  onSwitch: (what: Switch) => void;
  /** Deadline for the first audio. Default 1500 ms at first, then 300 to 3000. */
  bounds?: DeadlineBounds;
}

const BOUNDS: DeadlineBounds = { defaultMs: 1500, minMs: 300, maxMs: 3000 };

/** Delay of the last-resort voice after the first voice is late: it is for outages, not for short delays … */
const LAST_AFTER_MS = 900;
/** … within these bounds, from the start of the sentence. */
const LAST_BY = { minMs: 2400, maxMs: 3200 };
/**
 * After the last-resort voice has spoken once, it waits for the usual latency of the others, within these bounds: they
 * may have recovered.
 */
const LAST_BY_AGAIN: DeadlineBounds = { defaultMs: 600, minMs: 600, maxMs: 1500 };

/**
 * TTS with fallbacks, for one session. Text arrives sentence by sentence, and one voice speaks each sentence from its
 * beginning. If a voice returns no audio, or exceeds its usual latency, the next one speaks this sentence and all that
 * follow: the voice never changes back. If a voice stops in the middle, the next one repeats the sentence from its
 * beginning. A last-resort voice speaks only the sentence that no other voice delivers in time.
 */
export class FailoverTts implements TtsProvider {
  readonly name: string;
  readonly virtualTime: boolean;
  readonly tellsOutcomes = true;
  readonly hasModels: boolean;
  readonly wordTimes: boolean;
  readonly multilingual: boolean;
  readonly #options: FailoverTtsOptions;
  readonly #own: TtsProvider;
  readonly #entries: readonly TtsEntry[];
  readonly #lasts: readonly TtsEntry[];
  /** The current voice, and the one before the last-resort voice. */
  #current: TtsEntry;
  #chosen: TtsEntry;

  constructor(options: FailoverTtsOptions) {
    this.#options = options;
    this.#entries = options.entries.filter(({ last = false }) => !last);
    this.#lasts = options.entries.filter(({ last = false }) => last);
    this.#current = options.entries[0] as TtsEntry;
    this.#chosen = this.#current;
    this.#own = this.#current.provider;
    this.name = this.#own.name;
    this.hasModels = this.#own.hasModels === true;
    this.wordTimes = this.#own.wordTimes === true;
    // A provider without a list of languages supports all of them with each voice.
    this.multilingual = this.#own.multilingual ?? this.#own.speaks === undefined;
    this.virtualTime = options.entries.every(({ provider }) => provider.virtualTime);
  }

  /**
   * Warms up all entries; one success is enough. Does not wait for the last-resort voice, which may never be needed.
   */
  async warmUp(voice?: TtsVoiceChoice): Promise<void> {
    for (const { provider } of this.#lasts) void provider.warmUp().catch(() => undefined);
    const all = this.#entries.map((entry) =>
      entry.provider.warmUp(voice === undefined ? undefined : { ...voice, ...entry.voice }),
    );
    await Promise.any(all).catch((error: unknown) => {
      throw error instanceof AggregateError ? error.errors[0] : error;
    });
  }

  checkSettings(settings: TtsRequest['settings'], voiceId: string | null): void {
    this.#own.checkSettings?.(settings, voiceId);
  }

  async *synthesize(request: TtsRequest): AsyncGenerator<TtsAudio, void, undefined> {
    const take = new UtteranceStitcher(request.clock);
    const last = await this.#lastFor(request.language);
    /** Voices that have not failed in this sentence, and those among them that may be retried. */
    let left = [this.#chosen, ...this.#entries.filter((entry) => entry !== this.#chosen), ...last];
    const again = new Set<TtsEntry>();
    for (;;) {
      const abort = new AbortController();
      const signal = AbortSignal.any([request.signal, abort.signal]);
      try {
        const pieces = take.play(this.#ask({ ...request, signal }, left, again), () => this.#current.provider.name);
        for await (const piece of pieces) yield this.#signed(piece);
        return;
      } catch (error) {
        const broken = this.#current;
        if (take.fellSilent) {
          broken.health.failed(request.clock.nowMs(), error);
          request.onOutcome?.({ provider: broken.provider.name, failed: 'late' });
        }
        if (broken.again === true && !again.has(broken)) again.add(broken);
        else left = left.filter((entry) => entry !== broken);
        const next = left[0];
        if (request.signal.aborted || !take.hasBegun || next === undefined) throw error;
        this.#use(next);
        this.#reportSwitch(broken, next, error);
        take.again();
      } finally {
        abort.abort(new DOMException('This take is over', 'AbortError'));
      }
    }
  }

  async speaks(language: string): Promise<boolean> {
    return (await this.#own.speaks?.(language)) ?? true;
  }

  voices(): readonly TtsVoice[] {
    return this.#own.voices();
  }

  async close(): Promise<void> {
    await Promise.all(this.#options.entries.map(({ provider }) => provider.close()));
  }

  /** @param again the entry that broke off in this sentence and is retried */
  #ask(
    request: TtsRequest,
    entries: readonly TtsEntry[],
    again: ReadonlySet<TtsEntry>,
  ): AsyncGenerator<TtsAudio, void, undefined> {
    const { onSwitch, bounds = BOUNDS } = this.#options;
    const isLast = this.#current.last === true;
    const { first } = this.#chosen.health;
    const byMs = isLast
      ? first.deadlineMs(LAST_BY_AGAIN)
      : Math.min(LAST_BY.maxMs, Math.max(LAST_BY.minMs, first.deadlineMs(bounds) + LAST_AFTER_MS));
    const contenders = entries.flatMap((entry) => {
      const { provider, voice, health, last = false } = entry;
      const contender = (isAgain: boolean): Contender<TtsAudio> & { entry: TtsEntry } => ({
        entry,
        name: provider.name,
        provider: provider.name,
        health,
        start: (signal) => provider.synthesize({ ...request, ...voice, signal, again: isAgain }),
        byMs: last ? byMs : undefined,
      });
      if (again.has(entry)) return [contender(true)];
      if (entry.again !== true || isLast) return [contender(false)];
      return [contender(false), { ...contender(true), again: true }];
    });
    return hedged({
      stage: 'tts',
      contenders,
      isResult: ({ samples }) => samples.length > 0,
      bounds,
      onSwitch,
      onOutcome: request.onOutcome,
      clock: request.clock,
      signal: request.signal,
      onWinner: (winner) => this.#use(contenders.find((one) => one === winner)?.entry ?? this.#current),
    });
  }

  #use(entry: TtsEntry): void {
    this.#current = entry;
    if (entry.last !== true) this.#chosen = entry;
  }

  /** The last-resort voice for a language, if there is one. */
  async #lastFor(language: string): Promise<TtsEntry[]> {
    for (const entry of this.#lasts) {
      if ((await entry.provider.speaks?.(language).catch(() => false)) !== false) return [entry];
    }
    return [];
  }

  /** Adds the provider, if it is a fallback. */
  #signed(piece: TtsAudio): TtsAudio {
    const { provider, voice } = this.#current;
    if (voice === undefined) return piece;
    return { ...piece, by: { provider: provider.name, model: voice.model } };
  }

  #reportSwitch(from: TtsEntry, to: TtsEntry, error: unknown): void {
    const reason = `in the middle of a sentence: ${reasonOf(error)}`;
    this.#options.onSwitch({ stage: 'tts', from: from.provider.name, to: to.provider.name, reason });
  }
}

/** The voice counts as silent when a listener would have run out of audio for this long. */
const SILENT_MS = 700;

/**
 * Joins the audio of one sentence that several voices may speak. Each word is reported once, at the time it is first
 * spoken, even if a later voice repeats it.
 */
export class UtteranceStitcher {
  readonly #clock: Clock;
  /** When the current voice's first audio arrived; null before. */
  #startMs: number | null = null;
  /** Total audio of all voices, and the offset where the current one began. */
  #audioMs = 0;
  #fromMs = 0;
  /** The current voice delivered less audio than a listener would have played. */
  fellSilent = false;
  /** Words that have been reported, and how many of them the current voice has repeated. */
  #reported = 0;
  #repeated = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the listener may have heard part of the sentence. */
  get hasBegun(): boolean {
    return this.#audioMs > 0;
  }

  /** Another voice restarts the sentence. */
  again(): void {
    this.#fromMs = this.#audioMs;
    this.#startMs = null;
    this.#repeated = 0;
    this.fellSilent = false;
  }

  /**
   * @param provider name of the current voice's provider
   * @throws ParleyError PROVIDER_TIMEOUT if the voice falls silent
   */
  async *play(pieces: AsyncIterator<TtsAudio>, provider: () => string): AsyncGenerator<TtsAudio, void, undefined> {
    try {
      for (;;) {
        const next = await this.#next(pieces, provider);
        if (next.done === true) return;
        const { samples, sampleRateHz, words } = next.value;
        if (samples.length > 0) this.#startMs ??= this.#clock.nowMs();
        this.#audioMs += (samples.length * 1000) / sampleRateHz;
        const placed = words === undefined ? [] : this.#placed(words);
        yield placed.length > 0 ? { samples, sampleRateHz, words: placed } : { samples, sampleRateHz };
      }
    } finally {
      void pieces.return?.()?.then(undefined, () => undefined);
    }
  }

  #placed(words: readonly TtsWord[]): TtsWord[] {
    const known = Math.min(words.length, this.#reported - this.#repeated);
    this.#repeated += known;
    const fresh = words.slice(known);
    this.#reported += fresh.length;
    this.#repeated += fresh.length;
    return fresh.map(({ text, startMs, endMs }) => ({
      text,
      startMs: this.#fromMs + startMs,
      endMs: this.#fromMs + endMs,
    }));
  }

  async #next(pieces: AsyncIterator<TtsAudio>, provider: () => string): Promise<IteratorResult<TtsAudio>> {
    const next = pieces.next();
    const startMs = this.#startMs;
    // Before its first audio, a voice is subject to its own deadline.
    if (startMs === null) return next;
    let cancel: Cancel = () => undefined;
    const silent = new Promise<never>((_resolve, reject) => {
      // Counts from when the listener has heard all audio so far.
      const heardMs = Math.max(this.#clock.nowMs(), startMs + this.#audioMs - this.#fromMs);
      cancel = this.#clock.schedule(heardMs + SILENT_MS, () => {
        this.fellSilent = true;
        reject(new ParleyError('PROVIDER_TIMEOUT', { provider: provider(), timeoutMs: SILENT_MS }));
      });
    });
    try {
      return await Promise.race([next, silent]);
    } finally {
      cancel();
      next.catch(() => undefined);
    }
  }
}
