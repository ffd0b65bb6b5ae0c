import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nowUnixMs, RealClock } from '../../../src/base/real-clock.js';
import { CallFiles } from '../../../src/daemon/files/call-files.js';
import { FileDeletions } from '../../../src/daemon/files/file-deletions.js';
import { openFileStore } from '../../../src/daemon/files/remote-files.js';
import { fileLocation } from '../../../src/settings/file-location.js';
import { FileDeletionStore } from '../../../src/store/file-deletions.js';
import { payloadOf } from '../../../src/store/files/s3/payload.js';
import { S3Files } from '../../../src/store/files/s3/s3-files.js';
import { sqlite, type TestDatabase } from '../../store/support/backends.js';
import { S3Double } from '../../vendors/s3.js';

const DAY_MS = 86_400_000;
const CALL = { sessionId: 'a', recording: 'recordings/a.wav' };
const never = new AbortController().signal;
let opened: TestDatabase;
let double: S3Double;
let store: S3Files;
let deletions: FileDeletions;
let dataDir: string;
let files: CallFiles;
let storeUnixMs: () => number;

beforeEach(async () => {
  opened = await sqlite.open();
  storeUnixMs = nowUnixMs;
  double = await S3Double.start({ nowUnixMs: () => storeUnixMs() });
  dataDir = mkdtempSync(join(tmpdir(), 'parley-files-'));
  const { files: url, filesAccessKeyId: id, filesSecretAccessKey: secret } = double.settings();
  store = new S3Files({
    location: fileLocation(url),
    key: { id, secret, sessionToken: null },
    clock: new RealClock(),
    nowUnixMs: () => storeUnixMs(),
    seed: 1,
    retryMs: 1,
  });
  deletions = new FileDeletions({ store, rows: new FileDeletionStore(opened.database), nowUnixMs, keptMs: DAY_MS });
  files = new CallFiles(dataDir, { store, deletions, location: store.location });
});

afterEach(async () => {
  await store.close();
  await double.close();
  await opened.remove();
  rmSync(dataDir, { recursive: true, force: true });
});

const body = (text: string) => payloadOf(Buffer.from(text));

function put(key: string, content: string, daysAgo = 0): void {
  const path = join(dataDir, key);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  const unixS = (nowUnixMs() - daysAgo * DAY_MS) / 1000;
  utimesSync(path, unixS, unixS);
}

const isThere = (key: string): boolean => existsSync(join(dataDir, key));

describe('reading', () => {
  it('takes the file here, else the one in the store', async () => {
    put('recordings/a.wav', 'here');
    await store.put('recordings/a.wav', body('there'));
    expect(String(await files.read('recordings/a.wav'))).toBe('here');
    expect(files.addressOf('recordings/a.wav')).toBe(join(dataDir, 'recordings/a.wav'));
    rmSync(join(dataDir, 'recordings/a.wav'));
    expect(String(await files.read('recordings/a.wav'))).toBe('there');
    expect(files.addressOf('recordings/a.wav')).toBe('s3://calls/parley/recordings/a.wav');
    expect(await files.read('recordings/b.wav')).toBeNull();
  });

  it('knows recordings outside of the data folder by their paths', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'parley-outside-'));
    const path = join(outside, 'x.wav');
    writeFileSync(path, 'elsewhere');
    expect([files.kept(path), files.kept(join(dataDir, 'recordings/a.wav'))]).toEqual([path, 'recordings/a.wav']);
    expect(String(await files.read(path))).toBe('elsewhere');
    rmSync(outside, { recursive: true });
    expect(await files.read(path)).toBeNull();
    expect(double.calls).toEqual([]);
  });
});

describe('deletion', () => {
  it('removes the files here and in the store, and remembers them', async () => {
    put('recordings/a.wav', 'here');
    await store.put('traces/a.jsonl', body('there'));
    expect(await files.remove(CALL)).toEqual({ recordings: 1, traces: 1 });
    expect([isThere('recordings/a.wav'), double.objects.size]).toEqual([false, 0]);
    expect(await deletions.has('recordings/a.wav')).toBe(true);
    expect(await files.remove({ sessionId: 'b', recording: null })).toEqual({ recordings: 0, traces: 0 });
  });

  it('is made up for when the store is back', async () => {
    await store.put('recordings/a.wav', body('there'));
    double.fault = () => ({ status: 503, code: 'SlowDown' });
    expect(await files.remove(CALL)).toEqual({ recordings: 1, traces: 1 });
    await expect(deletions.retry(never)).rejects.toMatchObject({ code: 'FILE_STORE_FAILED' });
    double.fault = () => null;
    await deletions.retry(never);
    expect(double.objects.size).toBe(0);
    const asked = double.calls.length;
    await deletions.retry(never);
    expect(double.calls.length).toBe(asked);
  });

  it('works with a store that deletes only one file at a time', async () => {
    await store.put('recordings/a.wav', body('there'));
    double.fault = ({ method }) => (method === 'POST' ? { status: 501, code: 'NotImplemented' } : null);
    await files.remove(CALL);
    expect(double.objects.size).toBe(0);
  });

  it('of a call past its retention leaves nothing behind', async () => {
    put('recordings/a.wav', 'here');
    await store.put('recordings/a.wav', body('there'));
    await store.put('traces/a.jsonl', body('there'));
    expect(await files.expire([CALL])).toEqual({ recordings: 1, traces: 0 });
    expect([isThere('recordings/a.wav'), double.objects.size]).toEqual([false, 0]);
    expect(await deletions.has('recordings/a.wav')).toBe(false);
  });
});

describe('sweeps', () => {
  it('delete old files here', async () => {
    put('recordings/old.wav', 'x', 10);
    put('recordings/new.wav', 'x', 1);
    put('traces/old.jsonl', 'x', 10);
    expect(await files.sweep(nowUnixMs() - 5 * DAY_MS, never)).toEqual({ recordings: 1, traces: 1 });
    expect([isThere('recordings/old.wav'), isThere('recordings/new.wav')]).toEqual([false, true]);
  });

  it('delete old files in the store, and uploads of nodes that died', async () => {
    storeUnixMs = () => nowUnixMs() - 10 * DAY_MS;
    await store.put('recordings/old.wav', body('x'));
    await store.put('traces/old.jsonl', body('x'));
    await store.begin('recordings/abandoned.wav');
    storeUnixMs = nowUnixMs;
    await store.put('recordings/new.wav', body('x'));
    const running = await store.begin('recordings/running.wav');
    expect(await files.sweepStore(nowUnixMs() - 5 * DAY_MS, nowUnixMs(), never)).toEqual({ recordings: 1, traces: 1 });
    expect([...double.objects.keys()]).toEqual(['parley/recordings/new.wav']);
    expect([...double.uploads.keys()]).toEqual([running]);
  });
});

describe('the store of the settings', () => {
  const settings = { files: 's3://calls', filesAccessKeyId: 'AK', filesSecretAccessKey: null, filesSessionToken: null };

  it('needs an access key', () => {
    expect(() => openFileStore(settings)).toThrow(
      'The configuration is not valid: PARLEY_FILES needs AWS_SECRET_ACCESS_KEY (filesSecretAccessKey)',
    );
  });

  it('may be none', () => {
    expect(openFileStore({ ...settings, files: null })).toBeNull();
  });
});
