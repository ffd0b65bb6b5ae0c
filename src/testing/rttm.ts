import type { Labels } from './label-format.js';

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
