import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadSettings } from '../../src/settings/load-settings.js';

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-secrets-'));
  await writeFile(join(folder, 'key'), 'sk_from_a_file_0123\n');
  await writeFile(join(folder, 'empty'), '\n');
});
afterAll(() => rm(folder, { recursive: true }));

it('secrets are read from the files that the environment names', async () => {
  const file = join(folder, 'key');
  const env = { HOME: folder, PARLEY_API_KEY_FILE: file, OPENAI_API_KEY_FILE: file, DEEPGRAM_API_KEY_FILE: file };
  const { settings, warnings } = await loadSettings({ env });
  expect(settings).toMatchObject({
    apiKey: 'sk_from_a_file_0123',
    openaiApiKey: 'sk_from_a_file_0123',
    vendors: { deepgram: { apiKey: 'sk_from_a_file_0123' } },
  });
  expect(warnings).toEqual([]);
});

it.each([
  ['that is missing', { PARLEY_API_KEY_FILE: '/nowhere' }, /PARLEY_API_KEY_FILE: \/nowhere cannot be read/],
  ['beside the secret itself', { PARLEY_API_KEY_FILE: '/nowhere', PARLEY_API_KEY: 'x' }, /PARLEY_API_KEY is set, too/],
])('a file %s is a fault', async (_, env, words) => {
  await expect(loadSettings({ env: { HOME: folder, ...env } })).rejects.toThrow(words);
});

it('an empty file is a fault', async () => {
  const env = { HOME: folder, PARLEY_API_KEY_FILE: join(folder, 'empty') };
  await expect(loadSettings({ env })).rejects.toThrow(/is empty/);
});
