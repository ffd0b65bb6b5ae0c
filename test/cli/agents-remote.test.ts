import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadAgentFile } from '../../src/agent/agent-file.js';
import { House, PRIVATE_KEY } from '../daemon/house.js';
import { parley, type RunOptions } from './support.js';

let house: House;
let folder: string;
beforeAll(async () => {
  house = await House.open();
  folder = mkdtempSync(join(tmpdir(), 'parley-cli-remote-'));
});
afterAll(async () => {
  await house.close();
  rmSync(folder, { recursive: true, force: true });
});

const file = (name: string): string => join(folder, name);
const read = (name: string): string => readFileSync(file(name), 'utf8');

function run(args: readonly string[], options: RunOptions = {}): ReturnType<typeof parley> {
  return parley(['agents', ...args], { env: { PARLEY_URL: house.address, PARLEY_API_KEY: PRIVATE_KEY }, ...options });
}

async function rest(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  return (await house.ask(path, init)).body as Record<string, unknown>;
}

const CAKES = `{
  // What the shop sells.
  "name": "Cakes",
  "config": {
    "prompt": "You sell cake.\\nBe brief.", // short
    "llm": { "model": "scripted" },
    "tools": [
      {
        "name": "order", /* a cake */
        "description": "Orders a cake.",
        "webhook": "https://example.com/order",
        "header": { "authorization": "Bearer secret" },
      },
    ],
  },
  "script": { "greeting": "Hello." },
}
`;

it('lists and shows agents', async () => {
  expect(await run(['list'])).toEqual({ code: 0, out: 'baker  Baker\n', err: '' });
  expect(JSON.parse((await run(['list', '--json'])).out)).toMatchObject([{ id: 'baker', name: 'Baker' }]);
  const shown = await run(['show', 'Baker']);
  expect(JSON.parse(shown.out)).toEqual({
    name: 'Baker',
    config: { prompt: 'You sell bread.', first_message: 'Hello.', llm: { model: 'scripted' } },
    script: { rules: [{ when: 'bread', say: 'We have bread.' }] },
  });
  const lost = await run(['show', 'bakr']);
  expect(lost).toMatchObject({ code: 1, err: expect.stringMatching(/"bakr"\. Did you mean baker\?/) as string });
});

it('pushes a new agent, shows what a later push changes, and asks first', async () => {
  writeFileSync(file('cakes.jsonc'), CAKES);
  expect(await run(['push', file('cakes.jsonc')])).toMatchObject({
    code: 2,
    err: expect.stringContaining('--yes') as string,
  });
  const made = await run(['push', file('cakes.jsonc'), '--yes']);
  expect(made).toMatchObject({
    code: 0,
    out: expect.stringMatching(/cakes\.jsonc: created the agent [0-9a-f-]{36}\n$/) as string,
  });
  const again = await run(['push', file('cakes.jsonc'), '--yes']);
  expect(again).toMatchObject({
    code: 0,
    out: `${file('cakes.jsonc')}: no difference; secrets are sent and not compared\n`,
    err: '',
  });

  writeFileSync(file('cakes.jsonc'), CAKES.replace('Be brief.', 'Be kind.'));
  const differs = await run(['diff', file('cakes.jsonc')]);
  expect(differs.code).toBe(1);
  expect(differs.out).toMatch(/^--- Cakes, version 1\n\+\+\+ .*cakes\.jsonc\n@@ -\d,\d+ \+\d,\d+ @@\n/);
  expect(differs.out).toContain('\n     You sell cake.\n-    Be brief.\n+    Be kind.\n');
  expect(differs.out).not.toContain('Bearer secret');

  let shown = '';
  const said = { stdinTerminal: true, terminal: true, onOutput: (text: string) => void (shown += text) };
  const refused = await run(['push', file('cakes.jsonc')], { stdin: ['n'], ...said });
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('Change the agent')]);
  expect(shown).toContain('\u001b[32m+    Be kind.');
  const pushed = await run(['push', file('cakes.jsonc')], { stdin: ['y'], ...said });
  expect(pushed).toMatchObject({ code: 0, out: expect.stringMatching(/pushed as version 2 of/) as string });
  expect(await run(['diff', file('cakes.jsonc')])).toEqual({ code: 0, out: '', err: '' });
  // The daemon has got the secret, and shows it to nobody.
  const id = (JSON.parse((await run(['list', '--json'])).out) as { id: string; name: string }[]).find(
    ({ name }) => name === 'Cakes',
  )?.id;
  expect(house.daemon.agents.stored(id ?? '').config.tools?.[0]?.header).toEqual({ authorization: 'Bearer secret' });
});

it('refuses to push over the changes of others, unless forced, and pulls them with comments and layout kept', async () => {
  writeFileSync(file('pies.jsonc'), CAKES.replace('Cakes', 'Pies'));
  await run(['push', file('pies.jsonc'), '--yes']);
  const all = JSON.parse((await run(['list', '--json'])).out) as { id: string; name: string }[];
  const id = all.find(({ name }) => name === 'Pies')?.id ?? '';
  const now = await rest('GET', `/agents/${id}`);
  await rest('PUT', `/agents/${id}`, {
    config: { ...(now['config'] as object), prompt: 'You sell pies.', first_message: 'Pies?' },
  });
  const refused = await run(['push', file('pies.jsonc'), '--yes']);
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(/is of version 1: .*\n.*has version 2 now, not 1.*\[AGENT_CHANGED\]/);

  const pulled = await run(['pull', 'Pies', file('pies.jsonc'), '--yes']);
  expect(pulled).toMatchObject({ code: 0, out: expect.stringMatching(/pulled version 2 of/) as string });
  expect(pulled.err).toContain('-  prompt: |-\n-    You sell cake.\n-    Be brief.\n+  prompt: You sell pies.\n');
  expect(read('pies.jsonc')).toBe(
    CAKES.replace('Cakes', 'Pies')
      .replace('"You sell cake.\\nBe brief."', '"You sell pies."')
      .replace('      },\n    ],\n', '      },\n    ],\n    "first_message": "Pies?",\n'),
  );
  expect(await run(['pull', id, file('pies.jsonc'), '--yes'])).toMatchObject({
    code: 0,
    out: expect.stringContaining('no difference') as string,
  });

  await rest('PUT', `/agents/${id}`, { name: 'Tarts' });
  writeFileSync(file('pies.jsonc'), read('pies.jsonc').replace('Pies?', 'Pie?'));
  expect((await run(['push', file('pies.jsonc'), '--yes'])).code).toBe(1);
  expect(await run(['push', file('pies.jsonc'), '--yes', '--force'])).toMatchObject({ code: 0 });
  expect(await rest('GET', `/agents/${id}`)).toMatchObject({
    name: 'Pies',
    version: 4,
    config: { first_message: 'Pie?' },
  });
});

it('writes a new file, JSON or YAML, and keeps the comments of YAML', async () => {
  expect(await run(['pull', 'baker', file('baker.json')])).toMatchObject({ code: 0 });
  expect(JSON.parse(read('baker.json'))).toMatchObject({
    $schema: `${house.address}/schemas/agent.json`,
    name: 'Baker',
  });
  expect(await loadAgentFile(file('baker.json'))).toMatchObject({ name: 'Baker' });
  expect(await run(['pull', 'baker', file('baker.yaml')])).toMatchObject({ code: 0 });
  const text = read('baker.yaml');
  expect(text).toContain(`# yaml-language-server: $schema=${house.address}/schemas/agent.json\nname: Baker\n`);
  writeFileSync(file('baker.yaml'), text.replace('config:\n', 'config:\n  # what it does\n'));
  await rest('PUT', '/agents/baker', { config: { prompt: 'You sell bread.\nAnd rolls.', llm: { model: 'scripted' } } });
  expect(await run(['pull', 'baker', file('baker.yaml'), '--yes'])).toMatchObject({ code: 0 });
  expect(read('baker.yaml')).toContain(
    'config:\n  # what it does\n  prompt: |-\n    You sell bread.\n    And rolls.\n  llm:\n    model: scripted\nscript:',
  );
  expect((await run(['diff', file('baker.yaml')])).code).toBe(0);
});

it('names the place of what the daemon refuses and warns of', async () => {
  writeFileSync(file('odd.yaml'), 'name: Odd\nconfig:\n  llm:\n    model: gpt-4p\n');
  const refused = await run(['push', file('odd.yaml'), '--yes']);
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(
    /odd\.yaml:4:5: config\.llm\.model: Input should be one of: gpt-4o, .*Did you mean gpt-4o\?/,
  );
  writeFileSync(file('odd.yaml'), 'name: Odd\nconfig:\n  prompt: Hello.\n');
  const warned = await run(['push', file('odd.yaml'), '--yes']);
  expect(warned).toMatchObject({
    code: 0,
    err: expect.stringMatching(/odd\.yaml:2:1: warning: config\.llm\.model: /) as string,
  });
  writeFileSync(file('odd.yaml'), 'name: Odd\nconfig:\n  promt: Hello.\n');
  expect(await run(['diff', file('odd.yaml')])).toMatchObject({
    code: 1,
    err: expect.stringMatching(/:3:3: config\.promt/) as string,
  });
});

it('pushes and compares what comes from standard input', async () => {
  const stdin = CAKES.replace('Cakes', 'Buns').split('\n');
  const pushed = await run(['push', '-', '--yes'], { stdin });
  expect(pushed).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^standard input: created the agent \S+\n$/) as string,
  });
  expect(await run(['diff', '-'], { stdin })).toMatchObject({ code: 0, out: '' });
  const other = await run(['diff', '-'], { stdin: stdin.map((line) => line.replace('sell cake', 'sell buns')) });
  expect([other.code, other.out]).toEqual([1, expect.stringContaining('+++ standard input\n')]);
  const config = { promt: 'x', langauge: 'en', voise: 1, tol: 2, flo: 3, lm: 4 };
  const { code, err } = await run(['push', '-', '--yes'], { stdin: [JSON.stringify({ name: 'A', config })] });
  expect([code, err]).toEqual([1, expect.stringMatching(/6 faults.*\n {2}standard input:1:\d+: config\.promt: /)]);
});

it('publishes a draft, shows versions and their difference, and rolls back', async () => {
  const { id } = await rest('POST', '/agents', { name: 'Ferry', config: { first_message: 'One.' } });
  await rest('PUT', `/agents/${String(id)}/draft`, { config: { first_message: 'Two.' }, note: 'shorter' });
  expect((await run(['versions', 'ferry'])).out).toMatch(
    /^2 {2}\S+ \S+ {2}draft {6}PARLEY_API_KEY {2}shorter\n1 {2}\S+ \S+ {2}published {2}PARLEY_API_KEY\n$/,
  );
  const different = await run(['diff', 'ferry', '--from', '1', '--to', '2']);
  expect(different.code).toBe(1);
  expect(different.out).toContain('-  first_message: One.\n+  first_message: Two.');
  expect((await run(['diff', 'ferry', '--from', '1', '--to', '1'])).code).toBe(0);
  expect(await run(['publish', 'ferry', '--note', 'go'])).toMatchObject({
    code: 0,
    out: 'version 2 is published, in place of 1\n',
  });
  expect(await run(['rollback', 'ferry'])).toMatchObject({
    code: 0,
    out: 'callers have version 1 again, in place of 2\n',
  });
  expect((await run(['publish', 'ferry', '2', '--at', 'soon'])).err).toContain('--at soon is no time');
  expect((await run(['publish', 'ferry', '2', '--at', '2999-01-01T00:00:00Z'])).out).toBe(
    'version 2 is published at 2999-01-01T00:00:00.000Z\n',
  );
  expect((await run(['publish', 'ferry', '2'])).err).toContain('[PUBLICATION_OPEN]');
  expect((await run(['versions', 'ferry', '--json'])).out).toContain('"published_at"');
  await rest('DELETE', `/agents/${String(id)}`);
});
