/**
 * What a daemon has acknowledged survives its death: a daemon process is killed (SIGKILL) at random moments while
 * clients write through its endpoints, again and again on the same data folder. After each death the databases have to
 * be intact; after each start every acknowledged row has to be there, and calls that were under way have to be ended.
 *
 *   npm run build && node scripts/security/crash.mjs [--rounds=300] [--seed=1] [--longest-ms=3000]
 */
import Database from 'better-sqlite3';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { waitForAnswer, freePort, mulberry } from '../daemon-process.mjs';

const BIN = fileURLToPath(new URL('../../bin/parley.js', import.meta.url));
const KEY = 'sk_crash_0123456789';
const START_MS = 60_000;
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    'longest-ms': { type: 'string', default: '3000' },
  },
});
const random = mulberry(Number(values.seed));
const dataDir = mkdtempSync(join(tmpdir(), 'parley-crash-'));
const config = join(dataDir, 'settings.json');
const NO_LIMIT = 1_000_000;
writeFileSync(
  config,
  JSON.stringify({
    limits: { requestsPerMinute: NO_LIMIT },
    calls: {
      concurrent: NO_LIMIT,
      perMinute: NO_LIMIT,
      perDestinationPerMinute: NO_LIMIT,
      perDestinationPerDay: NO_LIMIT,
      minutesPerDay: NO_LIMIT,
    },
  }),
);

/** The daemon said no to something that is right. */
class Refused extends Error {}

let address = '';
let count = 0;
/** What was acknowledged. */
const kept = {
  /** @type {string[]} */ numbers: [],
  /** @type {string[]} */ keys: [],
  /** The version that each agent has at least. @type {Map<string, number>} */ agents: new Map(),
  /** @type {Map<string, string[]>} */ campaigns: new Map(),
  /** @type {{ call_id: string, session_id: string, idempotency: string, body: unknown }[]} */ calls: [],
};
let phone = '';

/** Each writes one thing and notes it once it is acknowledged. */
const WRITERS = [
  async () => {
    const number = nextNumber();
    await ask('POST', '/do-not-call', { phone: number });
    kept.numbers.push(number);
  },
  async () => {
    const { id } = await ask('POST', '/keys', { kind: 'private', name: `key ${++count}` });
    kept.keys.push(id);
  },
  async () => {
    const { id } = await ask('POST', '/agents', { name: `agent ${++count}`, config: { prompt: 'You sell bread.' } });
    kept.agents.set(id, 1);
    const { version } = await ask('PUT', `/agents/${id}`, { name: `agent ${count}, changed` });
    kept.agents.set(id, version);
  },
  async () => {
    const { id } = await ask('POST', '/campaigns', { name: `campaign ${++count}` });
    kept.campaigns.set(id, []);
    const phones = Array.from({ length: 20 }, nextNumber);
    await ask(
      'POST',
      `/campaigns/${id}/records`,
      phones.map((each) => ({ phone: each })),
    );
    kept.campaigns.set(id, phones);
  },
  async () => {
    const idempotency = `call ${++count}`;
    const body = { from_phone: phone, to_phone: '+12025550103', agent_id: 'the-crooked-fork' };
    const ids = await ask('POST', '/start_outbound_call', body, { 'idempotency-key': idempotency });
    kept.calls.push({ ...ids, idempotency, body });
  },
];

const rounds = Number(values.rounds);
let faults = 0;
try {
  for (let round = 0; round <= rounds; round++) {
    const daemon = await start();
    try {
      if (round === 0) {
        ({ id: phone } = await ask('POST', '/phones/purchase', {}));
      } else await verify(round);
      // Calls want engines that are warm.
      if (round % 2 === 1) await until('/readyz', daemon.process);
      const writing = new AbortController();
      const writers = WRITERS.map((write) => writeOn(write, writing.signal, round));
      await wait((round % 2 === 1 ? random() : random() ** 2) * Number(values['longest-ms']));
      writing.abort();
      daemon.process.kill('SIGKILL');
      await Promise.all([daemon.gone, ...writers]);
    } finally {
      daemon.process.kill('SIGKILL');
      await daemon.gone;
    }
    checkFiles(round);
  }
  const { numbers, keys, agents, campaigns, calls } = kept;
  console.log(
    `${rounds} deaths: ${faults} faults; there are ${numbers.length} numbers, ${keys.length} keys, ${agents.size} agents, ` +
      `${campaigns.size} campaigns and ${calls.length} calls that were acknowledged`,
  );
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
process.exitCode = faults > 0 ? 1 : 0;

/** Every acknowledged row is there, as its endpoint tells. @param {number} round */
async function verify(round) {
  const [numbers, keys, agents, campaigns] = await Promise.all(
    ['/do-not-call', '/keys', '/agents', '/campaigns'].map((path) => ask('GET', path)),
  );
  expectAll(round, 'numbers', kept.numbers, idsOf(numbers, 'phone'));
  expectAll(round, 'keys', kept.keys, idsOf(keys));
  expectAll(round, 'agents', [...kept.agents.keys()], idsOf(agents));
  expectAll(round, 'campaigns', [...kept.campaigns.keys()], idsOf(campaigns));
  for (const [id, version] of [...kept.agents].slice(-3)) {
    const agent = await ask('GET', `/agents/${id}`);
    if (agent.version < version) fault(round, `agent ${id} has version ${agent.version}, ${version} was acknowledged`);
  }
  for (const [id, phones] of [...kept.campaigns].slice(-3)) {
    const { records } = await ask('GET', `/campaigns/${id}/records?limit=100`);
    expectAll(round, `records of ${id}`, phones, idsOf(records, 'phone'));
  }
  for (const { session_id: id } of kept.calls.slice(-20)) {
    const { call_status: status } = await ask('GET', `/call-logs/${id}`);
    if (/^(?:queued|dispatching|initiated|ringing|in-progress)$/.test(status))
      fault(round, `call ${id} is still ${status}`);
  }
  const last = kept.calls.at(-1);
  if (last !== undefined) {
    const again = await ask('POST', '/start_outbound_call', last.body, { 'idempotency-key': last.idempotency });
    if (again.call_id !== last.call_id) fault(round, `call ${last.call_id} was placed a second time`);
  }
}

/** The databases are intact, as the dead process has left them. @param {number} round */
function checkFiles(round) {
  for (const name of ['parley.db', 'knowledge.db']) {
    const path = join(dataDir, name);
    if (!existsSync(path)) continue;
    const database = new Database(path);
    const found = database.pragma('integrity_check', { simple: true });
    const foreign = /** @type {unknown[]} */ (database.pragma('foreign_key_check'));
    database.close();
    if (found !== 'ok') fault(round, `${name}: ${String(found)}`);
    if (foreign.length > 0) fault(round, `${name}: ${foreign.length} rows refer to nothing`);
  }
}

/**
 * One thing after the other, until the daemon is gone.
 * @param {() => Promise<void>} write
 * @param {AbortSignal} signal
 * @param {number} round
 */
async function writeOn(write, signal, round) {
  while (!signal.aborted) {
    try {
      await write();
    } catch (error) {
      if (error instanceof Refused) fault(round, error.message);
      return; // the connection broke off: nothing was acknowledged
    }
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {Record<string, string>} [headers]
 * @returns {Promise<any>}
 */
async function ask(method, path, body, headers = {}) {
  const response = await fetch(address + path, {
    method,
    headers: { authorization: KEY, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(START_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Refused(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

async function start() {
  const port = await freePort();
  address = `http://127.0.0.1:${port}`;
  const daemon = spawn(process.execPath, [BIN, 'serve', '--port', String(port), '--config', config], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      OLLAMA_HOST: 'http://127.0.0.1:9',
      PARLEY_LOG_LEVEL: 'error',
      PARLEY_DATA_DIR: dataDir,
      PARLEY_API_KEY: KEY,
    },
  });
  const gone = once(daemon, 'close');
  await until('/healthz', daemon);
  return { process: daemon, gone };
}

/**
 * @param {string} path
 * @param {import('node:child_process').ChildProcess} daemon
 */
async function until(path, daemon) {
  await waitForAnswer(address + path, daemon, START_MS).catch((error) => {
    daemon.kill('SIGKILL');
    throw error;
  });
}

/**
 * @param {number} round
 * @param {string} what
 * @param {readonly string[]} expected
 * @param {ReadonlySet<string>} there
 */
function expectAll(round, what, expected, there) {
  const lost = expected.filter((id) => !there.has(id));
  if (lost.length > 0) fault(round, `${lost.length} ${what} are lost, such as ${lost[0]}`);
}

/**
 * @param {readonly Record<string, string>[]} items
 * @returns {Set<string>}
 */
function idsOf(items, member = 'id') {
  return new Set(items.map((item) => item[member] ?? ''));
}

/**
 * @param {number} round
 * @param {string} text
 */
function fault(round, text) {
  faults++;
  console.log(`after death ${round}: ${text}`);
}

function nextNumber() {
  return `+1303${String(2_000_000 + ++count)}`;
}
