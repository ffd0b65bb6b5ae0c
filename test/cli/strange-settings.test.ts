/** Each of these gives one clear line and a code that is not 0, and no stack. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parley, type Ran } from './support.js';

let folder = '';
const inFolder = (name: string): string => join(folder, name);
const AGENT = { name: 'Echo', config: { prompt: 'Echo.', first_message: 'Hello.' } };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-strange-'));
  await writeFile(inFolder('broken.json'), '{"name": "X",');
  await writeFile(inFolder('empty.json'), '');
  await writeFile(inFolder('list.json'), '[]');
  await writeFile(inFolder('echo.json'), JSON.stringify(AGENT));
  await writeFile(inFolder('echo-too.json'), JSON.stringify(AGENT));
  await writeFile(inFolder('typo.json'), JSON.stringify({ ...AGENT, config: { ...AGENT.config, promt: 'x' } }));
  await writeFile(inFolder('lost.json'), JSON.stringify({ ...AGENT, script: { start: 'nowhere', states: {} } }));
  await writeFile(inFolder('a-file'), 'not a folder');
  await mkdir(inFolder('not-a-database'));
  await writeFile(inFolder('not-a-database/parley.db'), 'This is a text, and a long one at that. '.repeat(200));
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts the daemon where it should not start. */
function serve(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const signal = AbortSignal.timeout(15_000);
  return parley(['serve', ...args], { env: { PARLEY_PORT: '0', PARLEY_DATA_DIR: inFolder('data'), ...env }, signal });
}

function expectOneLine({ code, out, err }: Ran, words: RegExp | string): void {
  expect([code, out]).toEqual([1, '']);
  expect(err.trim().split('\n')).toHaveLength(1);
  expect(err).toMatch(words);
  expect(err).toMatch(/^parley serve: .+ \[[A-Z_]+\]\n$/);
}

describe('parley serve refuses', () => {
  it.each([
    ['a port that there is not', { PARLEY_PORT: '99999' }, /PARLEY_PORT: .*65535/],
    ['a port that is no number', { PARLEY_PORT: 'http' }, /PARLEY_PORT: .*number/],
    ['a settings file that is not there', { PARLEY_CONFIG: '/nowhere.json' }, /\/nowhere\.json: cannot be read/],
    ['a folder that the system does not make', { PARLEY_DATA_DIR: '/proc/parley' }, /data folder \/proc\/parley/],
    ['a host that there is not', { PARLEY_HOST: 'no-such-host.invalid' }, /Cannot listen on no-such-host\.invalid/],
  ])('%s', async (_, env, words) => {
    expectOneLine(await serve([], env), words);
  });

  it.each([
    [
      'a model that there is not',
      { PARLEY_LLM_MODEL: 'gpt-9' },
      /llmModel \(PARLEY_LLM_MODEL\): .*"gpt-9".*ollama pull/,
    ],
    ['a model without its key', { PARLEY_LLM_MODEL: 'gpt-4o' }, /PARLEY_LLM_MODEL.*set OPENAI_API_KEY/],
    ['a recogniser that there is not', { PARLEY_STT: 'nobody' }, /stt \(PARLEY_STT\): .*"nobody"/],
    ['a recogniser without its key', { PARLEY_STT: 'deepgram' }, /PARLEY_STT.*set DEEPGRAM_API_KEY/],
    ['a voice that there is not', { PARLEY_TTS: 'nobody' }, /tts \(PARLEY_TTS\): .*"nobody"/],
    ['a voice without its key', { PARLEY_TTS: 'elevenlabs' }, /PARLEY_TTS.*set ELEVENLABS_API_KEY/],
    ['a voice that has closed', { PARLEY_TTS: 'playht' }, /playht has shut its service down/],
    ['a voice detection that there is not', { PARLEY_VAD: 'sharp' }, /vad \(PARLEY_VAD\): .*"sharp"/],
    ['a language that there is not', { PARLEY_LANGUAGE: 'klingon' }, /PARLEY_LANGUAGE/],
    ['a time zone that there is not', { PARLEY_TIMEZONE: 'Mars/Olympus' }, /PARLEY_TIMEZONE/],
    [
      'a certificate without its key',
      { PARLEY_TLS_CERT_PATH: '/etc/hostname' },
      /tlsCertPath and tlsKeyPath must be set together/,
    ],
    [
      'a certificate that is none',
      { PARLEY_TLS_CERT_PATH: '/etc/hostname', PARLEY_TLS_KEY_PATH: '/etc/hostname' },
      /PEM/i,
    ],
    ['a secret key that is too short', { PARLEY_SECRET_KEY: 'abc' }, /PARLEY_SECRET_KEY: .*32 bytes/],
    ['a webhook secret that is none', { PARLEY_WEBHOOK_SECRET: 'secret' }, /PARLEY_WEBHOOK_SECRET: .*whsec_/],
    ['a public address that is none', { PARLEY_PUBLIC_URL: 'calls.example.com' }, /PARLEY_PUBLIC_URL: .*http/],
    ['an origin that is none', { PARLEY_ALLOWED_ORIGINS: 'example' }, /PARLEY_ALLOWED_ORIGINS/],
    ['a log level that there is not', { PARLEY_LOG_LEVEL: 'loud' }, /PARLEY_LOG_LEVEL: .*silent/],
    ['a key with a space', { PARLEY_API_KEY: 'a b' }, /PARLEY_API_KEY: .*without spaces/],
    [
      'a weak key where others can reach it',
      { PARLEY_API_KEY: 'a', PARLEY_HOST: '0.0.0.0' },
      /PARLEY_API_KEY.*can be guessed/,
    ],
    ['a proxy that is no address', { PARLEY_TRUSTED_PROXIES: 'nginx' }, /PARLEY_TRUSTED_PROXIES.*IP address/],
    ['a negative time to drain', { PARLEY_DRAIN_S: '-1' }, /PARLEY_DRAIN_S/],
    ['a switch that is neither true nor false', { PARLEY_PAGE: 'maybe' }, /PARLEY_PAGE/],
  ])('%s', async (_, env, words) => {
    expectOneLine(await serve([], env), words);
  });

  it.each([
    ['a member that there is not', { colour: 'red' }, /colour: Unknown field/],
    ['a stand-in that there is not', { failover: { llm: ['gpt-9'] } }, /failover or models: .*"gpt-9"/],
    ['a trunk that is none', { sip: { servers: ['///'] } }, /sip\.servers/],
    ['an MCP server without an address', { mcpServers: { books: {} } }, /mcpServers\.books/],
  ])('a settings file with %s', async (_, settings, words) => {
    await writeFile(inFolder('settings.json'), JSON.stringify(settings));
    expectOneLine(await serve(['--config', inFolder('settings.json')]), words);
  });

  it.each([
    ['a file in place of the data folder', 'a-file', /a-file \(PARLEY_DATA_DIR\)/],
    ['a data folder with something else in it', 'not-a-database', /file is not a database/],
  ])('%s', async (_, name, words) => {
    expectOneLine(await serve([], { PARLEY_DATA_DIR: inFolder(name) }), words);
  });

  it.each([
    [['missing.json'], /missing\.json: cannot be read/],
    [['broken.json'], /broken\.json:\d+:\d+: not JSON/],
    [['empty.json'], /empty\.json:1:1: not JSON/],
    [['list.json'], /list\.json.*object/],
    [['typo.json'], /typo\.json:1:\d+: config\.promt: Unknown field: promt. Did you mean prompt\?/],
    [['echo.json', 'echo-too.json'], /echo-too\.json: another agent has the name "Echo", too/],
    [['echo.json', 'echo.json'], /another agent has the name "Echo", too/],
  ])('the agent %j', async (files, words) => {
    expectOneLine(await serve(files.flatMap((file) => ['--agent', inFolder(file)])), words);
  });

  it('a model of its own that is not there, once it loads it', async () => {
    const { code, err } = await serve([], { PARLEY_TURN_MODEL_PATH: '/nowhere.onnx' });
    expect(code).toBe(1);
    expect(err).toMatch(/^parley serve: .*\/nowhere\.onnx.* \[[A-Z_]+\]\n$/m);
  });

  it('a script with a fault, before it says where to talk', async () => {
    const { code, out, err } = await serve(['--agent', inFolder('lost.json')]);
    expect([code, out]).toEqual([1, '']);
    expect(err.trim().split('\n').at(-1)).toBe(
      'parley serve: The configuration is not valid: the agent "Echo": script: start: there is no state "nowhere" (none is defined) [CONFIG_INVALID]',
    );
  });
});
