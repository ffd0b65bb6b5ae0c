import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { RealClock } from '../../base/real-clock.js';
import type { Cancel } from '../../base/clock.js';
import { withTimeout } from '../../base/deadlines.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import { fileNameOf } from '../../session/record/file-name.js';
import { FileDeletionStore } from '../../store/file-deletions.js';
import { LocalFiles } from '../../store/files/local-files.js';
import type { S3Files } from '../../store/files/s3/s3-files.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import { CallFiles } from './call-files.js';
import type { DaemonContext } from '../context.js';
import type { DaemonModule } from '../module.js';
import { FileDeletions, keptMsOf } from './file-deletions.js';
import { FileSender } from './file-sender.js';
import { openFileStore, type RemoteFiles } from './remote-files.js';
import { UploadQueue } from './upload-queue.js';
import { UploadStates } from './upload-states.js';

export interface FilesModule extends DaemonModule {
  /** The files of calls, here and in the store. */
  readonly callFiles: CallFiles;
  /** What waits for the store; null = there is none. */
  readonly queue: Pick<UploadQueue, 'waiting' | 'counts'> | null;
}

/** How often deletions are tried again. */
const RETRY_MS = 60_000;
const CHECK_MS = 5_000;

/**
 * Keeps recordings and traces in the data folder, or moves them to the store of the settings.
 * @param isTraceOpen whether a session of this process still writes its event log
 * @throws ParleyError CONFIG_INVALID without an access key for the store
 */
export function filesModule(context: DaemonContext, isTraceOpen: (sessionId: string) => Promise<boolean>): FilesModule {
  const { settings, database, faults } = context;
  const clock = context.clock.virtual ? new RealClock() : context.clock;
  const store = openFileStore(settings, { clock, seed: randomInt(2 ** 31) });
  if (store === null) return { name: 'files', callFiles: new CallFiles(settings.dataDir), queue: null };
  const { queue, deletions } = partsOf({ context: { ...context, clock }, store, database, isTraceOpen });
  const remote: RemoteFiles = { store, deletions, location: store.location };
  const closed = new AbortController();
  let cancel: Cancel = () => undefined;
  let retrying: Promise<void> = Promise.resolve();
  const retry = (): void => {
    retrying = deletions
      .retry(closed.signal)
      .catch((error: unknown) => {
        // The queue reports a store that is away.
        if (!(error instanceof ParleyError) && !closed.signal.aborted) faults.report(errorOf(error));
      })
      .then(() => {
        if (!closed.signal.aborted) cancel = clock.schedule(clock.nowMs() + RETRY_MS, retry);
      });
  };
  return {
    name: 'files',
    queue,
    callFiles: new CallFiles(settings.dataDir, remote),
    warmUp: () =>
      withTimeout(clock, CHECK_MS, (signal) => reached(store, signal)).catch((error: unknown) => [reasonOf(error)]),
    resume: () => {
      queue.start().catch((error: unknown) => faults.report(errorOf(error)));
      retry();
    },
    close: async () => {
      await queue.close();
      closed.abort(new Error('the daemon is closing'));
      cancel();
      await store.close();
      await retrying;
    },
  };
}

interface PartsOptions {
  context: DaemonContext;
  store: S3Files;
  database: SqlDatabase;
  isTraceOpen: (sessionId: string) => Promise<boolean>;
}

function partsOf({ context, store, database, isTraceOpen }: PartsOptions): {
  queue: UploadQueue;
  deletions: FileDeletions;
} {
  const { settings, clock, nowUnixMs, log, events } = context;
  const { dataDir } = settings;
  const keptMs = keptMsOf(settings);
  const rows = new FileDeletionStore(database);
  const local = new LocalFiles(dataDir);
  const queue: UploadQueue = new UploadQueue({
    clock,
    nowUnixMs,
    log,
    local,
    keptMs,
    sender: new FileSender(store, local, new UploadStates(join(dataDir, 'uploads'))),
    store: store.name,
    seed: randomInt(2 ** 31),
    warnBytes: settings.limits.waitingFileBytes,
    isDeleted: (key) => deletions.has(key),
    isWritten: async (key) => key.startsWith('traces/') && isTraceOpen(nameIn(key)),
    onSent: async (key) => {
      if (key.startsWith('recordings/')) await rows.attach(nameIn(key), key);
    },
    onUnwanted: (key) => deletions.remove([key]),
  });
  const deletions = new FileDeletions({ store, rows, nowUnixMs, keptMs, onRemove: (keys) => queue.forget(keys) });
  events.on('call.ended', ({ sessionId, recording }) => {
    const trace = CallFiles.traceKey(sessionId);
    queue.ended(recording === null ? [trace] : [recording, trace]);
  });
  return { queue, deletions };
}

/** The session id of a file, of which some characters may have been replaced. */
function nameIn(key: string): string {
  return fileNameOf(key.slice(key.indexOf('/') + 1, key.lastIndexOf('.')));
}

/** Whether the store answers. Returns a sentence if not. */
async function reached(store: S3Files, signal: AbortSignal): Promise<readonly string[]> {
  for await (const _ of store.list('parley-check/', signal)) break;
  return [];
}
