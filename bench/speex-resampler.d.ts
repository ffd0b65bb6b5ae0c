declare module '@echogarden/speex-resampler-wasm/simd' {
  /** What lib/resamplers.ts uses of the module that emscripten made; addresses are bytes in its memory. */
  export interface SpeexResampler {
    readonly HEAP16: Int16Array;
    readonly HEAP32: Int32Array;
    _malloc(bytes: number): number;
    _speex_resampler_init(channels: number, fromHz: number, toHz: number, quality: number, error: number): number;
    _speex_resampler_process_int(
      state: number,
      channel: number,
      input: number,
      inputLength: number,
      output: number,
      outputLength: number,
    ): number;
  }
  export default function load(): Promise<SpeexResampler>;
}
