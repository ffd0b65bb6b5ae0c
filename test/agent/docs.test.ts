import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parseWith } from '../../src/schema/issues.js';
import {
  agentConfigReference,
  agentExtensionsReference,
  fieldTable,
  limitsTable,
  settingsTable,
  vendorsTable,
  settingsExample,
} from '../../src/settings/reference.js';
import { settingsFileSchema } from '../../src/settings/settings.js';
import { settingsChangedBy } from './flow-samples.js';
import { entryOf, SHOWN_BY, testFileOf } from './shown-by.js';
import { packageFile } from '../../src/package-files.js';

const PAGE = packageFile('docs/configuration.md');
const TABLES = {
  settings: settingsTable,
  vendors: vendorsTable,
  limits: limitsTable,
  agent: () => fieldTable(agentConfigReference(), link),
  extensions: () => fieldTable(agentExtensionsReference(), link),
};

/** A link from the page to a test file. */
function link(path: string): string {
  const file = testFileOf(path);
  return `[${file.replace(/\.test\.ts$/, '')}](../test/${file})`;
}

/** The page with its tables as the schemas have them. `PARLEY_UPDATE_DOCS=1` writes it. */
function withTables(page: string): string {
  return Object.entries(TABLES).reduce(
    (text, [name, table]) =>
      text.replace(
        new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`),
        (_whole, begin: string, end: string) => `${begin}\n${table()}\n\n${end}`,
      ),
    page,
  );
}

describe('examples/settings.jsonc', () => {
  it('has every setting with its default (else run this test with PARLEY_UPDATE_DOCS=1)', async () => {
    const file = packageFile('examples/settings.jsonc');
    if (process.env['PARLEY_UPDATE_DOCS'] === '1') await writeFile(file, settingsExample());
    expect(await readFile(file, 'utf8')).toBe(settingsExample());
  });
});

describe('docs/configuration.md', () => {
  it('has the tables of the schemas (else run this test with PARLEY_UPDATE_DOCS=1)', async () => {
    const page = await readFile(PAGE, 'utf8');
    const current = withTables(page);
    if (process.env['PARLEY_UPDATE_DOCS'] === '1') await writeFile(PAGE, current);
    else expect(page).toBe(current);
  });

  it('shows a file that is valid', async () => {
    const example = /```json\n([^]*?)```/.exec(await readFile(PAGE, 'utf8'))?.[1] ?? '';
    expect(parseWith(settingsFileSchema, JSON.parse(example))).toMatchObject({ port: 8080 });
  });
});

describe('the tests that show the fields', () => {
  const paths = [...agentConfigReference(), ...agentExtensionsReference()].map(({ path }) => path);

  it('are named for no field that does not exist', () => {
    expect(Object.keys(SHOWN_BY).filter((path) => !paths.includes(path))).toEqual([]);
  });

  it.each(paths)('%s', async (path) => {
    const [file = '', name] = entryOf(path).split(' ');
    expect(file, 'has no entry in shown-by.ts').not.toBe('');
    const own = path.replaceAll('[]', '').split('.').at(-1) ?? path;
    const settings = path.startsWith('flow.') ? settingsChangedBy(path) : [];
    const names = name === undefined ? [own, ...settings] : [name];
    expect(await readFile(packageFile(`test/${file}`), 'utf8')).toMatch(new RegExp(`\\b(${names.join('|')})\\b`));
  });
});

describe('agentConfigReference', () => {
  const fields = [...agentConfigReference(), ...agentExtensionsReference()];
  const field = (path: string): unknown => fields.find((candidate) => candidate.path === path);

  it('has every field once, each with its effect and, where it is not required, its default', () => {
    expect(new Set(fields.map(({ path }) => path)).size).toBe(fields.length);
    for (const { path, effect, required, default: fallback, type } of fields) {
      expect(effect, path).not.toBe('');
      expect(type, path).not.toBe('');
      if (!required) expect(fallback, path).not.toBe('');
    }
  });

  it('knows types and units', () => {
    expect(field('flow.response_delay')).toMatchObject({
      type: 'integer or ResponseDelay',
      unit: 'ms',
    });
    expect(field('flow.response_delay.number_input_delay')).toMatchObject({ type: 'integer', unit: 'ms' });
    expect(field('tools[].params[].name')).toMatchObject({ type: 'string', required: true });
    expect(field('custom_vocabulary.keywords')).toMatchObject({ type: 'map to integer' });
  });
});
