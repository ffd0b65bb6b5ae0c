import { readFile, writeFile } from 'node:fs/promises';
import { format } from 'prettier';
import { expect, it } from 'vitest';
import { agentFileJsonSchema } from '../../src/agent/agent-file.js';
import { suiteJsonSchema } from '../../src/eval/suite/suite-schema.js';
import { settingsJsonSchema } from '../../src/settings/settings.js';
import { packageFile } from '../../src/package-files.js';
import { agentTypes } from './agent-types.js';

const GENERATED = {
  'data/agent.schema.json': () => Promise.resolve(`${JSON.stringify(agentFileJsonSchema(), null, 2)}\n`),
  'data/eval-suite.schema.json': () => Promise.resolve(`${JSON.stringify(suiteJsonSchema(), null, 2)}\n`),
  'data/settings.schema.json': () => Promise.resolve(`${JSON.stringify(settingsJsonSchema(), null, 2)}\n`),
  'src/agent/agent-types.ts': () => format(agentTypes(), { parser: 'typescript', singleQuote: true, printWidth: 120 }),
};

it.each(Object.entries(GENERATED))(
  '%s is as the schema of AgentConfig has it (else run this test with PARLEY_UPDATE_DOCS=1)',
  async (path, generate) => {
    const current = await generate();
    if (process.env['PARLEY_UPDATE_DOCS'] === '1') await writeFile(packageFile(path), current);
    expect(await readFile(packageFile(path), 'utf8')).toBe(current);
  },
);
