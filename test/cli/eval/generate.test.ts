import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadAgentFile } from '../../../src/agent/agent-file.js';
import { generate, type GenerateFlags } from '../../../src/cli/eval/generate.js';
import { loadSuite } from '../../../src/eval/suite/load-suite.js';
import { calls } from '../../eval/model-server.js';
import { OpenAiDouble } from '../../providers/llm/openai-double.js';
import { DEMO_AGENT, parley } from '../support.js';

const CASE = { name: 'greets', caller: { script: [{ say: 'Hello.' }] }, expect: [{ said: 'Crooked Fork' }] };

let folder: string;
let double: OpenAiDouble;
let config: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-generate-'));
  double = new OpenAiDouble();
  config = join(folder, 'settings.json');
  const baseUrl = await double.listen();
  await writeFile(config, JSON.stringify({ models: { writer: { baseUrl }, other: { baseUrl } }, llmModel: 'writer' }));
  double.answer = calls('propose', { cases: [CASE, { ...CASE, name: 'files', expect: [{ check: './a.js' }] }] });
});
afterEach(async () => {
  await double.close();
  await rm(folder, { recursive: true });
});

async function generated(flags: Partial<GenerateFlags>, agentId: string | null = null) {
  const { config: agent } = await loadAgentFile(DEMO_AGENT);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const given = { model: null, cases: 2, out: '-', settings: { config }, ...flags };
  const env = { OLLAMA_HOST: 'http://127.0.0.1:9' };
  const io = { stdin: new PassThrough(), stdout, stderr, env, signal: new AbortController().signal };
  const code = await generate({ name: DEMO_AGENT, config: agent, agentId }, given, io);
  const textOf = (stream: PassThrough): string => String(stream.read() ?? '');
  return { code, out: textOf(stdout), err: textOf(stderr) };
}

it('writes a suite that names the agent as seen from it, and says what it leaves out', async () => {
  const out = join(folder, 'suite.yaml');
  const { code, out: printed, err } = await generated({ out });
  expect({ code, printed }).toEqual({ code: 0, printed: '' });
  expect(err).toContain('left out "files": it needs a file: ./a.js\n');
  expect(err).toContain(`${out}: 1 cases; read them before you run them\n`);
  const { suite } = await loadSuite(out);
  expect(suite.agent).toBe(relative(folder, DEMO_AGENT));
  expect(suite.cases).toEqual([CASE]);
  expect(double.requests[0]?.body['model']).toBe('writer');
  expect(await readFile(out, 'utf8')).toMatch(/^# Proposed by writer /);
});

it('prints the suite, by the model that is named, of an agent that is no file', async () => {
  const { out } = await generated({ model: 'other', cases: 1 }, 'the-crooked-fork');
  expect(out).toMatch(/^# Proposed by other /);
  expect(out).toContain('name: the-crooked-fork\n');
  expect(out).not.toContain('agent:');
});

it('is a command', async () => {
  const args = ['eval', 'generate', '--config', config];
  const { code, out } = await parley([...args, '--agent', DEMO_AGENT, '--cases', '1', '--model', 'other']);
  expect(code).toBe(0);
  expect(out).toMatch(/^# Proposed by other .*\nname: The Crooked Fork\n/s);
  expect(await parley(args)).toMatchObject({ code: 2, err: expect.stringContaining('--agent') as string });
  const none = await parley([...args, '--agent', 'nobody-like-this']);
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining('nobody-like-this') as string });
});

it('needs a language model', async () => {
  await expect(generated({ settings: {} })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('--model') as string,
  });
});
