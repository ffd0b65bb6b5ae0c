import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { RealClock } from '../../base/real-clock.js';
import { withTimeout } from '../../base/deadlines.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { type FileSettings, openFileStore } from '../../daemon/files/remote-files.js';
import { payloadOf } from '../../store/files/s3/payload.js';
import type { S3Files } from '../../store/files/s3/s3-files.js';
import { type Check, ok, problem } from './check.js';

/** For the whole round trip. */
const CHECK_MS = 20_000;
const CONTENT = '0123456789';

/** Checks the store for recordings and traces with a small file, which it writes, reads and deletes. */
export async function checkFiles(settings: FileSettings): Promise<Check[]> {
  let store: S3Files | null;
  try {
    store = openFileStore(settings);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [problem('files', error.message, 'set the access key of the store')];
  }
  if (store === null) return [];
  try {
    const files = store;
    await withTimeout(new RealClock(), CHECK_MS, (signal) => roundTrip(files, signal));
    return [ok('files', `${store.name} takes, returns, lists and deletes files`)];
  } catch (error) {
    const help = 'check the address, the key and its permissions (docs/scale-out.md)';
    return [problem('files', reasonOf(error), help)];
  } finally {
    await store.close();
  }
}

async function roundTrip(store: S3Files, signal: AbortSignal): Promise<void> {
  const key = `parley-doctor/${randomUUID()}.txt`;
  const part = async <T>(step: string, work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw new Error(`${step}: ${reasonOf(error)}`, { cause: error });
    }
  };
  await part('writing', store.put(key, payloadOf(Buffer.from(CONTENT)), signal));
  try {
    const uploadId = await part('beginning an upload in parts', store.begin(key, signal));
    await part('aborting an upload in parts', store.abort({ key, uploadId }));
    const file = await part('reading', store.open(key));
    if (file === null) throw new Error('reading: the file is not there');
    const read = String(await part('reading a range', file.stream(2, 4).then(buffer)));
    if (read !== CONTENT.slice(2, 5)) throw new Error(`reading a range: it returned "${read.slice(0, 100)}"`);
    await part('listing', first(store.list('parley-doctor/', signal)));
    await part('listing of uploads', first(store.uploads(signal)));
  } finally {
    await part('deleting', store.remove([key]));
  }
}

async function first(items: AsyncGenerator<unknown>): Promise<void> {
  await items.next();
  await items.return(undefined);
}
