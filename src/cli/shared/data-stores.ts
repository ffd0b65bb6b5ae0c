import { nowUnixMs } from '../../base/real-clock.js';
import type { Settings } from '../../settings/settings.js';
import type { EngineOptions } from '../../engine/options.js';
import type { DoNotCallEntry, DoNotCallList } from '../../session/after-call/do-not-call.js';
import { RecentSessions } from '../../session/after-call/memory.js';
import { DoNotCallStore } from '../../store/do-not-call.js';
import { StoredMemories } from '../../store/memory.js';
import { SessionStore } from '../../store/sessions.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import { type CommandDatabase, type DatabasePlace, hasDatabase, openCommandDatabase } from './command-database.js';

/** Opens the memories in the daemon's database and deletes expired ones. @throws ParleyError FILE_NOT_WRITABLE, DATABASE_… */
export async function openMemories(settings: Settings): Promise<{ store: StoredMemories; close: () => Promise<void> }> {
  const { database, close } = await openCommandDatabase(settings);
  try {
    const { memoryRetentionDays: retentionDays } = settings;
    const store = new StoredMemories({ database, retentionDays, nowUnixMs });
    await store.purge();
    return { store, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Stores that terminal calls share with the daemon: the do-not-call list and the sessions. */
export class CallStores {
  readonly #place: DatabasePlace;
  #opened: Promise<CommandDatabase> | null = null;

  constructor(place: DatabasePlace) {
    this.#place = place;
  }

  /** For `new Engine`. Reads the daemon's sessions; keeps the terminal's own in memory only. */
  engine(): Required<Pick<EngineOptions, 'doNotCall' | 'sessionMemory'>> {
    const recent = new RecentSessions();
    const stored = async (): Promise<SessionStore | null> =>
      this.#isThere ? new SessionStore(await this.#database()) : null;
    return {
      doNotCall: this.doNotCall(),
      sessionMemory: {
        byId: async (id, agentId) => (await recent.byId(id, agentId)) ?? (await stored())?.byId(id, agentId) ?? null,
        latest: async (name, value, agentId) =>
          (await recent.latest(name, value, agentId)) ?? (await stored())?.latest(name, value, agentId) ?? null,
        keep: (session) => recent.keep(session),
      },
    };
  }

  /** The do-not-call list; the database is created on the first write. */
  doNotCall(): DoNotCallList {
    const store = async (): Promise<DoNotCallStore> => new DoNotCallStore(await this.#database());
    return {
      has: async (number) => this.#isThere && (await store()).has(number),
      add: async (entry: DoNotCallEntry) => (await store()).add(entry),
      remove: async (number) => this.#isThere && (await store()).remove(number),
      list: async () => (this.#isThere ? (await store()).list() : []),
    };
  }

  /** May be called twice. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    await (await opened)?.close();
  }

  get #isThere(): boolean {
    return this.#opened !== null || hasDatabase(this.#place);
  }

  async #database(): Promise<SqlDatabase> {
    this.#opened ??= openCommandDatabase(this.#place);
    return (await this.#opened).database;
  }
}
