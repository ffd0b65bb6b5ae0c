import { readdir, readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';

const EXAMPLE = /(<!-- example: (\S+) -->\n\n)```(?:tsx?|js|jsonc?|html)\n[^]*?```/g;
const LANGUAGES: Readonly<Record<string, string>> = {
  html: 'html',
  ts: 'ts',
  tsx: 'tsx',
  mjs: 'js',
  js: 'js',
  json: 'json',
};

const pages = (await readdir(packageFile('docs'))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
pages.push(...['client', 'web', 'react'].map((name) => `packages/${name}/README.md`));

it.each(pages)(
  '%s shows its examples as they are tested (else run this test with PARLEY_UPDATE_DOCS=1)',
  async (path) => {
    const page = await readFile(packageFile(path), 'utf8');
    let current = page;
    for (const [whole, head = '', file = ''] of page.matchAll(EXAMPLE)) {
      const language = LANGUAGES[file.split('.').at(-1) ?? ''] ?? '';
      const code = await readFile(packageFile(file), 'utf8');
      current = current.replace(whole, () => `${head}\`\`\`${language}\n${code}\`\`\``);
    }
    if (process.env['PARLEY_UPDATE_DOCS'] === '1') await writeFile(packageFile(path), current);
    else expect(page).toBe(current);
    expect(page).toBe(current);
  },
);
