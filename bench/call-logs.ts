/**
 * The call log with many calls: a page by each filter, what deleting old calls does to the event loop, an export, and
 * what keeping a session's trace costs.
 *
 *   npm run build && node bench/run.mjs call-logs [--calls=100000] [--pages=400] [--trace=LOG]
 *
 * Calls are of 40 agents, 20 campaigns and 5 numbers of ours, with 30,000 people; what was said has 0.5 to 60 KB (3 at the
 * median), 2 % of the calls fail in one of four ways. A page is what the endpoint does for it: finding, reading
 * and wording as JSON; pages begin anywhere in the log. LOG is a session's trace, by default that of a session over a
 * recorded booking. Pages are measured in processor time: other processes of the machine are not the log's.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { RealClock } from '../dist/base/real-clock.js';
import { DEFAULT_SETTINGS } from '../dist/settings/settings.js';
import { CallArchive } from '../dist/daemon/call-log/call-archive.js';
import { CallFiles } from '../dist/daemon/files/call-files.js';
import { CallLog } from '../dist/daemon/call-log/call-log.js';
import { callFilter, type CallQuery } from '../dist/daemon/call-log/call-filter.js';
import { Retention, type RetentionOptions } from '../dist/daemon/call-log/retention.js';
import { Random } from '../dist/base/random.js';
import type { CallHistoryItem } from '../dist/session/record/call-history.js';
import type { LogEntry } from '../dist/session/record/event-log.js';
import type { SessionReport } from '../dist/session/record/session-report.js';
import { SignedUrls } from '../dist/daemon/http/signed-urls.js';
import { TraceFolder } from '../dist/session/record/trace-folder.js';
import { CallStore } from '../dist/store/calls.js';
import { SoleLeases } from '../dist/store/leases.js';
import { SqliteDatabase } from '../dist/store/sqlite/sqlite-database.js';
import { Checkpointer } from '../dist/store/checkpointer.js';
import { databaseFile, openDatabase } from '../dist/store/database.js';
import { machine } from './lib/machine.js';
import { markdownTable, quantile } from './lib/numbers.js';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BIN = join(ROOT, 'bin/parley.js');
const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 1);

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '100000' },
    pages: { type: 'string', default: '400' },
    trace: { type: 'string' },
  },
});
const count = Number(values.calls);
const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
const chance = new Random(7);
const random = (): number => chance.next();
const pick = <T>(all: readonly T[]): T => chance.pick(all);
const database = openDatabase(folder);
try {
  console.log(`${machine()}\n`);
  await fill();
  database.close();
  const again = openDatabase(folder); // nothing of the filling is in its cache
  console.log(await pageTable(again));
  again.close();
  console.log(`\n${exportTable()}\n`);
  console.log(`${await traceTable()}\n`);
  console.log(`${await purgeTable()}\n\n${machine()}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** A call every 100 s or so: 115 days for 100,000. */
async function fill(): Promise<void> {
  const [ours, people] = [numbers('+1415555', 5), numbers('+1202', 30_000)];
  const startMs = performance.now();
  let nowMs = START_MS;
  const own = new SqliteDatabase(database, () => nowMs);
  const log = new CallLog({ database: own, store: new CallStore(own), files: new CallFiles(folder) });
  database.pragma('synchronous = OFF');
  const words = Array.from({ length: 4000 }, () =>
    random()
      .toString(36)
      .slice(2, 2 + Math.ceil(random() * 9)),
  );
  const many = async (from: number, to: number): Promise<void> => {
    database.exec('BEGIN');
    for (let n = from; n < to; n++) {
      nowMs += 200_000 * random();
      const phones = random() < 0.5 ? { from: pick(people), to: pick(ours) } : { from: pick(ours), to: pick(people) };
      const agentId = `agent-${String(Math.floor(40 * random() ** 2))}`;
      const campaign = random() < 0.4 ? { campaignId: `campaign-${String(Math.floor(20 * random()))}` } : {};
      const ids = { sessionId: crypto.randomUUID(), callId: crypto.randomUUID(), channel: 'phone', agentId } as const;
      const begun = await log.begin({ ...ids, ...campaign, phones, agentConfig: { prompt: said(words, 1500) } });
      await log.keep({ ...begun.item, ...ended(words) }, { recording: null } as SessionReport);
    }
    database.exec('COMMIT');
  };
  for (let n = 0; n < count; n += 1000) await many(n, Math.min(count, n + 1000));
  database.pragma('wal_checkpoint(TRUNCATE)');
  const [mb, s] = [statSync(databaseFile(folder)).size / 1e6, (performance.now() - startMs) / 1000];
  console.log(`${String(count)} calls: ${mb.toFixed(0)} MB, written in ${s.toFixed(0)} s\n`);
}

function ended(words: readonly string[]): Partial<CallHistoryItem> {
  const failed = random() < 0.02;
  const size = Math.min(60_000, 300 + 2700 * Math.exp(1.8 * (random() + random() + random() - 1.5)));
  const turns = Array.from({ length: Math.ceil(size / 120) }, (_, at) => ({
    role: at % 2 === 0 ? 'assistant' : 'user',
    content: said(words, 80),
  }));
  const status = failed
    ? pick(['busy', 'no-answer', 'failed', 'error'])
    : pick(['user-ended', 'agent-ended', 'user-ended', 'voicemail-message']);
  return {
    call_status: status,
    duration: size / 60,
    chat: failed ? '[]' : JSON.stringify(turns),
    metadata: { name: said(words, 20) },
  };
}

function said(words: readonly string[], chars: number): string {
  let text = pick(words);
  while (text.length < chars) text += ` ${pick(words)}`;
  return text;
}

function numbers(start: string, many: number): string[] {
  return Array.from({ length: many }, (_, n) => `${start}${String(n).padStart(7, '0')}`);
}

async function pageTable(fresh: typeof database): Promise<string> {
  const archive = archiveOf(fresh);
  const newest = fresh.prepare<unknown[], number>('SELECT MAX(ts_us) FROM calls').pluck().get() ?? 0;
  const oldest = START_MS * 1000;
  const person = '+12020012345';
  const day = START_MS / 1000 + 50 * 86_400;
  const queries: [string, CallQuery][] = [
    ['no filter', {}],
    ['one day (`start_time`, `end_time`)', { start_time: day, end_time: day + 86_400 }],
    ['`agent_id` of many calls', { agent_id: 'agent-0' }],
    ['`agent_id` of few', { agent_id: 'agent-39' }],
    ['`campaign_id`', { campaign_id: 'campaign-3' }],
    ['`call_status` COMPLETED', { call_status: 'completed' }],
    ['`call_status` FAILED', { call_status: 'failed' }],
    ['`call_status` busy', { call_status: 'busy' }],
    ['`call_status` that no call has', { call_status: 'canceled' }],
    ['`phone_number` of a person', { phone_number: person }],
    ['`phone_number` of ours', { phone_number: '+14155550000001' }],
    ['`phone_number`, its last 4 digits', { phone_number: '2345' }],
    ['`phone_number`, last digit', { phone_number: '7' }],
    ['`phone_number` that begins so', { phone_number: '+12020012*' }],
    ['`phone_number` that nobody has', { phone_number: '+490000' }],
    ['agent and FAILED', { agent_id: 'agent-0', call_status: 'failed' }],
    [
      'campaign, busy, one day',
      { campaign_id: 'campaign-3', call_status: 'busy', start_time: day, end_time: day + 86_400 },
    ],
    ['our number and FAILED', { phone_number: '+14155550000001', call_status: 'failed' }],
    [
      'our number, agent and campaign',
      { phone_number: '+14155550000001', agent_id: 'agent-1', campaign_id: 'campaign-3' },
    ],
    [
      'two of many calls that none has both of',
      { agent_id: 'agent-0', campaign_id: 'campaign-3', phone_number: '+1202*', call_status: 'error', end_time: day },
    ],
  ];
  const rows: (string | number)[][] = [];
  for (const [name, query] of queries) {
    const filter = callFilter(query);
    const row: (string | number)[] = [name];
    for (const limit of [20, 100]) {
      const times: number[] = [];
      for (let page = 0; page < Number(values.pages); page++) {
        const beforeUs = random() < 0.3 ? null : Math.floor(oldest + random() * (newest - oldest));
        const before = process.cpuUsage();
        await archive.page(filter, limit, beforeUs);
        const { user, system } = process.cpuUsage(before);
        times.push((user + system) / 1000);
      }
      row.push(quantile(times, 0.5), quantile(times, 0.99));
    }
    rows.push(row);
  }
  return markdownTable([['page, CPU ms', 'of 20, p50', 'p99', 'of 100, p50', 'p99'], ...rows]);
}

function archiveOf(own: typeof database): CallArchive {
  const links = new SignedUrls({ keys: [Buffer.alloc(32)], nowUnixMs: () => START_MS, base: () => 'http://127.0.0.1' });
  const settings = { ...DEFAULT_SETTINGS, dataDir: folder };
  const leases = new SoleLeases();
  const others = {
    leases,
    clock: new RealClock(),
    nowUnixMs: () => START_MS,
    onError: (error: Error) => console.error(error),
  };
  const sql = new SqliteDatabase(own, () => START_MS);
  const store = new CallStore(sql);
  const files = new CallFiles(folder);
  return new CallArchive({
    settings,
    database: sql,
    store,
    files,
    evals: { call: async () => null },
    links,
    ...others,
  });
}

function exportTable(): string {
  const rows = ['jsonl', 'csv'].map((format) => {
    const out = join(folder, `calls.${format}`);
    const startMs = performance.now();
    execFileSync(process.execPath, [BIN, 'calls', 'export', '--format', format, '--out', out], {
      env: { ...process.env, PARLEY_DATA_DIR: folder },
      stdio: 'ignore',
    });
    const s = (performance.now() - startMs) / 1000;
    const mb = statSync(out).size / 1e6;
    rmSync(out);
    return [`export as ${format}`, s, mb];
  });
  return markdownTable([['', 's', 'MB'], ...rows]);
}

/** What a session's event log costs: the thread's time for each of its entries, and bytes. */
async function traceTable(): Promise<string> {
  const entries = readFileSync(traceFile(), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogEntry);
  const minutes = (entries.at(-1)?.t ?? 0) / 60_000;
  const traces = new TraceFolder({ path: join(folder, 'traces'), clock: new RealClock(), maxBytes: 1e9 });
  const rounds = 200;
  const before = process.cpuUsage();
  for (let n = 0; n < rounds; n++) {
    const trace = traces.open(`session-${String(n)}`, (reason) => console.error(reason));
    for (const entry of entries) trace.log(entry);
    await trace.close();
  }
  const { user, system } = process.cpuUsage(before);
  const bytes = statSync(traces.pathOf('session-0')).size;
  const cpuMs = (user + system) / 1000 / rounds;
  return markdownTable([
    ['trace of a conversation', 'entries a minute', 'kB a minute', 'CPU ms a minute', 'of a processor'],
    [
      '',
      entries.length / minutes,
      bytes / 1000 / minutes,
      cpuMs / minutes,
      `${((cpuMs / minutes / 60_000) * 100).toFixed(4)} %`,
    ],
  ]);
}

function traceFile(): string {
  if (values.trace !== undefined) return values.trace;
  const path = join(folder, 'trace.jsonl');
  const user = join(ROOT, 'fixtures/audio/booking/slt/track.wav');
  const agent = join(ROOT, 'examples/restaurant/agent.json');
  const args = [
    'run',
    '--agent',
    agent,
    '--in',
    user,
    '--out',
    join(folder, 'reply.wav'),
    '--speed',
    'max',
    '--trace',
    path,
  ];
  execFileSync(process.execPath, [BIN, ...args], { stdio: 'ignore' });
  return path;
}

/** As the daemon has it: at work. */
async function checkpointer(database: ReturnType<typeof openDatabase>): Promise<Checkpointer> {
  const made = new Checkpointer({
    database,
    clock: new RealClock(),
    onError: (error) => {
      throw error;
    },
  });
  made.start();
  const pages = (): unknown => database.pragma('wal_autocheckpoint', { simple: true });
  while (pages() !== 0) await new Promise((resolve) => setTimeout(resolve, 10));
  return made;
}

/** Removes the oldest tenth of the calls. */
async function purgeTable(): Promise<string> {
  const own = openDatabase(folder);
  const checkpoints = await checkpointer(own);
  const store = new CallStore(new SqliteDatabase(own));
  const newest = (own.prepare<unknown[], number>('SELECT MAX(ts_us) FROM calls').pluck().get() ?? 0) / 1000;
  const errors: Error[] = [];
  const batches: number[] = [];
  const cpu: number[] = [];
  const took = <T>(work: () => T): T => {
    const startMs = performance.now();
    const before = process.cpuUsage();
    const result = work();
    const { user, system } = process.cpuUsage(before);
    batches.push(performance.now() - startMs);
    cpu.push((user + system) / 1000);
    return result;
  };
  const timed: RetentionOptions['store'] = {
    removeLazily: (calls) => took(() => store.removeLazily(calls)),
    endedBefore: (tsUs, limit) => store.endedBefore(tsUs, limit),
    recordedBefore: (tsUs, limit) => store.recordedBefore(tsUs, limit),
    forgetRecordings: (calls) => store.forgetRecordings(calls),
  };
  const retention = new Retention({
    store: timed,
    leases: new SoleLeases(),
    files: new CallFiles(folder),
    clock: new RealClock(),
    nowUnixMs: () => newest,
    days: ((newest - START_MS) / DAY_MS) * 0.9,
    recordingDays: 1,
    onError: (error: Error) => void errors.push(error),
  });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const startMs = performance.now();
  delay.enable();
  const purged = await retention.purge();
  delay.disable();
  const s = (performance.now() - startMs) / 1000;
  await retention.close();
  await checkpoints.close();
  own.close();
  if (errors.length > 0) throw errors[0] as Error;
  return markdownTable([
    [
      'removing old calls',
      'calls',
      's',
      'a batch, CPU ms p99',
      'ms p50',
      'p99',
      'max',
      'event loop late, ms p99',
      'max',
    ],
    [
      '',
      purged.calls,
      s,
      quantile(cpu, 0.99),
      quantile(batches, 0.5),
      quantile(batches, 0.99),
      Math.max(...batches),
      delay.percentile(99) / 1e6,
      delay.max / 1e6,
    ],
  ]);
}
