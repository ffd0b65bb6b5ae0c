import type Database from 'better-sqlite3';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { ParleyError } from '../../src/base/errors.js';
import { packageFile } from '../../src/package-files.js';
import { openDatabase } from '../../src/store/database.js';
import { LeftoverStore } from '../../src/store/leftovers.js';
import { DialStore, type Reservation } from '../../src/store/dials.js';

const ANN = '+12025550101';
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const WIDE = {
  concurrent: 1e6,
  perMinute: 1e6,
  perDestinationPerMinute: 1e6,
  perDestinationPerDay: 1e6,
  minutesPerDay: 1e6,
};

let dataDir: string;
let database: Database.Database;
let nowMs: number;
let dials: DialStore;
let count: number;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-dials-'));
  database = openDatabase(dataDir);
  nowMs = Date.UTC(2026, 0, 1);
  dials = new DialStore(database, () => nowMs);
  count = 0;
});

afterEach(() => {
  database.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function reservation(changes: Partial<Reservation> = {}): Reservation {
  const id = String(++count);
  return { sessionId: `s${id}`, callId: `c${id}`, to: ANN, maxDurationS: 600, idempotency: null, ...changes };
}

const nothing = (): void => undefined;

/** What a reservation comes to: its session, or the code of its refusal and when to try again. */
function tried(limits: Partial<typeof WIDE>, changes: Partial<Reservation> = {}, store = dials): string {
  try {
    return store.reserve(reservation(changes), { ...WIDE, ...limits }, nothing).sessionId;
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return `${error.code} ${String(error.details['retryAfterS'])}`;
  }
}

describe('limits', () => {
  it('hold for calls at once, until one ends', () => {
    expect([1, 2, 3].map(() => tried({ concurrent: 2 }))).toEqual(['s1', 's2', 'LIMIT_CONCURRENT_CALLS 5']);
    dials.ended('s1');
    expect(tried({ concurrent: 2 })).toBe('s4');
  });

  it('hold within every minute, and say when there is room again', () => {
    const limits = { perMinute: 2 };
    expect(tried(limits)).toBe('s1');
    nowMs += 20_000;
    expect(tried(limits)).toBe('s2');
    nowMs += 10_000;
    expect(tried(limits)).toBe('LIMIT_CALLS_PER_MINUTE 30');
    nowMs += 29_999;
    expect(tried(limits)).toBe('LIMIT_CALLS_PER_MINUTE 1');
    nowMs += 1;
    expect(tried(limits)).toBe('s5');
    expect(tried(limits)).toBe('LIMIT_CALLS_PER_MINUTE 20');
  });

  it('hold for one number', () => {
    const limits = { perDestinationPerMinute: 1, perDestinationPerDay: 2 };
    expect(tried(limits)).toBe('s1');
    expect(tried(limits)).toBe('LIMIT_DESTINATION_PER_MINUTE 60');
    expect(tried(limits, { to: '+12025550102' })).toBe('s3');
    nowMs += MINUTE_MS;
    expect(tried(limits)).toBe('s4');
    nowMs += MINUTE_MS;
    expect(tried(limits)).toBe(`LIMIT_DESTINATION_PER_DAY ${String(24 * 3600 - 120)}`);
    nowMs += DAY_MS - 2 * MINUTE_MS;
    expect(tried(limits)).toBe('s6');
  });

  it('hold for the minutes of a day: those of calls under way count as long as they may last', () => {
    const limits = { minutesPerDay: 30 };
    const [first, second, third] = [tried(limits), tried(limits), tried(limits)];
    expect([first, second, third]).toEqual(['s1', 's2', 's3']);
    expect(tried(limits)).toBe('LIMIT_MINUTES_PER_DAY 60');
    dials.answered('s1');
    nowMs += 2 * MINUTE_MS;
    dials.ended('s1');
    dials.ended('s2'); // nobody answered
    expect(dials.usage()).toMatchObject({ concurrent: 1, minutesLastDay: 12 });
    expect(tried(limits)).toBe('s5');
    expect(tried(limits)).toBe('LIMIT_MINUTES_PER_DAY 60');
    for (const id of ['s3', 's5']) {
      dials.answered(id);
      nowMs += 10 * MINUTE_MS;
      dials.ended(id);
    }
    // 22 minutes are used; those of the first call are free again a day after it began.
    expect(tried(limits)).toBe(`LIMIT_MINUTES_PER_DAY ${String(24 * 3600 - 22 * 60)}`);
  });

  it('count calls of a process that is no more as long as they may have lasted', () => {
    tried({});
    dials.answered('s1');
    nowMs += 5 * MINUTE_MS;
    new DialStore(database, () => nowMs).closeOpen();
    expect(dials.usage()).toEqual({ concurrent: 0, lastMinute: 0, minutesLastDay: 5 });
  });

  it('still count whom somebody has had erased', () => {
    tried({ perDestinationPerDay: 1 });
    dials.ended('s1');
    new LeftoverStore(database).eraseNumber(ANN);
    expect(tried({ perDestinationPerDay: 1 })).toBe('s2');
    expect(dials.usage().lastMinute).toBe(2);
  });

  it('hold to the call over connections that take turns', () => {
    const others = [1, 2, 3].map(() => openDatabase(dataDir));
    const stores = [dials, ...others.map((other) => new DialStore(other, () => nowMs))];
    const outcomes = Array.from({ length: 200 }, (_, at) => tried({ concurrent: 10 }, {}, stores[at % stores.length]));
    for (const other of others) other.close();
    expect(outcomes.filter((outcome) => !outcome.startsWith('LIMIT'))).toHaveLength(10);
  });

  it('hold to the call over processes that reserve at the same time', { timeout: 60_000 }, async () => {
    const code = `
      import { openDatabase } from '${packageFile('dist/store/database.js').href}';
      import { DialStore } from '${packageFile('dist/store/dials.js').href}';
      const database = openDatabase(process.argv[1]);
      const dials = new DialStore(database, () => Date.now());
      let taken = 0;
      for (let at = 0; at < 50; at++) {
        try {
          const id = process.pid + '-' + at;
          const call = { sessionId: id, callId: id, to: '${ANN}', maxDurationS: 600, idempotency: null };
          dials.reserve(call, ${JSON.stringify({ ...WIDE, concurrent: 10 })}, () => undefined);
          taken++;
        } catch (error) {
          if (error.code !== 'LIMIT_CONCURRENT_CALLS') throw error;
        }
      }
      console.log(taken);`;
    const run = promisify(execFile);
    const processes = [1, 2, 3, 4].map(() => run(process.execPath, ['--input-type=module', '-e', code, dataDir]));
    const taken = (await Promise.all(processes)).map(({ stdout }) => Number(stdout));
    expect(taken.reduce((sum, one) => sum + one, 0)).toBe(10);
    expect(dials.usage().concurrent).toBe(10);
  });

  it('are those of the settings by default', () => {
    const outcomes = Array.from({ length: 11 }, (_, at) =>
      tried(DEFAULT_SETTINGS.calls, { to: `+120255501${String(10 + at)}` }),
    );
    expect(outcomes.at(-1)).toBe('LIMIT_CONCURRENT_CALLS 5');
  });
});

describe('a reservation', () => {
  it('is all or nothing with what is written beside it', () => {
    const fails = (): void => {
      throw new Error('disk full');
    };
    expect(() => dials.reserve(reservation(), WIDE, fails)).toThrow('disk full');
    expect(dials.usage()).toMatchObject({ concurrent: 0, lastMinute: 0 });
  });

  it('is made once for one key of one client, for a day', () => {
    const idempotency = { client: 'k1', key: 'a', fingerprint: 'x' };
    expect(tried({}, { idempotency })).toBe('s1');
    expect(tried({ concurrent: 1 }, { idempotency })).toBe('s1');
    expect(tried({}, { idempotency: { ...idempotency, client: 'k2' } })).toBe('s3');
    expect(tried({}, { idempotency: { ...idempotency, fingerprint: 'y' } })).toBe('IDEMPOTENCY_KEY_REUSED undefined');
    nowMs += DAY_MS;
    expect(tried({}, { idempotency: { ...idempotency, fingerprint: 'y' } })).toBe('s5');
  });

  it('that is refused leaves its key free', () => {
    const idempotency = { client: 'k1', key: 'a', fingerprint: 'x' };
    tried({});
    expect(tried({ concurrent: 1 }, { idempotency })).toMatch('LIMIT');
    dials.ended('s1');
    expect(tried({ concurrent: 1 }, { idempotency })).toBe('s3');
  });

  it('is none while calls are stopped, for every connection', () => {
    const other = openDatabase(dataDir);
    new DialStore(other, () => nowMs).stop('k1');
    expect(tried({})).toMatch('CALLS_STOPPED');
    expect(dials.stopped).toEqual({ at: nowMs / 1000, by: 'k1' });
    dials.resume();
    expect(tried({})).toBe('s2');
    other.close();
  });
});
