import { HEARING_RATE_HZ, msToSamples, samplesToMs } from '../../../dist/audio/frame.js';
import { encodeWav } from '../../../dist/audio/files/wav.js';
import { decodeMedia } from '../../../dist/audio/files/decode.js';
import { RealClock } from '../../../dist/base/real-clock.js';
import { halfOf, type Stretch, type Turn } from '../turns.js';
import type { EotRow } from './rows.js';

/** A labelled turn as a row. */
export function rowOf(turn: Turn, pauses: readonly Stretch[]): EotRow {
  const { name, language, after, audio, endMs, words } = turn;
  const seconds = ({ startMs, endMs: untilMs }: Stretch): { start: number; end: number } => ({
    start: startMs / 1000,
    end: untilMs / 1000,
  });
  return {
    id: name,
    language,
    audio: { bytes: Uint8Array.from(encodeWav(audio, HEARING_RATE_HZ)) },
    silence_spans: [...pauses, { startMs: endMs, endMs: samplesToMs(audio.length, HEARING_RATE_HZ) }].map(seconds),
    messages: after === '' ? [] : [{ role: 'assistant', content: after }],
    words: words?.map((word) => ({ word: word.word, ...seconds(word) })) ?? null,
  };
}

/** A row as a turn to be listened to. */
export async function turnOf(row: EotRow): Promise<Turn> {
  const { id, language, messages, words } = row;
  const stretches = row.silence_spans.map(({ start, end }) => ({ startMs: start * 1000, endMs: end * 1000 }));
  const text = words?.map(({ word }) => word).join(' ') ?? id;
  return {
    name: id,
    group: language,
    half: halfOf(text),
    language,
    after: messages.findLast(({ role }) => role === 'assistant')?.content ?? '',
    audio: (await soundOf(row)).subarray(0, msToSamples(stretches.at(-1)?.endMs ?? 0, HEARING_RATE_HZ)),
    pauses: stretches.slice(0, -1),
    endMs: stretches.at(-1)?.startMs ?? 0,
    words: words?.map(({ word, start, end }) => ({ word, startMs: start * 1000, endMs: end * 1000 })) ?? null,
  };
}

/** Mono, 16 kHz. */
async function soundOf({ audio }: EotRow): Promise<Int16Array> {
  const bytes =
    'bytes' in audio
      ? audio.bytes
      : encodeWav(
          Int16Array.from(audio.array, (value) => Math.max(-1, Math.min(1, value)) * 32_767),
          audio.sampling_rate,
        );
  return decodeMedia(bytes, {
    sampleRateHz: HEARING_RATE_HZ,
    maxLengthS: 600,
    timeoutMs: 30_000,
    clock: new RealClock(),
    signal: new AbortController().signal,
  });
}
