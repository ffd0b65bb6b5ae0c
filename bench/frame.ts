/**
 * What 20 ms of a call cost the engine among so many others: a packet that comes and one that goes, over RTP (PCMU), with
 * nobody speaking. Sockets, timers and the system are left out, so that seconds show what a change of the path
 * of a frame is worth; bench/capacity has all of it.
 *
 *   npm run build && node bench/run.mjs frame [--calls=1,10,50,200,400] [--vads=silero,silero-gated] [--seconds=4]
 *
 * Alone, a call has all that it touches in the processor's caches. Among hundreds it has next to nothing there, and what
 * counts is how many places in memory a frame touches. Given is the 5th percentile of the rounds (20 ms of all calls): the
 * rest is other things that the machine did.
 */
import { parseArgs } from 'node:util';
import { frameSamples } from '../dist/audio/frame.js';
import type { Cancel, Clock } from '../dist/base/clock.js';
import { gather } from '../dist/base/gathering.js';
import { Engine } from '../dist/engine/engine.js';
import { vadProvider } from '../dist/providers/vad/registry.js';
import { serialiseRtp } from '../dist/transports/rtp/packet.js';
import { RtpPorts } from '../dist/transports/rtp/ports.js';
import { openRtpSession } from '../dist/transports/rtp/session.js';
import type { DatagramSocket, OnDatagram } from '../dist/transports/rtp/socket.js';
import { requestFor } from './lib/callers.js';
import { machine } from './lib/machine.js';
import { markdownTable, quantile } from './lib/numbers.js';
import { answerOf, pcmuPayloads } from './lib/pcmu-caller.js';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1,10,50,200,400' },
    vads: { type: 'string', default: 'silero,silero-gated' },
    seconds: { type: 'string', default: '4' },
  },
});
const RATE_HZ = 8_000;
const GROUPS = 20;
/** Of the calls' time, until greetings are over and code is compiled. */
const WARM_ROUNDS = 400;
const FAR_PORT = 40_000;

/** Moved on by hand: where `VirtualClock` moves, promises and immediates have their turn, and would be measured. */
class SteppedClock implements Clock {
  readonly virtual = false;
  #nowMs = 0;
  #waiting: { atMs: number; fn: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  schedule(atMs: number, fn: () => void): Cancel {
    const entry = { atMs, fn };
    this.#waiting.push(entry);
    return () => {
      const at = this.#waiting.indexOf(entry);
      if (at >= 0) this.#waiting.splice(at, 1);
    };
  }

  settle<T>(work: Promise<T>): Promise<T> {
    return work;
  }

  moveOn(ms: number): void {
    this.#nowMs += ms;
    for (;;) {
      const next = this.#waiting.find(({ atMs }) => atMs <= this.#nowMs);
      if (next === undefined) return;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      next.fn();
    }
  }
}

/** A socket between nothing and nobody. */
class SilentSocket implements DatagramSocket {
  sent = 0;
  onDatagram: OnDatagram = () => undefined;

  constructor(readonly port: number) {}

  listen(onDatagram: OnDatagram): void {
    this.onDatagram = onDatagram;
  }

  send(): void {
    this.sent++;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

async function measure(vad: string, calls: number, seconds: number): Promise<{ us: number; sent: number }> {
  const clock = new SteppedClock();
  const engine = new Engine({ clock });
  const provider = vadProvider(vad);
  await provider.warmUp();
  const sockets: SilentSocket[] = [];
  let port = 10_000;
  const ports = new RtpPorts({
    clock,
    localAddress: '127.0.0.1',
    portRange: null,
    openSocket: (_, wanted) => {
      const socket = new SilentSocket(wanted === 0 ? (port += 2) : wanted);
      if (wanted !== 0 && wanted % 2 === 0) sockets.push(socket);
      return Promise.resolve(socket);
    },
  });
  const samples = frameSamples(RATE_HZ);
  const payloads = pcmuPayloads('idle');
  for (let n = 0; n < calls; n++) {
    const session = await openRtpSession({ clock, ticker: engine.ticker, ports, codecs: ['PCMU'], srtp: 'off' });
    session.offer();
    session.accept(answerOf(FAR_PORT));
    session.answered();
    const call = await engine.createSession({
      ...(await requestFor('doubles')),
      vad: provider,
      transport: session.line,
    });
    void call.run();
  }
  const datagram = new Uint8Array(172);
  const round = (n: number): void => {
    for (let group = 0; group < GROUPS; group++) {
      clock.moveOn(20 / GROUPS);
      gather(() => {
        for (let call = group; call < calls; call += GROUPS) {
          const payload = payloads[(n + call * 7) % payloads.length]!;
          const numbers = { sequence: n & 0xffff, timestamp: (n * samples) >>> 0, ssrc: 1_000 + call };
          serialiseRtp({ payloadType: 0, marker: false, ...numbers, payload }, datagram);
          sockets[call]!.onDatagram(datagram, '127.0.0.1', FAR_PORT);
        }
      });
    }
  };
  let n = 0;
  const times: number[] = [];
  let untilMs = Infinity;
  for (; performance.now() < untilMs; n++) {
    const from = performance.now();
    round(n);
    if (n === WARM_ROUNDS) untilMs = from + seconds * 1_000;
    if (n >= WARM_ROUNDS) times.push(performance.now() - from);
    await new Promise(setImmediate);
  }
  const sent = sockets.reduce((sum, socket) => sum + socket.sent, 0) / (n * calls);
  return { us: (quantile(times, 0.05) * 1_000) / calls, sent };
}

const rows: (string | number)[][] = [['VAD', 'calls', 'us a frame', 'ms a second', 'packets sent for one that came']];
for (const vad of values.vads.split(',')) {
  for (const calls of values.calls.split(',').map(Number)) {
    const { us, sent } = await measure(vad, calls, Number(values.seconds));
    rows.push([vad, String(calls), us.toFixed(1), (us / 20).toFixed(2), sent.toFixed(3)]);
  }
}
console.log(markdownTable(rows));
console.log(`\n${machine()}`);
process.exit(0);
