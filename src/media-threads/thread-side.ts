import type { Clock } from '../clock/clock.js';
import { Engine } from '../engine/engine.js';
import type { SessionElsewhere, SessionHandle } from '../engine/line-elsewhere.js';
import { ParleyError } from '../errors.js';
import type { MainMethods, PlainRequest, ThreadMethods, ThreadSettings } from './protocol.js';
import { Rpc } from './rpc.js';
import { ThreadLines } from './thread-lines.js';
import { ThreadStores } from './thread-stores.js';

export interface ThreadSideOptions {
  settings: ThreadSettings;
  clock: Clock;
  post: (message: unknown) => void;
}

/** Whether a call may be handed on is known at once; asking somebody and connecting them is over after this at last. */
const PERMISSION_MS = 10_000;
const TRANSFER_MS = 600_000;

/** A media thread's own side: an engine, its sessions and their lines, at the main thread's bidding. */
export class ThreadSide {
  readonly #main: Rpc<MainMethods>;
  readonly #stores: ThreadStores;
  readonly #engine: Engine;
  readonly #lines: ThreadLines;
  readonly #sessions = new Map<string, SessionHandle>();
  /** What the engine has said of sessions that are being made. */
  readonly #told = new Map<string, SessionElsewhere['told']>();

  constructor({ settings, clock, post }: ThreadSideOptions) {
    const fault = (error: Error): void => {
      throw error; // what was told could not be done: a fault of parley's own, which ends the thread
    };
    this.#main = new Rpc({ post, methods: this.#methods(), clock, onFault: fault });
    this.#stores = new ThreadStores(settings, this.#main, clock);
    this.#lines = new ThreadLines(this.#main, clock);
    this.#engine = new Engine({
      ...settings.options,
      ...this.#stores.forEngine,
      clock,
      teller: {
        tell: async (session, { to, facts }) => void this.#told.set(session.id, { to, facts }),
        close: async () => undefined,
      },
    });
  }

  receive(message: unknown): void {
    this.#main.receive(message);
  }

  #methods(): ThreadMethods {
    const of = (id: string): SessionHandle | undefined => this.#sessions.get(id);
    return {
      warmUp: async () => {
        const [unreached] = await Promise.all([this.#engine.warmUp(), this.#lines.warmUp()]);
        return unreached;
      },
      openWebRtc: ({ line, peers }) => this.#lines.openWebRtc(line, peers),
      answerOffer: async ({ line, sdp }) => this.#lines.answer(line, sdp),
      closeLine: (line) => this.#lines.close(line),
      openSession: ({ line, request }) => this.#open(line, request),
      runSession: (id) => void of(id)?.run(),
      closeSession: (id) => void of(id)?.close(),
      say: ({ session, text }) => of(session)?.say(text),
      sendText: ({ session, text }) => of(session)?.sendText(text),
      finish: ({ session, target }) => of(session)?.finish(target),
      noteFault: ({ session, name, reason }) => of(session)?.noteFault(name, reason),
      flushTrace: async (session) => this.#stores.traces?.flush(session),
      close: () => this.#close(),
    };
  }

  async #open(line: string, { asks, logs, ...request }: PlainRequest): Promise<SessionElsewhere['told']> {
    const { id } = request;
    const main = this.#main;
    const session = await this.#engine.createSession({
      ...request,
      transport: this.#lines.transport(line),
      observe: (event) => {
        if (event.type !== 'ended') main.tell('event', { session: id, event });
      },
      ...(logs && { log: (entry) => main.tell('log', { session: id, entry }) }),
      ...(asks.mayTransfer && {
        mayTransfer: (target) => main.ask('mayTransfer', { session: id, target }, { timeoutMs: PERMISSION_MS }),
      }),
      ...(asks.consult && {
        consult: (about, signal) => main.ask('consult', { session: id, about }, { timeoutMs: TRANSFER_MS, signal }),
      }),
    });
    this.#sessions.set(id, session);
    void session.finished.then((report) => {
      this.#sessions.delete(id);
      main.tell('finished', report);
      void this.#lines.close(line);
    });
    const told = this.#told.get(id);
    this.#told.delete(id);
    if (told === undefined) throw new ParleyError('SESSION_CLOSED');
    return told;
  }

  async #close(): Promise<void> {
    await this.#engine.close();
    await this.#lines.closeAll();
    await this.#stores.close();
  }
}
