import * as z from 'zod';
import { agentConfigSchema } from '../agent/agent.js';
import { agentExtensionsSchema } from '../agent/extensions/extensions.js';
import { SETTING_NAMES } from './load-settings.js';
import { DEFAULT_SETTINGS, settingsFileSchema } from './settings.js';
import { VENDORS } from './vendor-settings.js';

/** One field of AgentConfig as the documentation shows it. */
export interface FieldReference {
  /** Such as `flow.response_delay` or `tools[].name`. */
  path: string;
  type: string;
  unit: string;
  default: string;
  effect: string;
  required: boolean;
}

/** All fields of an agent's extensions. */
export function agentExtensionsReference(): FieldReference[] {
  return fieldsOf(agentExtensionsSchema, 'extensions.');
}

/** All fields of AgentConfig in the schema's order, parents before children. */
export function agentConfigReference(): FieldReference[] {
  return fieldsOf(agentConfigSchema, '');
}

/**
 * Fields of an agent as a Markdown table.
 * @param shownBy names the test file that demonstrates a field
 */
export function fieldTable(fields: readonly FieldReference[], shownBy: (path: string) => string): string {
  const rows = fields.map((field) => [
    `\`${field.path}\``,
    field.type,
    field.unit,
    field.required ? 'required' : field.default,
    field.effect,
    shownBy(field.path),
  ]);
  return markdownTable(['field', 'type', 'unit', 'default', 'effect', 'shown by'], rows);
}

/** The operator's settings as a Markdown table. */
export function settingsTable(): string {
  const rows = SETTING_NAMES.filter(({ key }) => !isGroup(key)).map(({ key, env, flag, secret }) => {
    const schema = settingsFileSchema.shape[key];
    return [
      `\`${key}\``,
      env === null ? '' : `\`${env}\``,
      flag === null ? '' : `\`--${flag}\``,
      key === 'dataDir' ? '`$XDG_DATA_HOME/parley` or `~/.local/share/parley`' : shown(DEFAULT_SETTINGS[key]),
      (describe(schema).effect + (secret ? ' Secret.' : '')).trim(),
    ];
  });
  return markdownTable(['in the file', 'environment', 'flag', 'default', 'effect'], rows);
}

/** The vendors and their variables as a Markdown table. */
export function vendorsTable(): string {
  const variable = (name?: string): string => (name === undefined ? '' : `\`${name}\``);
  const rows = Object.entries(VENDORS).map(([name, { title, env }]) => [
    `\`${name}\``,
    title,
    [variable(env.apiKey), 'region' in env ? variable(env.region) : ''].filter((text) => text !== '').join(', '),
    variable(env.baseUrl),
  ]);
  return markdownTable(['vendor', 'who', 'key', 'address'], rows);
}

/** Settings with members. */
const GROUPS = [
  'limits',
  'media',
  'evals',
  'calls',
  'campaigns',
  'webrtc',
  'sip',
  'twilio',
  'telnyx',
  'plivo',
] as const;

function isGroup(key: string): boolean {
  return GROUPS.some((group) => group === key);
}

/** The members of these settings as a Markdown table. */
export function limitsTable(): string {
  return markdownTable(['in the file', 'unit', 'default', 'effect'], GROUPS.flatMap(groupRows));
}

function groupRows(group: (typeof GROUPS)[number]): string[][] {
  const defaults: Readonly<Record<string, unknown>> = DEFAULT_SETTINGS[group];
  const members: Readonly<Record<string, z.ZodType>> = settingsFileSchema.shape[group].unwrap().shape;
  return Object.entries(members).map(([key, schema]) => {
    const { effect, unit } = describe(schema);
    return [`\`${group}.${key}\``, unit, shown(defaults[key]), effect];
  });
}

function fieldsOf(schema: z.ZodObject, prefix: string): FieldReference[] {
  return Object.entries(schema.shape).flatMap(([key, value]) => {
    const field = value as z.ZodType;
    const path = prefix + key;
    const { effect, unit, fallback } = describe(field);
    const own: FieldReference = {
      path,
      type: typeOf(field),
      unit,
      default: fallback,
      effect,
      required: !(field instanceof z.ZodOptional),
    };
    return [own, ...below(field, path)];
  });
}

/** What has a field in more than one place, and is described in the first: the keywords of JSON Schema are many. */
const DESCRIBED_ONCE = new Map([
  ['Param', 'tools[].params[]'],
  ['FlowSaying', 'extensions.flow.steps[].say'],
  ['FlowData', 'extensions.flow.steps[].collect[]'],
  ['FlowCall', 'extensions.flow.steps[].call'],
  ['FlowTransition', 'extensions.flow.steps[].transitions[]'],
  ['FlowEnd', 'extensions.flow.steps[].end'],
]);
/** Parts that have parts of their own. */
const ENDLESS = new Set(['ParamSchema']);

function below(schema: z.ZodType, path: string): FieldReference[] {
  const inner = unwrap(schema);
  const title = titleOf(inner) ?? '';
  if (ENDLESS.has(title) || (DESCRIBED_ONCE.get(title) ?? path) !== path) return [];
  if (inner instanceof z.ZodObject) return fieldsOf(inner, `${path}.`);
  if (inner instanceof z.ZodArray) return below(inner.element as z.ZodType, `${path}[]`);
  if (inner instanceof z.ZodUnion) {
    const all = inner.options.flatMap((option) => below(option as z.ZodType, path));
    // A member of several forms is described with the first.
    return all.filter((field, at) => all.findIndex((other) => other.path === field.path) === at);
  }
  return [];
}

function typeOf(schema: z.ZodType): string {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodUnion) return inner.options.map((option) => typeOf(option as z.ZodType)).join(' or ');
  if (inner instanceof z.ZodArray) return `array of ${typeOf(inner.element as z.ZodType)}`;
  if (inner instanceof z.ZodRecord) return `map to ${typeOf(inner.valueType as z.ZodType)}`;
  if (inner instanceof z.ZodObject) return titleOf(inner) ?? 'object';
  if (inner instanceof z.ZodEnum)
    return titleOf(inner) ?? inner.options.map((value) => `\`${String(value)}\``).join(', ');
  if (inner instanceof z.ZodNumber) return inner.format === 'safeint' ? 'integer' : 'number';
  if (inner instanceof z.ZodUnknown) return 'anything';
  return inner.def.type;
}

/** The schema's name in the OpenAPI document. A field that adds a description has the named schema as its parent. */
function titleOf(schema: z.core.$ZodType): string | undefined {
  const parent = schema._zod.parent;
  return z.globalRegistry.get(schema)?.id ?? (parent && titleOf(parent));
}

function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrap(schema.unwrap() as z.ZodType);
  return schema;
}

function describe(schema: z.ZodType): { effect: string; unit: string; fallback: string } {
  const meta = z.globalRegistry.get(schema);
  const fallback = meta?.['x-default'];
  return {
    effect: meta?.description ?? '',
    unit: typeof meta?.['x-unit'] === 'string' ? meta['x-unit'] : '',
    fallback: fallback === '' ? 'empty' : plain(fallback ?? ''),
  };
}

function shown(value: unknown): string {
  if (value === null) return 'unset';
  if (Array.isArray(value) && value.length > 0) return value.map(shown).join(', ');
  if (typeof value === 'object') return 'none';
  return `\`${plain(value)}\``;
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const HEAD = `// Settings of \`parley serve\`, passed with --config FILE or PARLEY_CONFIG. Each line is commented out and shows the
// default; remove the // to set a value. The environment variable in brackets overrides the file; prefer it for
// secrets. docs/configuration.md describes all settings.
`;
const WIDTH = 116;

/** A commented settings file: all settings with their descriptions, variables and defaults. */
export function settingsExample(): string {
  const blocks = SETTING_NAMES.map(({ key, env, secret }) => {
    const schema: z.ZodType = settingsFileSchema.shape[key];
    const notes = secret ? ' Secret.' : '';
    const name = env === null ? '' : ` (${env})`;
    const value = key === 'dataDir' ? '/var/lib/parley' : DEFAULT_SETTINGS[key];
    return [...comment(effectOf(schema) + notes + name), ...member(key, schema, value)];
  });
  return `${HEAD}{\n${blocks.map((lines) => lines.map((line) => `  ${line}`.trimEnd()).join('\n')).join('\n\n')}\n}\n`;
}

/** The lines of one setting; a setting with members gets the lines of each. */
function member(key: string, schema: z.ZodType, value: unknown): string[] {
  const inner = schema instanceof z.ZodExactOptional ? schema.unwrap() : schema;
  const values = value as Readonly<Record<string, unknown>>;
  if (!(inner instanceof z.ZodObject) || Object.keys(inner.shape).some((name) => values[name] === undefined)) {
    return [`// ${JSON.stringify(key)}: ${JSON.stringify(value)},`];
  }
  const members = Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, each]) => [
    ...comment(effectOf(each)).map((line) => `//   ${line}`),
    `//   ${JSON.stringify(name)}: ${JSON.stringify(values[name])},`,
  ]);
  return [`// ${JSON.stringify(key)}: {`, ...members, '// },'];
}

function effectOf(schema: z.ZodType): string {
  return (z.globalRegistry.get(schema)?.description ?? '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
}

function comment(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ').filter((part) => part !== '')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < WIDTH - 6) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`// ${word}`);
  }
  return lines;
}
