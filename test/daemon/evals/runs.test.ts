import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { DEFAULT_EVALS } from '../../../src/settings/setting-groups.js';
import type { Settings } from '../../../src/settings/settings.js';
import { NO_LOG } from '../../../src/daemon/operations/log.js';
import type { EngineOptions } from '../../../src/engine/options.js';
import type { SuiteJob, SuiteRunnerOptions } from '../../../src/daemon/evals/suite-runner.js';
import type { SuiteResult } from '../../../src/eval/result.js';
import { httpServer } from '../../net/local-server.js';
import { House, PRIVATE_KEY } from '../house.js';
import { EvalClient } from './client.js';
import { caseResult, caseRun, sessionReport, suiteResult, TestRunner } from './runner.js';

/** The runs of the daemon are held by the test. */
vi.mock(import('../../../src/daemon/evals/child-runner.js'), () => ({
  ChildRunner: class {
    run(job: SuiteJob, options: SuiteRunnerOptions): Promise<SuiteResult> {
      return runner.run(job, options);
    }
  } as never,
}));

let house: House;
let client: EvalClient;
let runner: TestRunner;

afterEach(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

async function open(settings: Partial<Settings> = {}, engine: EngineOptions = {}): Promise<void> {
  runner = new TestRunner();
  house = await House.open(settings, new RealClock(), NO_LOG, engine);
  client = new EvalClient(house);
  await house.daemon.warmUp();
}

/** Stops the daemon and starts another one on its data. */
async function reopen(settings: Partial<Settings> = {}): Promise<void> {
  const { dataDir } = house;
  await house.daemon.close();
  await open({ ...settings, dataDir });
}

const PASSED = suiteResult([caseResult('asks for bread', [caseRun(0)]), caseResult('says nothing', [caseRun(0)])]);

describe('a run', { timeout: 30_000 }, () => {
  it('goes from the queue to its result', async () => {
    await open();
    const suite = await client.suite();
    const queued = await client.start(suite, { mode: 'text', runs: 2, only: ['smoke'] });
    expect(queued).toMatchObject({
      suite_id: suite,
      suite_version: 1,
      agent_id: 'baker',
      agent_version: 1,
      mode: 'text',
      runs: 2,
      only: ['smoke'],
      against: null,
      passed: null,
      cases: null,
      finished_at: null,
    });
    const { job, onProgress, resolve } = await runner.job(0);
    expect(job).toMatchObject({ mode: 'text', runs: 2, only: ['smoke'], against: null, concurrency: 1 });
    expect(job.agent).toMatchObject({ id: 'baker', version: 1, config: { prompt: 'You sell bread.' } });
    expect(job.suite.cases).toHaveLength(2);
    const states: Record<string, unknown>[] = [];
    for await (const state of client.progress(queued.id)) {
      states.push(state);
      if (states.length === 1) onProgress({ done: 1, total: 2, passed: 1, failed: 0 });
      if (states.length === 2) {
        onProgress({ done: 2, total: 2, passed: 1, failed: 1 });
        resolve(
          suiteResult([caseResult('asks for bread', [caseRun(0), caseRun(1, { passed: false, responseMs: [900] })])]),
        );
      }
    }
    expect(states[0]).toEqual({ status: 'running', reason: null, done: 0, total: 0, passed: 0, failed: 0 });
    expect(states[1]).toMatchObject({ status: 'running', done: 1, total: 2 });
    expect(states.at(-1)).toEqual({ status: 'done', reason: null, done: 2, total: 2, passed: 1, failed: 1 });
    expect(await client.run(queued.id)).toMatchObject({
      status: 'done',
      passed: false,
      progress: { done: 2, total: 2 },
      cases: [{ name: 'asks for bread', runs: 2, passes: 1, pass_rate: { rate: 0.5 }, response_ms: 750, cost: null }],
    });
  });

  it('has a report with its lines and expectations', async () => {
    await open();
    const { id } = await client.start(await client.suite());
    expect(await client.ask('GET', `/evals/runs/${id}/report`)).toMatchObject({
      status: 409,
      body: { code: 'EVAL_RESULT_MISSING' },
    });
    const failed = caseResult('asks for bread', [caseRun(0, { passed: false })]);
    const comparison = {
      against: 'baker@1',
      onlyThis: 0,
      onlyOther: 1,
      both: 0,
      neither: 0,
      pValue: 1,
      cases: [
        {
          name: 'asks for bread',
          mode: 'text' as const,
          passes: 0,
          otherPasses: 1,
          runs: 1,
          responseMs: 600,
          otherResponseMs: 500,
          differences: ['the agent says "bread"'],
          other: caseResult('asks for bread', [caseRun(0, { report: sessionReport() })]),
        },
      ],
    };
    (await runner.job(0)).resolve(suiteResult([failed], comparison));
    await client.over(id);
    const { status, body } = await client.ask('GET', `/evals/runs/${id}/report`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      passed: false,
      cases: [
        {
          name: 'asks for bread',
          runs: [
            {
              session_id: null,
              expectations: [
                { kind: 'said', outcome: 'fail', line: 1, reason: 'the agent says nothing of it', votes: [] },
              ],
              lines: [
                { type: 'agent', text: 'Hello.', start_ms: 400 },
                { type: 'caller', response_ms: 600, cut_off: false },
                { type: 'tool', name: 'stock', took_ms: 100, mocked: true, after_call: false },
                { type: 'end', by: 'caller' },
              ],
            },
          ],
        },
      ],
      comparison: { only_other: 1, p_value: 1, cases: [{ other: { runs: [{ session_id: `eval-${id}-1` }] } }] },
    });
  });

  it('has reports for CI and for people', async () => {
    await open();
    const { id } = await client.start(await client.suite());
    (await runner.job(0)).resolve(suiteResult([caseResult('asks for <bread>', [caseRun(0, { passed: false })])]));
    await client.over(id);
    const read = async (end: string): Promise<[string | null, string]> => {
      const response = await house.request(`/evals/runs/${id}/report${end}`, {
        headers: { authorization: PRIVATE_KEY },
      });
      return [response.headers.get('content-type'), await response.text()];
    };
    const [xmlType, xml] = await read('.xml');
    expect(xmlType).toBe('application/xml; charset=utf-8');
    expect(xml).toContain('<testcase classname="Bread.text" name="asks for &lt;bread&gt;"');
    expect(xml).toContain('the agent says nothing of it');
    const [htmlType, html] = await read('.html');
    expect(htmlType).toBe('text/html; charset=utf-8');
    expect(html).toContain('asks for &lt;bread&gt;');
    expect((await house.request(`/evals/runs/${id}/report.html`)).status).toBe(401);
  });

  it('keeps each call for the call log, but not among the calls', async () => {
    await open({ prices: { llm: { 'openai/gpt-test': { prompt: 2, completion: 3 } } } });
    const { id } = await client.start(await client.suite());
    const { job, resolve } = await runner.job(0);
    const [recording, trace] = [join(job.folder, 'any.wav'), join(job.folder, 'any.jsonl')];
    writeFileSync(recording, 'RIFF');
    writeFileSync(trace, '{"a":1}\n');
    resolve(suiteResult([caseResult('asks for bread', [caseRun(0, { recording, trace, report: sessionReport() })])]));
    expect(await client.over(id)).toMatchObject({ status: 'done', cases: [{ cost: 2 }] });
    const session = `eval-${id}-0`;
    const call = await client.ask('GET', `/call-logs/${session}`);
    expect(call).toMatchObject({
      status: 200,
      body: {
        session_id: session,
        agent_id: 'baker',
        call_status: 'user-ended',
        recording: { recording_url: expect.stringContaining(`/call-logs/${session}/recording?`) as string },
        eval: { run_id: id, case: 'asks for bread', mode: 'text', run: 0, passed: true },
      },
    });
    const read = async (what: string): Promise<string> => {
      const response = await house.request(`/call-logs/${session}/${what}`, {
        headers: { authorization: PRIVATE_KEY },
      });
      return response.text();
    };
    expect(await read('recording')).toBe('RIFF');
    expect(await read('trace')).toBe('{"a":1}\n');
    expect((await client.ask('GET', '/call-logs')).body).toMatchObject({ histories: [] });
    expect(await client.ask('DELETE', `/call-logs/${session}`)).toMatchObject({ status: 404 });
    expect(existsSync(job.folder)).toBe(false);

    expect(await client.ask('DELETE', `/evals/runs/${id}`)).toMatchObject({ status: 200 });
    expect(await client.ask('GET', `/call-logs/${session}`)).toMatchObject({ status: 404 });
    expect(readdirSync(join(house.dataDir, 'recordings'))).toEqual([]);
    expect(readdirSync(join(house.dataDir, 'traces'))).toEqual([]);
  });

  it('uses the versions of its start, and compares with another one', async () => {
    await open();
    const suite = await client.suite();
    await client.ask('PUT', '/agents/baker', { config: { prompt: 'You sell rolls.', llm: { model: 'scripted' } } });
    const { id } = await client.start(suite, { agent_version: 1, against: { agent_version: 2 } });
    await client.ask('PUT', `/evals/suites/${suite}`, {
      suite: 'name: New\ncases: [{name: a, caller: {script: [{hang_up: true}]}, expect: [{said: b}]}]',
    });
    const { job, resolve } = await runner.job(0);
    expect(job.agent).toMatchObject({ version: 1, config: { prompt: 'You sell bread.' } });
    expect(job.against).toMatchObject({ id: 'baker', version: 2, config: { prompt: 'You sell rolls.' } });
    resolve(PASSED);
    expect(await client.over(id)).toMatchObject({
      suite_version: 1,
      agent_version: 1,
      against: { agent_id: 'baker', agent_version: 2 },
    });
  });

  it('waits where as many run as the setting allows', async () => {
    await open();
    const suite = await client.suite();
    const first = await client.start(suite);
    const second = await client.start(suite);
    expect(first.status).toBe('running');
    expect(second.status).toBe('queued');
    (await runner.job(0)).resolve(PASSED);
    await client.over(first.id);
    await runner.job(1);
    expect(await client.run(second.id)).toMatchObject({ status: 'running' });
    const { body } = await client.ask<{ runs: { id: string }[]; next_cursor: number }>('GET', '/evals/runs?limit=1');
    expect(body.runs).toMatchObject([{ id: second.id }]);
    const next = await client.ask('GET', `/evals/runs?limit=1&cursor=${String(body.next_cursor)}`);
    expect(next.body).toMatchObject({ runs: [{ id: first.id }], next_cursor: 0 });
    expect((await client.ask('GET', `/evals/runs?suite_id=${suite}&status=done`)).body).toMatchObject({
      runs: [{ id: first.id }],
    });
  });

  it('is canceled while it runs and while it waits', async () => {
    await open();
    const suite = await client.suite();
    const [first, second] = [await client.start(suite), await client.start(suite)];
    expect(await client.ask('DELETE', `/evals/runs/${first.id}`)).toMatchObject({
      status: 409,
      body: { code: 'EVAL_RUN_GOES_ON' },
    });
    const held = await runner.job(0);
    expect((await client.ask('POST', `/evals/runs/${second.id}/cancel`)).body).toMatchObject({ status: 'canceled' });
    expect((await client.ask('POST', `/evals/runs/${first.id}/cancel`)).body).toMatchObject({
      status: 'canceled',
      reason: null,
      passed: null,
    });
    expect(held.signal.aborted).toBe(true);
    expect(existsSync(held.job.folder)).toBe(false);
    expect((await client.ask('POST', `/evals/runs/${first.id}/cancel`)).body).toMatchObject({ status: 'canceled' });
    expect(runner.held).toHaveLength(1);
  });

  it('fails with the reason of its runner', async () => {
    await open();
    const { id } = await client.start(await client.suite());
    (await runner.job(0)).reject(new Error('the process ended by SIGSEGV'));
    expect(await client.over(id)).toMatchObject({ status: 'failed', reason: 'the process ended by SIGSEGV' });
  });

  it('fails after the longest time that the setting allows', async () => {
    await open({ evals: { ...DEFAULT_EVALS, maxRunS: 0.05 } });
    const { id } = await client.start(await client.suite());
    expect(await client.over(id)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('maxRunS') as string,
    });
  });

  it('fails when the daemon stops, and the next process says so; those that wait are held then', async () => {
    await open();
    const suite = await client.suite();
    const [first, second] = [await client.start(suite), await client.start(suite)];
    await runner.job(0);
    await reopen();
    expect(await client.run(first.id)).toMatchObject({
      status: 'failed',
      reason: 'The daemon stopped during the run.',
    });
    (await runner.job(0)).resolve(PASSED);
    expect(await client.over(second.id)).toMatchObject({ status: 'done', passed: true });
  });

  it('fails where the process of the daemon died, and leaves no files', async () => {
    await open();
    const suite = await client.suite();
    const { id } = await client.start(suite);
    await runner.job(0);
    const { dataDir } = house;
    // As after a crash: the run has not ended in the database, and its folder is still there.
    const copy = join(dataDir, 'copy');
    mkdirSync(copy);
    for (const name of readdirSync(dataDir)) {
      if (/^(parley|knowledge)\.db|secret\.key/.test(name))
        writeFileSync(join(copy, name), readFileSync(join(dataDir, name)));
    }
    mkdirSync(join(copy, 'evals', id), { recursive: true });
    const other = await House.open({ dataDir: copy });
    const found = new EvalClient(other);
    expect(await found.run(id)).toMatchObject({ status: 'failed', reason: 'The daemon stopped during the run.' });
    expect(existsSync(join(copy, 'evals'))).toBe(false);
    await other.close();
  });

  it('is refused while the daemon drains, for an unknown agent or version, and without a case', async () => {
    await open();
    const suite = await client.suite();
    const anyone = (
      await client.ask('POST', '/evals/suites', {
        suite: 'name: A\ncases: [{name: a, caller: {script: [{hang_up: true}]}, expect: [{said: b}]}]',
      })
    ).body['id'];
    const start = (body: Record<string, unknown>) => client.ask('POST', '/evals/runs', { suite_id: suite, ...body });
    expect(await start({ agent_id: 'nobody' })).toMatchObject({ status: 404 });
    expect(await start({ agent_version: 9 })).toMatchObject({ status: 404 });
    expect(await start({ against: { agent_version: 9 } })).toMatchObject({ status: 404 });
    expect(await start({ suite_id: 'nothing' })).toMatchObject({ status: 404 });
    expect(await start({ only: ['nothing'] })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'only'] }] },
    });
    expect(await start({ suite_id: anyone })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'agent_id'] }] },
    });
    expect(await start({ mode: 'telepathy' })).toMatchObject({ status: 422 });
    const caller = house.connect();
    await caller.initiate();
    await caller.inbox.find(({ method }) => method === 'onready');
    const drained = house.daemon.drain();
    expect(await start({})).toMatchObject({ status: 503, body: { code: 'DAEMON_DRAINING' } });
    caller.socket.close();
    await drained;
    expect(runner.held).toEqual([]);
  });

  it('reports its end to a webhook, signed', async () => {
    const secret = `whsec_${Buffer.from('a key of twenty-four byte').toString('base64')}`;
    let received: (message: unknown) => void = () => undefined;
    const message = new Promise((resolve) => (received = resolve));
    const server = await httpServer((request, response, body) => {
      received(new Webhook(secret).verify(body, request.headers as Record<string, string>));
      expect(request.headers['x-tenant']).toBe('7');
      response.writeHead(204).end();
    });
    try {
      await open({}, { webhookSecret: secret, allowUrls: [server.origin] });
      const webhook = { url: `${server.origin}/evals`, headers: { 'X-Tenant': '7' } };
      const { id } = await client.start(await client.suite(), { webhook });
      (await runner.job(0)).resolve(PASSED);
      expect(await message).toMatchObject({ type: 'eval_run.finished', data: await client.over(id) });
      await expect
        .poll(async () => (await client.ask('GET', `/webhooks/deliveries?session_id=${id}`)).body)
        .toMatchObject({ deliveries: [{ state: 'delivered' }] });
    } finally {
      await server.close();
    }
  });

  it('is deleted with its agent, with the suites and files of the agent', async () => {
    await open();
    const agent = await client.ask('POST', '/agents', { name: 'Other', config: { llm: { model: 'scripted' } } });
    const agentId = String(agent.body['id']);
    const suite = await client.suite();
    await client.ask('PUT', `/evals/suites/${suite}`, { agent_id: agentId });
    const { id } = await client.start(suite);
    const { job, resolve } = await runner.job(0);
    const trace = join(job.folder, 'any.jsonl');
    writeFileSync(trace, '{}\n');
    resolve(suiteResult([caseResult('asks for bread', [caseRun(0, { trace, report: sessionReport() })])]));
    await client.over(id);
    const running = await client.start(suite);
    const held = await runner.job(1);
    expect(readdirSync(join(house.dataDir, 'traces'))).toHaveLength(1);
    expect(await client.ask('DELETE', `/agents/${agentId}`)).toMatchObject({ status: 200 });
    expect(held.signal.aborted).toBe(true);
    for (const path of [`suites/${suite}`, `runs/${id}`, `runs/${running.id}`]) {
      expect(await client.ask('GET', `/evals/${path}`)).toMatchObject({ status: 404 });
    }
    expect(readdirSync(join(house.dataDir, 'traces'))).toEqual([]);
  });

  it('is deleted after the days of the setting', async () => {
    await open();
    const suite = await client.suite();
    const { id } = await client.start(suite);
    (await runner.job(0)).resolve(PASSED);
    await client.over(id);
    await reopen({ evals: { ...DEFAULT_EVALS, retentionDays: 1 } });
    expect(await client.run(id)).toMatchObject({ status: 'done' });
    await reopen({ evals: { ...DEFAULT_EVALS, retentionDays: 1e-9 } });
    await expect.poll(async () => (await client.ask('GET', `/evals/runs/${id}`)).status).toBe(404);
    expect(await client.ask('GET', `/evals/suites/${suite}`)).toMatchObject({ status: 200 });
  });
});
