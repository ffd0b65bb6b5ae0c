import * as z from 'zod';
import { agentConfigSchema } from '../../src/agent/agent.js';

interface Json {
  $ref?: string;
  $defs?: Record<string, Json>;
  type?: string | string[];
  anyOf?: Json[];
  const?: unknown;
  enum?: unknown[];
  items?: Json;
  properties?: Record<string, Json>;
  required?: string[];
  additionalProperties?: Json | boolean;
  description?: string;
  'x-unit'?: string;
  'x-default'?: string | number | boolean;
}

const HEAD = `/**
 * Generated from the schema in agent.ts, with its descriptions, so that editors show them. Do not edit:
 * \`PARLEY_UPDATE_DOCS=1 npx vitest run test/agent/agent-types.test.ts\` writes this file.
 */
import type { ParamSchema } from './param.js';
`;
/** The same keywords again as those of Param, which have the comments. */
const IMPORTED = 'ParamSchema';

/** AgentConfig and what it consists of as TypeScript interfaces with doc comments. */
export function agentTypes(): string {
  const { $defs = {} } = z.toJSONSchema(agentConfigSchema, { io: 'output', unrepresentable: 'any' }) as Json;
  const own = Object.entries($defs).filter(([name]) => name !== IMPORTED);
  return HEAD + own.map(declared).join('');
}

function declared([name, schema]: [string, Json]): string {
  const exported = name === 'AgentConfig' ? 'export ' : '';
  const typeName = nameOf(name);
  const head = `\n${comment(schema, '')}${exported}`;
  if (schema.properties === undefined) {
    return `${head}type ${typeName} = ${typeOf(schema)};\n`;
  }
  const fields = Object.entries(schema.properties).map(([key, field]) => {
    const optional = schema.required?.includes(key) !== true;
    const type = typeOf(field);
    const may = optional && type !== 'unknown' ? ' | undefined' : '';
    return `${comment(field, '  ')}  ${key}${optional ? '?' : ''}: ${type}${may};\n`;
  });
  const others = schema.additionalProperties;
  if (typeof others === 'object') fields.push(`  [other: string]: ${typeOf(others)};\n`);
  return `${head}interface ${typeName} {\n${fields.join('')}}\n`;
}

function comment({ description, 'x-unit': unit, 'x-default': preset }: Json, indent: string): string {
  const notes = [
    ...(unit === undefined ? [] : [`Unit: ${unit}.`]),
    ...(preset === undefined ? [] : [`Default: ${String(preset)}.`]),
  ];
  const words = [description ?? '', ...notes].join(' ').replaceAll('*/', '* /').trim();
  return words === '' ? '' : `${indent}/** ${words} */\n`;
}

function typeOf(schema: Json): string {
  const { $ref, anyOf, type, items, additionalProperties } = schema;
  if ($ref !== undefined) return nameOf($ref.replace('#/$defs/', ''));
  if (anyOf !== undefined) {
    const types = anyOf.map(typeOf);
    return types.includes('unknown') ? 'unknown' : types.join(' | ');
  }
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(type)) return type.map((each) => typeOf({ ...schema, type: each })).join(' | ');
  if (type === 'array') return `(${typeOf(items ?? {})})[]`;
  if (type === 'object')
    return `Record<string, ${typeOf(typeof additionalProperties === 'object' ? additionalProperties : {})}>`;
  if (type === 'integer') return 'number';
  return type ?? 'unknown';
}

/** TypeScript has a `Function` of its own. */
function nameOf(id: string): string {
  return id === 'Function' ? 'AgentFunction' : id;
}
