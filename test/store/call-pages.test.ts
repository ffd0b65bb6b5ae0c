import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { wholeAgentConfig } from '../../src/agent/whole-agent.js';
import type { CallHistoryItem } from '../../src/session/record/call-history.js';
import { type CallFilter, type CallPage, CallPages } from '../../src/store/call-pages.js';
import { CallStore, itemJson, type NewCall, type SplitRow, type StoredCall } from '../../src/store/calls.js';
import { phonePattern } from '../../src/store/phone-pattern.js';
import { sql, type SqlDatabase, type Transaction } from '../../src/store/sql/statement.js';
import { backends, type TestDatabase } from './support/backends.js';
import { manyCalls } from './support/many-calls.js';

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
async function add(database: SqlDatabase, store: CallStore, call: Traits): Promise<StoredCall> {
  const sessionId = `s${String(++count)}`;
  const item = { session_id: sessionId, call_status: call.status } as CallHistoryItem;
  return database.transaction(function* () {
    const begun = yield* store.add({
      ...call,
      agentVersion: null,
      sessionId,
      callId: null,
      channel: 'phone',
      direction: 'inbound',
      item,
    });
    yield* store.end(sessionId, item, null);
    return begun;
  });
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

describe.each(backends)('pages of the call log in $name', ({ name, open }) => {
  let now = 0;
  let opened: TestDatabase;
  let database: SqlDatabase;

  beforeEach(async () => {
    now = 0;
    // The clock stands still more often than not: equal times are told apart by the store.
    opened = await open(() => Math.floor(++now / 4) / 1000);
    ({ database } = opened);
    // Nothing of this has to survive the machine.
    if (database.dialect === 'sqlite') await database.run({ text: 'PRAGMA synchronous = OFF', values: [] });
  });

  afterEach(() => opened.remove());

  // Dense and rare keys, few and many numbers: with these bounds a dozen calls take every way through the indexes.
  it.each([
    { maxNumbers: 25, fewCalls: 1000 },
    { maxNumbers: 1, fewCalls: 3 },
    { maxNumbers: 2, fewCalls: 0 },
  ])('skip and repeat nothing while calls come in and go: %j', { timeout: 120_000 }, async (bounds) => {
    await fc.assert(
      fc.asyncProperty(
        ...([fc.array(traits, { maxLength: 30 }), filter, fc.integer({ min: 1, max: 7 })] as const),
        fc.array(meanwhile, { maxLength: 12 }),
        async (first, wanted, limit, later) => {
          await database.run(sql`DELETE FROM calls`);
          await database.run(sql`DELETE FROM call_numbers`);
          now = 0;
          const store = new CallStore(database);
          const pages = new CallPages(database, bounds);
          const all: StoredCall[] = [];
          for (const call of first) all.push(await add(database, store, call));
          const gone = new Set<string>();
          const seen: StoredCall[] = [];
          let beforeUs: number | null = null;
          let next = 0;
          do {
            const page: CallPage = await pages.page(wanted, limit, beforeUs);
            expect(page.calls.length).toBeLessThanOrEqual(limit);
            seen.push(...page.calls);
            beforeUs = page.nextUs;
            const { added, deleted } = later[next++] ?? { added: [], deleted: [] };
            if (beforeUs !== null) for (const call of added) await add(database, store, call);
            for (const at of beforeUs === null ? [] : deleted) {
              const call = all[at];
              if (call !== undefined && (await store.remove([call])) === 1) gone.add(call.sessionId);
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
      { numRuns: name === 'SQLite' ? 200 : 20 },
    );
  });

  it('know no numbers that no call has any more', async () => {
    const store = new CallStore(database);
    const [fromPhone, toPhone] = NUMBERS;
    const call = { fromPhone, toPhone, agentId: null, campaignId: null, status: 'busy' } as const;
    const [one, two] = [await add(database, store, call), await add(database, store, call)];
    const numbers = async (): Promise<string[]> =>
      (await database.all<{ number: string }>(sql`SELECT number FROM call_numbers ORDER BY number`)).map(
        ({ number }) => number,
      );
    expect(await store.remove([one])).toBe(1);
    expect(await store.remove([one])).toBe(0);
    expect(await numbers()).toEqual([fromPhone, toPhone]);
    await store.removeLazily([two]);
    expect(await numbers()).toEqual([]);
  });

  it('have later calls later, also when several nodes add them at the same time', async () => {
    const nodes = [
      await opened.connect(() => 5_000),
      await opened.connect(() => 1_000),
      await opened.connect(() => 3_000),
    ];
    const call: Traits = { agentId: null, campaignId: null, status: 'busy', fromPhone: null, toPhone: null };
    const calls = await Promise.all(
      Array.from({ length: 30 }, (_, at) => {
        const node = nodes[at % nodes.length] ?? database;
        return add(node, new CallStore(node, { id: `n${String(at % nodes.length)}` }), call);
      }),
    );
    expect(new Set(calls.map(({ tsUs }) => tsUs)).size).toBe(30);
    expect(await new CallStore(database).openOf('n0')).toEqual([]);
  });

  describe('of many calls', () => {
    const STATUS_FILTER = { statuses: ['busy', 'failed'] };
    const filters: [index: string, filter: CallFilter][] = [
      ['calls_of_agent', { agentId: 'agent-3' }],
      ['calls_of_agent', { agentId: 'agent-rare' }],
      ['calls_of_agent_status', { agentId: 'agent-3', ...STATUS_FILTER }],
      ['calls_of_campaign', { campaignId: 'campaign-2' }],
      ['calls_of_campaign_status', { campaignId: 'campaign-2', ...STATUS_FILTER }],
      ['calls_(from|to)', { phone: '+120255500003' }],
      ['calls_(from|to)', { phone: '+120255500007' }],
      ['calls_(from|to)_status', { phone: '+120255500007', ...STATUS_FILTER }],
      ['calls_of_status', STATUS_FILTER],
      ['calls_of_(agent|campaign)', { agentId: 'agent-rare', campaignId: 'campaign-2' }],
    ];

    it('come from the index of their filter', async () => {
      await manyCalls(database, 20_000);
      const pages = new CallPages(explaining(database), { fewCalls: 100 });
      for (const [index, wanted] of filters) await isReadFrom(pages, index, wanted);
    });

    async function isReadFrom(pages: CallPages, index: string, wanted: CallFilter): Promise<void> {
      plans.splice(0);
      const { calls } = await pages.page(wanted, 20);
      expect(calls.every((call) => fits(call, wanted))).toBe(true);
      const searches = plans.filter(
        (plan) => /\bcalls\b/.test(plan) && !/ts_us IN|calls_pkey|INTEGER PRIMARY KEY/.test(plan),
      );
      expect(searches.length).toBeGreaterThan(0);
      const isRight = (plan: string): boolean =>
        new RegExp(`\\b${index}\\b`).test(plan) && !/Seq Scan|Sort|SCAN calls(?! USING)|TEMP B-TREE/.test(plan);
      expect(searches.filter((plan) => !isRight(plan))).toEqual([]);
      expect(Math.max(...searches.map(pagesOf))).toBeLessThan(60);
    }
  });

  it('are the items with their whole configurations, also where one is nested deeper than SQLite reads', async () => {
    const store = new CallStore(database);
    let deep: unknown = 1;
    for (let level = 0; level < 1_500; level++) deep = [deep];
    for (const metadata of [{ a: 1.1, b: 'x?', '1': '\u0000' }, { a: deep }]) {
      const call = { agentId: null, campaignId: null, fromPhone: null, toPhone: null, status: 'busy' };
      const item = { session_id: 's', agent_config: { prompt: 'x' }, metadata, call_status: 'busy' };
      const sessionId = `json-${String(++count)}`;
      await database.transaction(() =>
        store.add({
          ...call,
          agentVersion: null,
          sessionId,
          callId: null,
          channel: 'phone',
          direction: 'inbound',
          item: item as unknown as CallHistoryItem,
        }),
      );
      const [row] = (await new CallPages(database).rows({}, 1)).calls;
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

const plans: string[] = [];

/** The number of pages that PostgreSQL has looked at; 0 = the plan does not say it. */
function pagesOf(plan: string): number {
  const [, line = ''] = / Buffers: shared (.*)/.exec(plan) ?? [];
  return [...line.matchAll(/=(\d+)/g)].reduce((sum, [, pages]) => sum + Number(pages), 0);
}

/** A database that keeps the plan of each statement that it reads with. */
function explaining(database: SqlDatabase): SqlDatabase {
  const explain = database.dialect === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN (ANALYZE, BUFFERS)';
  function* explained<T>(work: Transaction<T>): Transaction<T> {
    let step = work.next();
    while (step.done !== true) {
      const { text, values } = step.value;
      const { rows } = yield { text: `${explain} ${text}`, values };
      plans.push(
        (rows as Record<string, unknown>[]).map((row) => String(row['detail'] ?? row['QUERY PLAN'])).join('\n'),
      );
      step = work.next(yield step.value);
    }
    return step.value;
  }
  return Object.assign(Object.create(database) as SqlDatabase, {
    dialect: database.dialect,
    read: <T>(work: () => Transaction<T>) => database.read(() => explained(work())),
  });
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
