import { createSocket, Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { assertNothingLeft, runningResources } from '../../../src/testing/leaks.js';
import type { PeerListener } from '../../../src/transports/webrtc/peer.js';
import { WeriftCaller } from '../../../src/transports/webrtc/werift-caller.js';
import { WeriftPeer } from '../../../src/transports/webrtc/werift-peer.js';
import { FUZZ_SEED, fuzzRuns, Mutator } from '../../mutator.js';
import { bindingRequest, ICE_CONTROLLED } from './stun.js';
import { udpSockets } from './udp.js';

const LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const PATIENCE = { timeout: 15_000, interval: 20 };
/** werift waits for up to 1.5 s for another try of a report that it could not send. */
const WERIFT_MS = 5_000;
/** A binding's success response (RFC 8489, 5). */
const SUCCESS = 0x0101;
/** A record's header: DTLS 1.2, in the epoch without keys. */
const header = (type: number, length: number): number[] => [type, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, length];
const RECORDS = {
  'an alert': Buffer.from([...header(21, 2), 1, 0]),
  'a record of another type': Buffer.from([...header(24, 1), 0]),
  'a step of a handshake': Buffer.from([...header(22, 12), 14, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0]),
  'an alert behind something': Buffer.from([...header(20, 1), 1, ...header(21, 2), 1, 0]),
};
const closes: (() => Promise<void>)[] = [];
const before = runningResources();

afterAll(() => assertNothingLeft(before, { graceMs: WERIFT_MS }));

afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(closes.splice(0).map((close) => close()));
  await expect.poll(udpSockets, PATIENCE).toBe(0);
});

interface Call {
  peer: WeriftPeer;
  caller: WeriftCaller;
  /** Where the peer can be reached: addresses, by port. */
  ways: ReadonlyMap<number, string>;
  username: string;
  password: string;
  ends: string[];
  messages: string[];
  accept(): Promise<void>;
  /** Resolves when a packet of each side has come to the other one. */
  talk(): Promise<void>;
}

async function call(): Promise<Call> {
  const [peer, caller] = [new WeriftPeer(LOOPBACK, new RealClock()), new WeriftCaller(LOOPBACK)];
  closes.push(
    () => peer.close(),
    () => caller.close(),
  );
  const [ends, messages]: [string[], string[]] = [[], []];
  let heard = 0;
  let ticks = 0;
  const nothing = (): void => undefined;
  const listener: PeerListener = {
    connected: nothing,
    audio: () => void heard++,
    digit: nothing,
    message: (text) => void messages.push(text),
    loss: nothing,
    closed: (reason) => void ends.push(reason),
  };
  peer.listen(listener);
  const offer = await caller.offer();
  const answer = await peer.answer(offer);
  const part = (sdp: string, pattern: RegExp): string => pattern.exec(sdp)?.[1] ?? '';
  const ufrag = /^a=ice-ufrag:(\S+)/m;
  return {
    peer,
    caller,
    ends,
    messages,
    ways: new Map(
      [...answer.matchAll(/^a=candidate:\S+ 1 udp \d+ (\S+) (\d+)/gm)].map(([, address = '', port]) => [
        Number(port),
        address,
      ]),
    ),
    username: `${part(answer, ufrag)}:${part(offer, ufrag)}`,
    password: part(answer, /^a=ice-pwd:(\S+)/m),
    accept: () => caller.accept(answer),
    talk: async () => {
      const before = heard;
      let isHeard = false;
      caller.onAudio = () => (isHeard = true);
      await expect
        .poll(() => {
          caller.sendAudio(Uint8Array.of(1, 2, 3), (ticks += 960));
          peer.sendAudio(Uint8Array.of(4, 5, 6), ticks, false);
          return isHeard && heard > before;
        }, PATIENCE)
        .toBe(true);
    },
  };
}

async function connected(): Promise<Call> {
  const line = await call();
  await line.accept();
  await line.caller.connected;
  await line.talk();
  return line;
}

/** Audio (SRTP) goes both ways, and messages (DTLS). */
async function goesOn(line: Call): Promise<void> {
  const { caller, peer, ends, messages } = line;
  for (let n = 0; n < 3; n++) await line.talk();
  const heard = new Promise((resolve) => (caller.onMessage = resolve));
  caller.send('to me');
  peer.send('to you');
  await expect.poll(() => messages, PATIENCE).toEqual(['to me']);
  expect(await heard).toBe('to you');
  expect(ends).toEqual([]);
}

/** Has `act` see each datagram that is sent to a way of the call, just before it is. */
function tap(line: Call, act: (datagram: Buffer, sender: Socket, to: [number, string]) => void): void {
  const send = Reflect.get(Socket.prototype, 'send') as (...args: unknown[]) => void;
  vi.spyOn(Socket.prototype, 'send').mockImplementation(function (this: Socket, ...args: unknown[]) {
    const [datagram, port, address] = args as [Buffer, number, string];
    if (line.ways.has(port)) act(datagram, this, [port, address]);
    send.apply(this, args);
  });
}

function stranger(): Socket {
  const socket = createSocket('udp4');
  closes.push(async () => void socket.close());
  return socket;
}

test('mutated copies of all that the caller sends, from another address, change nothing', async () => {
  const COPIES = 20;
  for (let trial = 0; trial < fuzzRuns(3); trial++) {
    const seed = FUZZ_SEED + trial * 10_000;
    const line = await call();
    const socket = stranger();
    let count = 0;
    tap(line, (datagram, sender, to) => {
      if (sender === socket) return;
      const mutator = new Mutator([datagram], [], seed + count++);
      for (let n = 0; n < COPIES; n++) socket.send(Buffer.from(mutator.next()), ...to);
    });
    await line.accept();
    await line.caller.connected.catch((error: unknown) => {
      throw new Error(`seed ${String(seed)}`, { cause: error });
    });
    await goesOn(line);
    vi.restoreAllMocks();
    await Promise.all(closes.splice(0).map((close) => close()));
  }
});

test('a call comes about where each datagram of the caller arrives twice', async () => {
  const line = await call();
  let again = false;
  tap(line, (datagram, sender, [port, address]) => {
    if (again) return;
    again = true;
    sender.send(datagram, port, address);
    again = false;
  });
  await line.accept();
  await line.caller.connected;
  await goesOn(line);
});

test.each([
  ['nobody has signed', null],
  ['is signed with another password', 'a'.repeat(22)],
])('a check that %s is not answered and changes no role', async (_, password) => {
  const line = await connected();
  const socket = stranger();
  const [[port, address]] = [...line.ways] as [[number, string]];
  const answered = once(socket, 'message') as Promise<[Buffer]>;
  socket.send(bindingRequest(line.username, 1, password), port, address);
  socket.send(bindingRequest(line.username, 2, password, ICE_CONTROLLED), port, address);
  socket.send(bindingRequest('constructor:a', 3, 'a'), port, address);
  socket.send(bindingRequest(line.username, 4, line.password).subarray(0, -1), port, address);
  socket.send(bindingRequest(line.username, 5, line.password), port, address);
  const [[response]] = [await answered];
  expect([response.readUInt16BE(0), response.readUInt32BE(16)]).toEqual([SUCCESS, 5]);
  await line.talk();
});

test('what is added to a signed check does not count', async () => {
  const line = await connected();
  const socket = stranger();
  const [[port, address]] = [...line.ways] as [[number, string]];
  const answered = once(socket, 'message') as Promise<[Buffer]>;
  socket.send(bindingRequest(line.username, 1, line.password, ICE_CONTROLLED), port, address);
  const [[response]] = [await answered];
  expect([response.readUInt16BE(0), response.readUInt32BE(16)]).toEqual([SUCCESS, 1]);
  await line.talk();
});

describe.each(Object.entries(RECORDS))('%s that is not protected', (_, record) => {
  test('ends no call from another address, not even after the copy of a signed check', async () => {
    const line = await connected();
    const socket = stranger();
    for (const [port, address] of line.ways) {
      const answered = once(socket, 'message');
      socket.send(bindingRequest(line.username, 1, line.password), port, address);
      await answered;
      socket.send(record, port, address);
    }
    await goesOn(line);
  });

  test("ends no call from the caller's own address, which can be forged", async () => {
    const line = await connected();
    let isSent = false;
    tap(line, (datagram, sender, [port, address]) => {
      if (isSent || datagram === record || (datagram[0] ?? 0) < 128) return;
      isSent = true;
      sender.send(record, port, address);
    });
    await goesOn(line);
    expect(isSent).toBe(true);
  });
});
