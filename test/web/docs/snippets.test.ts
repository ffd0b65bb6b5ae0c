import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasTool } from '../../../scripts/system-tools.mjs';
import { SNIPPETS, type SnippetRequest } from '../../../src/web/docs/snippets.js';
import { House, PRIVATE_KEY } from '../../daemon/house.js';

const run = promisify(execFile);

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterAll(() => house.close());

const JSON_ANSWER = { 200: { description: 'OK', content: { 'application/json': {} } } };
const STREAM = { 200: { description: 'OK', content: { 'text/event-stream': {} } } };
const BODY = { name: 'It\'s "Ann"\n – ✓', config: { prompt: null, tools: [], flow: { user_start_first: true } } };
const CHAT = { agent: { agent_id: 'baker' }, messages: [{ role: 'user', content: 'Have you bread?' }] };

const RUNNERS: Record<string, (code: string) => Promise<string>> = {
  curl: (code) => output('sh', ['-c', `${code} -s`]),
  JavaScript: (code) => output(process.execPath, ['--input-type=module', '-e', code]),
  Python: (code) => output('python3', ['-c', code]),
};
const TOOLS: Record<string, string> = { curl: 'curl', JavaScript: 'node', Python: 'python3' };

async function output(command: string, args: string[]): Promise<string> {
  const { stdout } = await run(command, args, { env: { ...process.env, PARLEY_API_KEY: PRIVATE_KEY } });
  return stdout;
}

function request(method: string, path: string, body: unknown = null, isOpen = false): SnippetRequest {
  return {
    endpoint: {
      method,
      ...(isOpen && { security: [] }),
      responses: path === '/chat/completions' ? STREAM : JSON_ANSWER,
    },
    address: house.address + path,
    body: body === null ? null : JSON.stringify(body, null, 2),
  };
}

describe.each(Object.keys(SNIPPETS).filter((name) => hasTool(TOOLS[name] ?? '')))('code in %s', (language) => {
  const answered = (wanted: SnippetRequest): Promise<string> =>
    (RUNNERS[language] as (code: string) => Promise<string>)((SNIPPETS[language] as (typeof SNIPPETS)[string])(wanted));

  it('reads, makes, is refused and streams', async () => {
    expect(await answered(request('GET', '/healthz', null, true))).toContain('ok');
    expect(await answered(request('GET', '/agents'))).toContain('"baker"');
    const made = await answered(request('POST', '/agents', BODY));
    expect(JSON.parse(made.slice(made.indexOf('{')))).toMatchObject({
      name: BODY.name,
      config: { prompt: null, tools: [], flow: { user_start_first: true } },
    });
    expect(await answered(request('PUT', '/agents/nobody', {}))).toContain('NOT_FOUND');
    expect(await answered(request('POST', '/chat/completions', CHAT))).toContain('data: [DONE]');
  });
});

it('shows a body that is being edited as it is', () => {
  for (const snippet of Object.values(SNIPPETS)) {
    expect(snippet({ endpoint: { method: 'POST', responses: {} }, address: 'http://a.test', body: '{"a":' })).toContain(
      '{"a":',
    );
  }
});
