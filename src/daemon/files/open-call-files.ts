import { nowUnixMs } from '../../base/real-clock.js';
import type { Settings } from '../../settings/settings.js';
import { FileDeletionStore } from '../../store/file-deletions.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import { CallFiles } from './call-files.js';
import { FileDeletions, keptMsOf } from './file-deletions.js';
import { type FileSettings, openFileStore } from './remote-files.js';

/**
 * The files of calls for a command that works beside the daemon.
 * @param database null = there is none, so nothing will be deleted
 * @throws ParleyError CONFIG_INVALID
 */
export function openCallFiles(
  settings: FileSettings & Pick<Settings, 'dataDir' | 'retentionDays' | 'recordingRetentionDays'>,
  database: SqlDatabase | null,
): { files: CallFiles; close: () => Promise<void> } {
  const store = openFileStore(settings);
  if (store === null) return { files: new CallFiles(settings.dataDir), close: async () => undefined };
  const deletions =
    database === null
      ? { remove: async (): Promise<void> => undefined }
      : new FileDeletions({ store, rows: new FileDeletionStore(database), nowUnixMs, keptMs: keptMsOf(settings) });
  const files = new CallFiles(settings.dataDir, { store, deletions, location: store.location });
  return { files, close: () => store.close() };
}
