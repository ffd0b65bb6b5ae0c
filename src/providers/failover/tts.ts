import { reasonOf } from '../../errors.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice, TtsVoiceChoice } from '../tts/tts.js';
import type { Health, Switch } from './health.js';
import { hedged } from './hedge.js';
import type { DeadlineBounds } from './latency-window.js';
import { Take } from './take.js';

export interface TtsEntry {
  provider: TtsProvider;
  /** Whom it speaks as in another's place. Default: as the request says, which only the agent's own provider understands. */
  voice?: Pick<TtsRequest, 'voiceId' | 'model' | 'settings'>;
  health: Health;
}

export interface FailoverTtsOptions {
  /** The agent's own voice first. At least one. */
  entries: readonly TtsEntry[];
  onSwitch: (what: Switch) => void;
  /** Until the first audio. Default 1500 ms at first, then 300 to 3000. */
  bounds?: DeadlineBounds;
}

const BOUNDS: DeadlineBounds = { defaultMs: 1500, minMs: 300, maxMs: 3000 };

/**
 * Several voices as one, for one session. What is to be said comes sentence by sentence: each is spoken by one voice from
 * its beginning. Where a voice gives no audio, or later than it ever does, the next in line speaks the sentence, and all
 * that follow: a voice that changed once does not change back. Where one falls silent in the middle, the next says the
 * sentence again from its beginning.
 */
export class FailoverTts implements TtsProvider {
  readonly name: string;
  readonly virtualTime: boolean;
  readonly hasModels: boolean;
  readonly wordTimes: boolean;
  readonly multilingual: boolean;
  readonly #options: FailoverTtsOptions;
  readonly #own: TtsProvider;
  /** Who spoke last. */
  #current: TtsEntry;

  constructor(options: FailoverTtsOptions) {
    this.#options = options;
    this.#current = options.entries[0] as TtsEntry;
    this.#own = this.#current.provider;
    this.name = this.#own.name;
    this.hasModels = this.#own.hasModels === true;
    this.wordTimes = this.#own.wordTimes === true;
    // One that names no languages speaks all with each voice.
    this.multilingual = this.#own.multilingual ?? this.#own.speaks === undefined;
    this.virtualTime = options.entries.every(({ provider }) => provider.virtualTime);
  }

  /** Warms up all; one is all it needs. */
  async warmUp(voice?: TtsVoiceChoice): Promise<void> {
    const all = this.#options.entries.map((entry) =>
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
    const { entries } = this.#options;
    const take = new Take(request.clock);
    /** Those who have not fallen silent in this sentence. */
    let left = [this.#current, ...entries.filter((entry) => entry !== this.#current)];
    for (;;) {
      const abort = new AbortController();
      const signal = AbortSignal.any([request.signal, abort.signal]);
      try {
        const pieces = take.play(this.#ask({ ...request, signal }, left), () => this.#current.provider.name);
        for await (const piece of pieces) yield this.#signed(piece);
        return;
      } catch (error) {
        const broken = this.#current;
        if (take.fellSilent) broken.health.failed(request.clock.nowMs(), error);
        left = left.filter((entry) => entry !== broken);
        const next = left[0];
        if (request.signal.aborted || !take.hasBegun || next === undefined) throw error;
        this.#current = next;
        this.#told(broken, next, error);
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

  #ask(request: TtsRequest, entries: readonly TtsEntry[]): AsyncGenerator<TtsAudio, void, undefined> {
    const { onSwitch, bounds = BOUNDS } = this.#options;
    const contenders = entries.map((entry) => ({
      entry,
      name: entry.provider.name,
      health: entry.health,
      start: (signal: AbortSignal) => entry.provider.synthesize({ ...request, ...entry.voice, signal }),
    }));
    return hedged({
      stage: 'tts',
      contenders,
      isResult: ({ samples }) => samples.length > 0,
      ...{ bounds, onSwitch, clock: request.clock, signal: request.signal },
      onWinner: (winner) => {
        this.#current = contenders.find((one) => one.name === winner.name)?.entry ?? this.#current;
      },
    });
  }

  /** With who speaks, where that is a stand-in. */
  #signed(piece: TtsAudio): TtsAudio {
    const { provider, voice } = this.#current;
    if (voice === undefined) return piece;
    return { ...piece, by: { provider: provider.name, model: voice.model } };
  }

  #told(from: TtsEntry, to: TtsEntry, error: unknown): void {
    const reason = `in the middle of a sentence: ${reasonOf(error)}`;
    this.#options.onSwitch({ stage: 'tts', from: from.provider.name, to: to.provider.name, reason });
  }
}
