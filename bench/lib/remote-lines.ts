import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { frameSamples, HEARING_RATE_HZ } from '../../dist/audio/frame.js';
import { loadOpus } from '../../dist/audio/opus.js';
import { RealClock } from '../../dist/clock/real.js';
import { Engine } from '../../dist/engine/engine.js';
import type { Transport } from '../../dist/transports/transport.js';
import { pcmBytes } from '../../dist/transports/pcm.js';
import { TalkSocketTransport } from '../../dist/transports/talk-socket.js';
import { WebRtcTransport } from '../../dist/transports/webrtc/webrtc-transport.js';
import { WeriftCaller } from '../../dist/transports/webrtc/werift-caller.js';
import { WeriftPeer } from '../../dist/transports/webrtc/werift-peer.js';
import { type Conduct, soundOf } from './caller-sound.js';
import { Callers, requestFor } from './callers.js';
import { cpuTimes } from './threads.js';

/** `memory`: nothing between caller and session; `talk`: the talk socket; `webrtc`: werift and Opus. */
export type Way = 'memory' | 'talk' | 'webrtc';

export interface LineCost {
  processMs: number;
  stolenMs: number;
  answers: number;
  rssMb: number;
}

export const ON_LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const FRAME = frameSamples(HEARING_RATE_HZ);
const FRAME_MS = 20;
/** Compiled and greeted. */
const WARM_MS = 7_000;

type Order = { offer: string } | { measureMs: number };
type Reply = { port: number } | { answer: string } | { cost: LineCost };

/** The cost of `count` lines to a process that has nothing but their sessions: the callers are in this one. */
export async function costOf(way: Way, conduct: Conduct, count: number, seconds: number): Promise<LineCost> {
  const child = fork(process.argv[1] ?? '', [`--serve=${way}:${conduct}:${String(count)}`]);
  try {
    const { port } = (await replyOf(child)) as { port: number };
    const sends: ((at: number, ticks: number) => void)[] = [];
    if (way === 'talk') for (let n = 0; n < count; n++) sends.push(await talkCaller(port, conduct));
    if (way === 'webrtc') {
      const packets = await encoded(conduct);
      for (let n = 0; n < count; n++) sends.push(await webRtcCaller(child, packets));
    }
    const stop = everyFrame((n) => {
      for (const [line, send] of sends.entries()) {
        send((n + Math.floor((line / count) * 500)) % 500, n * 960);
      }
    });
    await sleep(WARM_MS);
    child.send({ measureMs: seconds * 1000 } satisfies Order);
    const { cost } = (await replyOf(child)) as { cost: LineCost };
    stop();
    return cost;
  } finally {
    child.kill('SIGKILL');
  }
}

/** What the other process does. */
export async function serveLines(way: Way, conduct: Conduct, count: number): Promise<void> {
  const clock = new RealClock();
  const engine = new Engine({ clock });
  let answers = 0;
  const begin = async (transport: Transport): Promise<void> => {
    const observe = (event: { type: string }): void => void (event.type === 'answered' && answers++);
    const session = await engine.createSession({ ...(await requestFor('doubles')), transport, observe });
    void session.run();
  };
  const callers = way === 'memory' ? new Callers(engine, conduct, 'doubles') : null;
  if (callers !== null) for (let n = 0; n < count; n++) await callers.add(n / count);
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  server.on('connection', (socket) => void begin(new TalkSocketTransport(socket, { clock })));
  await once(server, 'listening');
  const opus = await loadOpus();
  const tell = (reply: Reply): void => void process.send?.(reply);
  const obey = async (order: Order): Promise<void> => {
    if ('offer' in order) {
      const peer = new WeriftPeer(ON_LOOPBACK, clock);
      const transport = new WebRtcTransport({ peer, opus, clock });
      const answer = await peer.answer(order.offer);
      void transport.connected.then(() => begin(transport));
      tell({ answer });
    } else {
      const [before, beganMs, had] = [cpuTimes(), clock.nowMs(), answers + (callers?.answers ?? 0)];
      await sleep(order.measureMs);
      const after = cpuTimes();
      const seconds = (clock.nowMs() - beganMs) / 1000;
      tell({
        cost: {
          processMs: (after.processMs - before.processMs) / seconds,
          stolenMs: ((after.mainStolenMs ?? 0) - (before.mainStolenMs ?? 0)) / seconds,
          answers: answers + (callers?.answers ?? 0) - had,
          rssMb: process.memoryUsage().rss / 1e6,
        },
      });
    }
  };
  process.on('message', (order: Order) => void obey(order));
  tell({ port: (server.address() as AddressInfo).port });
}

async function talkCaller(port: number, conduct: Conduct): Promise<(at: number) => void> {
  const client = new WebSocket(`ws://127.0.0.1:${String(port)}`, { perMessageDeflate: false });
  await once(client, 'open');
  const sound = soundOf(conduct);
  return (at) => client.send(pcmBytes(sound.subarray(at * FRAME, (at + 1) * FRAME)));
}

async function webRtcCaller(
  child: ChildProcess,
  packets: readonly Uint8Array[],
): Promise<(at: number, ticks: number) => void> {
  const caller = new WeriftCaller(ON_LOOPBACK);
  child.send({ offer: await caller.offer() } satisfies Order);
  const { answer } = (await replyOf(child)) as { answer: string };
  await caller.accept(answer);
  await caller.connected;
  return (at, ticks) => caller.sendAudio(packets[at] ?? new Uint8Array(), ticks);
}

/** A cycle of a caller's sound as a browser sends it: without DTX. */
async function encoded(conduct: Conduct): Promise<Uint8Array[]> {
  const encoder = (await loadOpus()).encoder({ sampleRateHz: HEARING_RATE_HZ, dtx: false });
  const sound = soundOf(conduct);
  const packets: Uint8Array[] = [];
  for (let at = 0; at < sound.length; at += FRAME) packets.push(encoder.encode(sound.slice(at, at + FRAME)));
  return packets;
}

async function replyOf(child: ChildProcess): Promise<Reply> {
  const [reply] = (await once(child, 'message')) as [Reply];
  return reply;
}

/** Calls `tick` every 20 ms without drift. */
function everyFrame(tick: (n: number) => void): () => void {
  const beganMs = performance.now();
  let n = 0;
  const timer = setInterval(() => {
    while (performance.now() - beganMs >= n * FRAME_MS) tick(n++);
  }, FRAME_MS / 2);
  return () => clearInterval(timer);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
