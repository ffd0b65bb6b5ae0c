import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { z } from 'zod';
import { ParleyError } from '../../base/errors.js';
import { type FixtureLabels, fixtureLabelsSchema, type Labels, labelsSchema } from './label-format.js';

interface Row {
  readonly start: number;
  readonly end: number;
  readonly label: string;
}

/** Labels that mean that nobody speaks (HTK, Festival, TIMIT, WebRTC test sets). */
const SILENCES = new Set(['silence', 'sil', 'sp', 'pau', 'h#', 'nonspeech', 'noise', '<sil>', '']);

/**
 * Reads `.lab` text: one `start end label` a line, in seconds, or in HTK's 100 ns units where every time is a
 * whole number above 1,000. Where start and end are the same (point labels, as Audacity writes them) a label holds
 * until the next one. `speech` marks speech, a name for silence marks none, any other label is a word.
 * @throws Error naming the line.
 */
export function parseLab(text: string): Labels {
  const rows = lines(text);
  const scale = toMs(rows);
  const intervals = rows.every((row) => row.start === row.end) ? fromPoints(rows) : rows;
  const speech: { startMs: number; endMs: number }[] = [];
  const words: { word: string; startMs: number; endMs: number }[] = [];
  for (const { start, end, label } of intervals) {
    if (SILENCES.has(label.toLowerCase())) continue;
    const startMs = start * scale;
    const endMs = end * scale;
    const last = speech.at(-1);
    if (last !== undefined && startMs - last.endMs < 1) last.endMs = Math.max(last.endMs, endMs);
    else speech.push({ startMs, endMs });
    if (label.toLowerCase() !== 'speech') words.push({ word: label, startMs, endMs });
  }
  return words.length > 0 ? { speech, words } : { speech };
}

function lines(text: string): Row[] {
  const rows: Row[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const match = /^\s*(\S+)\s+(\S+)(?:\s+(.*?))?\s*$/.exec(line);
    const start = Number(match?.[1]);
    const end = Number(match?.[2]);
    const at = `line ${String(index + 1)}`;
    if (!Number.isFinite(start) || !Number.isFinite(end) || start < 0) {
      throw new Error(`${at}: expected "start end label", found "${line.trim()}"`);
    }
    if (end < start) throw new Error(`${at}: ends before it starts`);
    if (start < (rows.at(-1)?.start ?? 0)) throw new Error(`${at}: starts before the line above it`);
    rows.push({ start, end, label: match?.[3] ?? '' });
  }
  return rows;
}

function toMs(rows: readonly Row[]): number {
  const htk = rows.every((row) => Number.isInteger(row.start) && Number.isInteger(row.end));
  return htk && (rows.at(-1)?.end ?? 0) > 1000 ? 1e-4 : 1000;
}

function fromPoints(rows: readonly Row[]): Row[] {
  return rows.map((row, index) => {
    const end = rows[index + 1]?.start;
    if (end !== undefined) return { ...row, end };
    if (SILENCES.has(row.label.toLowerCase())) return row;
    throw new Error(`"${row.label}" starts at ${String(row.start)} and nothing ends it`);
  });
}

export type { FixtureLabels, Labels } from './label-format.js';

export interface ReadLabelsOptions {
  /** Which recording of an `.rttm` file that covers several (its second column). */
  recording?: string;
}

/**
 * Reads a label file by its extension: `.json` (the project's own form), `.lab` or `.rttm`.
 * @throws ParleyError LABELS_INVALID, with the file and, where there is one, the line.
 */
export function readLabels(path: string, options: ReadLabelsOptions = {}): Labels {
  try {
    const text = readFileSync(path, 'utf8');
    switch (extname(path).toLowerCase()) {
      case '.json':
        return parseJson(text, labelsSchema);
      case '.lab':
        return parseLab(text);
      case '.rttm':
        return parseRttm(text, options.recording);
      default:
        throw new Error('the name must end in .json, .lab or .rttm');
    }
  } catch (error) {
    throw invalid(path, error);
  }
}

/**
 * Reads the labels of one of the project's own recordings.
 * @throws ParleyError LABELS_INVALID
 */
export function readFixtureLabels(path: string): FixtureLabels {
  try {
    return parseJson(readFileSync(path, 'utf8'), fixtureLabelsSchema);
  } catch (error) {
    throw invalid(path, error);
  }
}

function parseJson<T extends Labels>(text: string, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(JSON.parse(text));
  if (parsed.success) {
    checkTimes(parsed.data);
    return parsed.data;
  }
  const [first] = parsed.error.issues;
  throw new Error(first === undefined ? 'not labels' : `${first.path.join('.')}: ${first.message}`);
}

function checkTimes(labels: Labels): void {
  const { speech, words, pauses, digits, events, turns } = labels;
  for (const [name, spans] of Object.entries({ speech, words, pauses, digits, events, turns })) {
    for (const [index, span] of (spans ?? []).entries()) {
      if (span.endMs < span.startMs) throw new Error(`${name}.${String(index)}: ends before it starts`);
      const before = spans?.[index - 1];
      if (before !== undefined && span.startMs < before.startMs) {
        throw new Error(`${name}.${String(index)}: starts before the one before it`);
      }
    }
  }
}

function invalid(path: string, error: unknown): ParleyError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ParleyError('LABELS_INVALID', { file: path, reason }, { cause: error });
}

/**
 * Reads RTTM text (NIST Rich Transcription Time Marked): `SPEAKER` lines become speech with its speaker, `LEXEME`
 * lines words; other types are left out. Speakers may overlap. Times are seconds: start and length.
 * @param recording which recording, where the text covers several (the second column).
 * @throws Error naming the line, or the recordings to choose from.
 */
export function parseRttm(text: string, recording?: string): Labels {
  const speech: { startMs: number; endMs: number; speaker: string }[] = [];
  const words: { startMs: number; endMs: number; word: string }[] = [];
  const recordings = new Set<string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const [type, file, , start, length, written, , speaker] = line.trim().split(/\s+/);
    if (type === '' || type === undefined || type.startsWith(';')) continue;
    if (type !== 'SPEAKER' && type !== 'LEXEME') continue;
    const startMs = Number(start) * 1000;
    const endMs = startMs + Number(length) * 1000;
    if (
      file === undefined ||
      written === undefined ||
      speaker === undefined ||
      !(startMs >= 0) ||
      !(endMs >= startMs)
    ) {
      throw new Error(`line ${String(index + 1)}: not an RTTM ${type} line: "${line.trim()}"`);
    }
    recordings.add(file);
    if (recording !== undefined && file !== recording) continue;
    if (type === 'SPEAKER') speech.push({ startMs, endMs, speaker });
    else words.push({ startMs, endMs, word: written });
  }
  const names = [...recordings].join(', ');
  if (recording === undefined && recordings.size > 1) throw new Error(`covers several recordings, name one: ${names}`);
  if (recording !== undefined && !recordings.has(recording)) {
    throw new Error(`has no recording "${recording}". It has: ${names === '' ? 'none' : names}`);
  }
  speech.sort((a, b) => a.startMs - b.startMs);
  words.sort((a, b) => a.startMs - b.startMs);
  return words.length > 0 ? { speech, words } : { speech };
}
