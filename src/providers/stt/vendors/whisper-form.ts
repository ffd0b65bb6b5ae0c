import { randomUUID } from 'node:crypto';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { encodeWav } from '../../../audio/wav.js';

/** What a transcription is asked with. */
export interface TranscriptionForm {
  model: string;
  /** Words to expect; '' = none. */
  prompt: string;
  /** Null = the server finds it out. */
  language: string | null;
  /** With the times of words, as `verbose_json`. */
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
