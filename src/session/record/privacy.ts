import type { LogEntry } from './event-log.js';

/**
 * The remains of a session whose user has opted out of data collection: times and kinds of events, without anything
 * that was said, typed, pressed, looked up or done.
 */

/** Members whose texts are the engine's own words and names. */
const OWN_TEXTS: ReadonlySet<string> = new Set([
  'v',
  'kind',
  'type',
  'name',
  'status',
  'sign',
  'phase',
  'limit',
  'by',
  'participant',
  'mode',
  'channel',
  'whisperTo',
  'left',
  'callId',
  'id',
  'sessionId',
  'role',
  'stage',
  'provider',
  'model',
]);

/** Members that are left out completely: they contain the user's words in other texts. */
const LEFT_OUT: Readonly<Record<string, unknown>> = { messages: [], tools: [], earlier: [], toolSpeech: {} };

/** Members with values of the user under names that the agent's author has chosen, which may be the engine's, too. */
const VALUES: ReadonlySet<string> = new Set(['known', 'variables']);

/** An entry of the event log without any text. */
export function withoutText(entry: LogEntry): LogEntry {
  return blank(entry);
}

/** A copy of the value with empty texts, except the engine's own. */
export function blank<Value>(value: Value): Value {
  return blanked(value) as Value;
}

/** A copy of the value with each text replaced, except the engine's own. */
export function withTexts<Value>(value: Value, replace: (text: string) => string): Value {
  return replaced(value, replace) as Value;
}

function replaced(value: unknown, replace: (text: string) => string, key = ''): unknown {
  if (typeof value === 'string') return OWN_TEXTS.has(key) ? value : replace(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => replaced(one, replace, key));
  const keyOf = (name: string): string => (VALUES.has(key) ? '' : name);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, replaced(member, replace, keyOf(name))]),
  );
}

function blanked(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return OWN_TEXTS.has(key) ? value : '';
  if (typeof value !== 'object' || value === null) return value;
  if (Object.hasOwn(LEFT_OUT, key)) return LEFT_OUT[key];
  if (VALUES.has(key) && !Array.isArray(value)) return {}; // a list has names only, such as those that a target gets
  if (Array.isArray(value)) return value.map((one) => blanked(one, key));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, blanked(member, name)]));
}
