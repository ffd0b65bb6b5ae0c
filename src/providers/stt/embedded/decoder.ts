import { readFileSync } from 'node:fs';
import type { Grammar } from '../lm/fsg.js';
import type { SpeechLanguage } from '../lm/text.js';
import { allocateText, readText, type NativeDecoder, type SoundSwallower } from './soundswallower.js';

/** One piece of the best path so far. Times are frames of 10 ms from the utterance's start, both ends included. */
export interface DecodedSegment {
  /** The word, a filler such as `<sil>`, or empty for a garbage phone. */
  readonly word: string;
  readonly kind: 'word' | 'silence' | 'garbage';
  readonly startFrame: number;
  readonly endFrame: number;
  /** Log-likelihood of the audio (natural logarithm), relative to the best sound that was tried in each frame. */
  readonly acoustic: number;
  /** Weighted log-probability of the arcs that led here, back-offs included. */
  readonly language: number;
}

/** Samples in one of the decoder's frames, at 16 kHz. */
export const FRAME_SAMPLES = 160;

const MODEL_FOLDER: Readonly<Record<SpeechLanguage, string>> = { en: 'en-us', fr: 'fr-fr' };
/**
 * Mean of the spectrum (cepstra) that a session begins with, until it has heard its own speaker and line: the one the
 * authors of the English acoustic model give with it. The French one has none; the decoder's default is used.
 */
const INITIAL_MEAN: Readonly<Record<SpeechLanguage, string>> = {
  en: '41.00,-5.29,-0.12,5.09,2.48,-4.07,-1.37,-1.78,-5.08,-2.05,-6.45,-1.42,1.17',
  fr: '40,3,-1',
};
/** Language weight: how much a word's probability counts beside its sound. PocketSphinx's default. */
const LANGUAGE_WEIGHT = 6.5;
/** Scores come in units of 1024 steps of the logarithm's base 1.0001. */
const SCORE_UNIT = 1024 * Math.log(1.0001);
/**
 * How far behind the best a path may fall and still be followed. With the word beam as narrow as the decoder's default
 * (7e-29) a back-off alone can end a path: its probability counts with the language weight as its power.
 */
const BEAMS = { beam: 1e-56, pbeam: 1e-50, wbeam: 1e-36 } as const;
const GARBAGE = '+g:';

/** Offsets (in 32-bit words) in the C struct `seg_iter_s` of soundswallower 0.6.3. */
const SEGMENT = { word: 2, startFrame: 3, endFrame: 4, acoustic: 5, language: 6 } as const;

/** One recogniser: an acoustic model, a dictionary and the grammar it was last given. About 60 MB with the grammar of a typical agent. */
export class SpeechDecoder {
  /** Names of the one-phone words of this language, for the grammar's garbage loop. */
  readonly garbage: readonly string[];
  readonly #module: SoundSwallower;
  readonly #native: NativeDecoder;
  #buffer = 0;
  #bufferSamples = 0;
  #running = false;

  private constructor(module: SoundSwallower, native: NativeDecoder, garbage: readonly string[]) {
    this.#module = module;
    this.#native = native;
    this.garbage = garbage;
  }

  /** Loads the models of a language: about 250 ms. */
  static async load(module: SoundSwallower, language: SpeechLanguage): Promise<SpeechDecoder> {
    const folder = module.get_model_path(MODEL_FOLDER[language]);
    const native = new module.Decoder({
      hmm: folder,
      samprate: 16_000,
      loglevel: 'FATAL',
      cmninit: INITIAL_MEAN[language],
      // The grammar has an arc for each pronunciation already; the decoder's own way is quadratic.
      fsgusealtpron: false,
      ...BEAMS,
    });
    await native.initialize();
    const phones = Object.keys(JSON.parse(readFileSync(`${folder}/phoneset.json`, 'utf8')) as object);
    const garbage = phones.filter((phone) => /^\w+$/.test(phone) && phone !== 'SIL');
    native.add_words(...garbage.map((phone) => [GARBAGE + phone, phone] as const));
    return new SpeechDecoder(
      module,
      native,
      garbage.map((phone) => GARBAGE + phone),
    );
  }

  /** The dictionary's entries for a word: `the`, `the(2)`, `the(3)`; none for a word it does not know. */
  pronunciations(word: string): string[] {
    const entries: string[] = [];
    for (let entry = word; this.#native.lookup_word(entry) !== null;) {
      entries.push(entry);
      entry = `${word}(${String(entries.length + 1)})`;
    }
    return entries;
  }

  /** Adds words with their phones to the dictionary. */
  addWords(words: readonly (readonly [word: string, phones: string])[]): void {
    if (words.length > 0) this.#native.add_words(...words);
  }

  /** Replaces the grammar. Throws if the decoder refuses it. */
  setGrammar(grammar: Grammar): void {
    this.endUtterance();
    const module = this.#module;
    const logmath = module._decoder_logmath(this.#native.cdecoder);
    const log = (probability: number): number =>
      Math.min(0, Math.round(module._logmath_log(logmath, probability) * LANGUAGE_WEIGHT));
    const name = allocateText(module, 'parley');
    const fsg = module._fsg_model_init(name, logmath, LANGUAGE_WEIGHT, grammar.stateCount);
    module._free(name);
    const words = grammar.labels.map((label) => {
      const text = allocateText(module, label);
      const word = module._fsg_model_word_add(fsg, text);
      module._free(text);
      return word;
    });
    const { arcs, nullArcs } = grammar;
    for (const [i, probability] of grammar.arcProbabilities.entries()) {
      const word = words[arcs[3 * i + 2] as number] as number;
      module._fsg_model_trans_add(fsg, arcs[3 * i] as number, arcs[3 * i + 1] as number, log(probability), word);
    }
    for (const [i, probability] of grammar.nullProbabilities.entries()) {
      module._fsg_model_null_trans_add(fsg, nullArcs[2 * i] as number, nullArcs[2 * i + 1] as number, log(probability));
    }
    module._fsg_set_states(fsg, grammar.start, grammar.final);
    if (module._decoder_set_fsg(this.#native.cdecoder, fsg) !== 0) throw new Error('The decoder refused the grammar');
  }

  /** Forgets the last speaker and line: the running mean of the spectrum starts afresh. */
  async forgetSpeaker(): Promise<void> {
    this.endUtterance();
    await this.#native.reinitialize_audio();
  }

  startUtterance(): void {
    this.endUtterance();
    this.#native.start();
    this.#running = true;
  }

  /** Decodes mono 16 kHz audio of the utterance that was started. */
  feed(samples: Int16Array): void {
    if (samples.length === 0) return;
    const module = this.#module;
    if (samples.length > this.#bufferSamples) {
      if (this.#buffer !== 0) module._free(this.#buffer);
      this.#bufferSamples = samples.length;
      this.#buffer = module._malloc(4 * samples.length);
    }
    const at = this.#buffer / 4;
    for (let i = 0; i < samples.length; i++) module.HEAPF32[at + i] = (samples[i] as number) / 32_768;
    const frames = module._decoder_process_float32(this.#native.cdecoder, this.#buffer, samples.length, 0, 0);
    if (frames < 0) throw new Error('The decoder failed on its audio');
  }

  /** The best path through what has been decoded so far, without fillers of no length. */
  bestPath(): DecodedSegment[] {
    const module = this.#module;
    const path: DecodedSegment[] = [];
    let pending = 0;
    for (
      let iterator = module._decoder_seg_iter(this.#native.cdecoder);
      iterator !== 0;
      iterator = module._seg_iter_next(iterator)
    ) {
      const heap = module.HEAP32;
      const field = (offset: number): number => heap[iterator / 4 + offset] as number;
      const label = readText(module, field(SEGMENT.word));
      const language = field(SEGMENT.language) * SCORE_UNIT;
      if (label === '(NULL)') {
        pending += language;
        continue;
      }
      const filler = label.startsWith('<') || label.startsWith('[');
      const garbage = label.startsWith(GARBAGE);
      path.push({
        word: garbage ? '' : label.replace(/\(\d+\)$/, ''),
        kind: filler ? 'silence' : garbage ? 'garbage' : 'word',
        startFrame: field(SEGMENT.startFrame),
        endFrame: field(SEGMENT.endFrame),
        acoustic: field(SEGMENT.acoustic) * SCORE_UNIT,
        language: language + pending,
      });
      pending = 0;
    }
    return path;
  }

  /** Ends the utterance; the mean of the spectrum takes it in. May be called when none is running. */
  endUtterance(): void {
    if (!this.#running) return;
    this.#running = false;
    this.#native.stop();
  }

  close(): void {
    this.endUtterance();
    if (this.#buffer !== 0) this.#module._free(this.#buffer);
    this.#buffer = 0;
    this.#native.delete();
  }
}
