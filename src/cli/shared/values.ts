import { nowUnixMs } from '../../base/real-clock.js';
import { parseContinuation, type SessionContinuation } from '../../agent/continuation.js';
import { readJsonFile } from '../../schema/json-file.js';
import { UsageError } from './command.js';

const DAY_MS = 86_400_000;

/** The value of `--metadata`. @throws UsageError if it is not a JSON object */
export function metadataOf(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // reported below
  }
  throw new UsageError('--metadata must be a JSON object');
}

/**
 * The start time of a conversation, from `--now`. Virtual time keeps the date, so that "tomorrow" is right, but not the
 * hour, so that runs on one day are identical. @throws UsageError
 */
export function startTime(now: string | undefined, virtual: boolean): number {
  const unixMs = now === undefined ? nowUnixMs() : Date.parse(now);
  if (Number.isNaN(unixMs)) throw new UsageError('--now must be an ISO 8601 time');
  return virtual && now === undefined ? Math.floor(unixMs / DAY_MS) * DAY_MS + DAY_MS / 2 : unixMs;
}

/** The conversation to continue, from the file of `--continue`. @throws ParleyError CONFIG_INVALID */
export async function continuationOf(path: string | undefined): Promise<SessionContinuation | null> {
  return path === undefined ? null : parseContinuation(await readJsonFile(path), [path]);
}

/** The value of a numeric flag. @throws UsageError */
export function numberOf(flag: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= least && value <= most)) {
    throw new UsageError(`${flag} must be a number from ${String(least)} to ${String(most)}`);
  }
  return value;
}

/** The id of an agent from a file. */
export function agentSlug(name: string): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g);
  return words?.join('-') ?? 'agent';
}
