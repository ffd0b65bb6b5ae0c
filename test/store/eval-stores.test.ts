import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EvalRunStore, type EvalRunEnd, type NewEvalRun } from '../../src/store/eval-runs.js';
import { EvalSuiteStore, type StoredEvalSuite } from '../../src/store/eval-suites.js';
import { SecretBox } from '../../src/store/secret-box.js';
import { run, sql } from '../../src/store/sql/statement.js';
import type { StoredCall } from '../../src/store/calls.js';
import { backends, type TestDatabase } from './support/backends.js';

const WEBHOOK = { url: 'https://shop.example/evals', headers: { 'x-tenant': '7' } };

describe.each(backends)('stores of evals in $name', ({ open }) => {
  let opened: TestDatabase;
  let suites: EvalSuiteStore;
  let runs: EvalRunStore;

  beforeEach(async () => {
    opened = await open();
    const { database } = opened;
    await database.run(sql`INSERT INTO agents (id, created_at, version) VALUES ('baker', 1, 1)`);
    suites = new EvalSuiteStore(database);
    runs = new EvalRunStore(database, new SecretBox(Buffer.alloc(32, 1), []));
    await suites.add(suite());
  });
  afterEach(() => opened.remove());

  it('keep the versions of a suite, and refuse a change of an older one', async () => {
    await suites.add(suite({ id: 'other', agentId: null }));
    const second = suite({ version: 2, name: 'Rolls', changedBy: 'Ann' });
    expect([await suites.change(second), await suites.change(second)]).toEqual([true, false]);
    expect(await suites.get('bread')).toEqual(second);
    expect(await suites.get('none')).toBeNull();
    expect((await suites.list(null)).map(({ id }) => id)).toEqual(['bread', 'other']);
    expect((await suites.list('baker')).map(({ id }) => id)).toEqual(['bread']);
    const { id: _id, agentId: _agent, createdAt: _created, ...version } = second;
    expect(await suites.versions('bread', { limit: 1, before: 9 })).toEqual([version]);
    expect(await suites.versions('bread', { limit: 9, before: 2 })).toMatchObject([{ version: 1, name: 'Bread' }]);
    expect([await suites.remove('bread'), await suites.remove('bread')]).toEqual([true, false]);
  });

  it('give each queued run to one node, in their order', async () => {
    for (const id of ['1', '2', '3']) await runs.add(newRun(id), 10);
    expect(await runs.add(newRun('4'), 3)).toBeNull();
    const taken = await Promise.all(['a', 'b', 'c', 'd'].map((node) => runs.take(node, 5)));
    const ids = taken.flatMap((one) => one?.id ?? []);
    expect(ids.toSorted()).toEqual(['1', '2', '3']);
    expect(taken[0]).toMatchObject({ id: '1', status: 'running', startedMs: 5, webhook: WEBHOOK });
    expect(await runs.take('a', 6)).toBeNull();
  });

  it('show the progress of a run, and tell its node when it is canceled or over', async () => {
    await runs.add(newRun('1'), 10);
    await runs.take('a', 5);
    const progress = { done: 1, total: 2, passed: 1, failed: 0 };
    expect(await runs.report('1', progress)).toBe(true);
    expect(await runs.get('1')).toMatchObject({ progress });
    await runs.cancel('1');
    expect(await runs.report('1', progress)).toBe(false);
    await runs.end('1', end(), nothing);
    expect(await runs.report('1', progress)).toBe(false);
    expect(await runs.get('none')).toBeNull();
  });

  it('end a run once, with its calls and its webhook in one transaction', async () => {
    await runs.add(newRun('1'), 10);
    await runs.take('a', 5);
    const call = { sessionId: 'eval-1-0' } as StoredCall;
    const told: unknown[] = [];
    const report: Parameters<EvalRunStore['end']>[2] = function* (ended, webhook) {
      told.push(ended.status, webhook);
      yield* run(sql`INSERT INTO do_not_call (number, source, created_at) VALUES ('+1', 'rule', 1)`);
    };
    const ended = await runs.end('1', end({ calls: [call], result: '{}', passed: true }), report);
    expect(ended).toMatchObject({ status: 'done', passed: true, webhook: null, finishedMs: 9 });
    expect(await runs.get('1')).toEqual(ended);
    expect(told).toEqual(['done', WEBHOOK]);
    expect(await opened.database.all(sql`SELECT number FROM do_not_call`)).toEqual([{ number: '+1' }]);
    expect([await runs.result('1'), await runs.call('eval-1-0'), await runs.callsOf('1')]).toEqual([
      '{}',
      call,
      [call],
    ]);
    expect(await runs.end('1', end({ status: 'failed' }), report)).toBeNull();
    expect(await runs.get('1')).toMatchObject({ status: 'done' });
  });

  it('find the runs of nodes that are gone', async () => {
    for (const id of ['1', '2', '3']) await runs.add(newRun(id), 10);
    await runs.take('living', 5);
    await runs.take('dead', 5);
    await opened.database.run(
      sql`INSERT INTO nodes (id, address, version, capacity, sessions, draining, started_us, heartbeat_us,
            secret_key_id, signing_key_id)
          VALUES ('living', '', '1', 1, 0, 0, 1, 1, '', '')`,
    );
    expect(await runs.abandoned()).toEqual(['2']);
    expect([await runs.heldBy('living'), await runs.heldBy('dead')]).toEqual([['1'], ['2']]);
  });

  it('list runs by what is asked for, latest first', async () => {
    for (const id of ['1', '2', '3']) await runs.add(newRun(id), 10);
    await runs.take('a', 5);
    const all = { suiteId: null, agentId: null, status: null, beforeSeq: null, limit: 9 };
    const found = await runs.list(all);
    expect(found.map(({ id }) => id)).toEqual(['3', '2', '1']);
    const page = await runs.list({
      ...all,
      suiteId: 'bread',
      agentId: 'baker',
      beforeSeq: found[0]?.seq ?? 0,
      limit: 1,
    });
    expect(page.map(({ id }) => id)).toEqual(['2']);
    expect((await runs.list({ ...all, status: 'running' })).map(({ id }) => id)).toEqual(['1']);
    expect(await runs.list({ ...all, agentId: 'none' })).toEqual([]);
    await runs.end('1', end(), nothing);
    expect([await runs.endedBefore(10, 9), await runs.endedBefore(9, 9)]).toEqual([['1'], []]);
    expect((await runs.ofParent('suite', 'bread')).toSorted()).toEqual(['1', '2', '3']);
    expect(await runs.remove('1')).toBe(true);
    expect(await runs.ofParent('agent', 'baker')).toHaveLength(2);
    await suites.remove('bread');
    expect(await runs.list(all)).toEqual([]);
  });
});

function* nothing(): Generator<never, void> {
  // No webhook is told.
}

function suite(more: Partial<StoredEvalSuite> = {}): StoredEvalSuite {
  return {
    id: 'bread',
    agentId: 'baker',
    version: 1,
    name: 'Bread',
    text: 'name: Bread',
    suite: '{"name":"Bread"}',
    createdAt: 1,
    changedAt: 1,
    changedBy: null,
    ...more,
  };
}

function newRun(id: string): NewEvalRun {
  const versions = { suiteVersion: 1, agentVersion: 1 };
  return { id, suiteId: 'bread', agentId: 'baker', request: '{}', webhook: WEBHOOK, createdMs: 2, ...versions };
}

function end(more: Partial<EvalRunEnd> = {}): EvalRunEnd {
  const outcome = { passed: null, progress: null, summary: null, result: null, calls: [] };
  return { ...outcome, status: 'done', reason: null, finishedMs: 9, ...more };
}
