import * as z from 'zod';
import { SETTING_NAMES } from './load-settings.js';
import { DEFAULT_SETTINGS, settingsFileSchema } from './settings.js';

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
