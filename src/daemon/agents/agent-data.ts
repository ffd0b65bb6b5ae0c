import { join } from 'node:path';
import type { Cancel, Clock } from '../../base/clock.js';
import { embeddingRoute } from '../../settings/models.js';
import type { Settings } from '../../settings/settings.js';
import { KnowledgeBase } from '../../store/knowledge.js';
import { StoredMemories } from '../../store/memory.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import type { Writes } from '../../store/writes.js';
import { Uploads } from '../http/uploads.js';
import { errorOf } from '../../base/errors.js';

export interface AgentDataOptions {
  settings: Settings;
  database: SqlDatabase;
  writes: Writes;
  clock: Clock;
  nowUnixMs: () => number;
  onError: (error: Error) => void;
}

const DAY_MS = 86_400_000;

/** Knowledge, memories and uploads of the daemon's agents. Deletes old data at the start and daily. */
export class AgentData {
  readonly knowledge: KnowledgeBase;
  readonly memories: StoredMemories;
  readonly uploads: Uploads;
  readonly #options: AgentDataOptions;
  #cancel: Cancel = () => undefined;

  constructor(options: AgentDataOptions) {
    this.#options = options;
    const { settings, database, writes, nowUnixMs, onError } = options;
    const { knowledgeFileBytes: fileBytes, knowledgeFiles: files } = settings.limits;
    this.knowledge = new KnowledgeBase({
      path: join(settings.dataDir, 'knowledge.db'),
      databaseUrl: settings.databaseUrl,
      limits: { fileBytes, files },
      embedding: embeddingRoute(settings),
      onFault: (reason) => onError(new Error(`knowledge base: ${reason}`)),
    });
    this.memories = new StoredMemories({ database, writes, retentionDays: settings.memoryRetentionDays, nowUnixMs });
    this.uploads = new Uploads(settings.dataDir, fileBytes);
    this.#purge();
  }

  /** Opens the knowledge base, so that the first call does not wait for it. */
  async warmUp(): Promise<void> {
    await this.knowledge.list();
  }

  /** May be called twice. Does not close the database. */
  async close(): Promise<void> {
    this.#cancel();
    await this.knowledge.close();
  }

  #purge(): void {
    const { clock, nowUnixMs, onError } = this.#options;
    this.#cancel = clock.schedule(clock.nowMs() + DAY_MS, () => this.#purge());
    this.memories.purge().catch((error: unknown) => onError(errorOf(error)));
    void this.uploads.purge(nowUnixMs()).catch(onError);
  }
}
