/**
 * What the size of a campaign costs: an upload of 10,000 records over HTTP, how late the main thread is meanwhile, and
 * one decision of the scheduler with its writing down, with 1,000 and with 100,000 records in eight time zones.
 *
 *   npm run build && node bench/run.mjs campaigns
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { RealClock } from '../dist/base/real-clock.js';
import { DEFAULT_SETTINGS } from '../dist/settings/settings.js';
import { Daemon } from '../dist/daemon/daemon.js';
import { placeOfNumber } from '../dist/daemon/campaigns/phone-zones.js';
import { Scheduler } from '../dist/daemon/campaigns/scheduler.js';
import { Engine } from '../dist/engine/engine.js';
import { CampaignCallStore } from '../dist/store/campaign-calls.js';
import { CampaignRecordStore } from '../dist/store/campaign-records.js';
import { CampaignStore } from '../dist/store/campaigns.js';
import { openDatabase } from '../dist/store/database.js';
import { SqliteDatabase } from '../dist/store/sqlite/sqlite-database.js';
import { median, quantile } from './lib/numbers.js';

const UPLOAD = 10_000;
const UPLOADS = 5;
const DECISIONS = 500;
const KEY = 'sk_bench';
const AREAS = ['212', '312', '303', '213', '808', '602', '907', '604'];

const phoneOf = (index: number): string =>
  `+1${AREAS[index % AREAS.length] ?? ''}${String(2_000_000 + Math.floor(index / AREAS.length))}`;

await upload();
for (const size of [1000, 10_000, 100_000]) await decide(size);

async function upload(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const daemon = await Daemon.prepare({
    settings: { ...DEFAULT_SETTINGS, port: 0, apiKey: KEY, dataDir },
    engine: new Engine(),
    agents: [],
  });
  const address = await daemon.listen();
  const ask = async (path: string, body: unknown): Promise<Record<string, unknown>> => {
    const headers = { authorization: KEY, 'content-type': 'application/json' };
    const response = await fetch(address + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, unknown>;
  };
  const { id } = await ask('/campaigns', { name: 'bench' });
  const path = `/campaigns/${String(id)}/records`;
  await ask(path, [{ phone: phoneOf(UPLOAD * UPLOADS) }]);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const times: number[] = [];
  const work: number[] = [];
  for (let nth = 0; nth < UPLOADS; nth++) {
    const records = Array.from({ length: UPLOAD }, (_, index) => ({
      phone: phoneOf(nth * UPLOAD + index),
      metadata: { Name: `Person ${String(index)}`, City: 'Springfield', order: index },
    }));
    delay.enable();
    const startMs = performance.now();
    const before = process.cpuUsage();
    const { success } = await ask(path, records);
    times.push(performance.now() - startMs);
    const { user, system } = process.cpuUsage(before);
    work.push((user + system) / 1000);
    delay.disable();
    if (success !== true) throw new Error('records were refused');
  }
  const late = `${(delay.percentile(99) / 1e6).toFixed(0)} ms late (p99), ${(delay.max / 1e6).toFixed(0)} ms at most`;
  const took = `${median(times).toFixed(0)} ms, ${median(work).toFixed(0)} of CPU with the client's`;
  console.log(`upload of ${String(UPLOAD)} records: ${took}; the main thread ${late}`);
  await daemon.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function decide(size: number): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  // A Friday.
  let nowMs = Date.parse('2026-11-20T18:00:00Z');
  const database = new SqliteDatabase(openDatabase(dataDir), () => nowMs);
  const campaigns = new CampaignStore(database);
  const records = new CampaignRecordStore(database);
  await campaigns.add({
    id: 'a',
    name: 'a',
    status: 'started',
    caller: null,
    agentVersion: null,
    includeMetadataInPrompt: false,
    overrides: {},
    reason: null,
    lastCallMs: null,
    createdAt: 0,
  });
  await records.add(
    'a',
    Array.from({ length: size }, (_, index) => {
      const phone = phoneOf(index);
      return { phone, metadata: { Name: `Person ${String(index)}` }, place: placeOfNumber(phone), dueMs: index };
    }),
    'upload',
  );
  const always = { hoursStart: '00:00', hoursEnd: '24:00', perMinute: 60_000, concurrent: 10_000 };
  const schedule = { ...DEFAULT_SETTINGS.campaigns, ...always, timezone: 'UTC' };
  const calls = new CampaignCallStore(database, { id: 'bench' });
  const scheduler = new Scheduler({ clock: new RealClock(), calls, scheduleOf: () => schedule });
  const looks: number[] = [];
  const whole: number[] = [];
  for (let count = 0; count < DECISIONS; count++) {
    nowMs += 10;
    const startMs = performance.now();
    const found = await scheduler.next();
    looks.push(performance.now() - startMs);
    if (found.type !== 'call') throw new Error(`nobody to call: ${found.type}`);
    const { record } = found.claim;
    const sessionId = `session ${String(count)}`;
    await database.transaction(() => calls.begin(record, { sessionId, nowMs, concurrent: schedule.concurrent }));
    const end = { status: 'finished', dueMs: null, retried: {}, reason: null } as const;
    await database.transaction(() => calls.end(record.seq, sessionId, end));
    whole.push(performance.now() - startMs);
  }
  const countMs = performance.now();
  await records.counts('a');
  const counted = performance.now() - countMs;
  const micro = (list: number[], share: number): string => (quantile(list, share) * 1000).toFixed(0);
  console.log(
    `${String(size)} records: a decision ${micro(looks, 0.5)} us (p99 ${micro(looks, 0.99)}), ` +
      `with both writes ${micro(whole, 0.5)} us; counting them ${(counted * 1000).toFixed(0)} us`,
  );
  await database.close();
  rmSync(dataDir, { recursive: true, force: true });
}
