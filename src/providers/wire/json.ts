import { parseJson } from '../../base/json.js';
/** Readers for untrusted vendor data: each returns null or an empty result for another type. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function parseObject(text: string): JsonObject | null {
  try {
    return objectOf(parseJson(text));
  } catch {
    return null;
  }
}

export function objectOf(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

/** The objects of an array; what else is in it is left out. */
export function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf).filter((one) => one !== null) : [];
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A finite number, also where it comes as a text. */
export function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}
