import type { AgentConfig } from './agent.js';
import { ParleyError } from '../errors.js';

/** A field with everything below it; it asks for something where its member `when` does, if that is named. */
interface UnsupportedField {
  readonly path: string;
  readonly when?: string;
}

/**
 * Fields of AgentConfig that this version does not act on yet. A session refuses a configuration that asks one of
 * them for something, in place of quietly doing without.
 */
export const UNSUPPORTED_FIELDS: readonly UnsupportedField[] = [
];

/** The dotted paths of the fields that `config` asks for something and that this version does not act on. */
export function unsupportedFields(config: AgentConfig): string[] {
  return UNSUPPORTED_FIELDS.map(({ path, when }) => (when === undefined ? path : `${path}.${when}`)).filter((path) =>
    asksForSomething(valueAt(config, path)),
  );
}

/** Whether this version does not act on the field of this dotted path, for itself or for one above it. */
export function isUnsupported(path: string): boolean {
  return UNSUPPORTED_FIELDS.some((field) => path === field.path || path.startsWith(`${field.path}.`));
}

/** @throws ParleyError CONFIG_FIELD_UNSUPPORTED naming the fields. */
export function refuseUnsupported(config: AgentConfig): void {
  const fields = unsupportedFields(config);
  if (fields.length > 0) throw new ParleyError('CONFIG_FIELD_UNSUPPORTED', { fields: fields.join(', ') });
}

/** Null, false, empty texts and lists, and objects of nothing else ask for nothing. */
function asksForSomething(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== 'object' || Object.values(value).some(asksForSomething);
}

function valueAt(config: AgentConfig, path: string): unknown {
  let at: unknown = config;
  for (const part of path.split('.')) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Record<string, unknown>)[part];
  }
  return at;
}
