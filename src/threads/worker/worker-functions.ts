import { randomUUID } from 'node:crypto';
import type { EnginePlugin } from '../../engine/plugin.js';
import { foreignTool, type PlainTool } from '../../tools/code-tool.js';
import type { DefinedTool } from '../../tools/define-tool.js';
import type { MainMethods } from '../wire/protocol.js';
import type { Rpc } from '../wire/rpc.js';

/** Longer than any function's own deadline, which aborts the request. */
const LONGEST_MS = 86_400_000 + 60_000;

/** The functions of a media thread's sessions: their code runs in the main thread. */
export class WorkerFunctions {
  readonly #main: Rpc<MainMethods>;
  /** What running functions do with their progress. */
  readonly #progress = new Map<string, (text: string) => void>();

  constructor(main: Rpc<MainMethods>) {
    this.#main = main;
  }

  /** Functions whose calls are requests to the main thread. */
  of(functions: readonly PlainTool[]): DefinedTool[] {
    return functions.map((plain) =>
      foreignTool(plain, async (about, { signal, progress }) => {
        const run = randomUUID();
        this.#progress.set(run, progress);
        const what = { run, name: plain.name, about };
        try {
          return await this.#main.ask('callFunction', what, { timeoutMs: LONGEST_MS, signal });
        } finally {
          this.#progress.delete(run);
        }
      }),
    );
  }

  /** The plug-ins that the thread has loaded; their functions run in the main thread. */
  plugins(loaded: readonly EnginePlugin[], functions: readonly PlainTool[]): EnginePlugin[] {
    return [...loaded.map((plugin) => ({ ...plugin, functions: [] })), { name: 'main', functions: this.of(functions) }];
  }

  progress(run: string, text: string): void {
    this.#progress.get(run)?.(text);
  }
}
