import type { ExpectedAnswer } from '../../../agent/expected-answer.js';
import type { SpeechLanguage } from '../lm/text.js';
import { SpeechDecoder, type SpeakerMean, type SoundSwallower } from './decoder.js';
import { judge, type Vocabulary } from './vocabulary.js';
import type { Hypothesis } from './protocol.js';

/** A decoder as the pool leases it: for one turn of one session. */
export interface TurnDecoder {
  readonly language: SpeechLanguage;
  /** Replaces words and grammar. Throws if the decoder rejects them. */
  load(vocabulary: Vocabulary): void;
  /**
   * Begins a turn.
   * @param speaker null = no speaker adaptation yet
   * @param answer what the agent has asked for; null = anything
   */
  start(speaker: SpeakerMean | null, answer: ExpectedAnswer | null): void;
  feed(samples: Int16Array): void;
  hypothesis(): Hypothesis;
  readonly speaker: SpeakerMean;
  /** Discards the turn. May be called when none is running. */
  stop(): void;
  close(): void;
}

/** The decoder of the soundswallower package. */
export class SoundSwallowerDecoder implements TurnDecoder {
  readonly language: SpeechLanguage;
  readonly #decoder: SpeechDecoder;
  readonly #stranger: SpeakerMean;
  readonly #words = new Set<string>();

  private constructor(language: SpeechLanguage, decoder: SpeechDecoder) {
    this.language = language;
    this.#decoder = decoder;
    this.#stranger = decoder.speaker;
  }

  static async make(module: SoundSwallower, language: SpeechLanguage): Promise<SoundSwallowerDecoder> {
    return new SoundSwallowerDecoder(language, await SpeechDecoder.load(module, language));
  }

  get speaker(): SpeakerMean {
    return this.#decoder.speaker;
  }

  load({ words, grammar }: Vocabulary): void {
    const missing = words.filter(([entry]) => !this.#words.has(entry));
    this.#decoder.addWords(missing);
    for (const [entry] of missing) this.#words.add(entry);
    this.#decoder.setGrammar(grammar);
  }

  start(speaker: SpeakerMean | null, answer: ExpectedAnswer | null): void {
    this.#decoder.startUtterance(answer);
    this.#decoder.speaker = speaker ?? this.#stranger;
  }

  feed(samples: Int16Array): void {
    this.#decoder.feed(samples);
  }

  hypothesis(): Hypothesis {
    return judge(this.#decoder.bestPath());
  }

  stop(): void {
    this.#decoder.endUtterance();
  }

  close(): void {
    this.#decoder.close();
  }
}
