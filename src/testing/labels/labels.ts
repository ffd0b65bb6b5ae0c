import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';

const times = { startMs: z.number().min(0), endMs: z.number().min(0) };

/**
 * The contents of a recording. All times are milliseconds from the first sample, with fractions.
 * `fixtures/README.md` documents the JSON form; `.lab` and `.rttm` files are converted to it.
 */
export const labelsSchema = z.object({
  /** Stretches of speech; in our own recordings silences under 150 ms do not split a stretch. */
  speech: z.array(z.strictObject({ ...times, speaker: z.string().optional() })),
  /** Absent if the times of words are unknown. */
  words: z.array(z.strictObject({ ...times, word: z.string().min(1) })).optional(),
  /** Silences inside a turn and at its end. */
  pauses: z.array(z.strictObject({ ...times, kind: z.enum(['inside-turn', 'end-of-turn']) })).optional(),
  /** Digits in order, spoken or as DTMF. */
  digits: z
    .array(z.strictObject({ ...times, digit: z.string().regex(/^[0-9*#A-D]$/), how: z.enum(['spoken', 'keyed']) }))
    .optional(),
  /** Signals other than speech and keys. */
  events: z
    .array(z.strictObject({ ...times, kind: z.enum(['beep', 'ringback']), frequenciesHz: z.array(z.number()) }))
    .optional(),
  /** The turns of a recording with several. */
  turns: z.array(z.strictObject({ ...times, text: z.string(), speaker: z.string().optional() })).optional(),
});

/** The labels of one of the project's recordings, with its origin. */
export const fixtureLabelsSchema = labelsSchema.extend({
  format: z.literal('parley-labels/1'),
  /** The recording, relative to `fixtures/audio`. */
  file: z.string(),
  sampleRateHz: z.number().int().positive(),
  encoding: z.enum(['pcm16', 'mulaw', 'alaw']),
  durationMs: z.number().positive(),
  /** Transcript. Empty without speech. */
  text: z.string(),
  voice: z.string().optional(),
  /** The file below `fixtures/recipes` that generates the recording, without extension. */
  recipe: z.string(),
  about: z.string(),
  /** `snrDb` is relative to the level of the speech or the keys; absent for noise alone. */
  noise: z.strictObject({ kind: z.string(), snrDb: z.number().optional() }).optional(),
  /** Simulated effects of the line, such as `300-3400 Hz, GSM 06.10`. */
  line: z.string().optional(),
  /** The agent's words that the turn answers. */
  after: z.string().optional(),
});

export type Labels = z.infer<typeof labelsSchema>;
export type FixtureLabels = z.infer<typeof fixtureLabelsSchema>;

interface Row {
  readonly start: number;
  readonly end: number;
  readonly label: string;
}

/** Labels for silence (HTK, Festival, TIMIT, WebRTC test sets). */
const SILENCES = new Set(['silence', 'sil', 'sp', 'pau', 'h#', 'nonspeech', 'noise', '<sil>', '']);

/**
 * Parses `.lab` text: one `start end label` per line, in seconds, or in HTK's 100 ns units if all times are whole numbers
 * and the last one is above 1,000. Point labels (start equals end, as in Audacity) last until the next label. `speech`
 * marks speech, `SILENCES` mark silence, any other label is a word.
 * @throws Error naming the line
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

export interface ReadLabelsOptions {
  /** The recording in an `.rttm` file that covers several (its second column). */
  recording?: string;
}

/**
 * Reads a label file by its extension: `.json` (the project's format), `.lab` or `.rttm`.
 * @throws ParleyError LABELS_INVALID naming the file and, if possible, the line
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
 * Reads the labels of one of the project's recordings.
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
 * Parses RTTM text (NIST Rich Transcription Time Marked): `SPEAKER` lines become speech with a speaker, `LEXEME` lines
 * become words; other types are ignored. Speakers may overlap. Times are start and length in seconds.
 * @param recording the recording to read if the text covers several (the second column)
 * @throws Error naming the line, or the available recordings
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
