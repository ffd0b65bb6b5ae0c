import { type ChildProcess, fork } from 'node:child_process';
import type { Cancel, Clock } from '../../../base/clock.js';
import { RealClock } from '../../../base/real-clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { workerFile } from '../../../package-files.js';
import type { EngineLoad, EngineReply, EngineRequest } from './engine-protocol.js';
import { SHERPA_INSTALL, SHERPA_PACKAGE } from '../sherpa-package.js';

/** Why an engine's process cannot go on, from what it and its system say, for people. */
/** Signals whose cause is not in what was said before them. */
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

/** What sherpa-onnx says of a computation that could not be made; null = nothing. */
export function thrownIn(said: string): string | null {
  const [, thrown] = /Caught exception:\s*([^\n]+)/u.exec(said) ?? [];
  return thrown === undefined ? null : thrown.trim().slice(0, 300);
}

/** The last thing that sherpa-onnx said, without the place in its source. */
export function reasonIn(said: string): string {
  const lines = said.split('\n').map((line) => line.trim().replace(/^\S+\.(?:cc|h):\S+:\d+\s*/u, ''));
  const told = lines.filter((line) => line !== '' && !TELLS_NOTHING.test(line));
  // What an exception says first names the fault; more lines may follow.
  const thrown = told.findLast((line) => line.startsWith('what():'));
  return inClearWords((thrown ?? told.at(-1) ?? '').replace(/^what\(\):\s*/u, ''));
}

const TELLS_NOTHING = /^(?:terminate called|Node\.js v|at |Errors in config|Please check your config)/u;

/** What a library of C++ says where a token's number is in no list. */
export function inClearWords(reason: string): string {
  return /_Map_base::at|unordered_map::at|map::at/u.test(reason)
    ? 'its tokens.txt does not belong to it: a token is not there'
    : reason.slice(0, 300);
}

export interface EngineProcessOptions {
  /** How errors call it. */
  provider: string;
  /** The model, as errors call it. */
  model: string;
  load: EngineLoad;
  /** Until the model is loaded, in milliseconds. Default 60,000. */
  loadTimeoutMs?: number;
  /** A process that has been asked for a sign of life and gives none for so long is killed. Default 10,000. */
  silentMs?: number;
  /** The process's code. Default the package's own; tests put a faulty one here. */
  entry?: URL;
  clock?: Clock;
}

/** What a loaded model tells of itself. */
export interface EngineFacts {
  sampleRateHz: number;
  speakers: number;
}

/** What somebody is told who asked for something. */
export type EngineAnswer = Extract<EngineReply, { id: number }>;

/** Who asked. Nothing comes after `onEnd`. */
export interface EngineUser {
  onReply(reply: EngineAnswer): void;
  /** The process has ended, or could not go on. */
  onEnd(error: ParleyError): void;
}

interface Running {
  child: ChildProcess;
  ready: Promise<EngineFacts>;
  settle: { resolve: (facts: EngineFacts) => void; reject: (error: ParleyError) => void };
  isReady: boolean;
  /** The last lines that it wrote on its error output. */
  said: string;
  cancelLoad: Cancel;
  cancelSilence: Cancel | null;
  startedMs: number;
}

const SAID_CHARS = 2_000;
/** One that lived so long is started anew when it dies, before anybody asks: one that dies sooner would for ever. */
const LIVED_MS = 5_000;

/**
 * A process that has one model loaded, for all who ask for it. It is started when it is first needed, and again where it
 * has died; what stays loaded does not wait for being asked. It keeps nobody's process up while nothing is asked of it.
 */
export class EngineProcess {
  readonly #options: EngineProcessOptions;
  readonly #clock: Clock;
  readonly #users = new Map<number, EngineUser>();
  #running: Running | null = null;
  #nextId = 1;
  /** Who will ask again. */
  #holds = 0;
  #stays: boolean;
  #closed = false;

  constructor(options: EngineProcessOptions) {
    this.#options = options;
    this.#stays = options.load.idleMs === null;
    this.#clock = options.clock ?? new RealClock();
  }

  /** The process's id; null = it does not run. */
  get pid(): number | null {
    return this.#running?.child.pid ?? null;
  }

  /**
   * Loads the model, once.
   * @throws ParleyError LOCAL_ENGINE_MISSING, MODEL_UNUSABLE, PROVIDER_TIMEOUT, SESSION_CLOSED
   */
  ready(): Promise<EngineFacts> {
    if (this.#closed) return Promise.reject(new ParleyError('SESSION_CLOSED'));
    this.#running ??= this.#start();
    return this.#running.ready;
  }

  /** It is not ended for being idle, whatever its `load` says. */
  stay(): void {
    this.#stays = true;
  }

  /** Somebody will ask again: until they call what is returned, which may be twice, the model stays loaded. */
  hold(): () => void {
    this.#holds++;
    let isHeld = true;
    return () => {
      if (isHeld) this.#holds--;
      isHeld = false;
    };
  }

  /** Somebody who is told what comes of it; the id goes with each of their requests. */
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

  /** Nothing more is wanted of what has this id. May be called twice. */
  leave(id: number): void {
    if (!this.#users.delete(id)) return;
    this.send({ type: 'close', id });
    this.#holdUp();
  }

  /** Lost where the process has died; its users have been told then. */
  send(request: Exclude<EngineRequest, { type: 'load' }>): void {
    const { child } = this.#running ?? {};
    if (child?.connected === true) child.send(request, () => undefined);
  }

  /** An answer did not come: whether it still answers at all is found out, and a process that does not is killed. */
  suspect(): void {
    const running = this.#running;
    if (running === null || running.cancelSilence !== null) return;
    const { silentMs = 10_000 } = this.#options;
    this.send({ type: 'ping' });
    running.cancelSilence = this.#clock.schedule(this.#clock.nowMs() + silentMs, () => {
      this.#died(running, this.#failed('it does not answer any more'));
    });
  }

  /** Kills it; whoever waits is told SESSION_CLOSED. May be called twice. */
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
      // Keys of vendors are none of its business.
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED_ON.test(name))),
    });
    let settle: Running['settle'] | null = null;
    const ready = new Promise<EngineFacts>((resolve, reject) => (settle = { resolve, reject }));
    ready.catch(() => undefined); // whoever waits hears of it; nobody may
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
    // Not `exit`: by `close` it has been read what it wrote last.
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
      // Nobody waits for it: its memory is worth more than the time that loading takes.
      if (this.#users.size === 0 && this.#holds === 0 && !this.#stays) {
        this.#end(running, new ParleyError('SESSION_CLOSED'));
      }
    } else if (reply.type === 'heard' && reply.heard.text === '' && this.#options.load.engine === 'transcribe') {
      // Where its runtime has thrown, sherpa-onnx says so on the error output and hears nothing: that has come by then.
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
    // A crash has nothing to do with what was said before it; other ends are explained by it.
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

  /** While somebody waits for something the process is waited for, else not. */
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

/** Where libraries and programs are found; nothing that could be a secret. */
const PASSED_ON = /^(?:PATH|HOME|TMPDIR|TEMP|TMP|LANG|LC_\w+|SystemRoot|(?:DY)?LD_LIBRARY_PATH|PWD)$/i;
