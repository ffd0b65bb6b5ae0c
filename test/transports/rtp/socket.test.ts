import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { nativeUdp } from '../../../src/base/native.js';
import { packageFile } from '../../../src/package-files.js';
import { Random } from '../../../src/base/random.js';
import {
  type DatagramSocket,
  nativeSockets,
  openNodeSocket,
  type OpenSocket,
} from '../../../src/transports/rtp/socket.js';

interface Heard {
  bytes: number[];
  address: string;
  port: number;
}

const native = nativeSockets();
const hasV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1') === true);
const opened: DatagramSocket[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((socket) => socket.close()));
});

async function openWith(open: OpenSocket, address = '127.0.0.1'): Promise<{ socket: DatagramSocket; heard: Heard[] }> {
  const socket = await open(address, 0);
  opened.push(socket);
  const heard: Heard[] = [];
  socket.listen((datagram, from, port) => heard.push({ bytes: [...datagram], address: from, port }));
  return { socket, heard };
}

const heardBy = (heard: readonly Heard[], count: number): Promise<void> =>
  vi.waitFor(() => expect(heard.length).toBeGreaterThanOrEqual(count), { timeout: 5_000, interval: 2 });

describe.each([
  ["Node's sockets", openNodeSocket],
  ...(native === null ? [] : ([["the addon's sockets", native]] as const)),
] as const)('%s', (_, open) => {
  it('carry datagrams of any length, with where they came from', async () => {
    const [one, other] = [await openWith(open), await openWith(open)];
    const lengths = [0, 1, 12, 172, 172, 173, 1_400, 4_000, 172];
    const datagrams = lengths.map((length, n) => Uint8Array.from({ length }, (__, i) => (i * 7 + n) & 0xff));
    for (const datagram of datagrams) one.socket.send(datagram, '127.0.0.1', other.socket.port);
    await heardBy(other.heard, datagrams.length);
    expect(other.heard.map(({ bytes }) => bytes)).toEqual(datagrams.map((datagram) => [...datagram]));
    for (const { address, port } of other.heard) expect([address, port]).toEqual(['127.0.0.1', one.socket.port]);
  });

  it('tell senders apart that take turns, and send back to each', async () => {
    const middle = await openWith(open);
    const ends = [await openWith(open), await openWith(open), await openWith(open)];
    middle.socket.listen((datagram, address, port) => middle.socket.send(datagram, address, port));
    for (let n = 0; n < 30; n++) ends[n % 3]!.socket.send(Uint8Array.of(n), '127.0.0.1', middle.socket.port);
    for (const { heard } of ends) await heardBy(heard, 10);
    for (const [at, { heard }] of ends.entries())
      expect(heard.map(({ bytes }) => bytes[0]! % 3)).toEqual(Array.from({ length: 10 }, () => at));
  });

  it('lose nothing of a burst that they have room for', async () => {
    const [one, other] = [await openWith(open), await openWith(open)];
    for (let n = 0; n < 300; n++) one.socket.send(Uint8Array.of(n >> 8, n), '127.0.0.1', other.socket.port);
    await heardBy(other.heard, 300);
    expect(other.heard.map(({ bytes: [high, low] }) => high! * 256 + low!)).toEqual(
      Array.from({ length: 300 }, (__, n) => n),
    );
  });

  it('say which port is taken, and take addresses that are theirs only', async () => {
    const { socket } = await openWith(open);
    await expect(open('127.0.0.1', socket.port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await expect(open('192.0.2.1', 0)).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' });
    await socket.close();
    const again = await open('127.0.0.1', socket.port);
    expect(again.port).toBe(socket.port);
    await again.close();
  });

  it('never throw when they send', async () => {
    const [{ socket }, other] = [await openWith(open), await openWith(open)];
    const datagram = Uint8Array.of(1);
    for (const port of [0, -1, 65_536, Number.NaN]) socket.send(datagram, '127.0.0.1', port);
    for (const address of ['', 'somewhere', '::1', '999.1.1.1', '255.255.255.255']) socket.send(datagram, address, 9);
    socket.send(new Uint8Array(70_000), '127.0.0.1', other.socket.port);
    socket.send(Uint8Array.of(7), '127.0.0.1', other.socket.port);
    await heardBy(other.heard, 1);
    expect(other.heard.map(({ bytes }) => bytes)).toEqual([[7]]);
    await socket.close();
    socket.send(datagram, '127.0.0.1', other.socket.port);
  });

  it('may be closed while they are heard: nothing more is', async () => {
    const [one, other] = [await openWith(open), await openWith(open)];
    let count = 0;
    const closed = new Promise<void>((resolve) => {
      other.socket.listen(() => {
        count++;
        void other.socket.close().then(resolve);
      });
    });
    for (let n = 0; n < 20; n++) one.socket.send(Uint8Array.of(n), '127.0.0.1', other.socket.port);
    await closed;
    await Promise.all([other.socket.close(), other.socket.close()]);
    // The place of the one that was closed is another's at once.
    const next = await openWith(open);
    one.socket.send(Uint8Array.of(99), '127.0.0.1', next.socket.port);
    await heardBy(next.heard, 1);
    expect(next.heard.map(({ bytes }) => bytes)).toEqual([[99]]);
    expect(count).toBe(1);
  });

  it('report a listener that throws, and continue', async () => {
    const [one, other] = [await openWith(open), await openWith(open)];
    const thrown: unknown[] = [];
    const take = (error: unknown): void => void thrown.push(error);
    const before = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', take);
    try {
      const heard: number[] = [];
      other.socket.listen((datagram) => {
        heard.push(datagram[0]!);
        if (datagram[0] === 1) throw new Error('no');
      });
      for (let n = 0; n < 4; n++) one.socket.send(Uint8Array.of(n), '127.0.0.1', other.socket.port);
      await vi.waitFor(() => expect(heard).toEqual([0, 1, 2, 3]), { timeout: 5_000, interval: 2 });
      expect(thrown).toEqual([new Error('no')]);
    } finally {
      process.removeListener('uncaughtException', take);
      for (const listener of before) process.on('uncaughtException', listener);
    }
  });

  it.runIf(hasV6)('are of IPv6 as well, where IPv4 addresses are what they are', async () => {
    const [one, other] = [await openWith(open, '::1'), await openWith(open, '::1')];
    one.socket.send(Uint8Array.of(6), '::1', other.socket.port);
    await heardBy(other.heard, 1);
    expect(other.heard).toEqual([{ bytes: [6], address: '::1', port: one.socket.port }]);
    const [all, four] = [await openWith(open, '::'), await openWith(open)];
    four.socket.send(Uint8Array.of(4), '127.0.0.1', all.socket.port);
    await heardBy(all.heard, 1);
    expect(all.heard).toEqual([{ bytes: [4], address: '127.0.0.1', port: four.socket.port }]);
    all.socket.send(Uint8Array.of(5), '127.0.0.1', four.socket.port);
    await heardBy(four.heard, 1);
    expect(four.heard[0]?.bytes).toEqual([5]);
  });

  it('come and go at random, while all talk to all', async () => {
    const random = new Random(11);
    const ends: { socket: DatagramSocket; wrong: number; heard: number }[] = [];
    const add = async (): Promise<void> => {
      const socket = await open('127.0.0.1', 0);
      opened.push(socket);
      const end = { socket, wrong: 0, heard: 0 };
      ends.push(end);
      socket.listen((datagram, __, port) => {
        end.heard++;
        // Each says whom it is for, and from whom it is.
        if (((datagram[0]! << 8) | datagram[1]!) !== socket.port || ((datagram[2]! << 8) | datagram[3]!) !== port)
          end.wrong++;
        if (random.chance(0.02)) void socket.close();
      });
    };
    for (let step = 0; step < 300; step++) {
      if (random.chance(0.2) || ends.length < 4) await add();
      for (let n = 0; n < 6; n++) {
        const [from, to] = [random.pick(ends).socket, random.pick(ends).socket];
        const datagram = new Uint8Array(random.int(4, 600));
        datagram.set([to.port >> 8, to.port, from.port >> 8, from.port]);
        from.send(datagram, '127.0.0.1', to.port);
      }
      if (random.chance(0.3)) await new Promise((resolve) => setImmediate(resolve));
      if (random.chance(0.05)) await ends.splice(random.int(0, ends.length - 1), 1)[0]?.socket.close();
    }
    expect(ends.reduce((sum, { heard }) => sum + heard, 0)).toBeGreaterThan(100);
    expect(ends.reduce((sum, { wrong }) => sum + wrong, 0)).toBe(0);
  });
});

/**
 * A process whose threads have sockets that answer each other without end. Of the threads one leaves by itself with its
 * sockets open, one throws while it hears, one calls `process.exit`, one closes what it has; the rest are terminated.
 * The process leaves in the middle of a turn, with 7.
 */
const THREADS = `
const { Worker } = require('node:worker_threads');
const thread = (how) => \`
  const udp = require(process.env.ADDON);
  const [bytes, arrivals] = [new Uint8Array(65536), new Int32Array(5 * 16)];
  let turns = 0;
  const sockets = [];
  const inbox = udp.udpStart(bytes, arrivals, (count) => {
    for (let n = 0; n < count; n++) {
      udp.udpAim(arrivals[5 * n], udp.udpSource(inbox, n), arrivals[5 * n + 3]);
      udp.udpSend(arrivals[5 * n], bytes.subarray(0, 172));
    }
    if (++turns < 50) return;
    if (\${how} === 0) require('node:worker_threads').parentPort?.postMessage('turns');
    if (\${how} === 1) throw new Error('thrown');
    if (\${how} === 2) process.exit(3);
    if (\${how} === 3) for (const socket of sockets.splice(0)) udp.udpClose(socket);
  });
  for (let n = 0; n < 8; n++) sockets.push(udp.udpOpen(inbox, '127.0.0.1', 0));
  for (let n = 0; n < 8; n++) {
    udp.udpListen(sockets[n]);
    udp.udpAim(sockets[n], '127.0.0.1', udp.udpPort(sockets[(n + 1) % 8]));
    udp.udpSend(sockets[n], bytes.subarray(0, 172));
  }
\`;
process.env.ADDON = process.argv[1];
const ended = [];
for (let n = 0; n < 8; n++) {
  const worker = new Worker(thread(n % 4), { eval: true });
  worker.on('error', () => undefined);
  let isOver = false;
  worker.on('message', () => { if (!isOver) { isOver = true; void worker.terminate(); } });
  ended.push(new Promise((resolve) => worker.on('exit', resolve)));
}
Promise.all(ended).then((codes) => {
  process.stdout.write(codes.filter((code) => code !== 0).length === 6 ? 'done' : codes.join());
  const udp = require(process.env.ADDON);
  const [bytes, arrivals] = [new Uint8Array(65536), new Int32Array(5)];
  const inbox = udp.udpStart(bytes, arrivals, () => process.exit(7));
  const socket = udp.udpOpen(inbox, '127.0.0.1', 0);
  udp.udpListen(socket);
  udp.udpAim(socket, '127.0.0.1', udp.udpPort(socket));
  udp.udpSend(socket, bytes.subarray(0, 12));
});
`;

describe.skipIf(native === null)("the addon's sockets", () => {
  it('end with their threads and the process, whatever goes on', async () => {
    const child = spawn(process.execPath, [
      '-e',
      THREADS,
      fileURLToPath(packageFile('native/build/Release/parley.node')),
    ]);
    const out: string[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => out.push(String(chunk)));
    const [code, signal] = (await once(child, 'exit', { signal: AbortSignal.timeout(20_000) })) as unknown[];
    expect([code, signal, out.join('')]).toEqual([7, null, 'done']);
  }, 25_000);

  it('refuse arguments of other kinds', () => {
    const udp = nativeUdp()!;
    const junk = [
      undefined,
      null,
      -1,
      1.5,
      2 ** 40,
      Number.NaN,
      'x',
      [],
      {},
      new Uint8Array(9),
      new Float64Array(9),
      7,
    ];
    const names = [
      'udpStart',
      'udpOpen',
      'udpListen',
      'udpPort',
      'udpSource',
      'udpAim',
      'udpSend',
      'udpClose',
    ] as const;
    const random = new Random(5);
    for (const name of names) {
      const call = udp[name] as (...all: unknown[]) => unknown;
      expect(() => call()).toThrow(TypeError);
      for (let n = 0; n < 300; n++) {
        const given = Array.from({ length: random.int(0, 4) }, () => random.pick(junk));
        try {
          call(...given);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }
    }
  });

  it('cut what is longer than any packet', async () => {
    const { socket, heard } = await openWith(native!);
    const sender = createSocket('udp4').bind(0, '127.0.0.1');
    await once(sender, 'listening');
    sender.send(Buffer.alloc(20_000, 3), socket.port, '127.0.0.1');
    sender.send(Buffer.alloc(20, 4), socket.port, '127.0.0.1');
    await heardBy(heard, 2);
    expect(heard.map(({ bytes }) => bytes.length)).toEqual([4_160, 20]);
    sender.close();
  });
});
