import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nowUnixMs, RealClock } from '../../../src/base/real-clock.js';
import { fileLocation } from '../../../src/settings/file-location.js';
import { contentOf } from '../../../src/store/files/file-store.js';
import { payloadIn, payloadOf } from '../../../src/store/files/s3/payload.js';
import { etagOfParts, S3Files } from '../../../src/store/files/s3/s3-files.js';
import { S3Double, type S3Options } from '../../vendors/s3.js';

const PART = 5 * 1024 * 1024;
const never = new AbortController().signal;
let double: S3Double;
let files: S3Files;
let folder: string;

async function open(options: S3Options = {}, { prefix = 'parley', more = '', skewMs = 0 } = {}): Promise<void> {
  double = await S3Double.start(options);
  const { files: url, filesAccessKeyId: id, filesSecretAccessKey: secret } = double.settings(prefix, more);
  files = new S3Files({
    location: fileLocation(url),
    key: { id, secret, sessionToken: null },
    clock: new RealClock(),
    nowUnixMs: () => nowUnixMs() + skewMs,
    seed: 1,
    retryMs: 1,
  });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-s3-'));
});

afterEach(async () => {
  rmSync(folder, { recursive: true });
  await files.close();
  await double.close();
});

describe('files of a bucket', () => {
  it('writes, reads ranges and deletes', async () => {
    await open();
    const { etag } = await files.put('recordings/a.wav', payloadOf(Buffer.from('0123456789')));
    expect(double.objects.get('parley/recordings/a.wav')).toMatchObject({
      etag,
      headers: { 'content-type': 'audio/wav' },
    });
    const file = await files.open('recordings/a.wav');
    expect(file).toMatchObject({ bytes: 10, etag });
    expect((await buffer(await file!.stream(2, 4))).toString()).toBe('234');
    expect(String(await contentOf((await files.open('recordings/a.wav'))!))).toBe('0123456789');
    await files.remove(['recordings/a.wav', 'recordings/never.wav']);
    expect(await files.open('recordings/a.wav')).toBeNull();
    expect(double.calls.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('signs keys with any characters, with and without a prefix', async () => {
    await open({}, { prefix: '' });
    for (const key of ["traces/a b'(1)*!.jsonl", 'traces/ü&<>%+.jsonl', 'traces/~a=b$@,;.jsonl']) {
      await files.put(key, payloadOf(Buffer.from('x')));
      expect(double.objects.has(key)).toBe(true);
      expect(await files.open(key)).toMatchObject({ bytes: 1 });
    }
    const listed: string[] = [];
    for await (const { key } of files.list('traces/', never)) listed.push(key);
    expect(listed).toEqual([...double.objects.keys()].sort());
    await files.remove([...double.objects.keys()].filter((key) => !/[&<>]/.test(key)));
    expect(double.objects.size).toBe(1);
  });

  it('lists all pages below the prefix', async () => {
    await open({ pageSize: 3 });
    for (let n = 0; n < 8; n++) await files.put(`traces/${String(n)}.jsonl`, payloadOf(Buffer.from(String(n))));
    await files.put('recordings/a.wav', payloadOf(Buffer.from('a')));
    const keys: string[] = [];
    for await (const { key, bytes, modifiedUnixMs } of files.list('traces/', never)) {
      keys.push(key);
      expect([bytes, Math.abs(modifiedUnixMs - nowUnixMs()) < 60_000]).toEqual([1, true]);
    }
    expect(keys).toEqual(Array.from({ length: 8 }, (_, n) => `traces/${String(n)}.jsonl`));
  });

  it('assembles a file of parts that were sent in any order', async () => {
    await open();
    const content = randomBytes(2 * PART + 1000);
    const path = join(folder, 'a.wav');
    writeFileSync(path, content);
    const upload = { key: 'recordings/a.wav', uploadId: await files.begin('recordings/a.wav') };
    const etags: string[] = [];
    const md5s: string[] = [];
    for (const part of [2, 3, 1]) {
      const body = await payloadIn(path, (part - 1) * PART, Math.min(part * PART, content.length), never);
      md5s[part - 1] = body.md5.toString('hex');
      etags[part - 1] = await files.putPart(upload, part, body);
    }
    const { etag } = await files.complete(upload, etags);
    expect(etag).toBe(etagOfParts(md5s));
    expect(double.objects.get('parley/recordings/a.wav')?.body.equals(content)).toBe(true);
    expect(double.uploads.size).toBe(0);
  });

  it('lists and aborts unfinished uploads', async () => {
    await open();
    const uploadId = await files.begin('recordings/a.wav');
    const found = [];
    for await (const upload of files.uploads(never)) found.push(upload);
    expect(found).toMatchObject([{ key: 'recordings/a.wav', uploadId }]);
    await files.abort({ key: 'recordings/a.wav', uploadId });
    await files.abort({ key: 'recordings/a.wav', uploadId });
    expect(double.uploads.size).toBe(0);
    double.fault = () => ({ status: 501, code: 'NotImplemented' });
    for await (const upload of files.uploads(never)) found.push(upload);
    expect(found).toHaveLength(1);
  });

  it('asks for encryption when a file is begun', async () => {
    await open({}, { more: '&sse=aws:kms&kms_key=alias/calls' });
    await files.put('a.wav', payloadOf(Buffer.from('a')));
    const upload = { key: 'b.wav', uploadId: await files.begin('b.wav') };
    const etag = await files.putPart(upload, 1, payloadOf(Buffer.from('b')));
    expect((await files.complete(upload, [etag])).isKmsEncrypted).toBe(true);
    for (const key of ['parley/a.wav', 'parley/b.wav']) {
      expect(double.objects.get(key)?.headers).toMatchObject({
        'x-amz-server-side-encryption': 'aws:kms',
        'x-amz-server-side-encryption-aws-kms-key-id': 'alias/calls',
      });
    }
  });

  it('makes links that need no key and expire', async () => {
    let late = 0;
    await open({ nowUnixMs: () => nowUnixMs() + late });
    await files.put('a.wav', payloadOf(Buffer.from('abc')));
    const link = files.link('a.wav', { contentType: 'audio/wav', disposition: 'inline; filename="x y.wav"' }, 60);
    const reply = await fetch(link, { headers: { range: 'bytes=1-2' } });
    expect([reply.status, await reply.text()]).toEqual([206, 'bc']);
    expect(reply.headers.get('content-disposition')).toBe('inline; filename="x y.wav"');
    expect((await fetch(link.replace('a.wav', 'b.wav'))).status).toBe(403);
    late = 61_000;
    expect((await fetch(link)).status).toBe(403);
  });
});

describe('a store that fails', () => {
  it.each([{ status: 503, code: 'SlowDown' }, { status: 500, code: 'InternalError' }, 'reset' as const])(
    'gets another attempt after %j',
    async (fault) => {
      await open();
      let faults = 2;
      double.fault = () => (faults-- > 0 ? fault : null);
      await files.put('a.wav', payloadOf(Buffer.from('a')));
      expect(double.calls).toHaveLength(3);
    },
  );

  it('is given up after three attempts', async () => {
    await open();
    double.fault = () => ({ status: 503, code: 'SlowDown' });
    await expect(files.put('a.wav', payloadOf(Buffer.from('a')))).rejects.toMatchObject({
      code: 'FILE_STORE_FAILED',
      message: 'The file store s3://calls/parley failed: SlowDown (SlowDown)',
    });
    expect(double.calls).toHaveLength(3);
  });

  it('has failed if it says so after a good status', async () => {
    await open();
    const upload = { key: 'a.wav', uploadId: await files.begin('a.wav') };
    const etag = await files.putPart(upload, 1, payloadOf(Buffer.from('a')));
    double.fault = () => 'late error';
    await expect(files.complete(upload, [etag])).rejects.toMatchObject({ code: 'FILE_STORE_FAILED' });
  });

  it('is refused for good with the wrong key', async () => {
    await open();
    const wrong = new S3Files({
      location: files.location,
      key: { id: 'AKTEST', secret: 'wrong', sessionToken: null },
      clock: new RealClock(),
      nowUnixMs,
      seed: 1,
    });
    await expect(wrong.open('a.wav')).rejects.toMatchObject({ code: 'FILE_STORE_REFUSED' });
    await expect(wrong.put('a.wav', payloadOf(Buffer.from('a')))).rejects.toMatchObject({
      code: 'FILE_STORE_REFUSED',
      details: { code: 'SignatureDoesNotMatch', status: 403 },
    });
    await wrong.close();
    expect(double.calls).toHaveLength(2);
  });

  it('corrects a clock that is wrong', async () => {
    await open({}, { skewMs: 3_600_000 });
    expect(await files.open('a.wav')).toBeNull();
    await files.put('a.wav', payloadOf(Buffer.from('a')));
    expect(double.objects.size).toBe(1);
    expect(double.calls).toHaveLength(3);
  });

  it('names a bucket that does not exist', async () => {
    await open();
    const { files: url, filesAccessKeyId: id, filesSecretAccessKey: secret } = double.settings();
    const other = new S3Files({
      location: { ...fileLocation(url), bucket: 'other' },
      key: { id, secret, sessionToken: null },
      clock: new RealClock(),
      nowUnixMs,
      seed: 1,
    });
    await expect(other.put('a.wav', payloadOf(Buffer.from('a')))).rejects.toThrow(/s3:\/\/other.* NoSuchBucket/);
    await other.close();
  });

  it('ends requests that hang when it closes', async () => {
    await open();
    double.fault = () => 'hang';
    const asked = files.open('a.wav');
    await double.until(() => double.calls.length === 1);
    const refused = expect(asked).rejects.toMatchObject({ code: 'FILE_STORE_FAILED' });
    await files.close();
    await refused;
  });
});
