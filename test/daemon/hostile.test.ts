import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { packageFile } from '../../src/package-files.js';
import { SocketPlaces } from '../../src/daemon/http/upgrades.js';
import { House } from './house.js';

/** Longer than anything takes on a machine that others use. */
const PATIENT = { timeout: 15_000 };

/** Runs a drive of docs/security.md to its end. Returns what it printed. */
async function driven(script: string, ...args: string[]): Promise<string> {
  const file = fileURLToPath(packageFile(`scripts/security/${script}.mjs`));
  const drive = spawn(process.execPath, [file, ...args]);
  let out = '';
  drive.stdout.on('data', (data: Buffer) => (out += data.toString()));
  drive.stderr.on('data', (data: Buffer) => (out += data.toString()));
  const [code] = (await once(drive, 'close')) as [number];
  expect(code, out).toBe(0);
  return out;
}

let house: House | undefined;

afterEach(async () => {
  await house?.close();
  house = undefined;
});

describe('clients that are slow on purpose', () => {
  // `npm run test:security -- sockets` takes 500 of each kind.
  it('are all closed in time, and /healthz answers meanwhile', async () => {
    const out = await driven('slow-clients', '--count=30', '--limit-s=30');
    expect(out).toContain('120 hostile clients: 0 still open');
  }, 90_000);
});

describe('clients that send far too much', () => {
  // `npm run test:security -- floods` takes 100 of each kind, for longer.
  it('are cut off or ignored, a good caller is served meanwhile, and their sessions are given back', async () => {
    const out = await driven('floods', '--count=5', '--seconds=1');
    expect(out.match(/sessions left: 0/g)).toHaveLength(4);
  }, 90_000);
});

describe('talk sockets', () => {
  it('of one address are so many and no more', async () => {
    house = await House.open({ limits: { ...DEFAULT_SETTINGS.limits, socketsPerAddress: 2 } });
    const first = house.connect();
    const second = house.connect();
    expect(await first.refused).toBeNull();
    expect(await second.refused).toBeNull();
    expect(await house.connect().refused).toBe(429);
    first.socket.terminate();
    await expect.poll(() => house?.connect().refused, PATIENT).toBeNull();
  });

  it('of other addresses have their own places, which are given back once', () => {
    const places = new SocketPlaces(1);
    const leave = places.enter('192.0.2.1');
    const other = places.enter('192.0.2.2');
    expect(() => places.enter('192.0.2.1')).toThrow(expect.objectContaining({ code: 'SOCKETS_FULL' }));
    leave();
    places.enter('192.0.2.1');
    leave();
    expect(() => places.enter('192.0.2.1')).toThrow(expect.objectContaining({ code: 'SOCKETS_FULL' }));
    other();
  });
});

describe('connections', () => {
  it('beyond the limit are closed', async () => {
    house = await House.open({ limits: { ...DEFAULT_SETTINGS.limits, connections: 1 } });
    expect(await house.connect().refused).toBeNull();
    // Not by fetch, which asks again for as long as it is closed before it has asked.
    const socket = connect(Number(new URL(house.address).port), '127.0.0.1');
    let answer = '';
    socket.on('data', (data) => (answer += data.toString()));
    socket.on('error', () => undefined);
    socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await once(socket, 'close');
    expect(answer).toBe('');
  });
});
