import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadSettings, SETTING_NAMES } from '../../src/settings/load-settings.js';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { settingsExample } from '../../src/settings/reference.js';
import { packageFile } from '../../src/package-files.js';

const FILE = packageFile('examples/settings.jsonc');

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-settings-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function load(text: string): ReturnType<typeof loadSettings> {
  const file = join(folder, 'settings.jsonc');
  await writeFile(file, text);
  return loadSettings({ env: { PARLEY_CONFIG: file, HOME: folder } });
}

describe('examples/settings.jsonc', () => {
  it('sets nothing', async () => {
    const { settings } = await loadSettings({ env: { PARLEY_CONFIG: fileURLToPath(FILE), HOME: folder } });
    expect(settings).toMatchObject(DEFAULT_SETTINGS);
  });

  it('is as valid with every setting switched on', async () => {
    const on = settingsExample().replaceAll(/^ {2}\/\/ {1,3}(?=["}])/gm, '  ');
    const { settings } = await load(on);
    expect(settings).toEqual({ ...DEFAULT_SETTINGS, dataDir: '/var/lib/parley' });
    for (const { key } of SETTING_NAMES) expect(on).toContain(`\n  "${key}":`);
  });
});

describe('comments in the settings file', () => {
  it('may stand wherever space may, and texts that look like them are left alone', async () => {
    const { settings } = await load(`// first
      { /* a "block"
           of lines */ "port": 9000, // "port": 1,
        "openaiBaseUrl": "https://example.com/v1", /* // */
        "voiceId": "a", /* one */ "tts": "b", /* two */
        "stt": "c", // }
        "allowUrls": ["http://127.0.0.1:9000/*", "http://127.0.0.1:9001//x",],
      } // last`);
    expect(settings).toMatchObject({
      port: 9000,
      voiceId: 'a',
      tts: 'b',
      stt: 'c',
      openaiBaseUrl: 'https://example.com/v1',
      allowUrls: ['http://127.0.0.1:9000/*', 'http://127.0.0.1:9001//x'],
    });
  });

  it('do not make good what is wrong', async () => {
    for (const text of ['{ "port": 1 ', '{ "port": /* 1 }', '{ "a", }', '{,}x', '{ "tts": "x // }', '[,]x']) {
      await expect(load(text)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
  });

  it('do not move what is wrong', async () => {
    await expect(load('{\n  // one\n  "tts": "\\" // no", /* two\n */ "prot": 1, "host": 7,\n}')).rejects.toThrow(
      /settings\.jsonc:4:5: prot: Unknown field: prot\. Did you mean port\?; .*settings\.jsonc:4:16: host: Input should be a string$/,
    );
  });

  it('may go with the address of the JSON Schema', async () => {
    const { settings } = await load('{ "$schema": "http://127.0.0.1:8080/schemas/settings.json", "port": 9000 }');
    expect(settings).toMatchObject({ port: 9000 });
    expect(settings).not.toHaveProperty('$schema');
  });
});
