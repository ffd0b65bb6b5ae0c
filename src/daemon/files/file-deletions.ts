import { ParleyError } from '../../base/errors.js';
import type { S3Files } from '../../store/files/s3/s3-files.js';
import type { Settings } from '../../settings/settings.js';
import { DAY_MS } from '../daily-purge.js';
import type { FileDeletionStore } from '../../store/file-deletions.js';

export interface FileDeletionsOptions {
  store: Pick<S3Files, 'remove'>;
  rows: FileDeletionStore;
  nowUnixMs: () => number;
  /** How long a file may be on the disk of a node. */
  keptMs: number;
  /** Stops sending the files from here. */
  onRemove?: (keys: readonly string[]) => void;
}

/** How long files are kept at most, so how long a node may have one on its disk, in ms. */
export function keptMsOf({
  retentionDays,
  recordingRetentionDays,
}: Pick<Settings, 'retentionDays' | 'recordingRetentionDays'>): number {
  return Math.min(retentionDays, recordingRetentionDays) * DAY_MS;
}

/** Files that one look deletes. */
const BATCH = 1000;

/** Deletes files in the store for good: also when it is away, and while another node still has them on its disk. */
export class FileDeletions {
  readonly #options: FileDeletionsOptions;

  constructor(options: FileDeletionsOptions) {
    this.#options = options;
  }

  /** Resolves when the files are deleted, or noted for `retry` because the store is away. */
  async remove(keys: readonly string[]): Promise<void> {
    const { rows, nowUnixMs, onRemove } = this.#options;
    await rows.add(keys, nowUnixMs() * 1000);
    onRemove?.(keys);
    await this.#delete(keys).catch(unlessOfStore);
  }

  /** Whether the deletion of a file was asked for, on any node. */
  has(key: string): Promise<boolean> {
    return this.#options.rows.has(key);
  }

  /** Deletes what is still to be deleted, and forgets what no node can have. @throws ParleyError FILE_STORE_… */
  async retry(signal: AbortSignal): Promise<void> {
    const { rows, nowUnixMs, keptMs } = this.#options;
    for (let keys = await rows.open(BATCH); keys.length > 0 && !signal.aborted; keys = await rows.open(BATCH)) {
      await this.#delete(keys);
    }
    await rows.purge((nowUnixMs() - keptMs) * 1000);
  }

  async #delete(keys: readonly string[]): Promise<void> {
    await this.#options.store.remove(keys);
    await this.#options.rows.done(keys);
  }
}

function unlessOfStore(error: unknown): void {
  if (error instanceof ParleyError && error.code.startsWith('FILE_STORE_')) return;
  throw error;
}
