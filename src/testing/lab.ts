import type { Labels } from './label-format.js';

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
