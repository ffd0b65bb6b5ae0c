/**
 * What a call over a carrier's media socket costs: processor time per call by carrier, over this machine's loopback with
 * the carrier's ends in a process of their own; and what single messages cost.
 *
 *   npm run build && node bench/run.mjs media-socket [--calls=50] [--seconds=5] [--rounds=3]
 *
 * "sockets alone" takes and sends the same messages over the same WebSockets, and looks into none of them.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import type { MediaDialect } from '../dist/carriers/media-socket/dialect.js';
import { encodePayload } from '../dist/carriers/media-socket/encodings.js';
import { mediaSocketOf } from '../dist/carriers/media-socket/media-socket.js';
import { SocketLine } from '../dist/carriers/media-socket/socket-line.js';
import { TWILIO_MESSAGES } from '../dist/carriers/twilio/media-messages.js';
import { delay } from '../dist/clock/clock.js';
import { RealClock } from '../dist/clock/real.js';
import { Ticker } from '../dist/clock/ticker.js';
import { machine } from './lib/machine.js';
import { markdownTable, median } from './lib/numbers.js';

const option = (name: string): string | undefined =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
const CALLS = Number(option('calls') ?? 50);
const SECONDS = Number(option('seconds') ?? 5);
const ROUNDS = Number(option('rounds') ?? 3);
const FAR_END = '--far-end';
const STREAM = `MZ${'0'.repeat(32)}`;
const clock = new RealClock();

const START = JSON.stringify({
  ...{ event: 'start', sequenceNumber: '1', streamSid: STREAM },
  start: {
    ...{ accountSid: `AC${'0'.repeat(32)}`, streamSid: STREAM, callSid: `CA${'0'.repeat(32)}`, tracks: ['inbound'] },
    mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
    customParameters: {},
  },
});

/** A second of noise in frames, the same each time. */
const FRAMES = Array.from({ length: 50 }, (_, n) =>
  Int16Array.from({ length: 160 }, (__, i) => ((n * 7_919 + i * 104_729) % 12_000) - 6_000),
);

function media(n: number): string {
  const payload = encodePayload('mulaw', FRAMES[n % FRAMES.length] ?? new Int16Array(160));
  const told = { track: 'inbound', chunk: String(n + 1), timestamp: String(n * 20), payload };
  return JSON.stringify({ event: 'media', sequenceNumber: String(n + 2), media: told, streamSid: STREAM });
}

/** The carrier's ends: each speaks a frame a tick, and reads what it is sent as text alone. */
async function beFarEnds(url: string, calls: number): Promise<void> {
  const sockets = Array.from({ length: calls }, () => new WebSocket(url, { perMessageDeflate: false }));
  await Promise.all(sockets.map((socket) => once(socket, 'open')));
  for (const socket of sockets) {
    socket.on('message', (data: Buffer) => {
      const text = data.toString('latin1');
      if (text.startsWith('{"event":"mark"')) socket.send(text);
    });
    socket.send(START);
  }
  let tick = 0;
  new Ticker(clock).subscribe(() => {
    const text = media(tick++);
    for (const socket of sockets) socket.send(text);
  });
  process.send?.('ready');
  process.once('disconnect', () => process.exit(0));
}

type End = (socket: WebSocket, ticker: Ticker) => () => void;

/** Takes and sends as many messages of the same length. */
const socketAlone: End = (socket, ticker) => {
  let bytes = 0;
  socket.on('message', (data: Buffer) => (bytes += data.length));
  const text = TWILIO_MESSAGES.media(STREAM, encodePayload('mulaw', FRAMES[0] ?? new Int16Array(160)));
  return ticker.subscribe(() => socket.send(text));
};

function lineOver(dialect: MediaDialect): End {
  return (socket, ticker) => {
    const nothing = (): void => undefined;
    const line = new SocketLine({
      ...{ clock, carrier: 'twilio', dialect, encoding: 'mulaw', sampleRateHz: 8_000 },
      events: {
        ...{ onClosed: nothing, onStart: nothing, onGone: nothing },
        onBad: (reason) => console.error(reason),
        onTransfer: () => Promise.resolve({ ok: false, reason: 'unsupported' }),
        onDigits: () => Promise.resolve(),
      },
    });
    line.attach(mediaSocketOf(socket, clock));
    line.start({ audio: nothing, digits: nothing, text: nothing, formResult: nothing, closed: nothing });
    let tick = 0;
    return ticker.subscribe(() => line.play(FRAMES[tick++ % FRAMES.length] ?? null));
  };
}

/** Milliseconds of processor time a call and second. */
async function callCost(end: End): Promise<number> {
  const server = createServer();
  const sockets = new WebSocketServer({ server, perMessageDeflate: false });
  const ticker = new Ticker(clock);
  const stops: (() => void)[] = [];
  sockets.on('connection', (socket: WebSocket) => stops.push(end(socket, ticker)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const child: ChildProcess = fork(process.argv[1] ?? '', [FAR_END, url, String(CALLS)]);
  await once(child, 'message');
  await delay(clock, 1_000);
  const [before, startMs] = [process.cpuUsage(), clock.nowMs()];
  await delay(clock, SECONDS * 1_000);
  const { user, system } = process.cpuUsage(before);
  const cost = (user + system) / (clock.nowMs() - startMs) / CALLS;
  for (const stop of stops) stop();
  child.disconnect();
  sockets.close();
  for (const socket of sockets.clients) socket.terminate();
  server.close();
  return cost;
}

/** Nanoseconds that something takes. */
function nanoseconds(work: () => unknown, times = 200_000): number {
  for (let n = 0; n < 20_000; n++) work();
  const start = process.hrtime.bigint();
  for (let n = 0; n < times; n++) work();
  return Number(process.hrtime.bigint() - start) / times;
}

async function main(): Promise<void> {
  console.log(`${machine()}\n`);
  const text = media(7);
  const frame = FRAMES[0] ?? new Int16Array(160);
  const single: [string, () => unknown][] = [
    ["sound of Twilio's, read", () => TWILIO_MESSAGES.read(text)],
    ['the same by JSON.parse', () => JSON.parse(text) as unknown],
    [
      'sound written: companded, base64, its message',
      () => TWILIO_MESSAGES.media(STREAM, encodePayload('mulaw', frame)),
    ],
  ];
  const rows = single.map(([what, work]) => [what, String(Math.round(nanoseconds(work)))]);
  console.log(`${markdownTable([['a message of 20 ms', 'ns'], ...rows])}\n`);

  const cases: [string, End][] = [
    ['sockets alone', socketAlone],
    ['Twilio', lineOver(TWILIO_MESSAGES)],
  ];
  const costs = new Map(cases.map(([name]) => [name, [] as number[]]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, end] of cases) costs.get(name)?.push(await callCost(end));
  }
  const alone = median(costs.get('sockets alone') ?? []);
  console.log(`${String(CALLS)} calls at once, sound both ways\n`);
  console.log(
    markdownTable([
      ['', 'CPU ms per call and second', 'calls per core', 'times the sockets alone'],
      ...cases.map(([name]) => {
        const cost = median(costs.get(name) ?? []);
        return [name, cost.toFixed(2), String(Math.round(1000 / cost)), (cost / alone).toFixed(2)];
      }),
    ]),
  );
}

const farEnd = process.argv.indexOf(FAR_END);
if (farEnd < 0) {
  await main();
  process.exit(0);
} else await beFarEnds(process.argv[farEnd + 1] ?? '', Number(process.argv[farEnd + 2]));
