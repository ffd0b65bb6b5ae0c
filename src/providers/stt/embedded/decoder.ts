import type { ExpectedAnswer } from '../../../agent/expected-answer.js';
import type { Grammar } from '../lm/fsg.js';
import type { SpeechLanguage } from '../lm/text.js';
import { GARBAGE, MODEL_FOLDER } from './language-data.js';
import type { Pronunciation } from './lexicon.js';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * A segment of the best path so far. Times are frames of 10 ms from the start of the utterance, both ends inclusive.
 */
export interface DecodedSegment {
  /** The word, a filler such as `<sil>`, or empty for a garbage phone. */
  readonly word: string;
  readonly kind: 'word' | 'silence' | 'garbage';
  readonly startFrame: number;
  readonly endFrame: number;
  /** Log-likelihood of the audio (natural logarithm), relative to the best phone in each frame. */
  readonly acoustic: number;
  /** Weighted log-probability of the arcs, back-offs included. */
  readonly language: number;
}

/** Samples in one of the decoder's frames, at 16 kHz. */
export const FRAME_SAMPLES = 160;

/**
 * Initial cepstral mean of a session, until it has adapted to its speaker and line: the value that comes with the
 * English acoustic model. The French one has none and uses the decoder's default.
 */
const INITIAL_MEAN: Readonly<Record<SpeechLanguage, string>> = {
  en: '41.00,-5.29,-0.12,5.09,2.48,-4.07,-1.37,-1.78,-5.08,-2.05,-6.45,-1.42,1.17',
  fr: '40,3,-1',
};
/** Language weight: the weight of a word's probability relative to the acoustic score. PocketSphinx's default. */
const LANGUAGE_WEIGHT = 6.5;
/** Scores come in units of 1024 steps of the logarithm's base 1.0001. */
const SCORE_UNIT = 1024 * Math.log(1.0001);
/**
 * Beam widths. With the decoder's default word beam (7e-29) a single back-off can prune a path: the language weight is
 * the exponent of its probability.
 */
const BEAMS = { beam: 1e-50, pbeam: 1e-44, wbeam: 1e-32 } as const;

/** Offsets (in 32-bit words) in the C struct `seg_iter_s` of soundswallower 0.6.3. */
const SEGMENT = { word: 2, startFrame: 3, endFrame: 4, acoustic: 5, language: 6 } as const;

/**
 * Offsets (in 32-bit words) in soundswallower 0.6.3 that lead to the cepstral mean: `decoder_s`, `feat_s` and `cmn_t`.
 * `load` verifies them.
 */
const MEAN_PATH = { features: 3, normaliser: 14, mean: 0, sum: 2, frames: 3 } as const;
const CEPSTRA = 13;

/** A grammar that matches nothing. */
const NOTHING: Grammar = {
  stateCount: 2,
  start: 0,
  starts: new Map(),
  final: 1,
  labels: [],
  arcs: new Int32Array(0),
  arcProbabilities: new Float64Array(0),
  nullArcs: Int32Array.of(0, 1),
  nullProbabilities: Float64Array.of(1),
};

/** One decoder: an acoustic model (5 MB) with its current words and grammar. */
export class SpeechDecoder {
  readonly #module: SoundSwallower;
  readonly #native: NativeDecoder;
  #buffer = 0;
  #bufferSamples = 0;
  #running = false;
  /** The loaded grammar and its address; the decoder owns it. */
  #grammar: Grammar = NOTHING;
  #fsg = 0;

  private constructor(module: SoundSwallower, native: NativeDecoder) {
    this.#module = module;
    this.#native = native;
  }

  /** Loads the acoustic model of a language, which takes about 80 ms. The decoder has no words yet. */
  static async load(module: SoundSwallower, language: SpeechLanguage): Promise<SpeechDecoder> {
    const native = new module.Decoder({
      hmm: module.get_model_path(MODEL_FOLDER[language]),
      // This file does not exist: `addWords` adds words. All 134,000 words of the package would take 15 MB per decoder.
      dict: 'none',
      samprate: 16_000,
      loglevel: 'FATAL',
      cmninit: INITIAL_MEAN[language],
      // The grammar already has an arc for each pronunciation; the decoder's own expansion is quadratic.
      fsgusealtpron: false,
      ...BEAMS,
    });
    await native.initialize();
    const decoder = new SpeechDecoder(module, native);
    const { mean } = decoder.speaker;
    if (INITIAL_MEAN[language].split(',').some((value, i) => Math.fround(Number(value)) !== mean[i])) {
      throw new Error(
        'The recogniser’s package is not the version that parley requires; reinstall parley’s dependencies',
      );
    }
    return decoder;
  }

  /** The adaptation to the speaker; set it between `startUtterance` and the first `feed`. */
  get speaker(): SpeakerMean {
    const [mean, sum, frames] = this.#meanAt();
    return { mean: mean.slice(), sum: sum.slice(), frames: this.#module.HEAP32[frames] as number };
  }

  set speaker(speaker: SpeakerMean) {
    const [mean, sum, frames] = this.#meanAt();
    mean.set(speaker.mean);
    sum.set(speaker.sum);
    this.#module.HEAP32[frames] = speaker.frames;
  }

  /** Adds words to the dictionary, each once per decoder. The loaded grammar does not change. */
  addWords(words: Iterable<Pronunciation>): void {
    const module = this.#module;
    for (const [entry, phones] of words) {
      const text = allocateText(module, entry);
      const sounds = allocateText(module, phones);
      const added = module._decoder_add_word(this.#native.cdecoder, text, sounds, 0);
      module._free(text);
      module._free(sounds);
      if (added < 0) throw new Error(`The decoder refused the word "${entry}" (${phones})`);
    }
  }

  /** Replaces the grammar. Throws if the decoder rejects it. */
  setGrammar(grammar: Grammar): void {
    this.endUtterance();
    // The decoder frees the old grammar only after the new one is complete; an empty grammar in between halves peak
    // memory.
    this.#load(NOTHING);
    this.#load(grammar);
  }

  #load(grammar: Grammar): void {
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
    this.#grammar = grammar;
    this.#fsg = fsg;
    if (module._decoder_set_fsg(this.#native.cdecoder, fsg) !== 0) throw new Error('The decoder refused the grammar');
  }

  /** @param answer what is expected, one of the grammar's `starts`; null or another = anything */
  startUtterance(answer: ExpectedAnswer | null = null): void {
    this.endUtterance();
    const { start, starts, final } = this.#grammar;
    const from = answer === null ? start : (starts.get(answer) ?? start);
    if (this.#fsg !== 0) this.#module._fsg_set_states(this.#fsg, from, final);
    this.#native.start();
    this.#running = true;
  }

  /** Decodes mono 16 kHz audio of the current utterance. */
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

  /** The best path so far, without fillers of zero length. */
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

  /** Ends the utterance, which updates the cepstral mean. May be called when none is running. */
  endUtterance(): void {
    if (!this.#running) return;
    this.#running = false;
    this.#native.stop();
  }

  /** Address of the speaker's mean in the module's memory. */
  #meanAt(): [mean: Float32Array, sum: Float32Array, frames: number] {
    const { HEAP32, HEAPF32 } = this.#module;
    const features = HEAP32[this.#native.cdecoder / 4 + MEAN_PATH.features] as number;
    const normaliser = (HEAP32[features / 4 + MEAN_PATH.normaliser] as number) / 4;
    const vector = (offset: number): Float32Array => {
      const at = (HEAP32[normaliser + offset] as number) / 4;
      return HEAPF32.subarray(at, at + CEPSTRA);
    };
    return [vector(MEAN_PATH.mean), vector(MEAN_PATH.sum), normaliser + MEAN_PATH.frames];
  }

  close(): void {
    this.endUtterance();
    if (this.#buffer !== 0) this.#module._free(this.#buffer);
    this.#buffer = 0;
    this.#native.delete();
  }
}

/**
 * A decoder's adaptation to voice and line: the running cepstral mean, which is subtracted from every frame. It belongs
 * to a session and not to the decoder: each turn loads it into the leased decoder, so that sessions do not affect one
 * another.
 */
export interface SpeakerMean {
  /** The subtracted mean; constant within a turn of less than 8 s. */
  readonly mean: Float32Array;
  /** Sum and number of the frames for the next mean. */
  readonly sum: Float32Array;
  readonly frames: number;
}

/** Weight of an old mean in frames (of 10 ms), and the number of frames after which it decays: cmn_live.c. */
const WINDOW = 500;
const FADE_AFTER = 800;

/** The mean for the next turn, computed as the decoder does at the end of an utterance (`cmn_live_update`). */
export function afterTurn({ mean, sum, frames }: SpeakerMean): SpeakerMean {
  if (frames <= 0) return { mean, sum, frames };
  const next = sum.map((value) => value / frames);
  if (frames <= FADE_AFTER) return { mean: next, sum, frames };
  return { mean: next, sum: sum.map((value) => value * Math.fround(WINDOW / frames)), frames: WINDOW };
}

/**
 * The part of the soundswallower module (PocketSphinx compiled to WebAssembly) that parley uses: its decoder class, and
 * C functions that the package exports without types. Pointers and handles are numbers.
 */
export interface SoundSwallower {
  readonly HEAPU8: Uint8Array;
  readonly HEAP32: Int32Array;
  readonly HEAPF32: Float32Array;
  readonly Decoder: new (config: Readonly<Record<string, string | number | boolean>>) => NativeDecoder;
  get_model_path(language: string): string;
  _malloc(bytes: number): number;
  _free(pointer: number): void;
  _decoder_logmath(decoder: number): number;
  _decoder_add_word(decoder: number, word: number, phones: number, update: number): number;
  _decoder_set_fsg(decoder: number, fsg: number): number;
  _decoder_process_float32(decoder: number, data: number, count: number, noSearch: number, fullUtt: number): number;
  _decoder_seg_iter(decoder: number): number;
  _seg_iter_next(iterator: number): number;
  _logmath_log(logmath: number, value: number): number;
  _fsg_model_init(name: number, logmath: number, languageWeight: number, states: number): number;
  _fsg_model_word_add(fsg: number, word: number): number;
  _fsg_model_trans_add(fsg: number, from: number, to: number, logProbability: number, word: number): void;
  _fsg_model_null_trans_add(fsg: number, from: number, to: number, logProbability: number): number;
  _fsg_set_states(fsg: number, start: number, final: number): void;
  _fsg_model_free(fsg: number): void;
}

export interface NativeDecoder {
  readonly cdecoder: number;
  initialize(): Promise<void>;
  start(): void;
  stop(): void;
  delete(): void;
}

/** Loads a new instance of the module; its memory is freed with the thread. */
export async function loadSoundSwallower(): Promise<SoundSwallower> {
  const entry = import.meta.resolve('soundswallower');
  const module = (await import(entry)) as { default: (options: object) => Promise<SoundSwallower> };
  return module.default({ modelBase: `${dirname(fileURLToPath(entry))}/model/` });
}

/** Allocates `text` as a C string; the caller frees it. */
export function allocateText(module: SoundSwallower, text: string): number {
  const bytes = new TextEncoder().encode(`${text}\0`);
  const pointer = module._malloc(bytes.length);
  module.HEAPU8.set(bytes, pointer);
  return pointer;
}

/** Reads a C string; empty for a null pointer. */
export function readText(module: SoundSwallower, pointer: number): string {
  if (pointer === 0) return '';
  const heap = module.HEAPU8;
  return new TextDecoder().decode(heap.subarray(pointer, heap.indexOf(0, pointer)));
}
