import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { CallFiles } from '../../../src/daemon/files/call-files.js';
import { CallLog } from '../../../src/daemon/call-log/call-log.js';
import { Retention, type RetentionOptions } from '../../../src/daemon/call-log/retention.js';
import type { SessionReport } from '../../../src/session/record/session-report.js';
import { SoleLeases } from '../../../src/store/leases.js';
import { CallStore } from '../../../src/store/calls.js';
import { openDatabase } from '../../../src/store/database.js';
import { SessionStore } from '../../../src/store/sessions.js';
import { SqliteDatabase } from '../../../src/store/sqlite/sqlite-database.js';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 5, 1);

let dataDir: string;
let database: ReturnType<typeof openDatabase>;
let clock: VirtualClock;
let files: CallFiles;
let nowMs: number;
const errors: Error[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-retention-'));
  database = openDatabase(dataDir);
  clock = new VirtualClock();
  files = new CallFiles(dataDir);
  nowMs = NOW_MS;
  errors.length = 0;
});
afterEach(() => {
  database.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** A call so many days ago, with a recording, a trace and what was said in it. */
async function kept(id: string, daysAgo: number, ends = true): Promise<void> {
  const unixMs = NOW_MS - daysAgo * DAY_MS;
  const then = new SqliteDatabase(database, () => unixMs);
  const log = new CallLog({ files, database: then, store: new CallStore(then) });
  const begun = await log.begin({ sessionId: id, channel: 'talk', agentId: 'baker', agentConfig: {} });
  const recording = join(files.recordings, `${id}.wav`);
  for (const path of [recording, files.traceHere(id)]) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'sound');
    utimesSync(path, unixMs / 1000, unixMs / 1000);
  }
  const messages = [{ role: 'user', content: 'Hello.' }] as const;
  const said = { sessionId: id, agentId: 'baker', identifiers: new Map([['FromPhone', '+1']]), messages };
  await new SessionStore(then).keep({ ...said, endedUnixMs: unixMs });
  if (ends) await log.keep({ ...begun.item, call_status: 'user-ended' }, { recording } as SessionReport);
}

function retention(options: Partial<RetentionOptions> = {}): Retention {
  const store = new CallStore(new SqliteDatabase(database));
  return new Retention({
    store,
    files,
    clock,
    leases: new SoleLeases(),
    nowUnixMs: () => nowMs,
    days: 30,
    recordingDays: 7,
    onError: (error) => errors.push(error),
    ...options,
  });
}

const ids = (): unknown[] => database.prepare('SELECT session_id FROM calls ORDER BY ts_us').pluck().all();
const recorded = (): unknown[] =>
  database.prepare('SELECT session_id FROM calls WHERE recording IS NOT NULL').pluck().all();
const names = (path: string): string[] => readdirSync(path).map((name) => name.replace(/\..*/, ''));

/** Runs the clock until what runs is done. */
async function done<T>(work: Promise<T>): Promise<T> {
  const state = { isDone: false };
  void work.finally(() => (state.isDone = true)).catch(() => undefined);
  while (!state.isDone) {
    await clock.advanceBy(10);
    await new Promise((resolve) => setImmediate(resolve)); // files are the machine's, not the clock's
  }
  return work;
}

describe('retention', () => {
  it('removes what is too old, and nothing else', async () => {
    await kept('ancient', 31);
    await kept('old', 29);
    await kept('recent', 8);
    await kept('new', 6);
    const purged = await done(retention().purge());
    expect(purged).toEqual({ calls: 1, recordings: 3, traces: 3 });
    expect(ids()).toEqual(['old', 'recent', 'new']);
    expect(recorded()).toEqual(['new']);
    expect([names(files.recordings), names(files.traces)]).toEqual([['new'], ['new']]);
    const sessions = new SessionStore(new SqliteDatabase(database));
    expect(await sessions.byId('ancient', 'baker')).toBeNull();
    expect(await sessions.byId('old', 'baker')).not.toBeNull();
    expect(await done(retention().purge())).toEqual({ calls: 0, recordings: 0, traces: 0 });
  });

  it('keeps no recording for longer than its call, and no file that nobody knows of', async () => {
    await kept('old', 31);
    for (const stray of ['stray.wav', 'young.wav']) writeFileSync(join(files.recordings, stray), '');
    const days = (count: number): number => (NOW_MS - count * DAY_MS) / 1000;
    utimesSync(join(files.recordings, 'stray.wav'), days(31), days(31));
    utimesSync(join(files.recordings, 'young.wav'), days(29), days(29));
    await done(retention({ recordingDays: 1000 }).purge());
    expect(names(files.recordings)).toEqual(['young']);
    expect(names(files.traces)).toEqual([]);
  });

  it('leaves calls that go on, however long ago they began', async () => {
    await kept('endless', 400, false);
    await done(retention({ recordingDays: 1000 }).purge());
    expect(ids()).toEqual(['endless']);
  });

  it('goes in small steps, with pauses', async () => {
    for (let n = 0; n < 35; n++) await kept(`old-${String(n)}`, 40);
    const steps: number[] = [];
    const store = new CallStore(new SqliteDatabase(database));
    const counting: RetentionOptions['store'] = {
      endedBefore: (tsUs, limit) => store.endedBefore(tsUs, limit),
      recordedBefore: (tsUs, limit) => store.recordedBefore(tsUs, limit),
      forgetRecordings: (calls) => store.forgetRecordings(calls),
      removeLazily: (calls) => {
        steps.push(clock.nowMs());
        return store.removeLazily(calls);
      },
    };
    expect((await done(retention({ store: counting }).purge())).calls).toBe(35);
    expect(steps).toHaveLength(4);
    expect(steps.every((atMs, at) => at === 0 || atMs - (steps[at - 1] ?? 0) >= 20)).toBe(true);
  });

  it('comes at the start and daily, until it is closed', async () => {
    await kept('old', 31);
    await kept('older tomorrow', 29.5);
    const daily = retention();
    daily.start();
    await done(expect.poll(ids).toEqual(['older tomorrow']));
    nowMs += DAY_MS;
    await clock.advanceBy(DAY_MS);
    await done(expect.poll(ids).toEqual([]));
    const closing = daily.close();
    await done(closing);
    await daily.close();
    expect(clock.pending).toBe(0);
  });

  it('tells of a file that it cannot remove, and goes on', async () => {
    await kept('stuck', 31);
    await kept('old', 31);
    rmSync(join(files.recordings, 'stuck.wav'));
    mkdirSync(join(files.recordings, 'stuck.wav'));
    const purged = await done(retention().purge());
    expect([purged.calls, errors.length, existsSync(join(files.recordings, 'stuck.wav'))]).toEqual([2, 1, true]);
  });
});
