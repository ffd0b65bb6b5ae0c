import type { JsonObject } from '../../wire/json.js';
import type { TimedText } from './word-aligner.js';

/** Words in parallel lists `{words, start, end}` with times in seconds, the format of several vendors. */
export function timedWords(lists: JsonObject | null): TimedText[] {
  const words: unknown = lists?.['words'];
  const starts: unknown = lists?.['start'];
  const ends: unknown = lists?.['end'];
  if (!Array.isArray(words) || !Array.isArray(starts) || !Array.isArray(ends)) return [];
  const timed: TimedText[] = [];
  for (const [index, text] of words.entries()) {
    const [start, end] = [starts[index] as unknown, ends[index] as unknown];
    if (typeof text !== 'string' || typeof start !== 'number' || typeof end !== 'number') return [];
    timed.push({ text, startMs: start * 1000, endMs: end * 1000 });
  }
  return timed;
}
