import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { House } from '../house.js';
import { EvalClient, SUITE } from './client.js';

let house: House;
let client: EvalClient;

beforeAll(async () => {
  house = await House.open();
  client = new EvalClient(house);
});

afterAll(async () => {
  expect(house.faults).toEqual([]);
  await house.close();
});

const TEXT = `name: Bread
cases:
  - name: asks for bread   # the most common question
    caller:
      script:
        - say: Have you any bread?
    expect:
      - said: bread
`;

describe('a suite', () => {
  it('is created from an object, read, listed and deleted', async () => {
    const made = await client.ask('POST', '/evals/suites', { suite: SUITE, agent_id: 'baker' });
    expect(made).toMatchObject({
      status: 200,
      body: { agent_id: 'baker', name: 'Bread', version: 1, cases: 2, suite: SUITE, changed_by: 'PARLEY_API_KEY' },
    });
    const path = `/evals/suites/${String(made.body['id'])}`;
    expect(await client.ask('GET', path)).toEqual(made);
    const { suite: _suite, text: _text, ...item } = made.body;
    expect((await client.ask('GET', '/evals/suites?agent_id=baker')).body).toContainEqual(item);
    expect((await client.ask('GET', '/evals/suites?agent_id=somebody')).body).toEqual([]);
    expect(await client.ask('DELETE', path)).toEqual({ status: 200, body: { success: true } });
    expect(await client.ask('GET', path)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });

  it('keeps its text as it was written', async () => {
    const made = await client.ask('POST', '/evals/suites', { suite: TEXT });
    expect(made).toMatchObject({ status: 200, body: { agent_id: null, cases: 1, text: TEXT } });
  });

  it('written as an object reads back from its text', async () => {
    const { body } = await client.ask('POST', '/evals/suites', { suite: SUITE });
    const again = await client.ask('POST', '/evals/suites', { suite: body['text'] });
    expect(again).toMatchObject({ status: 200, body: { suite: SUITE } });
  });

  it('has a version for each save that changes it', async () => {
    const id = await client.suite(TEXT);
    const path = `/evals/suites/${id}`;
    expect((await client.ask('PUT', path, { suite: TEXT })).body).toMatchObject({ version: 1 });
    const renamed = TEXT.replace('name: Bread', 'name: Loaves');
    expect((await client.ask('PUT', path, { suite: renamed })).body).toMatchObject({ version: 2, name: 'Loaves' });
    expect((await client.ask('PUT', path, { agent_id: null })).body).toMatchObject({ version: 3, agent_id: null });
    const { body } = await client.ask<Record<string, unknown>[]>('GET', `${path}/versions`);
    expect(body.map(({ version, name, text }) => [version, name, text])).toEqual([
      [3, 'Loaves', renamed],
      [2, 'Loaves', renamed],
      [1, 'Bread', TEXT],
    ]);
    const page = await client.ask<Record<string, unknown>[]>('GET', `${path}/versions?limit=1&before=2`);
    expect(page.body).toMatchObject([{ version: 1 }]);
  });

  it('names the place of each fault, and its line in a text', async () => {
    const wrong = TEXT.replace('expect:', 'expects:').replace('- say:', '- shout:');
    const { status, body } = await client.ask('POST', '/evals/suites', { suite: wrong });
    expect(status).toBe(422);
    expect(body['detail']).toContainEqual({
      loc: ['body', 'suite', 'cases', 0, 'expects'],
      msg: 'Line 7: Unknown field: expects. Did you mean expect?',
      type: 'extra_forbidden',
    });
    const broken = await client.ask('POST', '/evals/suites', { suite: 'name: Bread\ncases: [' });
    expect(broken).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'suite'], type: 'yaml_invalid' }] } });
    expect(JSON.stringify(broken.body)).toMatch(/Line [23]: /);
    const ofObject = await client.ask('POST', '/evals/suites', { suite: { ...SUITE, cases: [] } });
    expect(ofObject).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'suite', 'cases'] }] } });
  });

  it('has single cases that are read, added and changed, with all else of the text as it was', async () => {
    const id = await client.suite(TEXT);
    const path = `/evals/suites/${id}/cases`;
    const one = `${path}/${encodeURIComponent('asks for bread')}`;
    expect((await client.ask('GET', one)).body).toEqual({
      name: 'asks for bread',
      text: 'name: asks for bread # the most common question\ncaller:\n  script:\n    - say: Have you any bread?\nexpect:\n  - said: bread\n',
    });
    expect(await client.ask('GET', `${path}/nothing`)).toMatchObject({ status: 404 });
    const added = 'name: asks for rolls\ncaller: { script: [{ say: Rolls? }] }\nexpect:\n  - said: rolls # or buns\n';
    const more = await client.ask('POST', path, { case: added });
    expect(more).toMatchObject({ status: 200, body: { version: 2, cases: 2 } });
    expect(more.body['text']).toContain('# the most common question');
    expect(more.body['text']).toContain('# or buns');
    const [first] = SUITE.cases;
    const changed = await client.ask('PUT', one, { case: { ...first, name: 'asks for loaves' } });
    expect(changed).toMatchObject({
      status: 200,
      body: {
        version: 3,
        suite: { cases: [{ name: 'asks for loaves', tags: ['smoke'] }, { name: 'asks for rolls' }] },
      },
    });
    expect(await client.ask('PUT', one, { case: added })).toMatchObject({ status: 404 });
    const wrong = await client.ask('POST', path, { case: added.replace('expect', 'expects') });
    expect(wrong).toMatchObject({ status: 422 });
    expect(wrong.body['detail']).toContainEqual({
      loc: ['body', 'case', 'expects'],
      msg: 'Line 3: Unknown field: expects. Did you mean expect?',
      type: 'extra_forbidden',
    });
    const twice = await client.ask('POST', path, { case: added });
    expect(twice).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'case', 'name'] }] } });
  });

  it('may name no file of the machine, and no case twice', async () => {
    const [first, second] = SUITE.cases;
    const suite = {
      name: 'Files',
      defaults: { line: { noise: { file: '/etc/hosts', snr_db: 10 } } },
      cases: [
        { ...first, expect: [{ check: './steal.js' }] },
        { ...second, caller: { script: [{ play: '/etc/passwd' }] } },
        { name: 'recorded', caller: { recording: 'call.wav' }, expect: [{ said: 'x' }] },
      ],
    };
    const { status, body } = await client.ask('POST', '/evals/suites', { suite });
    expect(status).toBe(422);
    expect((body['detail'] as { loc: unknown[] }[]).map(({ loc }) => loc.slice(2).join('.'))).toEqual([
      'defaults.line.noise.file',
      'cases.1.caller.script.0.play',
      'cases.2.caller.recording',
      'cases.0.expect.0.check',
    ]);
    for (const play of ['call:../../etc/passwd#1-2', 'call:%zz#1-2', 'call:a#2-1', 'call:a', 'CALL:a#1-2']) {
      const wrong = { name: 'Turns', cases: [{ ...first, caller: { script: [{ play }] } }] };
      expect(await client.ask('POST', '/evals/suites', { suite: wrong })).toMatchObject({ status: 422 });
    }
    const right = { name: 'Turns', cases: [{ ...first, caller: { script: [{ play: 'call:a%20b#1-2' }] } }] };
    expect(await client.ask('POST', '/evals/suites', { suite: right })).toMatchObject({ status: 200 });
    const twice = { name: 'Twice', cases: [first, first] };
    expect(await client.ask('POST', '/evals/suites', { suite: twice })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'suite', 'cases', 1, 'name'] }] },
    });
  });

  it('needs a private key and a known agent', async () => {
    expect((await house.ask('/evals/suites')).status).toBe(401);
    const unknown = await client.ask('POST', '/evals/suites', { suite: SUITE, agent_id: 'nobody' });
    expect(unknown).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });

  it('cannot hide another document behind aliases', async () => {
    const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${'bcdefgh'
      .split('')
      .map(
        (name, at) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefgh'[at] ?? ''}`).join(', ')}]`,
      )
      .join('\n')}\nname: Bread\ncases: []\n`;
    expect((await client.ask('POST', '/evals/suites', { suite: bomb })).status).toBe(422);
  });
});
