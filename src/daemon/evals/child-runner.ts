import { type ChildProcess, fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import type { Clock } from '../../base/clock.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import type { Engine } from '../../engine/engine.js';
import type { SuiteResult } from '../../eval/result.js';
import { workerFile } from '../../package-files.js';
import type { Prices } from '../../settings/prices.js';
import type { StoredVoice } from '../../store/voices.js';
import type { EvalSettings } from '../../settings/setting-groups.js';
import { plainOptions } from '../../threads/wire/plain-options.js';
import { Rpc } from '../../threads/wire/rpc.js';
import type { EmbeddingRoute } from '../../tools/knowledge/embeddings.js';
import type { Knowledge } from '../../tools/knowledge/knowledge.js';
import type { ChildMethods, DaemonMethods } from './child-protocol.js';
import type { SuiteJob, SuiteRunner, SuiteRunnerOptions } from './suite-runner.js';

export interface ChildRunnerOptions {
  engine: Pick<Engine, 'options'>;
  knowledge: Pick<Knowledge, 'known' | 'filesOf' | 'search'> & Required<Pick<Knowledge, 'list'>>;
  /** The custom voices. */
  voices: () => readonly StoredVoice[];
  /** The operator's embedding model; null = there is none. */
  embedding: EmbeddingRoute | null;
  prices: Prices;
  settings: Pick<EvalSettings, 'memoryMb' | 'maxRunS'>;
  /** A real one. */
  clock: Clock;
  onError: (error: Error) => void;
  /** Default: the built worker. */
  entry?: URL;
}

/** Variables that a process gets. It must not see vendor keys of the environment: those it needs come with the job. */
const PASSED_ON =
  /^(?:PATH|HOME|TMPDIR|TEMP|TMP|TZ|LANG|LC_\w+|SystemRoot|(?:DY)?LD_LIBRARY_PATH|PWD|NODE_EXTRA_CA_CERTS|PARLEY_NATIVE)$/i;
/** Characters that are kept of what a process writes to its error output. */
const SAID_CHARS = 2_000;

/**
 * Holds each run in a process of its own, with a lower priority than the daemon: a run that crashes, hangs or needs too
 * much memory does not affect live calls.
 */
export class ChildRunner implements SuiteRunner {
  readonly #options: ChildRunnerOptions;

  constructor(options: ChildRunnerOptions) {
    this.#options = options;
  }

  async run(job: SuiteJob, { signal, onProgress }: SuiteRunnerOptions): Promise<SuiteResult> {
    signal.throwIfAborted();
    const { engine, voices, embedding, prices, settings, clock, onError } = this.#options;
    const options = plainOptions(engine.options);
    if (options === null) {
      throw new ParleyError('EVAL_RUN_FAILED', { reason: 'the engine has objects that another process cannot have' });
    }
    const child = this.#start();
    const said = tailOf(child);
    const rpc = new Rpc<ChildMethods>({
      post: (message) => void child.send(message as object, () => undefined),
      methods: this.#methods(onProgress),
      clock,
      onFault: onError,
    });
    child.on('message', (message) => rpc.receive(message));
    child.once('error', (error) => rpc.close(errorOf(error)));
    // Not `exit`: by `close` all of its output has been read.
    const closed = new Promise<void>((resolve) => {
      child.once('close', (code, by) => {
        rpc.close(new ParleyError('EVAL_RUN_FAILED', { reason: endOf(code, by, said()) }));
        resolve();
      });
    });
    try {
      const timeoutMs = settings.maxRunS * 1000;
      return await rpc.ask('run', { job, options, embedding, prices, voices: voices() }, { signal, timeoutMs });
    } finally {
      child.kill('SIGKILL'); // its engines may still hold it
      if (child.pid !== undefined) await closed;
    }
  }

  #start(): ChildProcess {
    const { settings, entry = workerFile('daemon/evals/eval-worker') } = this.#options;
    const child = fork(entry, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: [`--max-old-space-size=${String(settings.memoryMb)}`],
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED_ON.test(name))),
    });
    try {
      if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
    } catch {
      // It has died already, which `close` reports, or the system allows no change.
    }
    return child;
  }

  #methods(progress: SuiteRunnerOptions['onProgress']): DaemonMethods {
    const { knowledge } = this.#options;
    return {
      progress,
      knownFiles: (ids) => knowledge.known(ids),
      filesOf: (agentId) => knowledge.filesOf(agentId),
      listFiles: () => knowledge.list(),
      search: (query, signal) => knowledge.search({ ...query, signal }),
    };
  }
}

/** Keeps the last output of a process. Returns a function that reads it. */
function tailOf({ stderr }: ChildProcess): () => string {
  let said = '';
  stderr?.on('data', (data: Buffer) => {
    said = (said + data.toString('utf8')).slice(-SAID_CHARS);
  });
  return () => said;
}

function endOf(code: number | null, by: NodeJS.Signals | null, said: string): string {
  if (said.includes('heap out of memory')) return 'it needs more memory than evals.memoryMb';
  const how = by === null ? `with code ${String(code)}` : `by ${by}`;
  const last = said.trim().split('\n').at(-1) ?? '';
  return `its process has ended ${how}${last === '' ? '' : `: ${last}`}`;
}
