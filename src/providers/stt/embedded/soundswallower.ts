import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

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
