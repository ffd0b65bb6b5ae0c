import fc from 'fast-check';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { wholeAgentConfig } from '../../src/agent/whole-agent.js';
import type { CallHistoryItem } from '../../src/session/record/call-history.js';
import { type CallFilter, CallPages } from '../../src/store/call-pages.js';
import { CallStore, itemJson, type NewCall, type SplitRow, type StoredCall } from '../../src/store/calls.js';
import { openDatabase } from '../../src/store/database.js';
import { phonePattern } from '../../src/store/phone-pattern.js';

let dataDir: string;
let database: ReturnType<typeof openDatabase>;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-pages-'));
  database = openDatabase(dataDir);
  database.pragma('synchronous = OFF'); // nothing of this has to survive the machine
});
afterEach(() => {
  database.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const AGENTS = ['baker', 'butcher', null] as const;
const CAMPAIGNS = ['spring', 'autumn', null] as const;
const STATUSES = ['user-ended', 'busy', 'failed', 'agent-ended'] as const;
const NUMBERS = ['+12025550101', '+12025550102', '+12035550101', '+493055501', '+493055502', 'sip:ann@[::1]'] as const;

type Traits = Pick<NewCall, 'agentId' | 'campaignId' | 'fromPhone' | 'toPhone' | 'status'>;

const phone = fc.option(fc.constantFrom(...NUMBERS));
const traits: fc.Arbitrary<Traits> = fc.record({
  agentId: fc.constantFrom(...AGENTS),
  campaignId: fc.constantFrom(...CAMPAIGNS),
  fromPhone: phone,
  toPhone: phone,
  status: fc.constantFrom(...STATUSES),
});
const filter: fc.Arbitrary<CallFilter> = fc.record(
  {
    agentId: fc.constantFrom('baker', 'butcher', 'nobody'),
    campaignId: fc.constantFrom('spring', 'autumn', 'none'),
    statuses: fc.subarray([...STATUSES]),
    phone: fc.constantFrom('+1 (202) 555-0101', '+1202*', '0101', '5550101', '+4930*', '1', '999', NUMBERS[5], '+*'),
    fromUs: fc.nat(40),
    toUs: fc.nat(60),
  },
  { requiredKeys: [] },
);
/** What happens between two pages: calls come in, and calls are deleted by their place in the log. */
const meanwhile = fc.record({
  added: fc.array(traits, { maxLength: 3 }),
  deleted: fc.array(fc.nat(60), { maxLength: 3 }),
});

let count = 0;
function add(store: CallStore, call: Traits): StoredCall {
  const sessionId = `s${String(++count)}`;
  const item = { session_id: sessionId, call_status: call.status } as CallHistoryItem;
  const begun = store.add({ ...call, sessionId, callId: null, channel: 'phone', direction: 'inbound', item });
  store.end(sessionId, item, null);
  return begun;
}

/** The filter in words of its own. */
function fits(call: StoredCall, { agentId, campaignId, statuses, phone: wanted, fromUs, toUs }: CallFilter): boolean {
  const ends = [call.fromPhone, call.toPhone].filter((number) => number !== null);
  const pattern = wanted === undefined ? null : phonePattern(wanted);
  const fitsNumber = (number: string): boolean => {
    if (pattern === null) return true;
    if (pattern.kind === 'whole') return number === pattern.number;
    return pattern.kind === 'begins' ? number.startsWith(pattern.start) : number.endsWith(pattern.digits);
  };
  return (
    (agentId === undefined || call.agentId === agentId) &&
    (campaignId === undefined || call.campaignId === campaignId) &&
    (statuses === undefined || statuses.includes(call.status)) &&
    (pattern === null || ends.some(fitsNumber)) &&
    (fromUs === undefined || call.tsUs >= fromUs) &&
    (toUs === undefined || call.tsUs <= toUs)
  );
}

describe('pages of the call log', () => {
  // Dense and rare keys, few and many numbers: with these bounds a dozen calls take every way through the indexes.
  it.each([
    { maxNumbers: 25, fewCalls: 1000 },
    { maxNumbers: 1, fewCalls: 3 },
    { maxNumbers: 2, fewCalls: 0 },
  ])('skip and repeat nothing while calls come in and go: %j', (bounds) => {
    fc.assert(
      fc.property(
        ...([fc.array(traits, { maxLength: 30 }), filter, fc.integer({ min: 1, max: 7 })] as const),
        fc.array(meanwhile, { maxLength: 12 }),
        (first, wanted, limit, later) => {
          database.exec('DELETE FROM calls; DELETE FROM call_numbers');
          let now = 0;
          // The clock stands still more often than not: equal times are told apart by the store.
          const store = new CallStore(database, () => Math.floor(++now / 4) / 1000);
          const pages = new CallPages(database, bounds);
          const all = first.map((call) => add(store, call));
          const gone = new Set<string>();
          const seen: StoredCall[] = [];
          let beforeUs: number | null = null;
          let next = 0;
          do {
            const page = pages.page(wanted, limit, beforeUs);
            expect(page.calls.length).toBeLessThanOrEqual(limit);
            seen.push(...page.calls);
            beforeUs = page.nextUs;
            const { added, deleted } = later[next++] ?? { added: [], deleted: [] };
            if (beforeUs !== null) added.forEach((call) => add(store, call));
            for (const at of beforeUs === null ? [] : deleted) {
              const call = all[at];
              if (call !== undefined && store.remove([call]) === 1) gone.add(call.sessionId);
            }
          } while (beforeUs !== null);
          const times = seen.map(({ tsUs }) => tsUs);
          expect(times).toEqual([...new Set(times)].sort((a, b) => b - a));
          // All that were there from the beginning to the end, and none besides but those that went meanwhile.
          const expected = all.filter((call) => fits(call, wanted)).map(({ sessionId }) => sessionId);
          const found = seen.map(({ sessionId }) => sessionId);
          expect(found.filter((id) => !gone.has(id)).sort()).toEqual(expected.filter((id) => !gone.has(id)).sort());
          expect(found.every((id) => expected.includes(id))).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('know no numbers that no call has any more', () => {
    const store = new CallStore(database, () => 0);
    const [one, two] = [1, 2].map(() =>
      add(store, {
        agentId: null,
        campaignId: null,
        status: 'busy',
        fromPhone: NUMBERS[0],
        toPhone: NUMBERS[1],
      }),
    ) as [StoredCall, StoredCall];
    const numbers = (): unknown[] => database.prepare('SELECT number FROM call_numbers ORDER BY number').pluck().all();
    expect(store.remove([one])).toBe(1);
    expect(store.remove([one])).toBe(0);
    expect(numbers()).toEqual([NUMBERS[0], NUMBERS[1]]);
    store.remove([two]);
    expect(numbers()).toEqual([]);
  });

  it('of one filter are read from an index alone', () => {
    const plans: string[] = [];
    const prepare = database.prepare.bind(database);
    const spied = Object.assign(Object.create(database) as typeof database, {
      prepare: (source: string) => {
        if (source.includes('INDEXED BY'))
          plans.push(
            ...prepare(`EXPLAIN QUERY PLAN ${source}`)
              .all(...explained(source))
              .map((row) => (row as { detail: string }).detail),
          );
        return prepare(source);
      },
      transaction: database.transaction.bind(database),
    });
    new CallPages(spied);
    expect(plans.filter((detail) => detail.includes('TEMP B-TREE'))).toEqual([]);
    expect(plans.some((detail) => detail.includes('COVERING INDEX calls_in_time'))).toBe(true);
  });
});

/** Something for each of a statement's parameters. */
function explained(source: string): unknown[] {
  const names = [...source.matchAll(/@(\w+)/g)].map(([, name]) => [name, null]);
  return names.length > 0 ? [Object.fromEntries(names)] : [null];
}

describe('a number that is searched', () => {
  it.each([
    ['+1 (202) 555-0103', { kind: 'whole', number: '+12025550103' }],
    ['0049 30/123 45', { kind: 'whole', number: '+493012345' }],
    [' 12025550103', { kind: 'ends', digits: '12025550103' }],
    ['(030) 123-45', { kind: 'ends', digits: '3012345' }],
    ['+1202*', { kind: 'begins', start: '+1202' }],
    ['sip:ann@example.com', { kind: 'whole', number: 'sip:ann@example.com' }],
    ['anonymous', { kind: 'whole', number: 'anonymous' }],
  ])('%j is %j', (text, pattern) => {
    expect(phonePattern(text)).toEqual(pattern);
  });
});

describe('the JSON of a row', () => {
  it('is the item with its whole configuration, also where it is nested deeper than SQLite reads', () => {
    const store = new CallStore(database, () => 1_000);
    let deep: unknown = 1;
    for (let level = 0; level < 1_500; level++) deep = [deep];
    for (const metadata of [{ a: 1 }, { a: deep }]) {
      const call = { agentId: null, campaignId: null, fromPhone: null, toPhone: null, status: 'busy' };
      const item = { session_id: 's', agent_config: { prompt: 'x' }, metadata, call_status: 'busy' };
      const sessionId = `json-${String(++count)}`;
      store.add({
        ...call,
        sessionId,
        callId: null,
        channel: 'phone',
        direction: 'inbound',
        item: item as unknown as CallHistoryItem,
      });
      const [row] = new CallPages(database).rows({}, 1).calls;
      const shown = JSON.parse(itemJson(row as SplitRow, 'https://a.test')) as unknown;
      expect(shown).toEqual({
        ...item,
        ts: expect.any(Number) as number,
        agent_config: wholeAgentConfig({ prompt: 'x' }),
        recording: { recording_url: 'https://a.test' },
      });
    }
  });
});
