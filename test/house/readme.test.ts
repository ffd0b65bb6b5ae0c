import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';

describe('README.md', () => {
  it('shows the library example as it is tested', async () => {
    const page = await readFile(packageFile('README.md'), 'utf8');
    const shown = /<!-- example: (\S+) -->\s+```ts\n([^]*?)```/.exec(page);
    expect(shown?.[2]).toBe(await readFile(packageFile(shown?.[1] ?? ''), 'utf8'));
  });

  it('links to pages that exist', async () => {
    const page = await readFile(packageFile('README.md'), 'utf8');
    for (const [, path] of page.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
      await expect(readFile(packageFile(path ?? ''), 'utf8'), path).resolves.not.toBe('');
    }
  });
});
