import { type ChildProcess, fork } from 'node:child_process';
import type { Cancel, Clock } from '../../../base/clock.js';
import { RealClock } from '../../../base/real-clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { workerFile } from '../../../package-files.js';
import type { EngineLoad, EngineReply, EngineRequest } from './engine-protocol.js';
import { SHERPA_INSTALL, SHERPA_PACKAGE } from '../sherpa-package.js';

/** Signals whose cause is unrelated to the preceding output. */
export const CRASHES: Readonly<Record<string, string>> = {
  SIGSEGV: 'its process crashed (SIGSEGV): its files may not belong together',
  SIGKILL: 'its process was killed (SIGKILL): for want of memory, perhaps',
};

/** Why the package could not be loaded. */
export function missing(reason: string): string {
  return /Cannot find (?:package|module)/u.test(reason)
    ? `the package ${SHERPA_PACKAGE} is not installed: ${SHERPA_INSTALL}`
    : `${SHERPA_PACKAGE} has no build for this machine (${reason.split('\n')[0] ?? ''})`;
}

/** The exception that sherpa-onnx reports on its error output; null = none. */
export function thrownIn(said: string): string | null {
  const [, thrown] = /Caught exception:\s*([^\n]+)/u.exec(said) ?? [];
  return thrown === undefined ? null : thrown.trim().slice(0, 300);
}

/** The last line that sherpa-onnx printed, without its source location. */
export function reasonIn(said: string): string {
  const lines = said.split('\n').map((line) => line.trim().replace(/^\S+\.(?:cc|h):\S+:\d+\s*/u, ''));
  const printed = lines.filter((line) => line !== '' && !TELLS_NOTHING.test(line));
  // The first line of an exception names the fault; more lines may follow.
  const thrown = printed.findLast((line) => line.startsWith('what():'));
  return inClearWords((thrown ?? printed.at(-1) ?? '').replace(/^what\(\):\s*/u, ''));
}

const TELLS_NOTHING = /^(?:terminate called|Node\.js v|at |Errors in config|Please check your config)/u;

/** Rewrites a C++ library's error for a token number that is out of range. */
export function inClearWords(reason: string): string {
  return /_Map_base::at|unordered_map::at|map::at/u.test(reason)
    ? 'its tokens.txt does not belong to it: a token is not there'
    : reason.slice(0, 300);
}

export interface EngineProcessOptions {
  /** The provider's name in errors. */
  provider: string;
  /** The model's name in errors. */
  model: string;
  load: EngineLoad;
  /** Timeout for loading the model, in milliseconds. Default 60,000. */
  loadTimeoutMs?: number | undefined;
  /** A process that does not answer a ping within this time is killed. Default 10,000 ms. */
  silentMs?: number;
  /** Entry point of the process. Default: the package's own; tests replace it with a faulty one. */
  entry?: URL | undefined;
  clock?: Clock;
}

/** Facts about a loaded model. */
export interface EngineFacts {
  sampleRateHz: number;
  speakers: number;
}

/** A reply to one user of the process. */
export type EngineAnswer = Extract<EngineReply, { id: number }>;

/** A user of the process. Nothing follows `onEnd`. */
export interface EngineUser {
  onReply(reply: EngineAnswer): void;
  /** The process has exited or cannot continue. */
  onEnd(error: ParleyError): void;
}

interface Running {
  child: ChildProcess;
  ready: Promise<EngineFacts>;
  settle: { resolve: (facts: EngineFacts) => void; reject: (error: ParleyError) => void };
  isReady: boolean;
  /** The last lines of its error output. */
  said: string;
  cancelLoad: Cancel;
  cancelSilence: Cancel | null;
  startedMs: number;
}

const SAID_CHARS = 2_000;
/** A process that lived at least this long is restarted when it dies; restarting one that dies sooner would loop. */
const LIVED_MS = 5_000;

/**
 * A process with one loaded model, shared by all users. It starts on first use and restarts after a crash; a model that
 * stays loaded restarts at once. While idle it does not keep the parent process alive.
 */
export class EngineProcess {
  readonly #options: EngineProcessOptions;
  readonly #clock: Clock;
  readonly #users = new Map<number, EngineUser>();
  #running: Running | null = null;
  #nextId = 1;
  /** Number of active holds. */
  #holds = 0;
  #stays: boolean;
  #closed = false;

  constructor(options: EngineProcessOptions) {
    this.#options = options;
    this.#stays = options.load.idleMs === null;
    this.#clock = options.clock ?? new RealClock();
  }

  /** The process id; null = not running. */
  get pid(): number | null {
    return this.#running?.child.pid ?? null;
  }

  /**
   * Loads the model once.
   * @throws ParleyError LOCAL_ENGINE_MISSING, MODEL_UNUSABLE, PROVIDER_TIMEOUT, SESSION_CLOSED
   */
  ready(): Promise<EngineFacts> {
    if (this.#closed) return Promise.reject(new ParleyError('SESSION_CLOSED'));
    this.#running ??= this.#start();
    return this.#running.ready;
  }

  /** Disables the idle timeout, whatever `load` says. */
  stay(): void {
    this.#stays = true;
  }

  /** Keeps the model loaded until the returned function is called, which is idempotent. */
  hold(): () => void {
    this.#holds++;
    let isHeld = true;
    return () => {
      if (isHeld) this.#holds--;
      isHeld = false;
    };
  }

  /** Registers a user; the id goes with each of its requests. */
  join(user: EngineUser): number {
    const id = this.#nextId++;
    if (this.#closed) {
      queueMicrotask(() => user.onEnd(new ParleyError('SESSION_CLOSED')));
      return id;
    }
    this.#users.set(id, user);
    this.#running ??= this.#start();
    this.#holdUp();
    return id;
  }

  /** Ends all requests of this id. Idempotent. */
  leave(id: number): void {
    if (!this.#users.delete(id)) return;
    this.send({ type: 'close', id });
    this.#holdUp();
  }

  /** Has no effect if the process has died; its users have been notified. */
  send(request: Exclude<EngineRequest, { type: 'load' }>): void {
    const { child } = this.#running ?? {};
    if (child?.connected === true) child.send(request, () => undefined);
  }

  /** A request timed out: pings the process, and kills it if it does not answer. */
  suspect(): void {
    const running = this.#running;
    if (running === null || running.cancelSilence !== null) return;
    const { silentMs = 10_000 } = this.#options;
    this.send({ type: 'ping' });
    running.cancelSilence = this.#clock.schedule(this.#clock.nowMs() + silentMs, () => {
      this.#died(running, this.#failed('it stopped answering'));
    });
  }

  /** Kills the process; pending requests fail with SESSION_CLOSED. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    const running = this.#running;
    if (running === null) return;
    running.child.ref();
    const gone = new Promise<void>((resolve) => running.child.once('exit', () => resolve()));
    const isGone = running.child.exitCode !== null || running.child.signalCode !== null;
    this.#end(running, new ParleyError('SESSION_CLOSED'));
    if (!isGone) await gone;
  }

  #start(): Running {
    const { entry = workerFile('providers/local/engine/engine-child'), load, loadTimeoutMs = 60_000 } = this.#options;
    const child = fork(entry, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: [],
      // The process must not see vendor keys.
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED_ON.test(name))),
    });
    let settle: Running['settle'] | null = null;
    const ready = new Promise<EngineFacts>((resolve, reject) => (settle = { resolve, reject }));
    ready.catch(() => undefined); // callers that wait get the error; there may be none
    const running: Running = {
      child,
      ready,
      isReady: false,
      said: '',
      cancelSilence: null,
      startedMs: this.#clock.nowMs(),
      settle: settle as unknown as Running['settle'],
      cancelLoad: this.#clock.schedule(this.#clock.nowMs() + loadTimeoutMs, () => {
        const { provider } = this.#options;
        this.#end(running, new ParleyError('PROVIDER_TIMEOUT', { provider, timeoutMs: loadTimeoutMs }));
      }),
    };
    child.stderr?.on('data', (data: Buffer) => {
      running.said = (running.said + data.toString('utf8')).slice(-SAID_CHARS);
    });
    child.on('message', (reply: EngineReply) => this.#onReply(running, reply));
    child.on('error', (error) => this.#end(running, this.#failed(reasonOf(error))));
    // Not `exit`: by `close` all of its output has been read.
    child.on('close', (code, signal) => this.#onExit(running, code, signal));
    child.send({ type: 'load', load } satisfies EngineRequest, () => undefined);
    return running;
  }

  #onReply(running: Running, reply: EngineReply): void {
    if (running !== this.#running) return;
    running.cancelSilence?.();
    running.cancelSilence = null;
    if (reply.type === 'ready') {
      running.isReady = true;
      running.cancelLoad();
      running.settle.resolve({ sampleRateHz: reply.sampleRateHz, speakers: reply.speakers });
      this.#holdUp();
    } else if (reply.type === 'unusable') {
      const reason = reply.isMissing ? missing(reply.reason) : reasonIn(running.said) || inClearWords(reply.reason);
      this.#end(
        running,
        reply.isMissing ? new ParleyError('LOCAL_ENGINE_MISSING', { reason }) : this.#unusable(reason),
      );
    } else if (reply.type === 'idle') {
      // No request is pending: freeing its memory is worth the time to load it again.
      if (this.#users.size === 0 && this.#holds === 0 && !this.#stays) {
        this.#end(running, new ParleyError('SESSION_CLOSED'));
      }
    } else if (reply.type === 'heard' && reply.heard.text === '' && this.#options.load.engine === 'transcribe') {
      // After an exception in its runtime, sherpa-onnx reports it on the error output only; by now it has arrived.
      setImmediate(() => this.#answer(running, reply));
    } else if (reply.type !== 'pong') {
      this.#users.get(reply.id)?.onReply(reply);
    }
  }

  #answer(running: Running, reply: EngineAnswer): void {
    if (running !== this.#running) return;
    const thrown = thrownIn(running.said);
    if (thrown !== null) running.said = '';
    this.#users.get(reply.id)?.onReply(thrown === null ? reply : { type: 'failed', id: reply.id, reason: thrown });
  }

  #onExit(running: Running, code: number | null, signal: string | null): void {
    // A crash is unrelated to earlier output; for other exits the output is the reason.
    const reason =
      CRASHES[signal ?? ''] ?? (reasonIn(running.said) || `its process ended with ${signal ?? `code ${String(code)}`}`);
    this.#died(running, running.isReady ? this.#failed(reason) : this.#unusable(reason));
  }

  #died(running: Running, error: ParleyError): void {
    const isFirst = running === this.#running;
    this.#end(running, error);
    const hasLived = running.isReady && this.#clock.nowMs() - running.startedMs >= LIVED_MS;
    if (!isFirst || !hasLived || !this.#stays || this.#closed) return;
    this.#running ??= this.#start();
    this.#holdUp();
  }

  #end(running: Running, error: ParleyError): void {
    running.cancelLoad();
    running.cancelSilence?.();
    running.settle.reject(error);
    running.child.kill('SIGKILL');
    if (running !== this.#running) return;
    this.#running = null;
    const users = [...this.#users.values()];
    this.#users.clear();
    for (const user of users) user.onEnd(error);
  }

  /** Keeps the parent process alive while a request is pending. */
  #holdUp(): void {
    const { child } = this.#running ?? {};
    if (child === undefined) return;
    const method = this.#users.size > 0 ? 'ref' : 'unref';
    child[method]();
    child.channel?.[method]();
    (child.stderr as unknown as { ref(): void; unref(): void } | null)?.[method]();
  }

  #failed(reason: string): ParleyError {
    return new ParleyError('PROVIDER_FAILED', { provider: this.#options.provider, reason });
  }

  #unusable(reason: string): ParleyError {
    return new ParleyError('MODEL_UNUSABLE', { model: this.#options.model, reason });
  }
}

/** Environment variables for finding libraries and programs; none that could hold a secret. */
const PASSED_ON = /^(?:PATH|HOME|TMPDIR|TEMP|TMP|LANG|LC_\w+|SystemRoot|(?:DY)?LD_LIBRARY_PATH|PWD)$/i;
