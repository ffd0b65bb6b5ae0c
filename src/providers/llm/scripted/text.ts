import type { Say } from './schema.js';
import { type DayNumber, parseIsoDate, spokenDate } from '../../../base/spoken/date.js';
import type { SlotValue } from './slots/slot.js';
import { parseClock, spokenTime } from '../../../base/spoken/time.js';

/** The wordings of something to say. */
export function variants(say: Say): readonly string[] {
  return typeof say === 'string' ? [say] : say;
}

/** Values for placeholders. */
export interface TextValues {
  slots: ReadonlyMap<string, SlotValue>;
  /** The latest tool's result: parsed JSON, or its text. */
  result: unknown;
  /** For days such as "tomorrow"; null = not known. */
  today?: DayNumber | null;
  /** `{value}`: the value that was rejected. */
  value?: string;
}

const PLACEHOLDER = /\{\s*([a-z][a-zA-Z0-9_]*)((?:\.[a-zA-Z0-9_]+)*)\s*\}/g;

/**
 * Fills `{slot}`, `{result.field}` and `{value}`. A part in square brackets is dropped unless all of its values are
 * known; outside brackets unknown values become empty.
 */
export function fillText(template: string, values: TextValues): string {
  const whole = template.replace(/\[([^[\]]*)\]/g, (_all, part: string) =>
    placeholders(part).every((name) => lookUp(name, values) !== null) ? part : '',
  );
  return whole
    .replace(PLACEHOLDER, (_all, name: string, path: string) => lookUp(name + path, values) ?? '')
    .replace(/\s+([,.;:!?])/g, '$1')
    .replace(/\s{2,}/g, ' ')
    .trim()
    .replace(/(^|[.!?]\s+)(\p{Ll})/gu, (_all, before: string, letter: string) => before + letter.toUpperCase());
}

/** Whether a text is an instance of a template: it contains all of the fixed parts, in order. */
export function isWording(template: string, text: string): boolean {
  const fixed = template
    .replace(/\[[^[\]]*\]/g, '{x}')
    .split(/\{[^{}]*\}/)
    .map(plainWords)
    .filter((part) => part !== '');
  const said = plainWords(text);
  let at = 0;
  for (const part of fixed) {
    const found = said.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return fixed.length > 0;
}

function plainWords(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** The placeholders in a text: "party", "result.reference". */
export function placeholders(template: string): string[] {
  return [...template.matchAll(PLACEHOLDER)].map((match) => `${match[1] ?? ''}${match[2] ?? ''}`);
}

/** A tool argument: a slot alone keeps its type; undefined if unknown. */
export function fillArgument(
  template: string | number | boolean,
  values: TextValues,
): string | number | boolean | undefined {
  if (typeof template !== 'string') return template;
  const alone = /^\{\s*([a-z][a-zA-Z0-9_]*)\s*\}$/.exec(template)?.[1];
  if (alone !== undefined && alone !== 'result') return values.slots.get(alone)?.value;
  const whole = template.replace(/\[([^[\]]*)\]/g, (_all, part: string) =>
    placeholders(part).every((name) => rawValue(name, values) !== null) ? part : '',
  );
  return whole.replace(PLACEHOLDER, (_all, name: string, path: string) => rawValue(name + path, values) ?? '').trim();
}

function lookUp(name: string, values: TextValues): string | null {
  if (name === 'value') return values.value ?? null;
  return values.slots.get(name)?.spoken ?? resultField(name, values, true);
}

function rawValue(name: string, values: TextValues): string | null {
  const value = values.slots.get(name)?.value;
  return value === undefined ? resultField(name, values, false) : String(value);
}

/** A field of the latest result. Behind a local date and time, `date` and `time` are its halves, in words if spoken. */
function resultField(name: string, { result, today }: TextValues, spoken: boolean): string | null {
  const [head, ...path] = name.split('.');
  if (head !== 'result') return null;
  let value = result;
  for (const key of path) {
    if (typeof value === 'string') return halfOf(value, key, today ?? null, spoken);
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return null;
    value = (value as Record<string, unknown>)[key];
  }
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  return null;
}

const LOCAL_TIME = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})/;

/** The day or the time of "2026-06-16T09:00"; null for other texts. */
function halfOf(text: string, half: string, today: DayNumber | null, spoken: boolean): string | null {
  const [, date = '', time = ''] = LOCAL_TIME.exec(text) ?? [];
  const day = parseIsoDate(date);
  const minutes = parseClock(time);
  if (half === 'date' && day !== null) return spoken ? spokenDate(day, today) : date;
  if (half === 'time' && minutes !== null) return spoken ? spokenTime(minutes, true) : time;
  return null;
}

/** A text in pieces as a streaming model gives them: words with their leading space. */
export function pieces(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [];
}

/** The rest of a text of which the user heard `heard`, from the start of the clause that was cut; '' if none. */
export function remainderOf(text: string, heard: string): string {
  const planned = comparable(text);
  const said = comparable(heard).map((word) => word.text);
  const whole = planned.map((word) => word.text);
  if (whole.length === 0 || contains(said, whole)) return '';
  const known = heardWords(whole, said);
  // The user heard none of this text: someone else spoke, so there is nothing to resume.
  if (known === null) return '';
  const cut = planned[known]?.start ?? 0;
  const clause = Math.max(
    ...[...text.slice(0, cut).matchAll(/[,;:.!?]\s+/g)].map((match) => match.index + match[0].length),
    0,
  );
  return text.slice(clause).trim();
}

/** How many words of a text stand at the end of what was heard; the last one may be cut. Null if none. */
function heardWords(whole: readonly string[], said: readonly string[]): number | null {
  if (said.length === 0) return 0;
  for (let known = Math.min(whole.length - 1, said.length); known > 0; known--) {
    if (whole.slice(0, known).every((word, index) => word === said[said.length - known + index])) return known;
  }
  const last = said.at(-1) ?? '';
  for (let known = Math.min(whole.length, said.length) - 1; known >= 0; known--) {
    const begun = whole[known]?.startsWith(last) ?? false;
    if (begun && whole.slice(0, known).every((word, index) => word === said[said.length - 1 - known + index]))
      return known;
  }
  return null;
}

function contains(said: readonly string[], whole: readonly string[]): boolean {
  for (let start = 0; start + whole.length <= said.length; start++) {
    if (whole.every((word, index) => word === said[start + index])) return true;
  }
  return false;
}

function comparable(text: string): { text: string; start: number }[] {
  return [...text.toLowerCase().matchAll(/[\p{L}\p{N}]+(?:['’][\p{L}]+)*/gu)].map((match) => ({
    text: match[0],
    start: match.index,
  }));
}
