/** As much of the `WebAssembly` global as is used here: the types of Node and of ES2023 leave it out. */
export interface WasmModule {
  /** Compiled code; may be sent to other threads. Only what `wasm.compile` and `new wasm.Module` return is one. */
  readonly [Symbol.toStringTag]: 'WebAssembly.Module';
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  /** Adds pages of 64 KiB; views of the old buffer are dead then. @throws RangeError beyond the module's limit */
  grow(pages: number): number;
}

export interface WasmTable {
  /** Adds `by` slots that hold `value`; returns the number of slots before. */
  grow(by: number, value: unknown): number;
}

export type WasmImports = Record<string, Record<string, (...args: never[]) => unknown>>;

interface WebAssemblyApi {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  readonly Module: new (bytes: Uint8Array) => WasmModule;
  readonly Instance: new (module: WasmModule, imports: WasmImports) => { readonly exports: Record<string, unknown> };
  validate(bytes: Uint8Array): boolean;
}

export const wasm = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;

/**
 * What a kernel made by native/wasm/build.mjs exports, from the base64 of its bytes; null where the engine has no
 * WebAssembly (`node --jitless`) or none with SIMD.
 */
export function wasmKernelExports(base64: string): Record<string, unknown> | null {
  const bytes = Buffer.from(base64, 'base64');
  const api = wasm as WebAssemblyApi | undefined;
  if (api?.validate(bytes) !== true) return null;
  return new api.Instance(new api.Module(bytes), {}).exports;
}
