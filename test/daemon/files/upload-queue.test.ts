import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nowUnixMs, RealClock } from '../../../src/base/real-clock.js';
import { FileSender, PART_BYTES } from '../../../src/daemon/files/file-sender.js';
import { UploadQueue, type UploadQueueOptions } from '../../../src/daemon/files/upload-queue.js';
import { UploadStates } from '../../../src/daemon/files/upload-states.js';
import { fileLocation } from '../../../src/settings/file-location.js';
import { LocalFiles } from '../../../src/store/files/local-files.js';
import { S3Files } from '../../../src/store/files/s3/s3-files.js';
import { S3Double, type S3Options } from '../../vendors/s3.js';

const DAY_MS = 86_400_000;
/** Of the double: the key of a recording. */
const WAV = 'parley/recordings/a.wav';

let dataDir: string;
let double: S3Double;
const closers: (() => Promise<void>)[] = [];
const logged: string[] = [];
const deleted = new Set<string>();
const sent: string[] = [];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-queue-'));
  logged.length = 0;
  sent.length = 0;
  deleted.clear();
});

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function startDouble(options: S3Options = {}): Promise<void> {
  double = await S3Double.start(options);
  closers.push(() => double.close());
}

/** A queue that looks at the disk every 10 ms, and at which nothing is complete by its age. */
function queue(options: Partial<UploadQueueOptions> = {}, times: UploadQueueOptions['times'] = {}): UploadQueue {
  const { files, filesAccessKeyId: id, filesSecretAccessKey: secret } = double.settings();
  const clock = new RealClock();
  const location = fileLocation(files);
  const key = { id, secret, sessionToken: null };
  const store = new S3Files({ location, key, clock, nowUnixMs, seed: 1, retryMs: 1 });
  const local = new LocalFiles(dataDir);
  const made = new UploadQueue({
    clock,
    nowUnixMs,
    local,
    sender: new FileSender(store, local, new UploadStates(join(dataDir, 'uploads'))),
    store: store.name,
    seed: 1,
    log: { write: (level, text) => void logged.push(`${level}: ${text}`) },
    isDeleted: async (file) => deleted.has(file),
    isWritten: async () => false,
    onSent: async (file) => void sent.push(file),
    onUnwanted: async (file) => void (await store.remove([file])),
    keptMs: 90 * DAY_MS,
    warnBytes: 1e12,
    ...options,
    times: { scanMs: 10, settledMs: DAY_MS, pauseMs: 10, longestPauseMs: 40, flushMs: 10_000, ...times },
  });
  closers.push(async () => {
    await made.close();
    await store.close();
  });
  return made;
}

function put(key: string, content: Buffer | string): string {
  const path = join(dataDir, key);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** Writes over the beginning of a file, as a recording does with its header. */
function overwrite(path: string, bytes: Buffer): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, 0);
  closeSync(file);
}

const isThere = (key: string): boolean => existsSync(join(dataDir, key));
const uploads = (): string[] => (existsSync(join(dataDir, 'uploads')) ? readdirSync(join(dataDir, 'uploads')) : []);
const gone = (key: string) => () => !isThere(key);

/** Waits for a condition that changes after a request. */
async function until(condition: () => boolean): Promise<void> {
  const clock = new RealClock();
  while (!condition()) {
    if (clock.nowMs() > 10_000) throw new Error(`not within 10 s: ${condition.toString()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('files of calls that have ended', () => {
  it('are sent, verified and deleted from the disk', async () => {
    await startDouble();
    put('recordings/a.wav', 'sound');
    put('traces/a.jsonl', '{}\n');
    put('recordings/b.wav', 'another, whose call goes on');
    const made = queue();
    await made.start();
    made.ended(['recordings/a.wav', 'traces/a.jsonl', 'traces/never.jsonl']);
    await until(() => sent.length === 2);
    await until(gone('recordings/a.wav'));
    await until(gone('traces/a.jsonl'));
    expect(new Map(Array.from(double.objects, ([key, { body }]) => [key, String(body)]))).toEqual(
      new Map([
        [WAV, 'sound'],
        ['parley/traces/a.jsonl', '{}\n'],
      ]),
    );
    expect(isThere('recordings/b.wav')).toBe(true);
    await until(() => made.counts.sent === 2);
    expect(made.counts).toEqual({ sent: 2, sentBytes: 8, failed: 0 });
  });

  it('are sent after a restart by their age', async () => {
    await startDouble();
    const path = put('recordings/a.wav', 'sound');
    put('recordings/fresh.wav', 'sound');
    const minuteAgo = nowUnixMs() / 1000 - 61;
    utimesSync(path, minuteAgo, minuteAgo);
    await queue({}, { settledMs: 60_000 }).start();
    await until(gone('recordings/a.wav'));
    expect(isThere('recordings/fresh.wav')).toBe(true);
  });

  it('are left to retention once they are too old', async () => {
    await startDouble();
    const path = put('recordings/a.wav', 'sound');
    const old = nowUnixMs() / 1000 - 91 * 86_400;
    utimesSync(path, old, old);
    const made = queue({}, { settledMs: 0 });
    await made.start();
    await made.idle();
    expect(made.waiting.files).toBe(0);
    expect(double.calls).toEqual([]);
  });

  it('wait while a session still writes them', async () => {
    await startDouble();
    put('traces/a.jsonl', '1\n');
    let isWritten = true;
    const made = queue({ isWritten: async () => isWritten });
    await made.start();
    made.ended(['traces/a.jsonl']);
    await made.idle();
    expect(double.calls).toEqual([]);
    appendFileSync(join(dataDir, 'traces/a.jsonl'), '2\n');
    isWritten = false;
    await until(gone('traces/a.jsonl'));
    expect(String(double.objects.get('parley/traces/a.jsonl')?.body)).toBe('1\n2\n');
  });

  it('are sent again if they change meanwhile', async () => {
    await startDouble();
    const path = put('recordings/a.wav', 'sound');
    double.fault = ({ method }) => {
      if (method === 'PUT' && String(double.objects.get(WAV)?.body) !== 'sound') appendFileSync(path, '+');
      return null;
    };
    const made = queue();
    await made.start();
    made.ended(['recordings/a.wav']);
    await until(gone('recordings/a.wav'));
    expect(String(double.objects.get(WAV)?.body)).toMatch(/^sound\++$/);
    expect(double.calls.filter(({ method }) => method === 'PUT').length).toBeGreaterThan(1);
  });

  it('are complete in the store also if it encrypts with KMS', async () => {
    await startDouble({ isKms: true });
    put('recordings/a.wav', randomBytes(2 * PART_BYTES + 5));
    const made = queue();
    await made.start();
    made.ended(['recordings/a.wav']);
    await until(gone('recordings/a.wav'));
    expect(double.objects.get(WAV)?.body.length).toBe(2 * PART_BYTES + 5);
  });
});

describe('a recording that grows', () => {
  it('is sent in parts, the one with the header last', async () => {
    await startDouble();
    const content = randomBytes(3 * PART_BYTES + 100);
    const path = put('recordings/a.wav', content.subarray(0, 2 * PART_BYTES + 1));
    const made = queue();
    await made.start();
    const parts = (): (string | undefined)[] =>
      double.calls.filter(({ query }) => query['partNumber'] !== undefined).map(({ query }) => query['partNumber']);
    await until(() => parts().length === 1);
    appendFileSync(path, content.subarray(2 * PART_BYTES + 1));
    await until(() => parts().length === 2);
    const header = Buffer.from('the final header');
    overwrite(path, header);
    made.ended(['recordings/a.wav']);
    await until(gone('recordings/a.wav'));
    expect(parts()).toEqual(['2', '3', '4', '1']);
    const whole = Buffer.concat([header, content.subarray(header.length)]);
    expect(double.objects.get(WAV)?.body.equals(whole)).toBe(true);
    await until(() => uploads().length === 0);
    expect(double.uploads.size).toBe(0);
  });

  it('is continued after a restart', async () => {
    await startDouble();
    const content = randomBytes(3 * PART_BYTES);
    put('recordings/a.wav', content);
    const first = queue();
    await first.start();
    await until(() => double.calls.filter(({ query }) => query['partNumber'] === '3').length === 1);
    await first.close();
    expect(uploads()).toEqual([`${encodeURIComponent('recordings/a.wav')}.json`]);
    double.calls.length = 0;
    await queue({}, { settledMs: 0 }).start();
    await until(gone('recordings/a.wav'));
    expect(double.calls.map(({ method, query }) => `${method} ${query['partNumber'] ?? ''}`)).toEqual([
      'PUT 1',
      'POST ',
    ]);
    expect(double.objects.get(WAV)?.body.equals(content)).toBe(true);
  });

  it('is sent anew if its upload is gone', async () => {
    await startDouble();
    const content = randomBytes(3 * PART_BYTES);
    put('recordings/a.wav', content);
    const made = queue();
    await made.start();
    await until(() => double.calls.filter(({ query }) => query['partNumber'] === '3').length === 1);
    double.uploads.clear();
    made.ended(['recordings/a.wav']);
    await until(gone('recordings/a.wav'));
    expect(double.objects.get(WAV)?.body.equals(content)).toBe(true);
  });

  it('leaves no parts behind when its file is deleted', async () => {
    await startDouble();
    put('recordings/a.wav', randomBytes(2 * PART_BYTES));
    const made = queue();
    await made.start();
    await until(() => uploads().length === 1 && double.uploads.size === 1);
    made.forget(['recordings/a.wav']);
    rmSync(join(dataDir, 'recordings/a.wav'));
    await until(() => double.uploads.size === 0);
    await until(() => uploads().length === 0);
  });
});

describe('a store that is away', () => {
  it('is tried after growing pauses, one file at a time, until it takes everything', async () => {
    await startDouble();
    for (let n = 0; n < 20; n++) put(`recordings/${String(n)}.wav`, 'sound');
    let down = 40;
    double.fault = () => (down-- > 0 ? { status: 503, code: 'SlowDown' } : null);
    const made = queue({}, { settledMs: 0 });
    await made.start();
    expect(made.waiting).toMatchObject({ files: 20, bytes: 100 });
    expect(made.waiting.oldestUnixMs).toBeLessThanOrEqual(nowUnixMs());
    await until(() => double.objects.size === 20);
    await until(() => made.waiting.files === 0);
    expect(logged).toEqual([
      'warn: files wait on the disk: The file store s3://calls/parley failed: SlowDown (SlowDown)',
      'info: s3://calls/parley takes files again',
    ]);
  });

  it('does not keep the daemon from closing, and gets the files from the next one', async () => {
    await startDouble();
    put('recordings/a.wav', 'sound');
    double.fault = () => 'reset';
    const first = queue({}, { settledMs: 0 });
    await first.start();
    await until(() => first.counts.failed > 0);
    await first.close();
    expect(isThere('recordings/a.wav')).toBe(true);
    double.fault = () => null;
    await queue({}, { settledMs: 0 }).start();
    await until(gone('recordings/a.wav'));
  });

  it('may hang in the middle of a part', async () => {
    await startDouble();
    const content = randomBytes(2 * PART_BYTES + 1);
    put('recordings/a.wav', content);
    let hangs = true;
    double.fault = ({ query }) => (query['partNumber'] === '3' && hangs ? 'hang' : null);
    const first = queue({}, { settledMs: 0, flushMs: 1 });
    await first.start();
    await double.until(() => double.calls.some(({ query }) => query['partNumber'] === '3'));
    await first.close();
    hangs = false;
    await queue({}, { settledMs: 0 }).start();
    await until(gone('recordings/a.wav'));
    expect(double.objects.get(WAV)?.body.equals(content)).toBe(true);
  });

  it('may break off in the middle of a file', async () => {
    await startDouble();
    const content = randomBytes(2 * PART_BYTES);
    put('recordings/a.wav', content);
    let cuts = 5;
    double.fault = ({ method }) => (method === 'PUT' && cuts-- > 0 ? 'cut' : null);
    const made = queue();
    made.ended(['recordings/a.wav']);
    await made.start();
    await until(gone('recordings/a.wav'));
    expect(double.objects.get(WAV)?.body.equals(content)).toBe(true);
    expect(made.counts.failed).toBe(1);
  });

  it('has a queue whose size is warned of once', async () => {
    await startDouble();
    double.fault = () => ({ status: 403, code: 'AccessDenied' });
    put('recordings/a.wav', randomBytes(200_000));
    const made = queue({ warnBytes: 100_000 }, { settledMs: 0 });
    await made.start();
    await until(() => made.counts.failed > 2);
    expect(logged.filter((line) => line.includes('limits.waitingFileBytes'))).toEqual([
      'warn: 0.0 GB in 1 files wait on the disk for s3://calls/parley, more than 0.0 GB (limits.waitingFileBytes)',
    ]);
    expect(isThere('recordings/a.wav')).toBe(true);
  });

  it('fails for one file without holding up the others', async () => {
    await startDouble();
    put('recordings/bad.wav', 'sound');
    put('recordings/good.wav', 'sound');
    double.fault = ({ key }) => (key.endsWith('bad.wav') ? { status: 400, code: 'EntityTooLarge' } : null);
    const made = queue({}, { settledMs: 0 });
    await made.start();
    await until(gone('recordings/good.wav'));
    await until(() => made.counts.failed > 1);
    expect(isThere('recordings/bad.wav')).toBe(true);
    expect(logged).toHaveLength(1);
  });
});

describe('a file whose deletion was asked for', () => {
  it('is deleted in place of being sent', async () => {
    await startDouble();
    put('recordings/a.wav', 'sound');
    deleted.add('recordings/a.wav');
    const made = queue({}, { settledMs: 0 });
    await made.start();
    await until(gone('recordings/a.wav'));
    await made.idle();
    expect(double.objects.size).toBe(0);
    expect(double.calls.some(({ method }) => method === 'PUT')).toBe(false);
  });

  it('is deleted in the store if it was sent meanwhile', async () => {
    await startDouble();
    put('recordings/a.wav', 'sound');
    double.fault = ({ method }) => {
      if (method === 'PUT') deleted.add('recordings/a.wav');
      return null;
    };
    await queue({}, { settledMs: 0 }).start();
    await until(gone('recordings/a.wav'));
    await until(() => double.objects.size === 0);
    expect(sent).toEqual([]);
  });
});

it('sends what has just ended before it closes', async () => {
  await startDouble();
  for (let n = 0; n < 10; n++) put(`traces/${String(n)}.jsonl`, '{}\n');
  const made = queue({}, { scanMs: DAY_MS });
  await made.start();
  made.ended(Array.from({ length: 10 }, (_, n) => `traces/${String(n)}.jsonl`));
  await made.close();
  expect(double.objects.size).toBe(10);
  expect(statSync(join(dataDir, 'traces')).isDirectory()).toBe(true);
  expect(readdirSync(join(dataDir, 'traces'))).toEqual([]);
});
