import { randomUUID } from 'node:crypto';
import { encodeWav } from '../../../audio/files/wav.js';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { type JsonObject, numberOf, objectsOf, textOf } from '../../wire/json.js';
import type { VendorWord } from '../shared/dialect.js';
import type { Transcription } from '../shared/whisper-stream.js';

/** Whisper's own limits (openai/whisper, transcribe.py): a segment beyond both is hallucinated. */
const NO_SPEECH = 0.6;
const UNLIKELY = -1;

/** Parses a reply in `json` or `verbose_json`; null = neither. */
export function readTranscription(reply: JsonObject | null): Transcription | null {
  const text = textOf(reply?.['text']);
  if (reply === null || text === null) return null;
  const segments = objectsOf(reply['segments']);
  const heard = segments.filter((segment) => !isMadeUp(segment));
  if (segments.length > 0 && heard.length === 0) return { text: '', confidence: null, words: [] };
  const logprobs = heard.map((segment) => numberOf(segment['avg_logprob'])).filter((one) => one !== null);
  const words = objectsOf(reply['words']).flatMap((word): VendorWord[] => {
    const said = textOf(word['word']);
    const start = numberOf(word['start']);
    const end = numberOf(word['end']);
    if (said === null || start === null || end === null) return [];
    return [{ text: said.trim(), startMs: start * 1000, endMs: end * 1000, confidence: null }];
  });
  const all = heard.length === segments.length;
  return {
    text: all ? text.trim() : heard.map((segment) => (textOf(segment['text']) ?? '').trim()).join(' '),
    confidence: logprobs.length === 0 ? null : Math.exp(logprobs.reduce((sum, one) => sum + one, 0) / logprobs.length),
    words: all ? words : [],
  };
}

function isMadeUp(segment: JsonObject): boolean {
  return (numberOf(segment['no_speech_prob']) ?? 0) > NO_SPEECH && (numberOf(segment['avg_logprob']) ?? 0) < UNLIKELY;
}

/** Parameters of a transcription. */
interface TranscriptionForm {
  model: string;
  /** Expected words; '' = none. */
  prompt: string;
  /** Null = the server detects it. */
  language: string | null;
  /** With word times, as `verbose_json`. */
  withTimes: boolean;
}

/** A request's body as multipart/form-data (RFC 7578). Samples are mono 16 kHz. */
export function transcriptionForm(
  samples: Int16Array,
  { model, prompt, language, withTimes }: TranscriptionForm,
): { body: Buffer; contentType: string } {
  const boundary = `parley-${randomUUID()}`;
  const fields: [string, string][] = [
    ['model', model],
    ['temperature', '0'],
    ['response_format', withTimes ? 'verbose_json' : 'json'],
  ];
  if (withTimes) fields.push(['timestamp_granularities[]', 'word'], ['timestamp_granularities[]', 'segment']);
  if (language !== null) fields.push(['language', language]);
  if (prompt !== '') fields.push(['prompt', prompt]);
  const parts = fields.map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const head =
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="speech.wav"\r\n` +
    'content-type: audio/wav\r\n\r\n';
  return {
    body: Buffer.concat([
      Buffer.from(parts.join('') + head),
      encodeWav(samples, HEARING_RATE_HZ),
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}
