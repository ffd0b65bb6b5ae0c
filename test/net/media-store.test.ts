import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { GuardedClient } from '../../src/net/guarded-client.js';
import { MediaStore } from '../../src/net/media-store.js';
import { httpServer, type LocalServer } from './local-server.js';

const signal = new AbortController().signal;
let folder: string;
let server: LocalServer;
let client: GuardedClient;
let asked = 0;
let answer: { status: number; body: string };

beforeEach(async () => {
  folder = join(mkdtempSync(join(tmpdir(), 'parley-media-store-')), 'kept');
  asked = 0;
  answer = { status: 200, body: 'sound' };
  server = await httpServer((_request, response) => {
    asked++;
    response.writeHead(answer.status).end(answer.body);
  });
  client = new GuardedClient({ clock: new RealClock(), allowUrls: [server.origin] });
});
afterEach(async () => {
  await client.close();
  await server.close();
  rmSync(join(folder, '..'), { recursive: true });
});

const get = async (store: MediaStore): Promise<string> =>
  Buffer.from(await store.fetch(`${server.origin}/hum.mp3`, signal)).toString();

describe('a media store', () => {
  it('asks once a day, also across processes', async () => {
    expect(await get(new MediaStore({ client, folder }))).toBe('sound');
    answer = { status: 200, body: 'other sound' };
    expect(await get(new MediaStore({ client, folder }))).toBe('sound');
    expect(asked).toBe(1);
    const [name = ''] = readdirSync(folder);
    utimesSync(join(folder, name), 1, 1); // long ago
    expect(await get(new MediaStore({ client, folder }))).toBe('other sound');
    expect(readdirSync(folder)).toHaveLength(1);
  });

  it('uses what it has where the address has stopped answering', async () => {
    const store = new MediaStore({ client, folder });
    await get(store);
    utimesSync(join(folder, readdirSync(folder)[0] ?? ''), 1, 1);
    answer = { status: 500, body: '' };
    expect(await get(store)).toBe('sound');
  });

  it('refuses what is no file, too large, or not to be called', async () => {
    const store = new MediaStore({ client, folder, maxBytes: 10 });
    answer = { status: 302, body: '' };
    await expect(get(store)).rejects.toMatchObject({ code: 'NET_FAILED', message: /status is 302/ });
    answer = { status: 200, body: 'more than ten bytes' };
    await expect(get(store)).rejects.toMatchObject({ code: 'NET_TOO_LARGE' });
    await expect(store.fetch('http://10.0.0.1/hum.mp3', signal)).rejects.toMatchObject({ code: 'NET_ADDRESS_REFUSED' });
  });

  it('works without a folder, and with one that cannot be written', async () => {
    expect(await get(new MediaStore({ client, folder: null }))).toBe('sound');
    expect(await get(new MediaStore({ client, folder: '/dev/null/nowhere' }))).toBe('sound');
  });
});
