import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { SuiteJob, SuiteRunnerOptions } from '../../src/daemon/evals/suite-runner.js';
import { nowUnixMs } from '../../src/base/real-clock.js';
import { sharedVersion } from '../../src/daemon/agents/agents.js';
import { differencesOf, figuresOf } from '../../src/daemon/publishing/version-figures.js';
import { changesBetween } from '../../src/daemon/publishing/version-routes.js';
import type { SuiteResult } from '../../src/eval/result.js';
import type { CallHistoryItem } from '../../src/session/record/call-history.js';
import { EvalClient } from './evals/client.js';
import { caseResult, caseRun, suiteResult, TestRunner } from './evals/runner.js';
import { House, PRIVATE_KEY } from './house.js';

/** The runs of the daemon are held by the test. */
vi.mock(import('../../src/daemon/evals/child-runner.js'), () => ({
  ChildRunner: class {
    run(job: SuiteJob, options: SuiteRunnerOptions): Promise<SuiteResult> {
      return runner.run(job, options);
    }
  } as never,
}));

let house: House;
let runner: TestRunner;
let evals: EvalClient;

beforeAll(async () => {
  runner = new TestRunner();
  house = await House.open();
  evals = new EvalClient(house);
  await house.daemon.warmUp();
});

afterAll(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

type Reply = { status: number; body: Record<string, unknown> };

async function ask(method: string, path: string, body?: unknown, key = PRIVATE_KEY): Promise<Reply> {
  const headers = { authorization: key, ...(body !== undefined && { 'content-type': 'application/json' }) };
  return (await house.ask(path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })) as Reply;
}

async function ok(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const { status, body: answer } = await ask(method, path, body);
  expect({ status, answer }).toMatchObject({ status: 200 });
  return answer;
}

const says = (greeting: string): object => ({ llm: { model: 'scripted' }, first_message: greeting });

/** A new agent of which each version greets in its own way. */
async function agent(drafts = true): Promise<string> {
  const { id } = await ok('POST', '/agents', { name: 'Desk', config: says('One.') });
  if (drafts) await ok('PUT', `/agents/${String(id)}/publishing`, { drafts: true });
  return String(id);
}

/** What an agent says first in a chat. */
async function greeting(id: string, more: object = {}): Promise<string> {
  const body = JSON.stringify({ agent: { agent_id: id, ...more }, messages: [] });
  const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
  const response = await house.request('/chat/completions', { method: 'POST', headers, body });
  const text = await response.text();
  if (response.status !== 200) return (JSON.parse(text) as { code: string }).code;
  return [...text.matchAll(/"content":"([^"]*)"/g)].map(([, said]) => said).join('');
}

async function over(id: string, publication: Record<string, unknown>): Promise<Record<string, unknown>> {
  const path = `/agents/${id}/publications/${String(publication['id'])}`;
  return vi.waitFor(
    async () => {
      const found = await ok('GET', path);
      if (found['finished_at'] === null) throw new Error('it is open');
      return found;
    },
    { timeout: 30_000, interval: 20 },
  );
}

describe('an agent that never used drafts', () => {
  it('changes at once, and can be rolled back to the version before', async () => {
    const id = await agent(false);
    const changed = await ok('PUT', `/agents/${id}`, { config: says('Two.'), note: 'a new greeting' });
    expect(changed).toMatchObject({ version: 2, published_version: 2, is_draft: false });
    expect(await greeting(id)).toContain('Two.');
    expect((await ask('GET', `/agents/${id}/draft`)).status).toBe(404);
    expect(await ok('POST', `/agents/${id}/rollback`)).toMatchObject({
      action: 'rollback',
      version: 1,
      previous_version: 2,
      by: { name: 'PARLEY_API_KEY' },
    });
    expect(await greeting(id)).toContain('One.');
    expect(await ok('PUT', `/agents/${id}`, { config: says('Three.') })).toMatchObject({ version: 3, is_draft: false });
    expect(await greeting(id)).toContain('Three.');
    const versions = (await ok('GET', `/agents/${id}/versions`)) as unknown as Record<string, unknown>[];
    expect(versions.map(({ version, note }) => [version, note])).toEqual([
      [3, null],
      [2, 'a new greeting'],
      [1, null],
    ]);
  });
});

describe('a draft', () => {
  it('reaches callers when it is published, and not before', async () => {
    const id = await agent(false);
    const draft = await ok('PUT', `/agents/${id}/draft`, { config: says('Two.') });
    expect(draft).toMatchObject({ version: 2, published_version: 1, is_draft: true });
    // From now on, a plain change is one of the draft.
    expect(await ok('PUT', `/agents/${id}`, { name: 'Help desk', if_version: 2 })).toMatchObject({
      version: 3,
      is_draft: true,
      config: { first_message: 'Two.' },
    });
    expect(await ask('PUT', `/agents/${id}`, { name: 'Late', if_version: 1 })).toMatchObject({
      status: 409,
      body: { code: 'AGENT_CHANGED' },
    });
    expect(await ok('GET', `/agents/${id}`)).toMatchObject({ name: 'Help desk', version: 3 });
    expect(await ok('GET', `/agents/${id}/versions/published`)).toMatchObject({ name: 'Desk', version: 1 });
    expect(await greeting(id)).toContain('One.');
    expect(await greeting(id, { agent_version: 'draft' })).toContain('Two.');
    expect(await greeting(id, { agent_version: 99 })).toBe('NOT_FOUND');
    expect(await ok('POST', `/agents/${id}/publish`, { note: 'go' })).toMatchObject({
      status: 'done',
      version: 3,
      previous_version: 1,
      note: 'go',
    });
    expect(await greeting(id)).toContain('Two.');
    expect(await greeting(id, { agent_version: 1 })).toContain('One.');
    expect(await ask('POST', `/agents/${id}/publish`)).toMatchObject({
      status: 409,
      body: { code: 'AGENT_NOT_PUBLISHED' },
    });
    await ok('POST', `/agents/${id}/rollback`, { note: 'too short' });
    expect(await greeting(id)).toContain('One.');
    expect(await ask('POST', `/agents/${id}/rollback`)).toMatchObject({ status: 409 });
    expect(await ask('POST', `/agents/${id}/rollback`, { version: 2 })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('callers never had version 2') as string },
    });
  });

  it('that callers have had is one to which the agent can be rolled back, earlier or later', async () => {
    const id = await agent();
    for (const words of ['Two.', 'Three.']) {
      await ok('PUT', `/agents/${id}`, { config: says(words) });
      await ok('POST', `/agents/${id}/publish`);
    }
    await ok('POST', `/agents/${id}/rollback`, { version: 2 });
    expect(await greeting(id)).toContain('Two.');
    await ok('POST', `/agents/${id}/rollback`, { version: 3 });
    expect(await greeting(id)).toContain('Three.');
    expect(await ok('GET', `/agents/${id}/versions/2`)).toMatchObject({ published_at: expect.any(Number) as number });
  });

  it('is discarded, and what is published stays', async () => {
    const id = await agent();
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    expect(await ask('PUT', `/agents/${id}/publishing`, { drafts: false })).toMatchObject({
      status: 409,
      body: { code: 'AGENT_DRAFT_OPEN' },
    });
    await ok('DELETE', `/agents/${id}/draft`);
    expect((await ask('DELETE', `/agents/${id}/draft`)).status).toBe(404);
    expect(await ok('GET', `/agents/${id}`)).toMatchObject({ version: 1, is_draft: false });
    expect(await ok('PUT', `/agents/${id}/publishing`, { drafts: false })).toMatchObject({ drafts: false });
    expect(await ok('PUT', `/agents/${id}`, { config: says('Three.') })).toMatchObject({ version: 3, is_draft: false });
    const log = (await ok('GET', `/agents/${id}/publications`)) as unknown as Record<string, unknown>[];
    expect(log.map(({ action }) => action)).toEqual(['settings', 'discard', 'settings']);
  });

  it('keeps a disabled agent disabled, whatever the version', async () => {
    const id = await agent();
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    await ok('POST', `/agents/${id}/status`, { status: 'disabled' });
    expect(await greeting(id)).toBe('AGENT_DISABLED');
    expect(await greeting(id, { agent_version: 1 })).toBe('AGENT_DISABLED');
    await ok('POST', `/agents/${id}/publish`);
    expect(await greeting(id)).toBe('AGENT_DISABLED');
    await ok('POST', `/agents/${id}/status`, { status: 'active' });
    expect(await greeting(id)).toContain('Two.');
  });

  it('is published by keys with the scope for it', async () => {
    const id = await agent();
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    const { key: writer } = await ok('POST', '/keys', { kind: 'private', name: 'writer', scopes: ['read', 'write'] });
    const scopes = ['read', 'publish'];
    const { key: editor } = await ok('POST', '/keys', { kind: 'private', name: 'editor', scopes });
    expect(await ask('POST', `/agents/${id}/publish`, {}, String(writer))).toMatchObject({ status: 403 });
    expect(await ask('POST', `/agents/${id}/publish`, { override: 'no time' }, String(editor))).toMatchObject({
      status: 403,
    });
    const { body } = await ask('POST', `/agents/${id}/publish`, {}, String(editor));
    expect(body).toMatchObject({ status: 'done', by: { name: 'editor' } });
  });
});

describe('a scheduled publication', () => {
  it('survives a restart, and is carried out once', async () => {
    const id = await agent();
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    const publish_at = nowUnixMs() / 1000 + 2;
    const entry = await ok('POST', `/agents/${id}/publish`, { publish_at });
    expect(entry).toMatchObject({ status: 'scheduled', version: 2, finished_at: null });
    expect(await ask('POST', `/agents/${id}/publish`)).toMatchObject({
      status: 409,
      body: { code: 'PUBLICATION_OPEN' },
    });
    await house.daemon.close();
    house = await House.open({ dataDir: house.dataDir });
    evals = new EvalClient(house);
    await house.daemon.warmUp();
    expect(await over(id, entry)).toMatchObject({ status: 'done', previous_version: 1 });
    expect(await greeting(id)).toContain('Two.');
    const log = (await ok('GET', `/agents/${id}/publications`)) as unknown as unknown[];
    expect(log).toHaveLength(2);
  });

  it('leaves the agent enabled or disabled as it is then', async () => {
    const [off, on] = [await agent(), await agent()];
    await ok('PUT', `/agents/${off}`, { config: says('Two.') });
    await ok('POST', `/agents/${on}/status`, { status: 'disabled' });
    const saved = await ok('PUT', `/agents/${on}`, { config: { ...says('Two.'), status: 'disabled' } });
    const publish_at = nowUnixMs() / 1000 + 1;
    const first = await ok('POST', `/agents/${off}/publish`, { publish_at });
    const second = await ok('POST', `/agents/${on}/publish`, { publish_at });
    await ok('POST', `/agents/${off}/status`, { status: 'disabled' });
    await ok('POST', `/agents/${on}/status`, { status: 'active' });
    await ok('PUT', `/agents/${on}`, { config: says('Three.') });
    expect(saved['version']).toBe(3);
    expect(await over(off, first)).toMatchObject({ status: 'done', version: 2 });
    expect(await over(on, second)).toMatchObject({ status: 'done', version: 3 });
    expect([await greeting(off), await greeting(off, { agent_version: 2 })]).toEqual(Array(2).fill('AGENT_DISABLED'));
    expect((await ask('GET', `/agents/${off}/draft`)).status).toBe(404);
    expect(await greeting(on)).toContain('Two.');
    expect(await greeting(on, { agent_version: 3 })).toContain('Two.');
    expect(await greeting(on, { agent_version: 'draft' })).toContain('Three.');
    await ok('POST', `/agents/${off}/status`, { status: 'active' });
    expect(await greeting(off)).toContain('Two.');
  });

  it('can be canceled, and a rollback cancels it', async () => {
    const id = await agent();
    const publish_at = nowUnixMs() / 1000 + 3600;
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    const first = await ok('POST', `/agents/${id}/publish`, { publish_at });
    const path = `/agents/${id}/publications/${String(first['id'])}`;
    expect(await ok('DELETE', path)).toMatchObject({ status: 'canceled', reason: 'It was canceled.' });
    await ok('POST', `/agents/${id}/publish`);
    await ok('PUT', `/agents/${id}`, { config: says('Three.') });
    const second = await ok('POST', `/agents/${id}/publish`, { publish_at });
    await ok('POST', `/agents/${id}/rollback`);
    expect(await over(id, second)).toMatchObject({ status: 'canceled', reason: 'The agent was rolled back.' });
  });
});

describe('a gate', () => {
  const [good, bad] = [
    suiteResult([caseResult('asks for bread', [caseRun(0)])]),
    suiteResult([caseResult('asks for bread', [caseRun(0, { passed: false })])]),
  ];

  it('lets a version through that passes its suite, and names the cases that fail', async () => {
    const id = await agent(false);
    const gate = await evals.suite();
    // Without drafts, each change would pass by the gate.
    expect(await ok('PUT', `/agents/${id}/publishing`, { gate, drafts: false })).toMatchObject({ gate, drafts: true });
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    const held = runner.held.length;
    const refused = await ok('POST', `/agents/${id}/publish`);
    expect(refused).toMatchObject({ status: 'checking', finished_at: null });
    const first = await runner.job(held);
    expect(first.job.agent).toMatchObject({ id, version: 2 });
    first.resolve(bad);
    expect(await over(id, refused)).toMatchObject({
      status: 'refused',
      reason: '1 of 1 cases failed.',
      failed_cases: [{ name: 'asks for bread', passes: 0, runs: 1 }],
    });
    expect(await greeting(id)).toContain('One.');
    // Nor may a split bring it to callers.
    const versions = [{ version: 2, weight: 1 }];
    expect(await ask('PUT', `/agents/${id}/split`, { versions })).toMatchObject({
      status: 409,
      body: { code: 'AGENT_NOT_PUBLISHED' },
    });
    await ok('PUT', `/agents/${id}`, { config: says('Three.') });
    const passed = await ok('POST', `/agents/${id}/publish`);
    (await runner.job(held + 1)).resolve(good);
    expect(await over(id, passed)).toMatchObject({ status: 'done', version: 3, failed_cases: [] });
    expect(await greeting(id)).toContain('Three.');
  });

  it('knows a run that has passed already, and can be passed over with a reason', async () => {
    const id = await agent();
    const gate = await evals.suite();
    await ok('PUT', `/agents/${id}/publishing`, { gate });
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    const held = runner.held.length;
    const run = await evals.start(gate, { agent_id: id });
    expect(run.agent_version).toBe(2);
    (await runner.job(held)).resolve(good);
    await evals.over(run.id);
    expect(await ok('POST', `/agents/${id}/publish`)).toMatchObject({ status: 'done', run_id: run.id });
    await ok('PUT', `/agents/${id}`, { config: says('Three.') });
    expect(await ok('POST', `/agents/${id}/publish`, { override: 'The old greeting is wrong.' })).toMatchObject({
      status: 'done',
      is_override: true,
      reason: 'The old greeting is wrong.',
    });
    expect(runner.held).toHaveLength(held + 1);
  });

  it('waits for its run before a time comes', async () => {
    const id = await agent();
    await ok('PUT', `/agents/${id}/publishing`, { gate: await evals.suite() });
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    const held = runner.held.length;
    const entry = await ok('POST', `/agents/${id}/publish`, { publish_at: nowUnixMs() / 1000 + 3600 });
    expect(entry['status']).toBe('checking');
    (await runner.job(held)).resolve(good);
    const path = `/agents/${id}/publications/${String(entry['id'])}`;
    await expect.poll(async () => (await ok('GET', path))['status'], { timeout: 20_000 }).toBe('scheduled');
    expect(await ok('DELETE', path)).toMatchObject({ status: 'canceled' });
  });
});

describe('a split', () => {
  it('gives each person one version, about as often as its weight says', () => {
    const split = { versions: [90, 10].map((weight, at) => ({ version: at + 1, weight })), seed: '' };
    const people = Array.from({ length: 4000 }, (_, at) => `+1202555${String(at).padStart(4, '0')}`);
    const second = people.filter((person) => sharedVersion('a', split, person) === 2);
    expect(second.length / people.length).toBeGreaterThan(0.08);
    expect(second.length / people.length).toBeLessThan(0.12);
    // More weight takes nobody away.
    const more = { ...split, versions: [70, 30].map((weight, at) => ({ version: at + 1, weight })) };
    expect(second.filter((person) => sharedVersion('a', more, person) === 2)).toEqual(second);
    const again = people.filter((person) => sharedVersion('a', { ...split, seed: 'b' }, person) === 2);
    expect(again).not.toEqual(second);
  });

  it('is kept for a person, recorded with each call, and ended by a rollback', async () => {
    const id = await agent();
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    const versions = [1, 2].map((version) => ({ version, weight: 1 }));
    const people = Array.from({ length: 12 }, (_, at) => `user ${String(at)}`);
    const expected = new Map(people.map((user) => [user, sharedVersion(id, { versions, seed: '' }, user)]));
    expect(new Set(expected.values())).toEqual(new Set([1, 2]));
    expect(await ok('PUT', `/agents/${id}/split`, { versions })).toMatchObject({ split: { versions, seed: '' } });
    for (const user_id of people) {
      const said = await greeting(id, { metadata: { user_id } });
      expect(said).toContain(expected.get(user_id) === 1 ? 'One.' : 'Two.');
    }
    expect(await greeting(id)).toContain('One.'); // nobody knows who it is
    const registered = await ok('POST', '/register_call', { agent_id: id, agent_version: 'draft' });
    const logged = await ok('GET', `/call-logs/${String(registered['session_id'])}`);
    expect(logged['agent_version']).toBe(2);
    const filtered = await ok('GET', `/call-logs?agent_id=${id}&agent_version=2`);
    expect((filtered['histories'] as unknown[]).length).toBe(1);
    expect((await ok('GET', `/call-logs?agent_id=${id}&agent_version=1`))['histories']).toEqual([]);
    expect(await ok('POST', `/agents/${id}/rollback`)).toMatchObject({ version: 1, previous_version: 1 });
    expect(await ok('GET', `/agents/${id}/publishing`)).toMatchObject({ split: null, published_version: 1 });
  });
});

describe('pins', () => {
  it('hold a number, a campaign, a call and a token to a version', async () => {
    const id = await agent();
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    const { id: number } = await ok('POST', '/phones/purchase', {});
    const path = `/phones/${String(number)}`;
    expect(await ask('POST', `${path}/set_agent`, { agent_id: id, agent_version: 9 })).toMatchObject({ status: 404 });
    expect(await ok('POST', `${path}/set_agent`, { agent_id: id, agent_version: 'draft' })).toMatchObject({
      agent_version: 'draft',
    });
    const { id: campaign } = await ok('POST', '/campaigns', { name: 'Offer' });
    const caller = { phone: number, agent_version: 1 };
    expect(await ok('POST', `/campaigns/${String(campaign)}/set_caller`, caller)).toMatchObject({ agent_version: 1 });
    await ok('POST', `${path}/simulate_call`, { caller: '+12025550153' });
    await expect
      .poll(async () => (await ok('GET', `/call-logs?agent_id=${id}&agent_version=2`))['histories'], {
        timeout: 20_000,
      })
      .toHaveLength(1);
    const temporary = { agent_config: says('Hi.'), agent_version: 1 };
    expect(await ask('POST', '/register_call', temporary)).toMatchObject({ status: 422 });

    const { token } = await ok('POST', `/agents/${id}/token`, { agent_version: 'draft' });
    const heard = async (data: Record<string, unknown>): Promise<unknown> => {
      const client = house.connect({ origin: house.address });
      await client.initiate({ agent: { agent_id: id }, ...data });
      const found = await client.inbox.find(({ method }) => method === 'onresponsetext' || method === 'onsessionended');
      client.socket.close();
      return found['data'];
    };
    expect(await heard({ public_key: token })).toContain('Two.');
    expect(await heard({})).toContain('One.');
    await ok('PUT', `/agents/${id}/publishing`, { widget_version: 2 });
    expect(await heard({})).toContain('Two.');
    const pinned = { public_key: (await house.token()).token, agent: { agent_id: id, agent_version: 'draft' } };
    const client = house.connect({ origin: house.address });
    await client.initiate(pinned);
    expect(await client.inbox.find(({ method }) => method === 'onerror')).toMatchObject({
      data: expect.stringContaining('agent_version needs a private key') as string,
    });
  });
});

describe('the difference of versions', () => {
  it('names each member that differs, and shows no secret', async () => {
    const first = { name: 'Desk', config: { prompt: 'a', llm: { model: 'x' } }, extensions: null };
    const tool = { name: 'stock', description: 'Stock.', webhook: 'https://a.example', header: { key: 'one' } };
    const [before, after] = ['one', 'two'].map((key) => ({
      ...first,
      config: { ...first.config, tools: [{ ...tool, header: { key } }] },
    }));
    if (before === undefined || after === undefined) throw new Error('no versions');
    const changes = changesBetween(before, after);
    expect(changes.map(({ path }) => path)).toEqual(['/config/tools']);
    expect(JSON.stringify(changes)).not.toMatch(/"(?:one|two)"/);
    expect(changesBetween(first, { ...first, name: 'B', config: { prompt: 'b' } })).toEqual([
      { path: '/name', before: 'Desk', after: 'B' },
      { path: '/config/prompt', before: 'a', after: 'b' },
      { path: '/config/llm', before: { model: 'x' } },
    ]);
    const id = await agent();
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    expect(await ok('GET', `/agents/${id}/versions/diff?from=1&to=2`)).toEqual({
      from: 1,
      to: 2,
      changes: [{ path: '/config/first_message', before: 'One.', after: 'Two.' }],
    });
    expect(await ok('GET', `/agents/${id}/versions/2`)).toMatchObject({ version: 2, published_at: null });
    expect((await ask('GET', `/agents/${id}/versions/diff?from=1&to=7`)).status).toBe(404);
  });
});

describe('figures of versions', () => {
  const item = (more: Partial<CallHistoryItem>, metrics: Partial<CallHistoryItem['call_metrics']> = {}) =>
    ({
      call_status: 'user-ended',
      duration: 60,
      cost_breakdown: [{ credit: 2 }],
      voip: null,
      ...more,
      call_metrics: {
        turns: 4,
        interruptions: 1,
        tool_errors: 0,
        utterance_latency: { p50: 600, p95: 900 },
        ...metrics,
      },
    }) as unknown as CallHistoryItem;

  it('count what happened, with intervals', () => {
    const calls = [
      ...Array.from({ length: 8 }, (_, at) => item({ duration: 50 + at }, { tool_errors: at === 0 ? 2 : 0 })),
      item({ call_status: 'voicemail-hangup', duration: 5 }, { turns: 0, interruptions: 0, utterance_latency: null }),
      item({ call_status: 'no-answer', duration: 0 }, { turns: 0, interruptions: 0, utterance_latency: null }),
    ];
    const figures = figuresOf(calls);
    expect(figures).toMatchObject({
      calls: 10,
      conversations: 9,
      statuses: { 'user-ended': 8, 'voicemail-hangup': 1, 'no-answer': 1 },
      completed: { count: 9, of: 10, rate: 0.9 },
      voicemail: { count: 1, of: 10 },
      transferred: { count: 0, of: 9 },
      toolErrors: { count: 1, of: 9 },
      interruptions: { count: 8, of: 32, rate: 0.25 },
      responseP50: { count: 8, value: 600 },
      cost: { count: 9, value: 2 },
    });
    expect(figures.completed.low).toBeCloseTo(0.596, 3); // Wilson, 9 of 10
    expect(figuresOf([]).completed).toEqual({ count: 0, of: 0, rate: null, low: null, high: null });
  });

  it('call no difference clear that chance would make', () => {
    const of = (version: number, failed: number, count: number) => ({
      ...figuresOf(
        Array.from({ length: count }, (_, at) => item(at < failed ? { call_status: 'error', duration: 1 } : {})),
      ),
      version,
      isComplete: true,
    });
    const completed = (...pair: ReturnType<typeof of>[]) =>
      differencesOf(pair).find(({ figure }) => figure === 'completed');
    expect(completed(of(1, 1, 10), of(2, 3, 10))).toMatchObject({ version: 2, isClear: false });
    expect(completed(of(1, 10, 200), of(2, 60, 200))).toMatchObject({ isClear: true });
    // Newcombe 1998, table II, example (a): 56/70 and 48/80.
    const found = completed(of(1, 32, 80), of(2, 14, 70));
    expect([found?.difference, found?.low, found?.high].map((value) => Number(value?.toFixed(4)))).toEqual([
      0.2, 0.0524, 0.3339,
    ]);
  });

  it('come from the call log', async () => {
    const id = await agent();
    await ok('PUT', `/agents/${id}`, { config: says('Two.') });
    for (const agent_version of [1, 2, 2]) {
      const { session_id } = await ok('POST', '/register_call', { agent_id: id, agent_version });
      await ok('POST', `/sessions/${String(session_id)}/terminate`);
    }
    const figures = await ok('GET', `/agents/${id}/versions/compare?versions=1,2`);
    expect(figures['versions']).toMatchObject([
      { version: 1, calls: 1, conversations: 0, is_complete: true, statuses: { canceled: 1 } },
      { version: 2, calls: 2, completed: { count: 0, of: 2 } },
    ]);
    expect((await ask('GET', `/agents/${id}/versions/compare?versions=1,1`)).status).toBe(422);
  });
});
