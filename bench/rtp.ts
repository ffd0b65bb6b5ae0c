/**
 * What a call over RTP costs: processor time per call by codec and with SRTP, over this machine's UDP with the other
 * sides in a process of their own; and what single packets cost, the slowest of many hostile ones among them.
 *
 *   npm run build && node bench/run.mjs rtp [--only=calls|packets|hostile] [--calls=50] [--seconds=2] [--rounds=3]
 *     [--datagrams=50000]
 */
import { SrtpSession } from 'werift';
import { Ticker } from '../dist/base/ticker.js';
import { VirtualClock } from '../dist/base/virtual-clock.js';
import { delay } from '../dist/base/clock.js';
import { RealClock } from '../dist/base/real-clock.js';
import { Random } from '../dist/base/random.js';
import type { CodecName } from '../dist/transports/rtp/media-codec.js';
import { nativeSockets } from '../dist/transports/rtp/socket.js';
import { parseRtp, type RtpPacket, serialiseRtp } from '../dist/transports/rtp/packet.js';
import { RtpPorts } from '../dist/transports/rtp/ports.js';
import { serialiseRtcp } from '../dist/transports/rtp/rtcp.js';
import { openRtpSession } from '../dist/transports/rtp/session.js';
import { newSrtpKey, SrtpReceiver, SrtpSender } from '../dist/transports/rtp/srtp.js';
import { SRTP_SUITES } from '../dist/transports/rtp/srtp-cipher.js';
import { machine } from './lib/machine.js';
import { markdownTable, median } from './lib/numbers.js';
import { farEnds, isFarEnd, openSocketOf, type RtpCase, SpeakingEnds } from './lib/rtp-ends.js';

const option = (name: string): string | undefined =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
const only = option('only');
const CALLS = Number(option('calls') ?? 50);
const SECONDS = Number(option('seconds') ?? 2);
const ROUNDS = Number(option('rounds') ?? 3);
const DATAGRAMS = Number(option('datagrams') ?? 50_000);
/** Until code is compiled. */
const WARM_MS = 3_000;
const USUAL = nativeSockets() === null ? "Node's" : "the addon's";
const clock = new RealClock();

/** Processor time that a call takes of a second, in milliseconds. */
async function callCost(rtpCase: RtpCase): Promise<number> {
  const ends = new SpeakingEnds();
  await ends.open(rtpCase);
  const child = await farEnds(ends, rtpCase);
  ends.speak();
  await delay(clock, WARM_MS);
  const cpuMs = await cpuOf(() => ends.spoken);
  child.disconnect();
  await ends.close();
  return cpuMs;
}

/** Milliseconds of processor time for 50 frames of a call, from now on: a second, which on a busy machine has fewer. */
async function cpuOf(frames: () => number): Promise<number> {
  const [before, framesBefore] = [process.cpuUsage(), frames()];
  await delay(clock, SECONDS * 1_000);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) / 1_000 / (frames() - framesBefore)) * 50;
}

/** What the system's sockets take alone: as many datagrams, of as many bytes, sent and received by nobody in particular. */
async function socketCost({ calls: count, sockets: kind }: RtpCase): Promise<number> {
  const openSocket = openSocketOf(kind);
  const sockets = await Promise.all(Array.from({ length: count }, () => openSocket('127.0.0.1', 0)));
  let sent = 0;
  const datagram = serialiseRtp(PACKET);
  for (const socket of sockets) socket.listen(() => undefined);
  const stop = new Ticker(clock).subscribe(() => {
    sent += count;
    for (const [n, socket] of sockets.entries()) {
      socket.send(datagram, '127.0.0.1', sockets[(n + 1) % count]?.port ?? 0);
    }
  });
  await delay(clock, WARM_MS);
  const cpuMs = await cpuOf(() => sent);
  stop();
  await Promise.all(sockets.map((socket) => socket.close()));
  return cpuMs;
}

async function calls(): Promise<void> {
  const cases = [
    ['sockets alone', '', 'node'],
    ['sockets alone', '', 'fastest'],
    ['PCMU', 'off', 'node'],
    ['PCMU', 'off', 'fastest'],
    ['PCMU', 'required', 'fastest'],
    ['G722', 'off', 'fastest'],
    ['opus', 'off', 'fastest'],
    ['opus', 'required', 'fastest'],
  ] as const;
  const costs = cases.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [n, [codec, srtp, sockets]] of cases.entries()) {
      const rtpCase = { calls: CALLS, sockets };
      const isAlone = srtp === '';
      const cost = isAlone
        ? socketCost({ ...rtpCase, codec: 'PCMU', srtp: 'off' })
        : callCost({ ...rtpCase, codec, srtp });
      costs[n]?.push(await cost);
    }
  }
  const alone = Math.min(...(costs[1] ?? []));
  const rows: (string | number)[][] = [
    ['codec', 'SRTP', 'sockets', 'CPU ms per call and second', 'calls per core', 'times the sockets alone'],
  ];
  for (const [n, [codec, srtp, sockets]] of cases.entries()) {
    // The least: what others do to the processor's caches only adds.
    const cpuMs = Math.min(...(costs[n] ?? []));
    const isSealed = srtp === 'required' ? 'yes' : srtp === 'off' ? 'no' : '';
    rows.push([codec, isSealed, sockets === 'node' ? "Node's" : USUAL, cpuMs, 1_000 / cpuMs, cpuMs / alone]);
  }
  console.log(`\n${String(CALLS)} calls at once, sound both ways\n\n${markdownTable(rows)}`);
}

const PACKET: RtpPacket = {
  payloadType: 0,
  marker: false,
  sequence: 0,
  timestamp: 0,
  ssrc: 0xcafebabe,
  payload: Uint8Array.from({ length: 160 }, (_, i) => (i * 7) & 0xff),
};

/** Nanoseconds a call of `act`, as the median of five rounds. */
function nanoseconds(rounds: number, prepare: () => (n: number) => unknown): number {
  const times = Array.from({ length: 5 }, () => {
    const act = prepare();
    const start = process.hrtime.bigint();
    for (let n = 0; n < rounds; n++) act(n);
    return Number(process.hrtime.bigint() - start) / rounds;
  });
  return median(times);
}

function packets(): void {
  const datagram = serialiseRtp(PACKET);
  const written = new Uint8Array(datagram.length);
  const rows: (string | number)[][] = [
    ['a packet of 160 bytes', 'ns'],
    ['read', nanoseconds(200_000, () => () => parseRtp(datagram))],
    ['written', nanoseconds(200_000, () => () => serialiseRtp(PACKET, written))],
  ];
  const numbered = Array.from({ length: 20_000 }, (_, n) => serialiseRtp({ ...PACKET, sequence: n }));
  const take = (n: number): Uint8Array => numbered[n % numbered.length] ?? datagram;
  for (const suite of SRTP_SUITES) {
    const key = newSrtpKey(suite);
    const sender = new SrtpSender(key);
    const sealed = numbered.map((each) => sender.protect(each));
    rows.push([
      `${suite}: protected`,
      nanoseconds(numbered.length, () => {
        const fresh = new SrtpSender(key);
        return (n) => fresh.protect(take(n));
      }),
    ]);
    rows.push([
      `${suite}: opened`,
      nanoseconds(numbered.length, () => {
        const fresh = new SrtpReceiver(key);
        return (n) => fresh.open(sealed[n] ?? datagram);
      }),
    ]);
    if (suite === 'AES_CM_128_HMAC_SHA1_32') continue;
    const [master, salt] = [Buffer.from(key.key), Buffer.from(key.salt)];
    const keys = { localMasterKey: master, localMasterSalt: salt, remoteMasterKey: master, remoteMasterSalt: salt };
    rows.push([
      `${suite}: opened by werift, without a replay window`,
      nanoseconds(numbered.length, () => {
        const theirs = new SrtpSession({ keys, profile: suite === 'AEAD_AES_128_GCM' ? 7 : 1 });
        return (n) => theirs.decrypt(Buffer.from(sealed[n] ?? datagram));
      }),
    ]);
  }
  console.log(`\n${markdownTable(rows)}`);
}

/** Bytes with up to six changes: others, some put in, some left out. */
function mutated(seed: Uint8Array, random: Random): Uint8Array {
  let bytes = [...seed];
  for (let changes = random.int(0, 6); changes > 0; changes--) {
    const at = random.int(0, bytes.length);
    const put = Array.from({ length: random.int(0, 8) }, () => random.int(0, 255));
    bytes = [...bytes.slice(0, at), ...put, ...bytes.slice(at + random.int(0, 8))];
  }
  return Uint8Array.from(bytes);
}

function microseconds(act: () => void): number {
  const startNs = process.hrtime.bigint();
  act();
  return Number(process.hrtime.bigint() - startNs) / 1_000;
}

const OFFER = [
  'v=0',
  'o=- 1 1 IN IP4 10.0.0.9',
  's=-',
  'c=IN IP4 10.0.0.9',
  't=0 0',
  'm=audio 5000 RTP/AVP 107 9 0 101',
  'a=rtpmap:107 opus/48000/2',
  'a=fmtp:107 useinbandfec=1',
  'a=rtpmap:101 telephone-event/8000',
  'a=sendrecv',
  '',
].join('\r\n');

/** A call that anything is thrown at: how long each datagram and each description take. */
async function attacked(): Promise<{ datagrams: number[]; texts: number[] }> {
  const random = new Random(1);
  const ownClock = new VirtualClock();
  const hearing: ((datagram: Uint8Array, address: string, port: number) => void)[] = [];
  const ports = new RtpPorts({
    clock: ownClock,
    localAddress: '10.0.0.1',
    openSocket: (_address, port) =>
      Promise.resolve({
        port,
        listen: (onDatagram) => hearing.push(onDatagram),
        send: () => undefined,
        close: () => Promise.resolve(),
      }),
  });
  const codecs: CodecName[] = ['opus', 'G722', 'PCMU'];
  const session = await openRtpSession({ clock: ownClock, ticker: new Ticker(ownClock), ports, codecs });
  const nothing = (): void => undefined;
  session.line.start({ audio: nothing, digits: nothing, text: nothing, formResult: nothing, closed: nothing });
  session.answer(OFFER);
  session.answered();
  const report = serialiseRtcp([
    { kind: 'receiver-report', ssrc: 9, blocks: [] },
    { kind: 'names', chunks: [{ ssrc: 9, cname: 'x' }] },
  ]);
  const seeds = [0, 9, 13, 101, 107].map((payloadType) => serialiseRtp({ ...PACKET, payloadType }));
  const datagrams: number[] = [];
  for (let n = 0; n < DATAGRAMS; n++) {
    const datagram = mutated(random.pick([...seeds, report]), random);
    if (random.chance(0.7) && datagram.length > 3) datagram.set([n >> 8, n], 2);
    const to = hearing[random.chance(0.9) ? 0 : 1];
    datagrams.push(microseconds(() => to?.(datagram, '10.0.0.9', 5_000)));
    if (n % 20 === 0) await ownClock.advanceBy(20);
  }
  const texts: number[] = [];
  const seed = new TextEncoder().encode(OFFER);
  for (let n = 0; n < DATAGRAMS / 10; n++) {
    const text = Buffer.from(mutated(seed, random)).toString('latin1');
    const answer = (): void => {
      try {
        session.answer(text);
      } catch {
        // Refused, as most are.
      }
    };
    texts.push(microseconds(answer));
  }
  await session.close();
  return { datagrams, texts };
}

/** Each pass is the same: the least of the times tells what is the datagram's own and not the machine's. */
async function hostile(): Promise<void> {
  const passes = [await attacked(), await attacked(), await attacked()];
  const least = (all: number[][]): number[] =>
    (all[0] ?? []).map((_, n) => Math.min(...all.map((pass) => pass[n] ?? 0)));
  const row = (name: string, all: number[]): (string | number)[] => {
    const sorted = [...all].sort((a, b) => a - b);
    return [name, all.length, median(all), sorted[Math.floor(all.length * 0.999)] ?? 0, sorted.at(-1) ?? 0];
  };
  const rows = [
    ['hostile', 'tried', 'median, us', 'p99.9', 'slowest'],
    row('datagrams', least(passes.map(({ datagrams }) => datagrams))),
    row('descriptions', least(passes.map(({ texts }) => texts))),
  ];
  console.log(`\n${markdownTable(rows)}`);
}

if (!(await isFarEnd())) {
  console.log(machine());
  if (only === undefined || only === 'packets') packets();
  if (only === undefined || only === 'hostile') await hostile();
  if (only === undefined || only === 'calls') await calls();
}
