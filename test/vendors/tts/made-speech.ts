/** Speech as vendors' doubles make it: a tone for each letter, silence around it, and the truth about the words. */
export interface MadeSpeech {
  /** Little-endian 16-bit PCM. */
  bytes: Buffer;
  /** By word of the text, without regard to punctuation, in milliseconds from the first sample. */
  words: { text: string; startMs: number; endMs: number }[];
  /** The same by letter, spaces included. */
  letters: { text: string; startMs: number; endMs: number }[];
  durationMs: number;
}

const LETTER_MS = 30;
const SPACE_MS = 20;

export function madeSpeech(text: string, sampleRateHz: number, silenceMs = 120): MadeSpeech {
  const letters: MadeSpeech['letters'] = [];
  let atMs = silenceMs;
  for (const letter of text) {
    const endMs = atMs + (letter === ' ' ? SPACE_MS : LETTER_MS);
    letters.push({ text: letter, startMs: atMs, endMs });
    atMs = endMs;
  }
  const durationMs = atMs + silenceMs;
  const bytes = Buffer.alloc(Math.round((durationMs * sampleRateHz) / 1000) * 2);
  for (const { text: letter, startMs, endMs } of letters) {
    if (letter === ' ') continue;
    const [from, to] = [startMs, endMs].map((ms) => Math.round((ms * sampleRateHz) / 1000)) as [number, number];
    for (let i = from; i < to; i++)
      bytes.writeInt16LE(Math.round(8000 * Math.cos((2 * Math.PI * 300 * i) / sampleRateHz)), 2 * i);
  }
  return { bytes, letters, words: wordsOf(letters), durationMs };
}

function wordsOf(letters: MadeSpeech['letters']): MadeSpeech['words'] {
  const words: MadeSpeech['words'] = [];
  let isNew = true;
  for (const { text, startMs, endMs } of letters) {
    const last = words.at(-1);
    if (text === ' ') isNew = true;
    else if (isNew || last === undefined) {
      words.push({ text, startMs, endMs });
      isNew = false;
    } else {
      last.text += text;
      last.endMs = endMs;
    }
  }
  return words;
}

/** The bytes in pieces whose lengths are odd as often as not. */
export function cutAnywhere(bytes: Buffer, about = 4001): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = about + ((i * 37) % 50);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}
