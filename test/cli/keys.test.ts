import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { House, PRIVATE_KEY } from '../daemon/house.js';
import { parley } from './support.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-keys-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const keys = (...args: string[]) => parley(['keys', ...args], { env: { PARLEY_DATA_DIR: join(folder, 'data') } });

describe('parley keys', () => {
  it('makes the first key before the daemon has started, and revokes the last', async () => {
    expect(await keys('list')).toMatchObject({ code: 0, err: expect.stringContaining('no keys in') as string });
    const made = await keys('create', 'private', '--name', 'Ann');
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^sk_.{43}\n$/) as string });
    const [entry] = JSON.parse((await keys('list', '--json')).out) as [{ id: string; name: string }];
    expect(entry.name).toBe('Ann');
    expect((await keys('list')).out).toMatch(
      new RegExp(`^${entry.id}  private  …${made.out.slice(-5, -1)}  .*  Ann\n$`),
    );
    expect(await keys('revoke', entry.id)).toMatchObject({
      code: 0,
      err: expect.stringContaining('no private key that manages keys is left') as string,
    });
    expect((await keys('revoke', entry.id)).code).toBe(1);
    expect((await keys('list')).out).toBe('');
  });

  it('limits a private key to scopes', async () => {
    const made = await keys('create', 'private', '--name', 'bot', '--scope', 'read', '--scope', 'evals', '--json');
    expect(JSON.parse(made.out)).toMatchObject({ scopes: ['read', 'evals'] });
    expect((await keys('list')).out).toContain('bot  only read, evals\n');
    for (const args of [
      ['create', 'private', '--name', 'a', '--scope', 'all'],
      ['create', 'public', '--name', 'a', '--scope', 'read'],
      ['list', '--scope', 'read'],
    ]) {
      expect(await keys(...args)).toMatchObject({ code: 2, err: expect.stringContaining('--scope') as string });
    }
  });

  it('works on the folder of a daemon that runs, at once', async () => {
    const house = await House.open({ dataDir: join(folder, 'data') });
    try {
      const made = await keys(
        'create',
        'public',
        '--name',
        'shop',
        '--agent',
        'baker',
        '--origin',
        'https://a.example',
        '--json',
      );
      const { id, key } = JSON.parse(made.out) as { id: string; key: string };
      const mint = (origin: string) =>
        house.request('/sessions/token', { method: 'POST', headers: { authorization: key, origin } });
      expect((await mint('https://a.example')).status).toBe(200);
      expect((await mint(house.address)).status).toBe(403);
      expect((await keys('list')).out).toContain('shop  for baker  on https://a.example');
      await keys('revoke', id);
      expect((await mint('https://a.example')).status).toBe(401);
      expect((await keys('create', 'public', '--name', 'x', '--agent', 'nobody')).err).toContain('no agent "nobody"');
      const own = (await house.ask('/keys', { headers: { authorization: PRIVATE_KEY } })).body as { id: string }[];
      const { err } = await keys('revoke', ...own.map((entry) => entry.id));
      expect(err).toContain('PARLEY_API_KEY sets this key');
    } finally {
      await house.close();
    }
  });

  it.each([
    [],
    ['burn'],
    ['list', 'x'],
    ['list', '--name', 'x'],
    ['create'],
    ['create', 'secret', '--name', 'x'],
    ['create', 'private'],
    ['create', 'private', '--name', 'x', '--agent', 'baker'],
    ['create', 'public', '--name', 'x', '--origin', 'https://a.example/path'],
    ['revoke'],
  ])('%j is wrong usage', async (...args) => {
    expect((await keys(...args)).code).toBe(2);
  });
});
