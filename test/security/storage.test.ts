/**
 * A data folder that is full, read-only, broken, in use or whose time jumps: a clear error, calls go on, nothing is
 * half-written. Full and read-only folders are real ones, in memory, and need the right to mount.
 */
import Database from 'better-sqlite3';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Callers } from '../daemon/callers.js';
import { PRIVATE_KEY } from '../daemon/house.js';
import { Served } from '../daemon/served.js';

const MB = 1_000_000;
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'parley-storage-'));
  closers.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A file system in memory, of so many bytes; null where there is no right to mount one. */
function volume(bytes: number): string | null {
  const path = folder();
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${String(bytes)}`, 'tmpfs', path]);
  if (status !== 0) return null;
  closers.push(() => void spawnSync('umount', ['-l', path]));
  return path;
}

const mayMount = ((): boolean => {
  const path = mkdtempSync(join(tmpdir(), 'parley-storage-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=100000', 'tmpfs', path]).status === 0;
  if (mounted) spawnSync('umount', ['-l', path]);
  rmSync(path, { recursive: true });
  return mounted;
})();

async function serve(dataDir: string): Promise<Served> {
  const served = await Served.start({}, dataDir);
  closers.push(() => served.close());
  return served;
}

async function post(served: Served, path: string, body: unknown): Promise<{ status: number; detail: string }> {
  const response = await fetch(served.address + path, {
    method: 'POST',
    headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, detail: await response.text() };
}

function integrity(dataDir: string): unknown {
  const database = new Database(join(dataDir, 'parley.db'));
  const found = database.pragma('integrity_check', { simple: true });
  database.close();
  return found;
}

const agent = (n: number, chars = 10) => ({ name: `agent ${String(n)}`, config: { prompt: 'x'.repeat(chars) } });

describe.skipIf(!mayMount)('a disk', () => {
  it('that is full refuses what cannot be kept, calls go on, and it is served again once there is room', async () => {
    const dataDir = volume(12 * MB) ?? '';
    const served = await serve(dataDir);
    await served.until('/readyz');
    const client = await served.talk();
    const filler = join(dataDir, 'filler');
    const file = openSync(filler, 'w');
    try {
      for (;;) writeSync(file, Buffer.alloc(4096));
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    } finally {
      closeSync(file);
    }
    let made = 0;
    let refused = await post(served, '/agents', agent(made, 50_000));
    while (refused.status === 200 && made < 50) refused = await post(served, '/agents', agent(++made, 50_000));
    expect(refused).toEqual({ status: 507, detail: expect.stringContaining('DISK_FULL') as string });
    expect((await fetch(`${served.address}/healthz`)).status).toBe(200);
    // The call that runs is answered all the same.
    await client.send({ method: 'text', data: 'When are you open?' });
    await client.inbox.find(({ method, data }) => method === 'onresponsetext' && /five/.test(String(data)));
    rmSync(filler);
    expect((await post(served, '/agents', agent(100))).status).toBe(200);
    client.socket.close();
    served.process.kill('SIGKILL');
    await served.exit;
    expect(integrity(dataDir)).toBe('ok');
    const again = await serve(dataDir);
    await again.until('/healthz');
    const response = await fetch(`${again.address}/agents`, { headers: { authorization: PRIVATE_KEY } });
    const names = ((await response.json()) as { name: string }[]).map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('agent '))).toHaveLength(made + 1);
  });

  it('that is read-only is named at the start', async () => {
    const dataDir = volume(12 * MB) ?? '';
    spawnSync('mount', ['-o', 'remount,ro', dataDir]);
    const served = await serve(dataDir);
    expect(await served.exit).toBe(1);
    expect(served.err).toContain(dataDir);
    expect(served.err).toMatch(/read-only|Cannot write/i);
  });
});

describe('a database', () => {
  it.each([
    ['is no database', (path: string) => writeFileSync(path, 'This is a letter. '.repeat(1_000))],
    [
      'is broken in its middle',
      (path: string) => {
        const bytes = readFileSync(path);
        bytes.fill(0xa5, 4096, 20 * 4096);
        writeFileSync(path, bytes);
      },
    ],
    ['is cut off', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 30_000))],
    [
      'is of a later version',
      (path: string) => {
        const database = new Database(path);
        database.pragma('user_version = 9999');
        database.close();
      },
    ],
  ])('that %s is named at the start, and left as it is', async (what, damage) => {
    const dataDir = folder();
    const first = await serve(dataDir);
    await first.until('/healthz');
    first.process.kill('SIGTERM');
    await first.exit;
    const path = join(dataDir, 'parley.db');
    damage(path);
    const before = readFileSync(path);
    const second = await serve(dataDir);
    expect([await second.exit, second.err]).toEqual([1, expect.stringContaining('parley.db')]);
    expect(second.err).not.toMatch(/\n\s+at /); // no stack
    // What is wrong in the middle shows only once that is read.
    if (what !== 'is broken in its middle') expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('whose write-ahead log is deleted has what was in it before, and is intact', async () => {
    const dataDir = folder();
    const first = await serve(dataDir);
    await first.until('/healthz');
    expect((await post(first, '/agents', agent(1))).status).toBe(200);
    first.process.kill('SIGTERM');
    await first.exit;
    const second = await serve(dataDir);
    await second.until('/healthz');
    expect((await post(second, '/agents', agent(2))).status).toBe(200);
    second.process.kill('SIGKILL');
    await second.exit;
    for (const name of ['parley.db-wal', 'parley.db-shm']) rmSync(join(dataDir, name), { force: true });
    const third = await serve(dataDir);
    await third.until('/healthz');
    const response = await fetch(`${third.address}/agents`, { headers: { authorization: PRIVATE_KEY } });
    expect(JSON.stringify(await response.json())).toContain('agent 1');
    expect(integrity(dataDir)).toBe('ok');
  });
});

describe('a clock', () => {
  it('that jumps a day ahead and back loses no call, and stops none for longer than its limits say', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    closers.push(() => void vi.useRealTimers());
    const callers = await Callers.open({ ringS: 5 });
    closers.push(() => callers.close());
    const day = 86_400_000;
    const start = new Date().getTime();
    const ids: string[] = [];
    for (const jump of [0, day, -day, 400 * day, 0]) {
      vi.setSystemTime(start + jump);
      const { session_id: id } = await callers.started('+12025550107');
      ids.push(id);
      await expect.poll(async () => (await callers.logged(id))['call_status'], { timeout: 15_000 }).toBe('busy');
    }
    const listed: string[] = [];
    for (let cursor = 0; ;) {
      const query = cursor === 0 ? '' : `&start_after_ts=${String(cursor)}`;
      const { body } = await callers.ask('GET', `/call-logs?limit=2${query}`);
      const { histories, next_cursor: next } = body as { histories: { session_id: string }[]; next_cursor: number };
      listed.push(...histories.map(({ session_id: id }) => id));
      if (next === 0) break;
      cursor = next;
    }
    expect(listed.toSorted()).toEqual(ids.toSorted());
    expect(callers.house.faults).toEqual([]);
  });
});
