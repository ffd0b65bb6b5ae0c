import { existsSync } from 'node:fs';
import { nowUnixMs } from '../../base/real-clock.js';
import type { Settings } from '../../settings/settings.js';
import type { EngineOptions } from '../../engine/options.js';
import type { DoNotCallEntry, DoNotCallList } from '../../session/after-call/do-not-call.js';
import { RecentSessions } from '../../session/after-call/memory.js';
import { databaseFile, openDatabase } from '../../store/database.js';
import { DoNotCallStore } from '../../store/do-not-call.js';
import { SqliteMemories } from '../../store/memory.js';
import { SessionStore } from '../../store/sessions.js';
import { SqliteDatabase } from '../../store/sqlite/sqlite-database.js';

/** Opens the memories in the data folder and deletes expired ones. @throws ParleyError FILE_NOT_WRITABLE */
export function openMemories(settings: Settings): { store: SqliteMemories; close: () => void } {
  const database = openDatabase(settings.dataDir);
  const { memoryRetentionDays: retentionDays } = settings;
  const store = new SqliteMemories({ database, retentionDays, nowUnixMs });
  store.purge();
  return { store, close: () => void database.close() };
}

/** Stores that terminal calls share with the daemon: the do-not-call list and the sessions. */
export class CallStores {
  readonly #dataDir: string;
  #database: ReturnType<typeof openDatabase> | null = null;

  constructor({ dataDir }: Pick<Settings, 'dataDir'>) {
    this.#dataDir = dataDir;
  }

  /** For `new Engine`. Reads the daemon's sessions; keeps the terminal's own in memory only. */
  engine(): Required<Pick<EngineOptions, 'doNotCall' | 'sessionMemory'>> {
    const recent = new RecentSessions();
    const stored = (): SessionStore | null =>
      this.#isThere() ? new SessionStore(new SqliteDatabase(this.#open())) : null;
    return {
      doNotCall: this.doNotCall(),
      sessionMemory: {
        byId: async (id, agentId) => (await recent.byId(id, agentId)) ?? stored()?.byId(id, agentId) ?? null,
        latest: async (name, value, agentId) =>
          (await recent.latest(name, value, agentId)) ?? stored()?.latest(name, value, agentId) ?? null,
        keep: (session) => recent.keep(session),
      },
    };
  }

  /** The do-not-call list; the database is created on the first write. */
  doNotCall(): DoNotCallList {
    const store = (): DoNotCallStore => new DoNotCallStore(new SqliteDatabase(this.#open()));
    return {
      has: async (number) => this.#isThere() && store().has(number),
      add: (entry: DoNotCallEntry) => store().add(entry),
      remove: async (number) => this.#isThere() && store().remove(number),
      list: async () => (this.#isThere() ? store().list() : []),
    };
  }

  close(): void {
    this.#database?.close();
    this.#database = null;
  }

  #isThere(): boolean {
    return this.#database !== null || existsSync(databaseFile(this.#dataDir));
  }

  #open(): ReturnType<typeof openDatabase> {
    this.#database ??= openDatabase(this.#dataDir);
    return this.#database;
  }
}
