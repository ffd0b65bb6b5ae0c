import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { InvalidConfigError } from '../../src/schema/issues.js';
import { loadSettings, SETTING_NAMES, type SettingSources } from '../../src/settings/load-settings.js';
import { DEFAULT_SETTINGS, type Settings } from '../../src/settings/settings.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-settings-'));
});
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
async function file(content: unknown): Promise<string> {
  const path = join(folder, `settings-${String(files++)}.json`);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const HOME = { HOME: '/home/op' };

/** Places without the line and column in the file, which reference.test.ts checks. */
async function placesRefused(sources: SettingSources): Promise<string[]> {
  const error: unknown = await loadSettings(sources).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(InvalidConfigError);
  return (error as InvalidConfigError).issues
    .map(({ loc }) => loc.join(' ').replace(/(\.json):\d+:\d+ /, '$1 '))
    .sort();
}

describe('loadSettings', () => {
  it('gives the defaults where nothing is set', async () => {
    expect(await loadSettings({ env: HOME })).toEqual({
      settings: { ...DEFAULT_SETTINGS, dataDir: '/home/op/.local/share/parley' },
      file: null,
      warnings: [],
    });
    const { settings } = await loadSettings({ env: { ...HOME, XDG_DATA_HOME: '/data' } });
    expect(settings.dataDir).toBe('/data/parley');
    expectTypeOf(settings).toEqualTypeOf<Settings>();
  });

  it('takes trunks by name, and no number for two of them', async () => {
    const named = { servers: ['sip:192.0.2.7'], numbers: ['+12025550192'], password: 'secret', codecs: ['G722'] };
    const good = await file({
      sip: { servers: ['sip:192.0.2.6'], numbers: ['+12025550191'], trunks: { berlin: named } },
    });
    expect((await loadSettings({ env: HOME, flags: { config: good } })).settings.sip).toMatchObject({
      servers: ['sip:192.0.2.6'],
      codecs: ['PCMU', 'PCMA'],
      trunks: { berlin: named },
    });
    const trunks = { berlin: named, bonn: { ...named, numbers: ['+12025550193', '+12025550192'] } };
    const bad = await file({ sip: { trunks } });
    expect(await placesRefused({ env: HOME, flags: { config: bad } })).toEqual([`${bad} sip trunks bonn numbers 1`]);
  });

  it('takes an account for `From` where there is one, and passwords with spaces', async () => {
    const trunks = {
      berlin: { servers: ['sip:192.0.2.7'], user: 'b1', password: 'a long password', fromUser: 'account' },
      bonn: { servers: ['sip:192.0.2.8'], fromUser: 'account' },
    };
    const bad = await file({
      sip: { trunks: { berlin: trunks.berlin }, callers: { 'branch-office': 'a long password', desk: 'a\tb' } },
    });
    expect(await placesRefused({ env: HOME, flags: { config: bad } })).toEqual([`${bad} sip callers desk`]);
    const worse = await file({ sip: { trunks } });
    expect(await placesRefused({ env: HOME, flags: { config: worse } })).toEqual([`${worse} sip trunks bonn fromUser`]);
    const all = await file({ sip: { servers: ['sip:192.0.2.6'], fromUser: 'account' } });
    expect(await placesRefused({ env: HOME, flags: { config: all } })).toEqual([`${all} sip fromUser`]);
  });

  it('takes flags before the environment before the file before the defaults', async () => {
    const config = await file({ port: 1, host: 'file', dataDir: '/file', limits: { sessions: 7 } });
    const loaded = await loadSettings({
      flags: { port: '3', config },
      env: { ...HOME, PARLEY_PORT: '2', PARLEY_HOST: 'env', PARLEY_CONFIG: '/not/read.json' },
    });
    expect(loaded.file).toBe(config);
    expect(loaded.settings).toMatchObject({ port: 3, host: 'env', dataDir: '/file' });
    expect(loaded.settings.limits).toEqual({ ...DEFAULT_SETTINGS.limits, sessions: 7 });
  });

  it('reads every kind of value from the environment', async () => {
    const { settings } = await loadSettings({
      env: {
        ...HOME,
        PARLEY_API_KEY: ' k1 ',
        PARLEY_ALLOW_URLS: 'http://127.0.0.1:9000, http://10.0.0.1/hook\nws://[::1]:1',
        PARLEY_ALLOWED_ORIGINS: 'https://a.example *',
        PARLEY_MAX_DURATION_S: '90.5',
        PARLEY_LANGUAGE: 'de',
        PARLEY_TIMEZONE: 'Europe/Berlin',
        OPENAI_API_KEY: 'sk-1',
        OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
        PARLEY_STT: '',
      },
    });
    expect(settings).toMatchObject({
      apiKey: 'k1',
      allowUrls: ['http://127.0.0.1:9000', 'http://10.0.0.1/hook', 'ws://[::1]:1'],
      allowedOrigins: ['https://a.example', '*'],
      maxDurationS: 90.5,
      language: 'de',
      timezone: 'Europe/Berlin',
      openaiApiKey: 'sk-1',
      openaiBaseUrl: 'http://127.0.0.1:1/v1',
      stt: null,
    });
  });

  it('takes models and limits from the file', async () => {
    const models = { fast: { baseUrl: 'http://127.0.0.1:1/v1', model: 'llama' }, 'gpt-4o': {} };
    const { settings } = await loadSettings({ env: { ...HOME, PARLEY_CONFIG: await file({ models }) } });
    expect(settings.models).toEqual(models);
  });

  it('names each variable and flag that is wrong', async () => {
    const env = {
      ...HOME,
      PARLEY_PORT: '70000',
      PARLEY_MAX_DURATION_S: 'long',
      PARLEY_ALLOW_URLS: 'http://a.example,nonsense',
      PARLEY_LANGUAGE: 'xx',
      PARLEY_API_KEY: 'two words',
      PARLEY_ALLOWED_ORIGINS: 'https://a.example/path',
    };
    expect(await placesRefused({ env, flags: { port: '-1', host: 'x' } })).toEqual([
      '--port',
      'PARLEY_ALLOWED_ORIGINS 0',
      'PARLEY_ALLOW_URLS 1',
      'PARLEY_API_KEY',
      'PARLEY_LANGUAGE',
      'PARLEY_MAX_DURATION_S',
      'PARLEY_PORT',
    ]);
    await expect(loadSettings({ env: { ...HOME, PARLEY_PORT: '8e3' } })).rejects.toThrow(
      'PARLEY_PORT: Input should be a number',
    );
  });

  it('names each unknown and each wrong member of the file', async () => {
    const path = await file({
      prot: 1,
      port: '8080',
      limits: { session: 1 },
      models: { m: { url: 'x' } },
      apiKey: null,
    });
    expect(await placesRefused({ env: HOME, flags: { config: path } })).toEqual(
      ['limits session', 'models m url', 'port', 'prot'].map((place) => `${path} ${place}`),
    );
  });

  it('says which file cannot be read, and why', async () => {
    const missing = join(folder, 'missing.json');
    await expect(loadSettings({ env: HOME, flags: { config: missing } })).rejects.toThrow(
      /missing\.json: cannot be read/,
    );
    await expect(loadSettings({ env: HOME, flags: { config: folder } })).rejects.toThrow(/cannot be read/);
    await expect(loadSettings({ env: HOME, flags: { config: await file('{"port":') } })).rejects.toThrow(/not JSON/);
    await expect(loadSettings({ env: HOME, flags: { config: await file('[]') } })).rejects.toThrow(
      /should be an object/,
    );
  });

  it('takes servers, services and secrets that fit, and names those that do not', async () => {
    const good = {
      webhookSecret: `whsec_${'A'.repeat(32)}`,
      serviceWebhooks: { points: { url: 'http://10.0.0.7/points' } },
      mcpServers: {
        a: { url: 'http://10.0.0.8/mcp', agents: ['x'] },
        b: { command: 'serve', args: ['-v'], timeout: 5 },
      },
    };
    expect((await loadSettings({ env: HOME, flags: { config: await file(good) } })).settings).toMatchObject(good);
    for (const bad of [
      { webhookSecret: 'whsec_short' },
      { webhookSecret: 'A'.repeat(32) },
      { serviceWebhooks: { points: 'http://10.0.0.7/points' } },
      { appBaseUrls: { 'cal.com': 'ftp://x' } },
      { mcpServers: { 'a b': { command: 'serve' } } },
      { mcpServers: { a: { command: 'serve', url: 'http://x.example' } } },
      { mcpServers: { a: {} } },
    ]) {
      expect(await placesRefused({ env: HOME, flags: { config: await file(bad) } }), JSON.stringify(bad)).not.toEqual(
        [],
      );
    }
  });

  it('reads a file with a byte order mark', async () => {
    const config = await file('\uFEFF{"port":9}');
    expect((await loadSettings({ env: HOME, flags: { config } })).settings.port).toBe(9);
  });

  it('warns of variables that look like settings and are none', async () => {
    const env = { ...HOME, PARLEY_PROT: '1', PARLEY_NATIVE: '0', PARLEY_CONFIG: '', OTHER: 'x' };
    expect((await loadSettings({ env })).warnings).toEqual([
      'PARLEY_PROT is not a setting of this version and is ignored',
    ]);
  });

  it('never shows a secret in an error', async () => {
    const env = { ...HOME, OPENAI_API_KEY: 'sk secret', PARLEY_API_KEY: 'se cret' };
    const error: unknown = await loadSettings({ env }).catch((reason: unknown) => reason);
    expect(JSON.stringify(error) + String(error)).not.toMatch(/cret/);
  });
});

describe('SETTING_NAMES', () => {
  it('gives flags to what is no secret, and one name to one setting', () => {
    const flags = SETTING_NAMES.filter(({ flag }) => flag !== null).map(({ flag }) => flag);
    expect(flags).toEqual(expect.arrayContaining(['port', 'host', 'data-dir', 'allow-urls', 'llm-model']));
    expect(flags).not.toContain('api-key');
    expect(SETTING_NAMES.filter(({ secret, flag }) => secret && flag !== null)).toEqual([]);
    const names = SETTING_NAMES.flatMap(({ env }) => env ?? []);
    expect(new Set(names).size).toBe(names.length);
  });
});
