/**
 * How long WebRTC takes, beside the same call over the talk socket. What it costs is in bench/capacity.
 *
 *   npm run build && node bench/run.mjs webrtc [--part=connect,latency,browser]
 *
 * 1. Connect: from a caller's offer until both ends can send, both of them werift in one process on loopback.
 * 2. Latency: from a frame of 20 ms that is there as a whole to its sound at the other end, decoded; a click is looked for
 *    to the sample. Nothing but the transport, on loopback, without a browser.
 * 3. Browser: Chromium speaks a recorded sentence and hears the embedded default answer; from the end of its speech to the
 *    first sound of the answer, both by the page's audio clock, and what the daemon says of the same turn.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { WebSocket, WebSocketServer } from 'ws';
import { loadOpus } from '../dist/audio/codecs/opus.js';
import { RealClock } from '../dist/base/real-clock.js';
import { PcmReader, pcmBytes } from '../dist/transports/pcm.js';
import { TalkSocketTransport } from '../dist/transports/talk-socket.js';
import type { Transport } from '../dist/transports/transport.js';
import { WebRtcTransport } from '../dist/transports/webrtc/webrtc-transport.js';
import { WeriftCaller } from '../dist/transports/webrtc/werift-caller.js';
import { WeriftPeer } from '../dist/transports/webrtc/werift-peer.js';
import { inBrowser } from './lib/browser-turns.js';
import { machine } from './lib/machine.js';
import { markdownTable, median, quantile } from './lib/numbers.js';
import { ON_LOOPBACK } from './lib/loopback.js';

const CONNECTS = 12;
const CLICKS = 30;
const FRAMES_A_CLICK = 5;
const LOUD = 8_000;
const clock = new RealClock();

const { values } = parseArgs({
  options: {
    part: { type: 'string', default: 'connect,latency,browser' },
  },
});

console.log(`${machine()}\n`);
const parts = { connect, latency, browser };
for (const [name, part] of Object.entries(parts)) if (values.part.split(',').includes(name)) await part();
console.log(machine());
process.exit(0);

interface Connected {
  caller: WeriftCaller;
  transport: WebRtcTransport;
}

async function connected(): Promise<Connected> {
  const [peer, caller] = [new WeriftPeer(ON_LOOPBACK, clock), new WeriftCaller(ON_LOOPBACK)];
  const transport = new WebRtcTransport({ peer, opus: await loadOpus(), clock });
  await caller.accept(await peer.answer(await caller.offer()));
  await Promise.all([caller.connected, transport.connected]);
  return { caller, transport };
}

async function connect(): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < CONNECTS; n++) {
    const beganMs = clock.nowMs();
    const { caller, transport } = await connected();
    times.push(clock.nowMs() - beganMs);
    await Promise.all([caller.close(), transport.close()]);
  }
  const [first, ...rest] = times;
  const rows = [
    ['time to connect, ms', "the process's first", 'p50', 'p95'],
    ['werift', first ?? Number.NaN, median(rest), quantile(rest, 0.95)],
  ];
  console.log(`${markdownTable(rows)}\n`);
}

/** One direction of a line: `say` sends a frame, `heard` is called with what comes out. */
interface Direction {
  rateHz: number;
  say: (frame: Int16Array) => void;
  onHeard: (heard: (samples: Int16Array) => void) => void;
}

async function latency(): Promise<void> {
  const { caller, transport } = await connected();
  const opus = await loadOpus();
  const [encoder, decoder] = [opus.encoder({ sampleRateHz: 16_000, dtx: false }), opus.decoder(24_000)];
  let ticks = 0;
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  await once(server, 'listening');
  const client = new WebSocket(`ws://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
  const [socket] = (await once(server, 'connection')) as [WebSocket];
  if (client.readyState !== client.OPEN) await once(client, 'open');
  const talk = new TalkSocketTransport(socket, { clock });
  const reader = new PcmReader();
  const rows = [
    ['latency, ms', 'p50', 'p95'],
    await row('WebRTC, user to agent', {
      rateHz: 16_000,
      say: (frame) => {
        caller.sendAudio(encoder.encode(frame), (ticks += 960));
        transport.play(null);
      },
      onHeard: (heard) => hearing(transport, heard),
    }),
    await row('WebRTC, agent to user', {
      rateHz: 24_000,
      say: (frame) => transport.play(frame),
      onHeard: (heard) => (caller.onAudio = ({ payload }) => heard(decoder.decode(payload))),
    }),
    await row('talk socket, user to agent', {
      rateHz: 16_000,
      say: (frame) => client.send(pcmBytes(frame)),
      onHeard: (heard) => hearing(talk, heard),
    }),
    await row('talk socket, agent to user', {
      rateHz: 16_000,
      say: (frame) => talk.play(frame),
      onHeard: (heard) =>
        client.on('message', (data, isBinary) => {
          if (isBinary) heard(reader.read(data as Buffer));
        }),
    }),
  ];
  console.log(`${markdownTable(rows)}\n`);
  await Promise.all([transport.close(), caller.close(), talk.close()]);
  server.close();
}

function hearing(transport: Transport, audio: (samples: Int16Array) => void): void {
  const nothing = (): void => undefined;
  transport.start({ audio, digits: nothing, text: nothing, formResult: nothing, closed: nothing });
}

async function row(name: string, { rateHz, say, onHeard }: Direction): Promise<(string | number)[]> {
  const frame = rateHz / 50;
  const [silence, click] = [new Int16Array(frame), new Int16Array(frame)];
  for (let n = 0; n < frame; n++) click[n] = Math.round(LOUD * Math.sin((2 * Math.PI * 400 * n) / rateHz));
  const latencies: number[] = [];
  let saidMs: number | null = null;
  onHeard((samples) => {
    const at = samples.findIndex((sample) => Math.abs(sample) > LOUD / 4);
    if (saidMs === null || at === -1) return;
    latencies.push(clock.nowMs() - saidMs + (at * 1000) / rateHz);
    saidMs = null;
  });
  for (let n = 0; n < CLICKS * FRAMES_A_CLICK; n++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    const isClick = n % FRAMES_A_CLICK === FRAMES_A_CLICK - 1;
    if (isClick) saidMs = clock.nowMs();
    say(isClick ? click : silence);
    await new Promise((resolve) => setTimeout(resolve, 8));
  }
  return [name, median(latencies), quantile(latencies, 0.95)];
}

async function browser(): Promise<void> {
  const turns = await inBrowser(4);
  const mouth = turns.map(({ mouthToEarMs }) => mouthToEarMs);
  const daemons = turns.map(({ responseMs }) => responseMs);
  const added = turns.map(({ mouthToEarMs, responseMs }) => mouthToEarMs - responseMs);
  const line = (name: string, ms: readonly number[]): (string | number)[] => [name, median(ms), quantile(ms, 0.95)];
  const rows = [
    ['Chromium, ms', 'p50', 'most'],
    line('end of speech to the first sound of the answer', mouth),
    line('of that, by the daemon', daemons),
    line('by network, browser and codec', added),
  ];
  console.log(`${markdownTable(rows)}\n`);
}
