import { UsageError } from './command.js';

/** The value of `--metadata`. @throws UsageError where it is no JSON object */
export function metadataOf(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // said below
  }
  throw new UsageError('--metadata is no JSON object');
}
