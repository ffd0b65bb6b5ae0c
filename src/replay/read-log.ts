import { ParleyError } from '../base/errors.js';
import { LOG_VERSION, type LogEntry } from '../session/record/event-log.js';

/** A parsed event log. */
export interface EventLog {
  start: Extract<LogEntry, { kind: 'start' }>;
  /** The entries after the start. */
  entries: readonly LogEntry[];
  /** The last line is incomplete. */
  isCut: boolean;
}

const KINDS = new Set(['event', 'effect', 'note']);

/**
 * Parses a log of JSON lines. Ignores an incomplete last line.
 * @throws ParleyError LOG_INVALID, LOG_VERSION_UNSUPPORTED
 */
export function readLog(text: string): EventLog {
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  const isCut = rest.trim() !== '' && !isJson(rest);
  if (rest.trim() !== '' && !isCut) lines.push(rest);
  const written = lines.map((line, index) => ({ line, number: index + 1 })).filter(({ line }) => line.trim() !== '');
  const [first, ...others] = written;
  if (first === undefined) throw invalid(1, 'the log is empty');
  const start = startOf(first.line);
  return { start, entries: others.map(({ line, number }) => entryOf(line, number)), isCut };
}

function startOf(line: string): EventLog['start'] {
  const entry = objectOf(line, 1);
  if (entry['kind'] !== 'start') throw invalid(1, 'the first entry must have the kind "start"');
  if (entry['v'] !== LOG_VERSION) {
    throw new ParleyError('LOG_VERSION_UNSUPPORTED', {
      version: JSON.stringify(entry['v'] ?? null),
      supported: LOG_VERSION,
    });
  }
  const config = entry['config'];
  if (typeof config !== 'object' || config === null) throw invalid(1, 'the settings are missing');
  return entry as unknown as EventLog['start'];
}

function entryOf(line: string, number: number): LogEntry {
  const entry = objectOf(line, number);
  const { kind, t } = entry as { kind?: unknown; t?: unknown };
  if (kind === 'start') throw invalid(number, 'a second session starts here; a log holds one session');
  if (typeof kind !== 'string' || !KINDS.has(kind)) throw invalid(number, `unknown kind ${JSON.stringify(kind)}`);
  if (typeof t !== 'number') throw invalid(number, 'the time is missing');
  if (kind === 'event') {
    if (!isTyped(entry['event'])) throw invalid(number, 'the event is missing');
    if (typeof entry['position'] !== 'object' || entry['position'] === null)
      throw invalid(number, 'the position is missing');
  } else if (kind === 'effect' && !isTyped(entry['effect'])) throw invalid(number, 'the effect is missing');
  return entry as unknown as LogEntry;
}

function objectOf(line: string, number: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw invalid(number, 'it is not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(number, 'it is not an object');
  return value as Record<string, unknown>;
}

function isTyped(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'type') === 'string';
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function invalid(line: number, reason: string): ParleyError {
  return new ParleyError('LOG_INVALID', { reason: `line ${String(line)}: ${reason}` });
}
