import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parley } from './support.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-dnc-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => parley(args, { env: { PARLEY_DATA_DIR: join(folder, 'data') } });

describe('parley do-not-call', () => {
  it('adds, lists and removes numbers, and calls to them are refused', async () => {
    expect(await run('do-not-call', 'list')).toMatchObject({ code: 0, out: '' });
    expect((await run('do-not-call', 'add', '+1 202 555 0101', '+442079460000')).code).toBe(0);
    const { out } = await run('do-not-call', 'list', '--json');
    expect(JSON.parse(out)).toMatchObject([
      { number: '+12025550101', source: 'operator' },
      { number: '+442079460000' },
    ]);
    const refused = await run('call', '+12025550101', '--speed', 'max');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('+12025550101 is on the do-not-call list');
    expect((await run('do-not-call', 'remove', '+12025550101')).code).toBe(0);
    expect(await run('do-not-call', 'remove', '+12025550101')).toMatchObject({ code: 1 });
  });

  it.each([[], ['list', 'x'], ['add'], ['burn', 'x']])('%j is wrong usage', async (...args) => {
    expect((await run('do-not-call', ...args)).code).toBe(2);
  });
});
