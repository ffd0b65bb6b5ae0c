import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { agentConfigSchema } from '../../src/agent/agent.js';
import { agentExtensionsSchema } from '../../src/agent/extensions/extensions.js';
import { agentConfigReference, agentExtensionsReference } from '../../src/settings/reference.js';
import { packageFile } from '../../src/package-files.js';
import { EVERY_FLOW_FIELD, settingsChangedBy } from '../agent/flow-samples.js';

const FIELDS = [...agentConfigReference(), ...agentExtensionsReference()]
  .map(({ path }) => path)
  .filter((path) => /^(flow|session_timeout|extensions\.transfer)\./.test(path));

describe('every field of flow, session_timeout and extensions.transfer', () => {
  const folder = fileURLToPath(packageFile('docs/flow'));
  const pages: { name: string; text: string }[] = [];

  beforeAll(async () => {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.md'));
    for (const name of names) pages.push({ name, text: await readFile(join(folder, name), 'utf8') });
  });

  it('has a value here that the schema takes', () => {
    const { extensions, ...config } = EVERY_FLOW_FIELD;
    expect(agentConfigSchema.parse(config)).toEqual(config);
    expect(agentExtensionsSchema.parse(extensions)).toEqual(extensions);
    expect(FIELDS.length).toBeGreaterThan(30);
  });

  it.each(FIELDS)('%s changes a setting of the conversation', (path) => {
    expect(settingsChangedBy(path)).not.toEqual([]);
  });

  it.each(FIELDS)('%s is named on a page of docs/flow', (path) => {
    const names = path.replaceAll('[]', '').split('.');
    // The page has to be about the whole that the field is a part of: `flow.voicemail`, then `action`.
    const whole = names.length > 2 ? names.slice(0, 2).join('.') : names[0] === 'flow' ? path : 'session_timeout';
    const field = names.at(-1) ?? '';
    const isNamed = (text: string): boolean => whole === path || text.includes(`\`${field}\``);
    const named = pages.filter(({ text }) => text.includes(`\`${whole}`) && isNamed(text));
    expect(named.map(({ name }) => name).length, `${whole}, ${field}`).toBeGreaterThan(0);
  });

  it('and every page is in the index, and leads to files and tests that exist', async () => {
    const index = pages.find(({ name }) => name === 'README.md')?.text ?? '';
    for (const { name, text } of pages) {
      if (name !== 'README.md') expect(index, name).toContain(`(${name})`);
      for (const [, link = ''] of text.matchAll(/\]\(((?!https?:)[^)#]+)/g)) {
        await expect(access(join(folder, link)), `${name}: ${link}`).resolves.toBeUndefined();
      }
    }
  });
});
