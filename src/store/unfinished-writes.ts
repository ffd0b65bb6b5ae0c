import type { Queues } from '../base/queues.js';
import type { FunctionCall } from '../session/record/session-report.js';
import type { SealedRun, SealedSession, UnfinishedStore } from './unfinished.js';
import type { Written, Writes } from './writes.js';

/** The writes of running sessions to an `UnfinishedStore`. Those of one session are stored in their order. */
export class UnfinishedWrites<T extends { sessionId: string }> {
  readonly #store: UnfinishedStore<T>;
  readonly #queues: Queues;
  readonly #put: (session: SealedSession) => Promise<unknown>;
  readonly #remove: (sessionId: string) => Promise<unknown>;
  readonly #start: (mark: { sessionId: string; tool: string }) => Promise<Written<boolean>>;
  readonly #finish: (run: SealedRun) => Promise<unknown>;

  /** @param queues the order of the writes about each session */
  constructor(store: UnfinishedStore<T>, writes: Writes, queues: Queues) {
    this.#store = store;
    this.#queues = queues;
    this.#put = writes.operation('unfinished.put', (session) => store.putting(session));
    this.#remove = writes.operation('unfinished.remove', (sessionId) => store.removing(sessionId));
    this.#start = writes.operation('unfinished.start', ({ sessionId, tool }) => store.starting(sessionId, tool));
    this.#finish = writes.operation('unfinished.finish', (run) => store.finishing(run));
  }

  async put(session: T): Promise<void> {
    const sealed = this.#store.sealed(session);
    await this.#queues.run(session.sessionId, () => this.#put(sealed));
  }

  async remove(sessionId: string): Promise<void> {
    await this.#queues.run(sessionId, () => this.#remove(sessionId));
  }

  async start(sessionId: string, tool: string): Promise<boolean> {
    const written = await this.#queues.run(sessionId, () => this.#start({ sessionId, tool }));
    // While the database cannot be reached, no other node can have started it.
    return written?.result ?? true;
  }

  async finish(sessionId: string, call: FunctionCall): Promise<void> {
    const sealed = this.#store.sealedRun(sessionId, call);
    await this.#queues.run(sessionId, () => this.#finish(sealed));
  }
}
