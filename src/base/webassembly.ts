/** The parts of the `WebAssembly` global in use; the types of Node and ES2023 omit it. */
export interface WasmModule {
  /** Compiled code from `wasm.compile` or `new wasm.Module`; may be sent to other threads. */
  readonly [Symbol.toStringTag]: 'WebAssembly.Module';
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  /** Adds pages of 64 KiB and detaches views of the old buffer. @throws RangeError beyond the module's limit */
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
 * Instantiates a kernel of native/wasm/build.mjs from base64 and returns its exports; null if the JavaScript engine has
 * no WebAssembly (`node --jitless`) or no SIMD.
 */
export function wasmKernelExports(base64: string): Record<string, unknown> | null {
  const bytes = Buffer.from(base64, 'base64');
  const api = wasm as WebAssemblyApi | undefined;
  if (api?.validate(bytes) !== true) return null;
  return new api.Instance(new api.Module(bytes), {}).exports;
}
