/**
 * Clients that are slow on purpose, against a daemon process of its own: so many each that send a request's head byte
 * by byte, that send a body byte by byte, that send nothing at all, and that open a talk socket and say nothing. All
 * have to be closed in time, and `/healthz` has to answer meanwhile.
 *
 *   npm run build && node scripts/security/slow-clients.mjs [--count=500] [--limit-s=22]
 */
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { PRIVATE_KEY, startDaemon } from '../daemon-process.mjs';

/** A health check that waits longer than this is none, on a machine that tests share. */
const HEALTH_LIMIT_MS = 5000;
const { values } = parseArgs({
  options: { count: { type: 'string', default: '500' }, 'limit-s': { type: 'string', default: '22' } },
});
const count = Number(values.count);
const limitMs = Number(values['limit-s']) * 1000;

const KINDS = {
  'slow head': { first: 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ', drip: 'a' },
  'slow body': {
    first:
      `POST /do-not-call HTTP/1.1\r\nhost: localhost\r\nauthorization: ${PRIVATE_KEY}\r\n` +
      'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{',
    drip: ' ',
  },
  'no word': { first: '', drip: '' },
  'talk socket, no word': {
    first:
      'GET /talk HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n' +
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    drip: '',
  },
};

const daemon = await startDaemon({}, 'warn');
const port = Number(new URL(daemon.address).port);
let failed = false;
try {
  const open = new Set();
  const beganMs = performance.now();
  const attacks = Object.entries(KINDS).flatMap(([kind, how]) =>
    Array.from({ length: count }, () => attack(kind, how, open)),
  );
  const health = watchHealth(open);
  const closed = await Promise.race([Promise.all(attacks), wait(limitMs, null)]);
  const tookS = ((performance.now() - beganMs) / 1000).toFixed(1);
  failed = closed === null || open.size > 0;
  console.log(`${count * Object.keys(KINDS).length} hostile clients: ${open.size} still open after ${tookS} s`);
  for (const kind of Object.keys(KINDS)) {
    const those = (closed ?? []).filter((each) => each.kind === kind);
    if (those.length === 0) continue;
    const times = those.map(({ ms }) => ms);
    const answers = [...new Set(those.map(({ answer }) => answer))].map(
      (answer) => `${those.filter((each) => each.answer === answer).length} ${answer || 'no answer'}`,
    );
    const when = `after ${seconds(Math.min(...times))} to ${seconds(Math.max(...times))}`;
    console.log(`  ${kind}: closed ${when} (${answers.join(', ')})`);
  }
  for (const socket of open) socket.destroy();
  open.clear();
  const waits = await health;
  const worstMs = Math.max(...waits);
  console.log(`/healthz answered ${waits.length} times meanwhile, after ${worstMs.toFixed(0)} ms at worst`);
  failed ||= waits.length < 5 || worstMs > HEALTH_LIMIT_MS;
} finally {
  await daemon.close();
}
process.exitCode = failed ? 1 : 0;

/**
 * Resolves when the daemon has closed it.
 * @param {string} kind
 * @param {{ first: string, drip: string }} how
 * @param {Set<import('node:net').Socket>} open
 * @returns {Promise<{ kind: string, ms: number, answer: string }>}
 */
function attack(kind, { first, drip }, open) {
  return new Promise((resolve) => {
    const beganMs = performance.now();
    const socket = connect(port, '127.0.0.1');
    open.add(socket);
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    socket.on('connect', () => {
      if (first !== '') socket.write(first);
      if (drip !== '') timer = setInterval(() => socket.writable && socket.write(drip), 1000);
    });
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    let answer = '';
    socket.on('data', (data) => (answer ||= data.toString('latin1').split('\r\n')[0] ?? ''));
    socket.on('close', () => {
      clearInterval(timer);
      open.delete(socket);
      resolve({ kind, ms: performance.now() - beganMs, answer });
    });
  });
}

/**
 * How long each health check took, in milliseconds, while clients are open.
 * @param {Set<unknown>} open
 */
async function watchHealth(open) {
  const waits = [];
  while (open.size > 0) {
    const beganMs = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null);
    await answer?.arrayBuffer();
    waits.push(answer?.ok === true ? performance.now() - beganMs : Number.POSITIVE_INFINITY);
    await wait(200);
  }
  return waits;
}

/** @param {number} ms */
function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}
