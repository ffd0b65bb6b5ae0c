/**
 * Kills a daemon with SIGKILL again and again while its campaigns call people of the simulated network, and counts:
 * nobody is called twice for the same reason, nobody is forgotten, what was uploaded is there.
 *
 *   npm run build && node scripts/security/campaign-crashes.mjs --rounds 50 --seed 1
 *
 * A call's row is written before anybody is called, so the call log has every call there was. Of each record: it has as
 * many rows as attempts, one at a time, and another one only where the row before ended with what is called again for.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { waitForAnswer, freePort, mulberry } from '../daemon-process.mjs';
import Database from 'better-sqlite3';

const BIN = fileURLToPath(new URL('../../bin/parley.js', import.meta.url));
const KEY = 'sk_crashes';
/** Ann answers; busy; rings for ever; rejects after a while; out of order. Numbers that nobody has fail at once. */
const PEOPLE = ['+12025550101', '+12025550107', '+12025550108', '+12025550109', '+12025550115'];
const CAMPAIGNS = 6;
const UPLOAD = 4;
/** Nothing takes this long, on a busy machine either. */
const START_MS = 180_000;
const FINISH_MS = 600_000;

/** Waits by how a call ended; what is not here is not called again. */
const WAITS = { busy: [1], error: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 'no-answer': [1, 1, 1, 1, 1, 1] };
const MAX_ATTEMPTS = 12;
const WIDE = 1_000_000;
/** What the rules of `check` hold for. */
export const SETTINGS = {
  calls: {
    concurrent: WIDE,
    perMinute: WIDE,
    perDestinationPerMinute: WIDE,
    perDestinationPerDay: WIDE,
    minutesPerDay: WIDE,
    maxDurationS: 20,
    ringS: 5,
  },
  campaigns: {
    concurrent: 20,
    perMinute: 1200,
    hoursStart: '00:00',
    hoursEnd: '24:00',
    maxAttempts: MAX_ATTEMPTS,
    days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
    retryBusyS: WAITS.busy,
    retryErrorS: WAITS.error,
    retryNoAnswerS: WAITS['no-answer'],
    retryFailedS: [],
  },
  limits: { requestsPerMinute: WIDE },
};

/**
 * @typedef {{ rounds: number, calls: number, cut: number, records: number }} Tally
 * @param {{ rounds: number, seed: number, say?: (line: string) => void }} options
 * @returns {Promise<Tally>}
 * @throws Error where a rule is broken
 */
export async function crashCampaigns({ rounds, seed, say = () => undefined }) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-crashes-'));
  const random = mulberry(seed);
  /** @type {Running | null} */
  let running = null;
  try {
    const config = join(folder, 'parley.json');
    writeFileSync(config, JSON.stringify(SETTINGS));
    running = await start(folder, config);
    await running.until('/readyz');
    const phone = (await running.ask('POST', '/phones/purchase', {})).id;
    const [agent] = await running.ask('GET', '/agents');
    await running.ask('POST', `/phones/${phone}/set_agent`, { agent_id: agent.id });
    /** @type {Map<string, string[]>} Numbers by campaign, as far as their upload was acknowledged. */
    const uploaded = new Map();
    for (let index = 0; index < CAMPAIGNS; index++) {
      const { id } = await running.ask('POST', '/campaigns', { name: `campaign ${index}` });
      await running.ask('POST', `/campaigns/${id}/set_caller`, { phone });
      await running.ask(
        'POST',
        `/campaigns/${id}/records`,
        PEOPLE.map((number) => ({ phone: number })),
      );
      await running.ask('POST', `/campaigns/${id}/start`);
      uploaded.set(id, [...PEOPLE]);
    }
    let next = 0;
    for (let round = 0; round < rounds; round++) {
      const lifeMs = random() * 2500;
      const died = sleep(lifeMs).then(() => running?.kill());
      try {
        for (const [id, numbers] of uploaded) {
          const more = Array.from({ length: UPLOAD }, () => `+1415555${String(1000 + next++)}`);
          await running.ask(
            'POST',
            `/campaigns/${id}/records`,
            more.map((number) => ({ phone: number })),
          );
          numbers.push(...more);
        }
      } catch {
        // Killed meanwhile, or finished: what was not acknowledged may be there or not.
      }
      await died;
      await running.exit;
      running = await start(folder, config);
      await running.until(random() < 0.8 ? '/readyz' : '/healthz');
      if (round % 10 === 9) say(`${round + 1} of ${rounds} rounds`);
    }
    await running.until('/readyz');
    const tally = { rounds, calls: 0, cut: 0, records: 0 };
    for (const [id, numbers] of uploaded) {
      await finished(running, id);
      const { records } = await running.all(`/campaigns/${id}/records?limit=1000`, 'start_after');
      const { histories } = await running.all(`/call-logs?campaign_id=${id}&limit=100`, 'start_after_ts');
      check(records, histories, numbers);
      tally.records += records.length;
      tally.calls += histories.length;
      tally.cut += histories.filter((/** @type {Json} */ call) => call['call_status'] === 'error').length;
    }
    running.stop();
    if ((await running.exit) !== 0) throw new Error(`the daemon has not ended well: ${running.errors()}`);
    const database = new Database(join(folder, 'parley.db'), { readonly: true });
    const integrity = database.pragma('integrity_check', { simple: true });
    database.close();
    if (integrity !== 'ok') throw new Error(`the database is broken: ${String(integrity)}`);
    return tally;
  } finally {
    running?.kill();
    await running?.exit;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @typedef {Record<string, any>} Json */

/**
 * Checks the records of a campaign against its calls.
 * @param {Json[]} records
 * @param {Json[]} calls the latest first
 * @param {string[]} numbers
 */
export function check(records, calls, numbers) {
  const known = new Set(records.map(({ phone }) => phone));
  for (const number of numbers) if (!known.has(number)) throw new Error(`${number} was uploaded and is not there`);
  for (const { phone, attempts, call_status: status, session_id: session } of records) {
    const rows = calls.filter(({ voip }) => voip.to === phone).toReversed();
    const ends = rows.map((row) => String(row['call_status']));
    const reported = `${phone}: ${status}, ${attempts} attempts, ${ends.join(', ')}`;
    if (rows.length !== attempts) throw new Error(`attempts are not the calls. ${reported}`);
    if (rows.length === 0) throw new Error(`forgotten. ${reported}`);
    if (rows.at(-1)?.['session_id'] !== session) throw new Error(`the last call is another one. ${reported}`);
    /** @type {Record<string, number>} */
    const used = {};
    for (const [index, end] of ends.entries()) {
      const times = used[end] ?? 0;
      used[end] = times + 1;
      const wait = WAITS[/** @type {keyof typeof WAITS} */ (end)]?.[times];
      const again = wait !== undefined && index + 1 < MAX_ATTEMPTS;
      if (again !== index + 1 < ends.length)
        throw new Error(again ? `not called again. ${reported}` : `called twice. ${reported}`);
    }
    const good = ['user-ended', 'agent-ended', 'api-ended', 'timeout', 'voicemail-hangup', 'voicemail-message'];
    const expected = good.includes(ends.at(-1) ?? '') ? 'finished' : 'failed';
    if (status !== expected) throw new Error(`settled wrongly. ${reported}`);
  }
}

/** @param {Running} running @param {string} id */
async function finished(running, id) {
  const untilMs = Date.now() + FINISH_MS;
  while (Date.now() < untilMs) {
    const { status } = await running.ask('GET', `/campaigns/${id}/info`);
    if (status === 'finished') return;
    if (status !== 'started') throw new Error(`the campaign is ${status}`);
    await sleep(200);
  }
  throw new Error(`the campaign does not come to its end: ${running.errors()}`);
}

/** @typedef {Awaited<ReturnType<typeof start>>} Running */

/** @param {string} folder @param {string} config */
async function start(folder, config) {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const child = spawn(process.execPath, [BIN, 'serve', '--port', String(port)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      OLLAMA_HOST: 'http://127.0.0.1:9',
      PARLEY_CONFIG: config,
      PARLEY_DATA_DIR: folder,
      PARLEY_API_KEY: KEY,
    },
  });
  let errors = '';
  child.stderr.on('data', (data) => (errors = `${errors}${data}`.slice(-4000)));
  const exit = once(child, 'close').then(([code, signal]) => code ?? signal);

  /** @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<any>} */
  const ask = async (method, path, body) => {
    const headers = { authorization: KEY, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const signal = AbortSignal.timeout(30_000);
    const init = { method, headers, signal, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(base + path, init);
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };

  return {
    exit,
    ask,
    errors: () => errors,
    kill: () => void child.kill('SIGKILL'),
    stop: () => void child.kill('SIGTERM'),
    /** All pages as one. @param {string} path @param {string} cursor name of the parameter @returns {Promise<any>} */
    async all(path, cursor) {
      /** @type {Record<string, unknown[]>} */
      const whole = { records: [], histories: [] };
      for (let from = 0; ;) {
        const page = await ask('GET', from === 0 ? path : `${path}&${cursor}=${from}`);
        for (const name of ['records', 'histories']) whole[name]?.push(...(page[name] ?? []));
        if (page.next_cursor === 0) return whole;
        from = page.next_cursor;
      }
    },
    /** @param {'/readyz' | '/healthz'} path */
    async until(path) {
      await waitForAnswer(base + path, child, START_MS).catch((error) => {
        throw new Error(`${error.message}: ${errors}`, { cause: error });
      });
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { rounds: { type: 'string', default: '50' }, seed: { type: 'string', default: '1' } },
  });
  const { rounds, calls, cut, records } = await crashCampaigns({
    rounds: Number(values.rounds),
    seed: Number(values.seed),
    say: (line) => console.error(line),
  });
  console.log(`${rounds} kills: ${records} records, ${calls} calls, ${cut} of them cut off; every rule held`);
}
