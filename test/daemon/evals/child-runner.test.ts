import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { ChildRunner } from '../../../src/daemon/evals/child-runner.js';
import type { RunReport } from '../../../src/daemon/evals/replies.js';
import type { SuiteJob } from '../../../src/daemon/evals/suite-runner.js';
import { House, PRIVATE_KEY } from '../house.js';
import { EvalClient } from './client.js';

/** Runs in processes, which run the build. */
const TEXT = `name: Bread
cases:
  - name: greets
    caller: { script: [{ wait_for: Hello }, { hang_up: true }] }
    expect:
      - said: Hello
  - name: asks for bread
    modes: [text]
    caller: { script: [{ say: "Have you any bread?" }, { wait_for: We have }, { hang_up: true }] }
    expect:
      - said: We have bread
  - name: asks for a song
    modes: [text]
    caller: { script: [{ say: "Have you any bread?" }, { wait_for: We have }, { hang_up: true }] }
    expect:
      - said: la la la
`;

describe('a run in a process of its own', { timeout: 120_000 }, () => {
  let house: House;
  let client: EvalClient;

  beforeAll(async () => {
    house = await House.open();
    client = new EvalClient(house);
    await house.daemon.warmUp();
  });

  afterAll(async () => {
    expect(house.faults).toEqual([]);
    await house.close();
  });

  it('holds the calls with the stored agent, by text and by voice', async () => {
    const suite = await client.suite(TEXT);
    const { id } = await client.start(suite);
    const run = await client.over(id);
    expect(run).toMatchObject({ status: 'done', passed: false, progress: { done: 4, total: 4, passed: 3, failed: 1 } });
    expect(run.cases?.map(({ name, mode, passed }) => [name, mode, passed])).toEqual([
      ['greets', 'text', true],
      ['greets', 'voice', true],
      ['asks for bread', 'text', true],
      ['asks for a song', 'text', false],
    ]);
    const report = (await client.ask<RunReport>('GET', `/evals/runs/${id}/report`)).body;
    const [text, voice] = report.cases.map(({ runs: [first] }) => first?.session_id ?? '');
    for (const session of [text, voice]) {
      const trace = await house.request(`/call-logs/${String(session)}/trace`, {
        headers: { authorization: PRIVATE_KEY },
      });
      expect(await trace.text()).toContain('Hello');
    }
    const recording = await house.request(`/call-logs/${String(voice)}/recording`, {
      headers: { authorization: PRIVATE_KEY },
    });
    expect(
      Buffer.from(await recording.arrayBuffer())
        .subarray(0, 4)
        .toString(),
    ).toBe('RIFF');
    const log = await client.ask('GET', `/call-logs/${String(text)}`);
    expect(log.body).toMatchObject({ agent_id: 'baker', eval: { run_id: id, case: 'greets', passed: true } });
    expect((await client.ask('GET', '/call-logs')).body).toMatchObject({ histories: [] });
  });

  it('holds a case that is made from a call', async () => {
    const caller = house.connect();
    await caller.initiate();
    await caller.inbox.find(({ method }) => method === 'onready');
    await caller.send({ method: 'text', data: 'Have you any bread?' });
    await caller.inbox.find(({ method, data }) => method === 'onresponsetext' && /We have bread/.test(String(data)));
    caller.socket.close();
    const { sessionId } = await house.ended;
    const { status, body } = await client.ask('POST', '/evals/cases/from-call', { call_id: sessionId });
    expect(status).toBe(200);
    expect(body['text']).toContain('say: Have you any bread?');
    const suite = await client.suite(TEXT);
    const added = await client.ask('POST', `/evals/suites/${suite}/cases`, { case: body['text'] });
    expect(added).toMatchObject({ status: 200, body: { cases: 4, version: 2 } });
    const { id } = await client.start(suite, { mode: 'text', only: [body['name']] });
    expect(await client.over(id)).toMatchObject({ status: 'done', passed: true, progress: { total: 1 } });
    expect(await client.ask('POST', '/evals/cases/from-call', { call_id: 'nothing' })).toMatchObject({ status: 404 });
  });

  it('plays the recorded turns of a call, as long as its recording is kept', async () => {
    const spoken = `name: Spoken
cases:
  - name: asks aloud
    modes: [voice]
    caller: { script: [{ say: "A table for four tomorrow at seven thirty under the name Miller." }, { listen: true }, { hang_up: true }] }
    expect: [{ understood: "/table|four|tomorrow|seven/" }]
`;
    const first = await client.over((await client.start(await client.suite(spoken))).id);
    expect(first).toMatchObject({ status: 'done', passed: true });
    const sessionOf = async (run: string): Promise<string> =>
      String((await client.ask<RunReport>('GET', `/evals/runs/${run}/report`)).body.cases[0]?.runs[0]?.session_id);
    const session = await sessionOf(first.id);
    const { body } = await client.ask('POST', '/evals/cases/from-call', { call_id: session, audio: true });
    expect(body['text']).toMatch(
      new RegExp(`- play: call:${session}#\\d+-\\d+\n +text: .*(table|four|tomorrow|seven)`),
    );

    const text = `name: Played\ncases:\n  - ${String(body['text']).trim().replaceAll('\n', '\n    ')}\n`;
    const suite = await client.suite(
      text.replace(/expect:[^]*$/, 'expect: [{ understood: "/table|four|tomorrow|seven/" }]\n'),
    );
    const played = await client.over((await client.start(suite, { mode: 'voice' })).id);
    expect(played).toMatchObject({ status: 'done', passed: true });

    const silent = await client.ask('POST', '/evals/cases/from-call', {
      call_id: session.replace(first.id, 'nothing'),
      audio: true,
    });
    expect(silent.status).toBe(404);
    expect((await client.ask('DELETE', `/evals/runs/${first.id}`)).status).toBe(200);
    const gone = await client.start(suite, { mode: 'voice' });
    expect(await client.over(gone.id)).toMatchObject({ status: 'done', passed: false, cases: [{ errors: 1 }] });
    const report = (await client.ask<RunReport>('GET', `/evals/runs/${gone.id}/report`)).body;
    expect(report.cases[0]?.runs[0]?.error).toContain(`there is no audio call:${session}`);
    // By text the words are enough.
    const byText = await client.over((await client.start(suite, { mode: 'text' })).id);
    expect(byText).toMatchObject({ status: 'done', passed: true });
  });

  it('compares two versions', async () => {
    await client.ask('PUT', '/agents/baker', { script: { rules: [{ when: 'bread', say: 'We have rolls.' }] } });
    const { id } = await client.start(await client.suite(TEXT), {
      agent_version: 2,
      against: { agent_version: 1 },
      mode: 'text',
      only: ['asks for bread'],
    });
    expect(await client.over(id)).toMatchObject({ status: 'done', passed: false, progress: { total: 2 } });
    const { body } = await client.ask<RunReport>('GET', `/evals/runs/${id}/report`);
    expect(body).toMatchObject({ agent: 'baker@2', comparison: { against: 'baker@1', only_this: 0, only_other: 1 } });
    const other = body.comparison?.cases[0]?.other.runs[0]?.session_id;
    const trace = await house.request(`/call-logs/${String(other)}/trace`, { headers: { authorization: PRIVATE_KEY } });
    expect(await trace.text()).toContain('We have bread');
  });

  it('is killed when it is canceled', async () => {
    const { id } = await client.start(await client.suite(TEXT), { mode: 'voice', runs: 500 });
    for await (const { done } of client.progress(id)) if (Number(done) > 0) break;
    expect((await client.ask('POST', `/evals/runs/${id}/cancel`)).body).toMatchObject({ status: 'canceled' });
  });
});

describe('a process that fails', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-evals-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const faults: Error[] = [];
  afterEach(() => expect(faults.splice(0)).toEqual([]));

  const run = (
    program: string,
    { signal = new AbortController().signal, maxRunS = 60, onProgress = (): void => undefined } = {},
  ): Promise<unknown> => {
    const entry = join(folder, 'worker.mjs');
    writeFileSync(entry, program);
    const runner = new ChildRunner({
      engine: { options: {} as never },
      knowledge: {} as never,
      voices: () => [],
      embedding: null,
      prices: {},
      settings: { memoryMb: 128, maxRunS },
      clock: new RealClock(),
      onError: (error) => faults.push(error),
      entry: pathToFileURL(entry),
    });
    return runner.run({} as SuiteJob, { signal, onProgress });
  };

  it('says how it ended', async () => {
    await expect(run('console.error("no luck"); process.exit(3)')).rejects.toThrow(
      'its process has ended with code 3: no luck',
    );
    await expect(run('process.kill(process.pid, "SIGSEGV")')).rejects.toThrow('its process has ended by SIGSEGV');
    await expect(run('const all = []; for (;;) all.push(new Array(1e5).fill({}))')).rejects.toThrow('evals.memoryMb');
  });

  it('is killed by the signal, even where it does nothing else any more', async () => {
    const pidFile = join(folder, 'pid');
    const hang = `import { writeFileSync } from 'node:fs';
      process.on('message', () => {
        writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
        process.send({ kind: 'tell', method: 'progress', argument: {} }, () => { for (;;) {} });
      })`;
    const abort = new AbortController();
    const onProgress = (): void => abort.abort(new Error('enough'));
    await expect(run(hang, { signal: abort.signal, onProgress })).rejects.toThrow('enough');
    const pid = Number(readFileSync(pidFile, 'utf8'));
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it('is given up after the longest time', async () => {
    const silent = 'process.on("message", () => undefined)';
    await expect(run(silent, { maxRunS: 0.2 })).rejects.toMatchObject({ code: 'MEDIA_THREAD_SILENT' });
  });

  it('gets no keys of the environment', async () => {
    process.env['OPENAI_API_KEY'] = 'sk_secret';
    try {
      await expect(run('console.error(`key: ${process.env.OPENAI_API_KEY}`); process.exit(1)')).rejects.toThrow(
        'key: undefined',
      );
    } finally {
      delete process.env['OPENAI_API_KEY'];
    }
  });
});
