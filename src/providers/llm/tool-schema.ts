import type { ToolSpec } from '../../agent/chat.js';
import { isSchema, typesOf } from '../../schema/json-schema.js';

type Keywords = Readonly<Record<string, unknown>>;

/** Keywords that OpenAI and Anthropic refuse at the root of a tool's parameters, where an object is required. */
const NOT_AT_ROOT = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else', '$ref'];
/** Keywords that tell a model nothing. */
const LEFT_OUT = new Set(['$schema', '$id', '$comment']);
/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = new Set(['items', 'contains', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else']);
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const BY_NAME = new Set(['properties', 'patternProperties', '$defs', 'definitions']);

/**
 * A tool's parameters as vendors of language models take them. The root is an object without alternatives; the members
 * of its alternatives become optional members. Arrays say what their items are. What is left out here still holds for the
 * arguments, which parley checks itself.
 */
export function vendorParameters({ parameters }: Pick<ToolSpec, 'parameters'>): Keywords {
  const forms = [...branches(parameters), ...referred(parameters)];
  const members = forms.flatMap((form) => Object.entries(objectOf(form['properties'])));
  const root = Object.fromEntries(Object.entries(parameters).filter(([keyword]) => !NOT_AT_ROOT.includes(keyword)));
  const properties = { ...Object.fromEntries(members), ...objectOf(parameters['properties']) };
  return plain({ ...root, type: 'object', properties });
}

function branches(schema: Keywords): Keywords[] {
  const own = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => listOf(schema[keyword]).map(objectOf));
  return own.flatMap((branch) => [branch, ...branches(branch)]);
}

/** The definition that a root reference names. */
function referred({ $ref, $defs, definitions }: Keywords): Keywords[] {
  const name = typeof $ref === 'string' ? $ref.replace(/^#\/(\$defs|definitions)\//, '') : '';
  const all = { ...objectOf(definitions), ...objectOf($defs) };
  return Object.hasOwn(all, name) ? [objectOf(all[name])] : [];
}

function plain(schema: Keywords): Keywords {
  const entries = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (LEFT_OUT.has(keyword)) return [];
    if (ONE.has(keyword)) return [[keyword, inner(value)]];
    if (LISTS.has(keyword)) return [[keyword, listOf(value).map(inner)]];
    if (!BY_NAME.has(keyword)) return [[keyword, value]];
    return [[keyword, Object.fromEntries(Object.entries(objectOf(value)).map(([name, one]) => [name, inner(one)]))]];
  });
  const all = Object.fromEntries(entries);
  const isList = typesOf(all).includes('array') && !('items' in all) && !('prefixItems' in all);
  return isList ? { ...all, items: {} } : all;
}

function inner(value: unknown): unknown {
  return isSchema(value) && typeof value === 'object' ? plain(value) : value;
}

function objectOf(value: unknown): Keywords {
  return isSchema(value) && typeof value === 'object' ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
