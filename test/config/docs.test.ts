import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parseWith } from '../../src/config/issues.js';
import { agentConfigReference, agentConfigTable, limitsTable, settingsTable } from '../../src/config/reference.js';
import { settingsFileSchema } from '../../src/config/settings.js';
import { packageFile } from '../../src/package-files.js';

const PAGE = packageFile('docs/configuration.md');
const TABLES = { settings: settingsTable, limits: limitsTable, agent: agentConfigTable };

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

describe('agentConfigReference', () => {
  const fields = agentConfigReference();
  const field = (path: string): unknown => fields.find((candidate) => candidate.path === path);

  it('has every field once, each with its effect and, where it is not required, its default', () => {
    expect(new Set(fields.map(({ path }) => path)).size).toBe(fields.length);
    for (const { path, effect, required, default: fallback, type } of fields) {
      expect(effect, path).not.toBe('');
      expect(type, path).not.toBe('');
      if (!required) expect(fallback, path).not.toBe('');
    }
  });

  it('knows types, units and support', () => {
    expect(field('flow.response_delay')).toMatchObject({
      type: 'integer or ResponseDelay',
      unit: 'ms',
      status: 'acts',
    });
    expect(field('flow.response_delay.number_input_delay')).toMatchObject({ type: 'integer', unit: 'ms' });
    expect(field('tools[].params[].name')).toMatchObject({ type: 'string', required: true });
    expect(field('custom_vocabulary.keywords')).toMatchObject({ type: 'map to integer' });
    expect(field('flow')).toMatchObject({ status: 'acts' });
    expect(field('privacy_settings.opt_out_data_collection')).toMatchObject({ status: 'refused' });
    expect(field('speech_to_text')).toMatchObject({ status: 'acts' });
    expect(field('flow.voicemail.message')).toMatchObject({ status: 'acts' });
    expect(field('knowledge_base.messages')).toMatchObject({ status: 'acts' });
    expect(field('call_settings')).toMatchObject({ status: 'acts' });
  });
});
