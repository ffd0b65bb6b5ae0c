/**
 * What listeners cost the calls that they hear: how late the frames of calls reach their callers, with and without listeners,
 * and how far behind the call a listener is.
 *
 *   npm run build && node bench/run.mjs listeners [--calls=50] [--listeners=200] [--seconds=15] [--rounds=3] [--threads=0]
 *
 * A daemon, as a process of its own, has the calls on its talk socket; each caller is on hold and hears music, so that a
 * frame comes every 20 ms, and sends a click a second. Callers are this process, listeners another one: all of them, and the
 * daemon, share the machine. A frame counts as late by how much more than 20 ms a frame has passed since the first one of its
 * call, from the earliest of them on. `behind` is from a caller's click until a listener has it; parley itself waits up to
 * 100 ms for the other side and for the end of a block.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';
import { PRIVATE_KEY, PUBLIC_KEY, startDaemon } from '../scripts/daemon-process.mjs';
import { machine } from './lib/machine.js';
import { markdownTable, quantile } from './lib/numbers.js';
import { type Methods, remoteProcess, serve } from './lib/remote.js';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '50' },
    listeners: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '15' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '0' },
    listen: { type: 'boolean', default: false },
  },
});
const CALLS = Number(values.calls);
const FRAME_MS = 20;
const RATE_HZ = 16_000;
const FRAME = (RATE_HZ * FRAME_MS) / 1000;
const CLICK_EVERY = 50;
/** Louder than the music. */
const LOUD = 30_000;
/** Later than this, a listener hears the click before. */
const FRAMES_A_CLICK_MS = CLICK_EVERY * FRAME_MS;
const LATE_MS = 5;
const SETTLE_MS = 3_000;

/** The clock that all processes of a machine share, ms. */
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

type ListenerMethods = {
  /** Listens to a call so many times. */
  listen: (to: { address: string; sessions: string[]; count: number }) => Promise<void>;
  /** When each listener heard clicks since the last question, by its call. */
  clicks: (nothing: null) => Promise<{ session: number; atMs: number }[]>;
} & Methods;

interface Figures {
  lateShare: number;
  p99Ms: number;
  maxMs: number;
  cpuMs: number;
  behind: number[];
}

async function main(): Promise<void> {
  console.log(`${machine()}\n`);
  const daemon = await startDaemon({
    talkLeadMs: 0,
    media: { threads: Number(values.threads) },
    limits: { sessions: 2 * CALLS, requestsPerMinute: 1e6, socketsPerAddress: 10_000 },
  });
  const remote = remoteProcess<ListenerMethods>(['--listen']);
  try {
    const config = { first_message: 'Hello.', llm: { model: 'scripted' } };
    const agent = { name: 'Bench', config, script: { rules: [{ when: 'hello', say: 'Hello.' }] } };
    const { id } = (await daemon.request('POST', '/agents', agent)) as { id: string };
    const callers: Caller[] = [];
    const hold = { type: 'hold', music: true, max_s: 3600 };
    for (let n = 0; n < CALLS; n++) {
      const caller = await Caller.call(daemon.address, id);
      // At once: an agent that hears nothing ends its call.
      await daemon.request('POST', `/sessions/${caller.sessionId}/control`, hold);
      callers.push(caller);
    }
    const stop = everyFrame((n) => {
      for (const [at, caller] of callers.entries()) caller.send(n + at);
    });
    const results: Record<'without' | 'with', Figures[]> = { without: [], with: [] };
    const sessions = callers.map(({ sessionId }) => sessionId);
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const kind of ['without', 'with'] as const) {
        const count = kind === 'with' ? Number(values.listeners) : 0;
        await remote.ask('listen', { address: daemon.address, sessions, count });
        results[kind].push(await measured(callers, daemon.pid, () => remote.ask('clicks', null)));
      }
    }
    stop();
    const rows = (['without', 'with'] as const).map((kind) => row(kind, results[kind]));
    console.log(
      markdownTable([
        ['', 'late by 5 ms, %', 'p99, ms', 'max, ms', 'CPU, ms a s', 'behind p50, ms', 'p99, ms'],
        ...rows,
      ]),
    );
    console.log(`\n${machine()}`);
  } finally {
    remote.end();
    await daemon.close();
  }
}

function row(kind: 'without' | 'with', figures: readonly Figures[]): (string | number)[] {
  const middle = (of: (one: Figures) => number): number => quantile(figures.map(of), 0.5);
  const behind = figures.flatMap((one) => one.behind);
  return [
    `${values.calls} calls, ${kind === 'with' ? values.listeners : 'no'} listeners`,
    (100 * middle((one) => one.lateShare)).toFixed(2),
    middle((one) => one.p99Ms).toFixed(1),
    middle((one) => one.maxMs).toFixed(1),
    middle((one) => one.cpuMs).toFixed(0),
    behind.length === 0 ? '' : quantile(behind, 0.5).toFixed(0),
    behind.length === 0 ? '' : quantile(behind, 0.99).toFixed(0),
  ];
}

async function measured(
  callers: readonly Caller[],
  pid: number,
  clicks: () => Promise<{ session: number; atMs: number }[]>,
): Promise<Figures> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  await clicks();
  for (const caller of callers) caller.begin();
  const before = cpuOf(pid);
  await new Promise((resolve) => setTimeout(resolve, Number(values.seconds) * 1000));
  const cpuMs = (cpuOf(pid) - before) / Number(values.seconds);
  const late = callers.flatMap((caller) => caller.lateness());
  const behind = (await clicks()).flatMap(({ session, atMs }) => {
    const sentMs = callers[session]?.clickBefore(atMs) ?? Number.NaN;
    return atMs - sentMs < FRAMES_A_CLICK_MS ? [atMs - sentMs] : [];
  });
  return {
    lateShare: late.filter((ms) => ms > LATE_MS).length / late.length,
    p99Ms: quantile(late, 0.99),
    maxMs: quantile(late, 1),
    cpuMs,
    behind,
  };
}

/** Processor time of a process, ms: utime and stime of proc(5), in ticks of 10 ms. */
function cpuOf(pid: number): number {
  const fields =
    readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
      .split(') ')[1]
      ?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** Somebody who is on hold on a talk socket. */
class Caller {
  readonly #socket: WebSocket;
  readonly sessionId: string;
  readonly #silence = Buffer.alloc(2 * FRAME);
  readonly #click: Buffer;
  #arrivals: number[] = [];
  #clicks: number[] = [];

  private constructor(socket: WebSocket, sessionId: string) {
    this.#socket = socket;
    this.sessionId = sessionId;
    const click = new Int16Array(FRAME);
    click[0] = LOUD;
    this.#click = Buffer.from(click.buffer);
    socket.on('message', (_data, isBinary) => {
      if (isBinary) this.#arrivals.push(nowMs());
    });
  }

  static async call(address: string, agentId: string): Promise<Caller> {
    const socket = new WebSocket(`${address.replace('http', 'ws')}/talk`, { perMessageDeflate: false });
    await once(socket, 'open');
    socket.send(JSON.stringify({ method: 'initiate', data: { public_key: PUBLIC_KEY, agent: { agent_id: agentId } } }));
    for (;;) {
      const [data, isBinary] = (await once(socket, 'message')) as [Buffer, boolean];
      if (isBinary) continue;
      const { method, payload } = JSON.parse(String(data)) as { method: string; payload?: { session_id: string } };
      if (method === 'onready' && payload !== undefined) return new Caller(socket, payload.session_id);
      if (method === 'onerror') throw new Error(String(data));
    }
  }

  send(n: number): void {
    if (n % CLICK_EVERY === 0) this.#clicks.push(nowMs());
    this.#socket.send(n % CLICK_EVERY === 0 ? this.#click : this.#silence);
  }

  begin(): void {
    this.#arrivals = [];
    this.#clicks = [];
  }

  /** By how much each frame came later than the earliest one would have it, ms. */
  lateness(): number[] {
    const offsets = this.#arrivals.map((atMs, n) => atMs - n * FRAME_MS);
    const earliest = offsets.reduce((least, ms) => Math.min(least, ms), Infinity);
    return offsets.map((ms) => ms - earliest);
  }

  /** When the last click before a time was sent; NaN = none was. */
  clickBefore(atMs: number): number {
    return this.#clicks.findLast((sentMs) => sentMs <= atMs) ?? Number.NaN;
  }
}

/** Calls `tick` every 20 ms, without drift. */
function everyFrame(tick: (n: number) => void): () => void {
  const beganMs = nowMs();
  let n = 0;
  const timer = setInterval(() => {
    while (nowMs() - beganMs >= n * FRAME_MS) tick(n++);
  }, 5);
  return () => clearInterval(timer);
}

function listenerMethods(): ListenerMethods {
  let sockets: WebSocket[] = [];
  let heard: { session: number; atMs: number }[] = [];
  return {
    listen: async ({ address, sessions, count }) => {
      for (const socket of sockets) socket.terminate();
      sockets = [];
      for (let n = 0; n < count; n++) {
        const session = n % sessions.length;
        const url = `${address.replace('http', 'ws')}/calls/${sessions[session] ?? ''}/audio?channels=mixed`;
        const headers = { authorization: `Bearer ${PRIVATE_KEY}` };
        const socket = new WebSocket(url, { headers, perMessageDeflate: false });
        sockets.push(socket);
        socket.on('message', (data, isBinary) => {
          if (isBinary && isLoud(data as Buffer)) heard.push({ session, atMs: nowMs() });
        });
        await opened(socket);
      }
    },
    clicks: () => {
      const all = heard;
      heard = [];
      return Promise.resolve(all);
    },
  };
}

/** @throws Error with the daemon's answer, if it refuses */
async function opened(socket: WebSocket): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
    socket.once('unexpected-response', (_request, response) => {
      let text = '';
      response.on('data', (piece: Buffer) => (text += String(piece)));
      response.on('end', () => reject(new Error(`${String(response.statusCode)}: ${text}`)));
    });
  });
}

function isLoud(frame: Buffer): boolean {
  for (let at = 0; at + 1 < frame.length; at += 2) if (Math.abs(frame.readInt16LE(at)) > LOUD / 2) return true;
  return false;
}

if (values.listen) serve(listenerMethods());
else await main();
