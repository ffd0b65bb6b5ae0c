/** As much of the `WebAssembly` global as is used here: the types of Node and of ES2023 leave it out. */
export interface WasmModule {
  /** Compiled code; may be sent to other threads. Only what `wasm.compile` and `new wasm.Module` return is one. */
  readonly [Symbol.toStringTag]: 'WebAssembly.Module';
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
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
}

export const wasm = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;
