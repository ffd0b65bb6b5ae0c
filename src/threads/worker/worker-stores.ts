import Database from 'better-sqlite3';
import type { EngineOptions } from '../../engine/options.js';
import { DoNotCallStore } from '../../store/do-not-call.js';
import { SessionStore } from '../../store/sessions.js';
import { SqliteDatabase } from '../../store/sqlite/sqlite-database.js';
import { SqliteLiveTable } from '../../store/sqlite/sqlite-live-tables.js';
import { VOICE_VIEW } from '../../store/voices.js';
import { type SessionTraces, TraceFolder } from '../../session/record/trace-folder.js';
import type { Clock } from '../../base/clock.js';
import type { MainMethods, ThreadSettings } from '../wire/protocol.js';
import type { Rpc } from '../wire/rpc.js';

/** Deadline of a request to a store of the main thread; the callers have shorter ones. */
const ASK_MS = 30_000;
/** The writer may lock the database for this long. */
const BUSY_MS = 1_000;

/**
 * The stores of a media thread's sessions. Reads that a session needs while it is created use the thread's own
 * connection; writes, and stores with threads of their own, go through the main thread.
 */
export class WorkerStores {
  readonly traces: TraceFolder | null;
  readonly #database: Database.Database;
  readonly #main: Rpc<MainMethods>;

  constructor({ database, traces }: ThreadSettings, main: Rpc<MainMethods>, clock: Clock) {
    this.#main = main;
    this.#database = new Database(database, { readonly: true, fileMustExist: true, timeout: BUSY_MS });
    this.traces = traces === null ? null : new TraceFolder({ ...traces, clock });
  }

  /** The stores for the thread's engine. */
  get forEngine(): Pick<
    EngineOptions,
    'knowledge' | 'memories' | 'doNotCall' | 'voices' | 'sessionMemory' | 'traces' | 'afterCallMarks' | 'onMcpFault'
  > {
    const [main, database] = [this.#main, this.#database];
    const waits = { timeoutMs: ASK_MS };
    const own = new SqliteDatabase(database);
    const voices = new SqliteLiveTable(database, VOICE_VIEW);
    const [numbers, sessions] = [new DoNotCallStore(own), new SessionStore(own)];
    return {
      traces: (this.traces satisfies SessionTraces | null) ?? undefined,
      voices: { find: (provider, voiceId) => voices.get(provider, voiceId) },
      doNotCall: {
        has: (number) => numbers.has(number),
        list: () => numbers.list(),
        add: async (entry) => main.tell('doNotCall', entry),
        remove: async () => {
          throw new Error('a session cannot remove a number from the do-not-call list');
        },
      },
      sessionMemory: {
        byId: (id, agentId) => sessions.byId(id, agentId),
        latest: (identifier, value, agentId) => sessions.latest(identifier, value, agentId),
        keep: async (session) => main.tell('remember', session),
      },
      memories: {
        recall: (agentId, user, limit) => main.ask('recall', { agentId, user, limit }, waits),
        keep: (memory) => main.ask('keepMemory', memory, waits),
      },
      afterCallMarks: {
        start: (session, name) => main.ask('startAfterCall', { session, name }, waits),
        finish: (session, call) => main.ask('finishAfterCall', { session, call }, waits),
      },
      knowledge: {
        known: (ids) => main.ask('knownFiles', ids, waits),
        filesOf: (agentId) => main.ask('filesOf', agentId, waits),
        search: ({ signal, ...query }) => main.ask('search', query, { ...waits, signal }),
      },
      onMcpFault: (server, reason) => main.tell('mcpFault', { server, reason }),
    };
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await this.traces?.close();
    this.#database.close();
  }
}
