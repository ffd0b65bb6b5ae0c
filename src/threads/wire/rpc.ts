import type { Cancel, Clock } from '../../base/clock.js';
import { type ErrorCode, type ErrorDetails, errorOf, ParleyError } from '../../base/errors.js';
import { InvalidConfigError, type ValidationIssue } from '../../schema/issues.js';

/**
 * The methods of one side, by name, with plain data in and out. Requests get a signal that is aborted when the answer
 * is no longer needed.
 */
export type Methods = Readonly<Record<string, (argument: never, signal: AbortSignal) => unknown>>;

type Argument<M extends Methods, K extends keyof M> = M[K] extends (argument: infer A, ...rest: never[]) => unknown
  ? A
  : never;
type Answer<M extends Methods, K extends keyof M> = Awaited<ReturnType<M[K]>>;

export interface AskOptions {
  /** Deadline of the request. */
  timeoutMs: number;
  /** Aborts the request, here and on the other side. Default: never. */
  signal?: AbortSignal;
}

export interface RpcOptions {
  post: (message: unknown) => void;
  /** The methods for the other side. */
  methods: Methods;
  clock: Clock;
  /** A notification failed on the other side. */
  onFault: (error: Error) => void;
}

type Frame =
  | { kind: 'tell'; method: string; argument: unknown }
  | { kind: 'ask'; id: number; method: string; argument: unknown }
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'refusal'; id: number; error: WireError }
  | { kind: 'withdrawal'; id: number };

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/**
 * One end of a channel between two threads. Notifications and requests arrive and start in the order in which they were
 * sent.
 */
export class Rpc<Theirs extends Methods> {
  readonly #options: RpcOptions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #working = new Map<number, AbortController>();
  #nextId = 0;
  #closed: Error | null = null;

  constructor(options: RpcOptions) {
    this.#options = options;
  }

  /** Sends a notification. No effect once the channel is closed. */
  tell<K extends keyof Theirs & string>(method: K, argument: Argument<Theirs, K>): void {
    if (this.#closed === null) this.#post({ kind: 'tell', method, argument });
  }

  /**
   * Sends a request. @throws the other side's error; ParleyError MEDIA_THREAD_SILENT; the signal's reason; the reason
   * of `close`; DataCloneError for values that are not plain data
   */
  async ask<K extends keyof Theirs & string>(
    method: K,
    argument: Argument<Theirs, K>,
    { timeoutMs, signal }: AskOptions,
  ): Promise<Answer<Theirs, K>> {
    if (this.#closed !== null) throw this.#closed;
    signal?.throwIfAborted();
    const { clock } = this.#options;
    const id = this.#nextId++;
    let cancel: Cancel = () => undefined;
    let onAbort = (): void => undefined;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const giveUp = (error: Error): void => {
        if (this.#waiting.delete(id) && this.#closed === null) this.#post({ kind: 'withdrawal', id });
        reject(error);
      };
      onAbort = () => giveUp(signal?.reason as Error);
      signal?.addEventListener('abort', onAbort, { once: true });
      const late = (): void => giveUp(new ParleyError('MEDIA_THREAD_SILENT', { method, timeoutMs }));
      cancel = clock.schedule(clock.nowMs() + timeoutMs, late);
    });
    try {
      this.#post({ kind: 'ask', id, method, argument });
      return (await answer) as Answer<Theirs, K>;
    } finally {
      this.#waiting.delete(id);
      cancel();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Handles a message of the other side. */
  receive(message: unknown): void {
    const frame = message as Frame;
    if (this.#closed !== null) return;
    if (frame.kind === 'tell') this.#heed(frame.method, frame.argument);
    else if (frame.kind === 'ask') this.#answer(frame);
    else if (frame.kind === 'answer') this.#waiting.get(frame.id)?.resolve(frame.value);
    else if (frame.kind === 'refusal') this.#waiting.get(frame.id)?.reject(fromWire(frame.error));
    else this.#working.get(frame.id)?.abort(new Error('the request was cancelled'));
  }

  /** The other side is gone or no longer needed: rejects all requests. May be called twice. */
  close(reason: Error): void {
    if (this.#closed !== null) return;
    this.#closed = reason;
    for (const { reject } of Array.from(this.#waiting.values())) reject(reason);
    for (const work of this.#working.values()) work.abort(reason);
    this.#waiting.clear();
  }

  #post(frame: Frame): void {
    this.#options.post(frame);
  }

  #heed(method: string, argument: unknown): void {
    try {
      const work = this.#call(method, argument, new AbortController().signal);
      if (work instanceof Promise) work.catch((error: Error) => this.#options.onFault(error));
    } catch (error) {
      this.#options.onFault(error as Error);
    }
  }

  #answer({ id, method, argument }: Frame & { kind: 'ask' }): void {
    const abort = new AbortController();
    this.#working.set(id, abort);
    const answer = (frame: Frame): void => {
      this.#working.delete(id);
      if (this.#closed === null && !abort.signal.aborted) this.#post(frame);
    };
    const refuse = (error: unknown): void => answer({ kind: 'refusal', id, error: toWire(error) });
    try {
      Promise.resolve(this.#call(method, argument, abort.signal))
        .then((value: unknown) => answer({ kind: 'answer', id, value }), refuse)
        .catch(refuse); // an answer that is not plain data
    } catch (error) {
      refuse(error);
    }
  }

  #call(method: string, argument: unknown, signal: AbortSignal): unknown {
    const { methods } = this.#options;
    if (!Object.hasOwn(methods, method)) throw new Error(`unknown method ${method}`);
    return methods[method]?.(argument as never, signal);
  }
}

/** An error as plain data, from which another thread can recreate it. */
export interface WireError {
  message: string;
  stack?: string | undefined;
  /** For parley's own errors. */
  own?: { code: ErrorCode; details: ErrorDetails; issues: readonly ValidationIssue[] | null };
  /** For system errors, such as `EADDRINUSE`. */
  systemCode?: string;
}

export function toWire(thrown: unknown): WireError {
  const error = errorOf(thrown);
  const wire: WireError = { message: error.message, stack: error.stack };
  if (error instanceof ParleyError) {
    const issues = error instanceof InvalidConfigError ? error.issues : null;
    return { ...wire, own: { code: error.code, details: error.details, issues } };
  }
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? { ...wire, systemCode: code } : wire;
}

export function fromWire({ message, stack, own, systemCode }: WireError): Error {
  const error = own === undefined ? new Error(message) : ownError(own);
  if (stack !== undefined) error.stack = stack;
  return systemCode === undefined ? error : Object.assign(error, { code: systemCode });
}

function ownError({ code, details, issues }: NonNullable<WireError['own']>): ParleyError {
  return issues === null ? new ParleyError(code, details) : new InvalidConfigError(issues);
}
