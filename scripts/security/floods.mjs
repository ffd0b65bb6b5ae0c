/**
 * Clients of the talk socket that send far too much, each kind for a while beside a caller who behaves well:
 * frames of one byte, messages of 10 MB, audio at 50 times real time, and text that is no message. The good caller's
 * conversation must go on, and the sessions of the others must be given back.
 *
 *   npm run build && node scripts/security/floods.mjs [--count=20] [--seconds=10]
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';
import { PUBLIC_KEY, startDaemon } from '../daemon-process.mjs';
import { Caller, STORYTELLER } from './caller.mjs';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '20' }, seconds: { type: 'string', default: '10' } },
});
const count = Number(values.count);
const seconds = Number(values.seconds);
/** An attacker waits for its own socket once so much is queued there, and calls again so long after it was cut off. */
const QUEUED_BYTES = 1_000_000;
const AGAIN_MS = 200;
const RELEASE_MS = 30_000;

const frame = Buffer.alloc(640);
const huge = Buffer.alloc(10_000_000);
/** @type {Record<string, (socket: WebSocket) => void>} what one attacker sends every 20 ms */
const KINDS = {
  'frames of one byte': (socket) => {
    for (let at = 0; at < 100; at++) socket.send(frame.subarray(0, 1));
  },
  'messages of 10 MB': (socket) => socket.send(huge),
  'audio at 50 times real time': (socket) => {
    for (let at = 0; at < 50; at++) socket.send(frame);
  },
  'text that is no message': (socket) => socket.send(`{"method":${randomBytes(20).toString('latin1')}`),
};

const daemon = await startDaemon();
let failed = false;
try {
  const { id } = await daemon.request('POST', '/agents', STORYTELLER);
  const good = new Caller(daemon.address, id);
  await wait(2000); // until the agent speaks
  await measure('nobody else', good, async () => wait(seconds * 1000));
  for (const [kind, send] of Object.entries(KINDS)) {
    const closes = await measure(kind, good, () => attack(id, send));
    const untilMs = performance.now() + RELEASE_MS;
    while ((await sessions()) > 1 && performance.now() < untilMs) await wait(100);
    const left = (await sessions()) - 1;
    console.log(`  attackers were cut off: ${closes}; sessions left: ${left}`);
    failed ||= left > 0;
  }
  if (good.faults.length > 0) console.log(`the good caller: ${good.faults.join(', ')}`);
  failed ||= good.faults.length > 0 || !daemon.isAlive();
  good.close();
} finally {
  await daemon.close();
}
process.exitCode = failed ? 1 : 0;

/**
 * What the good caller hears meanwhile, and how long the daemon's event loop stands still.
 * @template T
 * @param {string} name
 * @param {Caller} good
 * @param {() => Promise<T>} run
 */
async function measure(name, good, run) {
  await daemon.figures();
  const before = { frames: good.frames, late: good.lateFrames };
  good.worstLateMs = 0;
  const result = await run();
  const frames = good.frames - before.frames;
  const late = good.lateFrames - before.late;
  const { p99, longest } = (await daemon.figures()).loopDelayMs;
  console.log(
    `${name}: the good caller got ${frames} frames, ${late} too late to play (${good.worstLateMs.toFixed(0)} ms at worst); ` +
      `event loop p99 ${p99} ms, longest ${longest} ms`,
  );
  failed ||= frames === 0;
  return result;
}

/**
 * @param {string} agentId
 * @param {(socket: WebSocket) => void} send
 * @returns {Promise<string>} how often by which code
 */
async function attack(agentId, send) {
  const untilMs = performance.now() + seconds * 1000;
  /** @type {Map<number, number>} */
  const codes = new Map();
  await Promise.all(
    Array.from({ length: count }, async () => {
      while (performance.now() < untilMs) {
        const code = await attackOnce(agentId, send, untilMs);
        if (code !== null) codes.set(code, (codes.get(code) ?? 0) + 1);
        await wait(AGAIN_MS);
      }
    }),
  );
  return [...codes].map(([code, times]) => `${times} with ${code}`).join(', ') || 'none';
}

/**
 * @param {string} agentId
 * @param {(socket: WebSocket) => void} send
 * @param {number} untilMs
 * @returns {Promise<number | null>} the code it was closed with; null = by itself
 */
function attackOnce(agentId, send, untilMs) {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${daemon.address.replace('http', 'ws')}/talk`);
    let stopped = false;
    const timer = setInterval(() => {
      if (performance.now() > untilMs) {
        stopped = true;
        socket.terminate();
      } else if (socket.readyState === WebSocket.OPEN && socket.bufferedAmount < QUEUED_BYTES) send(socket);
    }, 20);
    socket.on('open', () => {
      const data = { public_key: PUBLIC_KEY, agent: { agent_id: agentId } };
      socket.send(JSON.stringify({ method: 'initiate', data }));
    });
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      clearInterval(timer);
      resolve(stopped ? null : code);
    });
  });
}

async function sessions() {
  const text = await (await fetch(`${daemon.address}/metrics`)).text();
  return Number(/^parley_sessions (\d+)$/m.exec(text)?.[1]);
}
