import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { ParleyError } from '../../src/base/errors.js';
import { packageFile } from '../../src/package-files.js';
import { LeftoverStore } from '../../src/store/leftovers.js';
import { DIALS_LOCK, DialStore, type Reservation } from '../../src/store/dials.js';
import { backends, sqlite, type TestDatabase } from './support/backends.js';

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

let opened: TestDatabase;
let nowMs: number;
let dials: DialStore;
let count: number;

beforeEach(() => {
  nowMs = Date.UTC(2026, 0, 1);
  count = 0;
});

afterEach(() => opened.remove());

function reservation(changes: Partial<Reservation> = {}): Reservation {
  const id = String(++count);
  return { sessionId: `s${id}`, callId: `c${id}`, to: ANN, maxDurationS: 600, idempotency: null, ...changes };
}

/** What a reservation comes to: its session, or the code of its refusal and when to try again. */
async function tried(
  limits: Partial<typeof WIDE>,
  changes: Partial<Reservation> = {},
  database = opened.database,
): Promise<string> {
  const [store, wanted] = [new DialStore(database), reservation(changes)];
  try {
    const taken = await database.transaction(() => store.reserve(wanted, { ...WIDE, ...limits }), DIALS_LOCK);
    return taken.sessionId;
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return `${error.code} ${String(error.details['retryAfterS'])}`;
  }
}

const answered = (id: string): Promise<void> => opened.database.transaction(() => dials.answered(id));
const ended = (id: string): Promise<void> => opened.database.transaction(() => dials.ended(id));

describe.each(backends)('in a database of $name', ({ open }) => {
  beforeEach(async () => {
    opened = await open(() => nowMs);
    dials = new DialStore(opened.database);
  });

  describe('limits', () => {
    it('hold for calls at once, until one ends', async () => {
      expect([await tried({ concurrent: 2 }), await tried({ concurrent: 2 }), await tried({ concurrent: 2 })]).toEqual([
        's1',
        's2',
        'LIMIT_CONCURRENT_CALLS 5',
      ]);
      await ended('s1');
      expect(await tried({ concurrent: 2 })).toBe('s4');
    });

    it('hold within every minute, and say when there is room again', async () => {
      const limits = { perMinute: 2 };
      expect(await tried(limits)).toBe('s1');
      nowMs += 20_000;
      expect(await tried(limits)).toBe('s2');
      nowMs += 10_000;
      expect(await tried(limits)).toBe('LIMIT_CALLS_PER_MINUTE 30');
      nowMs += 29_999;
      expect(await tried(limits)).toBe('LIMIT_CALLS_PER_MINUTE 1');
      nowMs += 1;
      expect(await tried(limits)).toBe('s5');
      expect(await tried(limits)).toBe('LIMIT_CALLS_PER_MINUTE 20');
    });

    it('hold for one number', async () => {
      const limits = { perDestinationPerMinute: 1, perDestinationPerDay: 2 };
      expect(await tried(limits)).toBe('s1');
      expect(await tried(limits)).toBe('LIMIT_DESTINATION_PER_MINUTE 60');
      expect(await tried(limits, { to: '+12025550102' })).toBe('s3');
      nowMs += MINUTE_MS;
      expect(await tried(limits)).toBe('s4');
      nowMs += MINUTE_MS;
      expect(await tried(limits)).toBe(`LIMIT_DESTINATION_PER_DAY ${String(24 * 3600 - 120)}`);
      nowMs += DAY_MS - 2 * MINUTE_MS;
      expect(await tried(limits)).toBe('s6');
    });

    it('hold for the minutes of a day: those of calls under way count as long as they may last', async () => {
      const limits = { minutesPerDay: 30 };
      const [first, second, third] = [await tried(limits), await tried(limits), await tried(limits)];
      expect([first, second, third]).toEqual(['s1', 's2', 's3']);
      expect(await tried(limits)).toBe('LIMIT_MINUTES_PER_DAY 60');
      await answered('s1');
      nowMs += 2 * MINUTE_MS;
      await ended('s1');
      await ended('s2'); // nobody answered
      expect(await dials.usage()).toMatchObject({ concurrent: 1, minutesLastDay: 12 });
      expect(await tried(limits)).toBe('s5');
      expect(await tried(limits)).toBe('LIMIT_MINUTES_PER_DAY 60');
      for (const id of ['s3', 's5']) {
        await answered(id);
        nowMs += 10 * MINUTE_MS;
        await ended(id);
      }
      // 22 minutes are used; those of the first call are free again a day after it began.
      expect(await tried(limits)).toBe(`LIMIT_MINUTES_PER_DAY ${String(24 * 3600 - 22 * 60)}`);
    });

    it('count calls of a process that is no more as long as they may have lasted', async () => {
      await tried({});
      await answered('s1');
      nowMs += 5 * MINUTE_MS;
      await new DialStore(opened.database).closeOpen();
      expect(await dials.usage()).toEqual({ concurrent: 0, lastMinute: 0, minutesLastDay: 5 });
    });

    it('still count whom somebody has had erased', async () => {
      await tried({ perDestinationPerDay: 1 });
      await ended('s1');
      await new LeftoverStore(opened.database).eraseNumber(ANN);
      expect(await tried({ perDestinationPerDay: 1 })).toBe('s2');
      expect((await dials.usage()).lastMinute).toBe(2);
    });

    it('hold to the call over nodes that reserve at the same time', async () => {
      const nodes = [
        await opened.connect(() => nowMs - 3_000),
        await opened.connect(() => nowMs + 3_000),
        opened.database,
      ];
      const outcomes = await Promise.all(
        Array.from({ length: 60 }, (_, at) => tried({ concurrent: 10 }, {}, nodes[at % nodes.length])),
      );
      expect(outcomes.filter((outcome) => !outcome.startsWith('LIMIT'))).toHaveLength(10);
      expect((await dials.usage()).concurrent).toBe(10);
    });

    it('of a dead node are free again, those of others are not', async () => {
      const { database } = opened;
      for (const node of ['a', 'b']) {
        await database.transaction(() => new DialStore(database, { id: node }).reserve(reservation(), WIDE));
      }
      await dials.closeOf('a');
      expect((await dials.usage()).concurrent).toBe(1);
    });

    it('are those of the settings by default', async () => {
      let outcome = '';
      for (let at = 0; at < 11; at++) {
        outcome = await tried(DEFAULT_SETTINGS.calls, { to: `+120255501${String(10 + at)}` });
      }
      expect(outcome).toBe('LIMIT_CONCURRENT_CALLS 5');
    });
  });

  describe('a reservation', () => {
    it('is all or nothing with what is written beside it', async () => {
      const failing = opened.database.transaction(function* () {
        yield* dials.reserve(reservation(), WIDE);
        throw new Error('disk full');
      });
      await expect(failing).rejects.toThrow('disk full');
      expect(await dials.usage()).toMatchObject({ concurrent: 0, lastMinute: 0 });
    });

    it('is made once for one key of one client, for a day', async () => {
      const idempotency = { client: 'k1', key: 'a', fingerprint: 'x' };
      expect(await tried({}, { idempotency })).toBe('s1');
      expect(await tried({ concurrent: 1 }, { idempotency })).toBe('s1');
      expect(await tried({}, { idempotency: { ...idempotency, client: 'k2' } })).toBe('s3');
      expect(await tried({}, { idempotency: { ...idempotency, fingerprint: 'y' } })).toBe(
        'IDEMPOTENCY_KEY_REUSED undefined',
      );
      nowMs += DAY_MS;
      expect(await tried({}, { idempotency: { ...idempotency, fingerprint: 'y' } })).toBe('s5');
    });

    it('that is refused leaves its key free', async () => {
      const idempotency = { client: 'k1', key: 'a', fingerprint: 'x' };
      await tried({});
      expect(await tried({ concurrent: 1 }, { idempotency })).toMatch('LIMIT');
      await ended('s1');
      expect(await tried({ concurrent: 1 }, { idempotency })).toBe('s3');
    });

    it('is none while calls are stopped, for every connection', async () => {
      await new DialStore(await opened.connect(() => nowMs)).stop('k1');
      expect(await tried({})).toMatch('CALLS_STOPPED');
      expect(await dials.stopped()).toEqual({ at: nowMs / 1000, by: 'k1', ending: null });
      await dials.resume();
      expect(await tried({})).toBe('s2');
    });
  });
});

it('limits hold to the call over processes that reserve at the same time', { timeout: 60_000 }, async () => {
  opened = await sqlite.open();
  const dataDir = opened.folder;
  const code = `
    import { openDatabase } from '${packageFile('dist/store/database.js').href}';
    import { SqliteDatabase } from '${packageFile('dist/store/sqlite/sqlite-database.js').href}';
    import { DialStore } from '${packageFile('dist/store/dials.js').href}';
    const database = new SqliteDatabase(openDatabase(process.argv[1]));
    const dials = new DialStore(database);
    let taken = 0;
    for (let at = 0; at < 50; at++) {
      try {
        const id = process.pid + '-' + at;
        const call = { sessionId: id, callId: id, to: '${ANN}', maxDurationS: 600, idempotency: null };
        await database.transaction(() => dials.reserve(call, ${JSON.stringify({ ...WIDE, concurrent: 10 })}));
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
  expect((await new DialStore(opened.database).usage()).concurrent).toBe(10);
});
