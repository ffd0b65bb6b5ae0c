import { parseJson } from '../../base/json.js';

/** One argument of a call; undefined if it is missing or the arguments are not valid JSON. */
export function argumentOf(args: string, name: string): unknown {
  try {
    const parsed: unknown = parseJson(args === '' ? '{}' : args);
    if (typeof parsed !== 'object' || parsed === null || !Object.hasOwn(parsed, name)) return undefined;
    return (parsed as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

/**
 * One text argument of a call, trimmed; null if it is missing, empty, not text, or the arguments are not valid JSON.
 */
export function textArgument(args: string, name: string): string | null {
  const value = argumentOf(args, name);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}
