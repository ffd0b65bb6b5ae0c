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
import { type MediaDialect, encodePayload } from '../dist/telephony/carriers/media-socket/dialect.js';
import { type MediaSocket, mediaSocketOf } from '../dist/telephony/carriers/media-socket/media-socket.js';
import { SocketLine } from '../dist/telephony/carriers/media-socket/socket-line.js';
import { plivoMessages } from '../dist/telephony/carriers/plivo/carrier.js';
import { inOrder, MediaOrder, telnyxMessages } from '../dist/telephony/carriers/telnyx/media-messages.js';
import { TWILIO_MESSAGES } from '../dist/telephony/carriers/twilio/carrier.js';
import { delay } from '../dist/base/clock.js';
import { RealClock } from '../dist/base/real-clock.js';
import { Ticker } from '../dist/base/ticker.js';
import { machine } from './lib/machine.js';
import { markdownTable, median } from './lib/numbers.js';

const option = (name: string): string | undefined =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
const CALLS = Number(option('calls') ?? 50);
const SECONDS = Number(option('seconds') ?? 5);
const ROUNDS = Number(option('rounds') ?? 3);
const FAR_END = '--far-end';
const clock = new RealClock();

/** A second of noise in frames, the same each time. */
const FRAMES = Array.from({ length: 50 }, (_, n) =>
  Int16Array.from({ length: 160 }, (__, i) => ((n * 7_919 + i * 104_729) % 12_000) - 6_000),
);

const payloadOf = (n: number): string => encodePayload('mulaw', FRAMES[n % FRAMES.length] ?? new Int16Array(160));

/** How a carrier words a call's sound. */
interface Wire {
  dialect: () => MediaDialect;
  /** What the carrier does with a socket before calls see it. */
  listening: (socket: MediaSocket) => MediaSocket;
  start: string;
  media: (n: number) => string;
  /** What comes back for a message of ours; null = nothing. */
  echo: (text: string) => string | null;
  /** Reads a message as a call does; `n` counts. */
  read: () => (n: number) => unknown;
}

const STREAM = `MZ${'0'.repeat(32)}`;
const UUID = '0ccc7b54-4df3-4bca-a65a-000000000001';
const echoOfMark = (text: string): string | null => (text.startsWith('{"event":"mark"') ? text : null);

/** A carrier more is an entry more. */
const CARRIERS: Readonly<Record<string, Wire>> = {
  Twilio: {
    dialect: () => TWILIO_MESSAGES,
    listening: (socket) => socket,
    start: JSON.stringify({
      event: 'start',
      sequenceNumber: '1',
      streamSid: STREAM,
      start: {
        accountSid: `AC${'0'.repeat(32)}`,
        streamSid: STREAM,
        callSid: `CA${'0'.repeat(32)}`,
        tracks: ['inbound'],
        customParameters: {},
        mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
      },
    }),
    media: (n) => {
      const media = { track: 'inbound', chunk: String(n + 1), timestamp: String(n * 20), payload: payloadOf(n) };
      return JSON.stringify({ event: 'media', sequenceNumber: String(n + 2), media, streamSid: STREAM });
    },
    echo: echoOfMark,
    read: () => {
      const texts = FRAMES.map((_, n) => CARRIERS['Twilio']?.media(n) ?? '');
      return (n) => TWILIO_MESSAGES.read(texts[n % texts.length] ?? '');
    },
  },
  Telnyx: {
    dialect: telnyxMessages,
    listening: inOrder,
    start: JSON.stringify({
      event: 'start',
      sequence_number: '1',
      stream_id: UUID,
      start: {
        user_id: UUID,
        call_control_id: 'v3:1',
        call_session_id: UUID,
        from: '+1',
        to: '+2',
        client_state: '',
        media_format: { encoding: 'PCMU', sample_rate: 8000, channels: 1 },
      },
    }),
    media: (n) => {
      const media = { track: 'inbound', chunk: String(n + 1), timestamp: String(n * 20), payload: payloadOf(n) };
      return JSON.stringify({ event: 'media', sequence_number: String(n + 2), media, stream_id: UUID });
    },
    echo: echoOfMark,
    read: () => {
      const texts = FRAMES.map((_, n) => CARRIERS['Telnyx']?.media(n) ?? '');
      let [dialect, order] = [telnyxMessages(), new MediaOrder()];
      return (n) => {
        // The numbers begin anew with each second, and so does the stream.
        if (n % texts.length === 0) [dialect, order] = [telnyxMessages(), new MediaOrder()];
        for (const text of order.push(texts[n % texts.length] ?? '')) dialect.read(text);
      };
    },
  },
  Plivo: {
    dialect: plivoMessages,
    listening: (socket) => socket,
    start: JSON.stringify({
      event: 'start',
      sequenceNumber: 1,
      extra_headers: '',
      start: {
        callId: UUID,
        streamId: UUID,
        accountId: `MA${'0'.repeat(18)}`,
        tracks: ['inbound'],
        mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000 },
      },
    }),
    media: (n) => {
      const media = {
        track: 'inbound',
        timestamp: String(1_795_312_800_000 + n * 20),
        chunk: n + 1,
        payload: payloadOf(n),
      };
      return JSON.stringify({ event: 'media', sequenceNumber: n + 2, streamId: UUID, media, extra_headers: '' });
    },
    echo: (text) => (text.startsWith('{"event":"checkpoint"') ? text.replace('checkpoint', 'playedStream') : null),
    read: () => {
      const texts = FRAMES.map((_, n) => CARRIERS['Plivo']?.media(n) ?? '');
      let dialect = plivoMessages();
      return (n) => {
        if (n % texts.length === 0) dialect = plivoMessages();
        return dialect.read(texts[n % texts.length] ?? '');
      };
    },
  },
};

function wireOf(name: string): Wire {
  const wire = CARRIERS[name];
  if (wire === undefined) throw new Error(`there is no carrier ${name}`);
  return wire;
}

/** The carrier's ends: each speaks a frame a tick, and reads what it is sent as text alone. */
async function beFarEnds(url: string, calls: number, { start, media, echo }: Wire): Promise<void> {
  const sockets = Array.from({ length: calls }, () => new WebSocket(url, { perMessageDeflate: false }));
  await Promise.all(sockets.map((socket) => once(socket, 'open')));
  for (const socket of sockets) {
    socket.on('message', (data: Buffer) => {
      const text = echo(data.toString('latin1'));
      if (text !== null) socket.send(text);
    });
    socket.send(start);
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

function lineOver({ dialect, listening }: Wire): End {
  return (socket, ticker) => {
    const nothing = (): void => undefined;
    const line = new SocketLine({
      clock,
      carrier: 'bench',
      dialect: dialect(),
      encoding: 'mulaw',
      sampleRateHz: 8_000,
      events: {
        onClosed: nothing,
        onStart: nothing,
        onGone: nothing,
        onBad: (reason) => console.error(reason),
        onTransfer: () => Promise.resolve({ ok: false, reason: 'unsupported' }),
        onDigits: () => Promise.resolve(),
      },
    });
    line.attach(listening(mediaSocketOf(socket, clock)));
    line.start({ audio: nothing, digits: nothing, text: nothing, formResult: nothing, closed: nothing });
    let tick = 0;
    return ticker.subscribe(() => line.play(FRAMES[tick++ % FRAMES.length] ?? null));
  };
}

/** Milliseconds of processor time a call and second. */
async function callCost(end: End, carrier: string): Promise<number> {
  const server = createServer();
  const sockets = new WebSocketServer({ server, perMessageDeflate: false });
  const ticker = new Ticker(clock);
  const stops: (() => void)[] = [];
  sockets.on('connection', (socket: WebSocket) => stops.push(end(socket, ticker)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const child: ChildProcess = fork(process.argv[1] ?? '', [FAR_END, url, String(CALLS), carrier]);
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

/** Nanoseconds of processor time that something takes. */
function nanoseconds(work: (n: number) => unknown, times = 200_000): number {
  for (let n = 0; n < 20_000; n++) work(n);
  const before = process.cpuUsage();
  for (let n = 0; n < times; n++) work(n);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1_000) / times;
}

async function main(): Promise<void> {
  console.log(`${machine()}\n`);
  const frame = FRAMES[0] ?? new Int16Array(160);
  const text = wireOf('Twilio').media(7);
  const single: [string, (n: number) => unknown][] = [
    ...Object.entries(CARRIERS).map(([name, { read }]): [string, (n: number) => unknown] => [
      `sound of ${name}'s, read`,
      read(),
    ]),
    ['the same by JSON.parse alone', () => JSON.parse(text) as unknown],
    [
      'sound written: companded, base64, its message',
      () => TWILIO_MESSAGES.media(STREAM, encodePayload('mulaw', frame)),
    ],
  ];
  const rows = single.map(([what, work]) => [what, String(Math.round(nanoseconds(work)))]);
  console.log(`${markdownTable([['a message of 20 ms', 'ns'], ...rows])}\n`);

  const cases: [string, End, string][] = [
    ['sockets alone', socketAlone, 'Twilio'],
    ...Object.entries(CARRIERS).map(([name, wire]): [string, End, string] => [name, lineOver(wire), name]),
  ];
  const costs = new Map(cases.map(([name]) => [name, [] as number[]]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, end, carrier] of cases) costs.get(name)?.push(await callCost(end, carrier));
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
} else {
  const [url = '', calls, carrier = ''] = process.argv.slice(farEnd + 1);
  await beFarEnds(url, Number(calls), wireOf(carrier));
}
