import { nowUnixMs } from '../../base/real-clock.js';
import type { Settings } from '../../settings/settings.js';
import { openDatabase } from '../../store/database.js';
import { SqliteMemories } from '../../store/memory.js';

/** The memories in the data folder, without expired ones. @throws ParleyError FILE_NOT_WRITABLE */
export function openMemories(settings: Settings): { store: SqliteMemories; close: () => void } {
  const database = openDatabase(settings.dataDir);
  const { memoryRetentionDays: retentionDays } = settings;
  const store = new SqliteMemories({ database, retentionDays, nowUnixMs });
  store.purge();
  return { store, close: () => void database.close() };
}
