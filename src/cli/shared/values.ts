import { parseContinuation, type SessionContinuation } from '../../agent/continuation.js';
import { readJsonFile } from '../../schema/json-file.js';
import { UsageError } from './command.js';

const DAY_MS = 86_400_000;

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

/**
 * When a conversation takes place, from `--now`. In virtual time the day is kept, so that "tomorrow" is tomorrow; the
 * hour is not, so that two runs of a day are the same. @throws UsageError
 */
export function startTime(now: string | undefined, virtual: boolean): number {
  const unixMs = now === undefined ? Date.now() : Date.parse(now);
  if (Number.isNaN(unixMs)) throw new UsageError('--now is no ISO 8601 time');
  return virtual && now === undefined ? Math.floor(unixMs / DAY_MS) * DAY_MS + DAY_MS / 2 : unixMs;
}

/** What the file of `--continue` says that a session goes on from. @throws ParleyError CONFIG_INVALID */
export async function continuationOf(path: string | undefined): Promise<SessionContinuation | null> {
  return path === undefined ? null : parseContinuation(await readJsonFile(path), [path]);
}

/** The value of a flag that takes a number. @throws UsageError */
export function numberOf(flag: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= least && value <= most)) {
    throw new UsageError(`${flag} is a number from ${String(least)} to ${String(most)}`);
  }
  return value;
}

/** The id of an agent that comes from a file. */
export function agentSlug(name: string): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g);
  return words?.join('-') ?? 'agent';
}
