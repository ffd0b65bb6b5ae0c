import type { WasmImports, WasmMemory } from '../../../base/webassembly.js';

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

export class Wasi {
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
