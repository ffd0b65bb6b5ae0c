import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { agentFileIn } from '../../src/agent/agent-file.js';
import { parseSuite } from '../../src/eval/suite/load-suite.js';
import { packageFile } from '../../src/package-files.js';
import { InvalidConfigError, type Location, parseWith } from '../../src/schema/issues.js';
import { parseSource, readSource } from '../../src/schema/json-file.js';
import type { Source } from '../../src/schema/source.js';
import { settingsExample } from '../../src/settings/reference.js';
import { settingsDocumentSchema } from '../../src/settings/settings.js';

/** What reads a file of each kind, and the schema that editors have for it. */
const KINDS = {
  agent: { schema: 'data/agent.schema.json', read: (source: Source): unknown => agentFileIn(source) },
  suite: { schema: 'data/eval-suite.schema.json', read: ({ value }: Source): unknown => parseSuite(value) },
  settings: {
    schema: 'data/settings.schema.json',
    read: ({ value }: Source): unknown => parseWith(settingsDocumentSchema, value),
  },
};
type Kind = keyof typeof KINDS;

// Strict: each keyword of the schemas is one of the standard, or one of ours for the docs.
const ajv = new Ajv2020({
  strict: true,
  strictTypes: false,
  strictTuples: false,
  allErrors: true,
  validateFormats: false,
});
ajv.addVocabulary(['x-unit', 'x-default', 'x-env', 'x-secret']);
const compiled = new Map(
  Object.values(KINDS).map(({ schema }) => [
    schema,
    ajv.compile(JSON.parse(readFileSync(packageFile(schema), 'utf8')) as object),
  ]),
);

/** The places at which the published schema refuses a value, as `flow/idle_time`. */
function refused(kind: Kind, value: unknown): string[] {
  const check = compiled.get(KINDS[kind].schema);
  if (check === undefined || check(value)) return [];
  return (check.errors ?? []).map(({ instancePath, params }: ErrorObject) => {
    const { additionalProperty, missingProperty } = params as Record<string, string | undefined>;
    return [...instancePath.split('/').slice(1), additionalProperty ?? missingProperty ?? []].flat().join('/');
  });
}

/** The places at which parley itself refuses it. */
function faults(kind: Kind, source: Source): string[] {
  try {
    KINDS[kind].read(source);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error;
    return error.issues.map(({ loc }) => pathOf(kind === 'agent' ? loc.slice(1) : loc));
  }
}

function pathOf(loc: Location): string {
  return loc.join('/');
}

function files(ending: string): string[] {
  return readdirSync(packageFile('examples/'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending))
    .map((path) => `examples/${path.replaceAll('\\', '/')}`);
}

describe('the published schemas', () => {
  it.each<[Kind, string[], number]>([
    ['agent', [...files('agent.json'), ...files('agent.jsonc'), 'test/e2e/forms-agent.json'], 7],
    ['suite', files('suite.yaml'), 4],
    ['settings', files('settings.jsonc'), 2],
  ])('pass each %s file of the project: %j', async (kind, paths, least) => {
    expect(paths.length).toBeGreaterThanOrEqual(least);
    for (const path of paths) {
      const source = await readSource(fileURLToPath(packageFile(path)));
      expect([path, ...faults(kind, source)]).toEqual([path]);
      expect([path, ...refused(kind, source.value)]).toEqual([path]);
    }
  });

  it('pass each setting at its default', async () => {
    const text = settingsExample().replaceAll(/^ {2}\/\/ {1,3}(?=["}])/gm, '  ');
    const source = await parseSource(text, 'settings.jsonc');
    expect(refused('settings', source.value)).toEqual([]);
  });

  const agent = (config: object, more = {}): object => ({ name: 'a', config, ...more });
  const suite = (expectation: object, more = {}): object => ({
    name: 'a',
    cases: [{ name: 'b', caller: { script: [{ say: 'Hello.' }] }, expect: [expectation] }],
    ...more,
  });

  it.each<[Kind, object]>([
    ['agent', agent({}, { $schema: './agent.schema.json' })],
    ['suite', suite({ said: 'hello' }, { $schema: './suite.schema.json' })],
    ['settings', { $schema: './settings.schema.json' }],
  ])('pass the $schema of a file: %s', async (kind, value) => {
    expect(refused(kind, value)).toEqual([]);
    expect(faults(kind, await parseSource(JSON.stringify(value), 'a.json'))).toEqual([]);
  });

  it.each<[Kind, string, unknown]>([
    ['agent', 'name', { config: {} }],
    ['agent', 'name', { name: '', config: {} }],
    ['agent', 'config', { name: 'a' }],
    ['agent', 'config', { name: 'a', config: [] }],
    ['agent', 'promt', agent({}, { promt: 'x' })],
    ['agent', '$schema', agent({}, { $schema: 1 })],
    ['agent', 'config/promt', agent({ promt: 'x' })],
    ['agent', 'config/prompt', agent({ prompt: 7 })],
    ['agent', 'config/voice/speed', agent({ voice: { speed: 1 } })],
    ['agent', 'config/flow/response_delay', agent({ flow: { response_delay: 'soon' } })],
    ['agent', 'config/tools/0/name', agent({ tools: [{ description: 'x' }] })],
    ['agent', 'config/tools/0/method', agent({ tools: [{ name: 'a', description: 'b', method: 'FETCH' }] })],
    ['agent', 'config/first_message', agent({ first_message: 'x'.repeat(2001) })],
    ['agent', 'extensions/functions', agent({}, { extensions: { functions: 'look_up' } })],
    ['suite', 'cases', { name: 'a' }],
    ['suite', 'tolls', suite({ said: 'x' }, { tolls: {} })],
    ['suite', 'cases/0/mode', { name: 'a', cases: [{ name: 'b', mode: 'shout', caller: { script: [{ say: 'x' }] } }] }],
    ['suite', 'cases/0/expect/0/said', suite({ said: 7 })],
    ['suite', 'cases/0/expect/0/sayd', suite({ sayd: 'x' })],
    ['suite', 'judge/votes', suite({ said: 'x' }, { judge: { model: 'm', votes: 10 } })],
    ['settings', 'prot', { prot: 1 }],
    ['settings', 'port', { port: '8080' }],
    ['settings', 'port', { port: 70_000 }],
    ['settings', 'logLevel', { logLevel: 'loud' }],
    ['settings', 'databaseUrl', { databaseUrl: 'mysql://x' }],
    ['settings', 'limits/promptChars', { limits: { promptChars: -1 } }],
    ['settings', 'sip/trunk', { sip: { trunk: {} } }],
  ])('refuse what parley refuses in a file of kind %s, at %s', async (kind, place, value) => {
    const source = await parseSource(JSON.stringify(value), 'a.json');
    expect(faults(kind, source)).toContain(place);
    expect(refused(kind, value)).toContain(place);
  });
});
