import { readFile } from 'node:fs/promises';
import { packageFile } from '../../../package-files.js';
import type { SpeechHints } from '../stt.js';
import { compileGrammar, type Grammar } from '../lm/fsg.js';
import { backgroundCorpus, corpusOf, type Corpus } from '../lm/hints.js';
import { trainNgram } from '../lm/ngram.js';
import { parsePhraseList, type PhraseList } from '../lm/phrase-list.js';
import { guessPronunciation } from '../lm/pronounce.js';
import type { SpeechLanguage } from '../lm/text.js';
import { SpeechDecoder } from './decoder.js';
import { GARBAGE_PROBABILITY } from './gate.js';
import type { VocabularyReport } from './protocol.js';
import { loadSoundSwallower, type SoundSwallower } from './soundswallower.js';

/** A decoder on loan. */
export interface Loan {
  readonly decoder: SpeechDecoder;
  readonly report: VocabularyReport;
}

interface Slot {
  readonly decoder: SpeechDecoder;
  readonly language: SpeechLanguage;
  /** Key of the grammar that is loaded; empty for none. */
  grammar: string;
  /** Words that this decoder's dictionary was given. */
  readonly added: Set<string>;
}

interface Background {
  readonly list: PhraseList;
  readonly corpus: Corpus;
}

interface Compiled {
  readonly grammar: Grammar;
  readonly added: readonly (readonly [word: string, phones: string])[];
  readonly report: VocabularyReport;
}

const BACKGROUND: Readonly<Record<SpeechLanguage, string>> = { en: 'data/stt/en-us.txt', fr: 'data/stt/fr-fr.txt' };
/** Compiled grammars that are kept, the most recently used ones: some hundred kB each. */
const MAX_COMPILED = 32;

/**
 * The worker's decoders: made when needed, lent to one stream at a time, kept for the next. A decoder that already
 * holds the agent's grammar is preferred, so that an agent's second call costs nothing.
 */
export class DecoderPool {
  readonly #idle: Slot[] = [];
  readonly #lent = new Map<SpeechDecoder, Slot>();
  readonly #compiled = new Map<string, Compiled>();
  readonly #backgrounds = new Map<SpeechLanguage, Background>();
  #module: Promise<SoundSwallower> | undefined;

  /** Has one decoder of the language ready, with the background vocabulary alone. */
  async warm(language: SpeechLanguage): Promise<void> {
    if (this.#idle.some((slot) => slot.language === language)) return;
    const loan = await this.borrow(language, { phrases: [], texts: [], keywords: new Map() });
    this.giveBack(loan.decoder);
  }

  async borrow(language: SpeechLanguage, hints: SpeechHints): Promise<Loan> {
    const key = JSON.stringify([language, hints.phrases, hints.texts, [...hints.keywords]]);
    const background = await this.#background(language);
    const slot = this.#takeIdle(language, key) ?? (await this.#make(language));
    this.#lent.set(slot.decoder, slot);
    try {
      const compiled = this.#compile(key, hints, background, slot);
      if (slot.grammar === key) {
        await slot.decoder.forgetSpeaker();
        return { decoder: slot.decoder, report: compiled.report };
      }
      const missing = compiled.added.filter(([word]) => !slot.added.has(word));
      slot.decoder.addWords(missing);
      for (const [word] of missing) slot.added.add(word);
      slot.grammar = '';
      slot.decoder.setGrammar(compiled.grammar);
      slot.grammar = key;
      await slot.decoder.forgetSpeaker();
      return { decoder: slot.decoder, report: compiled.report };
    } catch (error) {
      this.#lent.delete(slot.decoder);
      slot.decoder.close();
      throw error;
    }
  }

  giveBack(decoder: SpeechDecoder): void {
    const slot = this.#lent.get(decoder);
    if (slot === undefined) return;
    this.#lent.delete(decoder);
    decoder.endUtterance();
    this.#idle.push(slot);
  }

  #takeIdle(language: SpeechLanguage, key: string): Slot | undefined {
    let index = this.#idle.findIndex((slot) => slot.grammar === key);
    if (index < 0) index = this.#idle.findIndex((slot) => slot.language === language);
    return index < 0 ? undefined : this.#idle.splice(index, 1)[0];
  }

  async #make(language: SpeechLanguage): Promise<Slot> {
    this.#module ??= loadSoundSwallower();
    return { decoder: await SpeechDecoder.load(await this.#module, language), language, grammar: '', added: new Set() };
  }

  async #background(language: SpeechLanguage): Promise<Background> {
    let background = this.#backgrounds.get(language);
    if (background === undefined) {
      const list = parsePhraseList(await readFile(packageFile(BACKGROUND[language]), 'utf8'));
      background = { list, corpus: backgroundCorpus(list) };
      this.#backgrounds.set(language, background);
    }
    return background;
  }

  #compile(key: string, hints: SpeechHints, background: Background, slot: Slot): Compiled {
    const known = this.#compiled.get(key);
    this.#compiled.delete(key);
    const compiled = known ?? compile(hints, background, slot);
    this.#compiled.set(key, compiled);
    const oldest = this.#compiled.keys().next();
    if (this.#compiled.size > MAX_COMPILED && !oldest.done) this.#compiled.delete(oldest.value);
    return compiled;
  }
}

function compile(hints: SpeechHints, background: Background, slot: Slot): Compiled {
  const { decoder, language } = slot;
  const corpus = corpusOf(hints, background.list, background.corpus, language);
  const added: (readonly [string, string])[] = [];
  const leftOut: string[] = [];
  const pronunciations = (word: string): readonly string[] => {
    // A word that this decoder was given for another agent is new to the next decoder that loads this grammar.
    const entries = slot.added.has(word) ? [] : decoder.pronunciations(word);
    if (entries.length > 0) return entries;
    const phones = language === 'en' ? guessPronunciation(word) : null;
    if (phones === null) {
      leftOut.push(word);
      return [];
    }
    added.push([word, phones]);
    return [word];
  };
  const model = trainNgram(corpus.sentences, corpus.words);
  const grammar = compileGrammar(model, {
    pronunciations,
    classes: background.list.wordClasses,
    garbage: decoder.garbage,
    garbageProbability: GARBAGE_PROBABILITY,
  });
  const report = {
    words: new Set(grammar.labels.map((label) => label.replace(/\(\d+\)$/, ''))).size - decoder.garbage.length,
    states: grammar.stateCount,
    guessed: added.map(([word]) => word),
    leftOut,
  };
  return { grammar, added, report };
}
