import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { errorCatalogue } from '../../src/base/errors.js';
import { packageFile } from '../../src/package-files.js';

const PAGE = packageFile('docs/errors.md');

function table(): string {
  const rows = Object.entries(errorCatalogue()).map(
    ([code, { message, httpStatus, retryable }]) =>
      `| \`${code}\` | ${message.replaceAll('|', '\\|')} | ${String(httpStatus)} | ${retryable ? 'yes' : 'no'} |`,
  );
  return ['| code | message | HTTP status | retryable |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

describe('the error catalogue', () => {
  it('is the table in docs/errors.md (else run this test with PARLEY_UPDATE_DOCS=1)', async () => {
    const page = await readFile(PAGE, 'utf8');
    const current = page.replace(
      /(<!-- catalogue -->\n)[^]*?(<!-- \/catalogue -->)/,
      (_whole, begin: string, end: string) => `${begin}\n${table()}\n\n${end}`,
    );
    if (process.env['PARLEY_UPDATE_DOCS'] === '1') await writeFile(PAGE, current);
    else expect(page).toBe(current);
  });

  it('holds no code that nothing raises', async () => {
    const source = await sources(fileURLToPath(packageFile('src')));
    const unused = Object.keys(errorCatalogue()).filter((code) => !source.includes(`'${code}'`));
    expect(unused).toEqual([]);
  });
});

/** All of the source but the catalogue itself. */
async function sources(folder: string): Promise<string> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile() && file.name.endsWith('.ts') && file.name !== 'errors.ts')
    .map((file) => readFile(join(file.parentPath, file.name), 'utf8'));
  return (await Promise.all(texts)).join('\n');
}
