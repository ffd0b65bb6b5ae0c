import type { Pool } from 'undici';
import { baseLanguage } from '../../../base/language.js';
import { RealClock } from '../../../base/real-clock.js';
import type { Clock } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import { Deadlines } from '../../deadlines.js';
import { parseObject, type JsonObject, numberOf, objectsOf, textOf } from '../../wire/json.js';
import { connectionReason, failed, messageIn, statusError, withoutSecrets } from '../../wire/vendor-error.js';
import type { SttEvents, SttOptions, SttProvider, SttStream } from '../stt.js';
import { favouredWords } from '../shared/keywords.js';
import { type Transcription, WhisperStream } from '../shared/whisper-stream.js';
import { randomUUID } from 'node:crypto';
import { encodeWav } from '../../../audio/files/wav.js';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import type { VendorWord } from '../shared/dialect.js';

export interface WhisperSttOptions {
  /** With the version: `http://127.0.0.1:8000/v1`, `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Sent as a bearer token. Local servers need none. */
  apiKey?: string | null | undefined;
  /** Default model. Default `whisper-1`. */
  model?: string | undefined;
  /** Interval of interim transcripts during speech, in milliseconds; 0 = none. Default 1000. */
  interimMs?: number;
  /** Timeout for the whole reply, in milliseconds. Default 10,000. */
  timeoutMs?: number;
  /** Maximum number of connections. Default 16. */
  maxConnections?: number;
  /** Clock for `warmUp`; streams bring their own. Default: real time. */
  clock?: Clock;
}

const MAX_REPLY_CHARS = 1_048_576;
/** Whisper truncates longer prompts at the start. */
const MAX_PROMPT_WORDS = 60;

/**
 * Any server with OpenAI's `POST /audio/transcriptions`: OpenAI, speaches, faster-whisper-server, vLLM, LocalAI, Groq.
 * It accepts whole files, so our VAD segments the speech. developers.openai.com/api/reference/resources/audio
 */
export class WhisperStt implements SttProvider {
  readonly name = 'whisper';
  readonly virtualTime = false;
  readonly abilities = { models: true, multilingual: true };
  readonly #options: WhisperSttOptions;
  readonly #pool: Promise<Pool>;
  readonly #path: string;
  readonly #streams = new Set<WhisperStream>();
  /** The server supports word times. */
  #givesTimes = true;

  constructor(options: WhisperSttOptions) {
    this.#options = options;
    const url = new URL(options.baseUrl);
    this.#path = url.pathname.replace(/\/+$/, '');
    const settings = {
      connections: options.maxConnections ?? 16,
      keepAliveTimeout: 60_000,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: 5000 },
    };
    this.#pool = import('../../../base/undici.js').then(({ Pool }) => new Pool(url.origin, settings));
  }

  /** Opens a connection, and reports a refused key. */
  async warmUp(): Promise<void> {
    const deadlines = this.#deadlines(this.#options.clock ?? new RealClock(), new AbortController().signal);
    try {
      const reply = await this.#send('GET', '/models', null, '', deadlines.signal);
      if (reply.status === 401 || reply.status === 403) throw this.#refusal(reply.status, reply.text);
    } catch (error) {
      throw this.#wrap(error, deadlines.signal);
    } finally {
      deadlines.end();
    }
  }

  async open(options: SttOptions, events: SttEvents): Promise<SttStream> {
    const { clock, signal, language, multilingual = false, hints } = options;
    signal.throwIfAborted();
    const model = options.model ?? this.#options.model ?? 'whisper-1';
    const prompt = favouredWords(hints, MAX_PROMPT_WORDS).join(', ');
    const stream = new WhisperStream({
      clock,
      events,
      interimMs: this.#options.interimMs ?? 1000,
      transcribe: (samples, abort) =>
        this.#transcribe(
          samples,
          {
            model,
            prompt,
            language: language === 'multi' || multilingual ? null : baseLanguage(language),
          },
          clock,
          AbortSignal.any([signal, abort]),
        ),
      onClose: () => this.#streams.delete(stream),
    });
    this.#streams.add(stream);
    signal.addEventListener('abort', () => void stream.close(), { once: true });
    return stream;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#streams].map((stream) => stream.close()));
    await (await this.#pool).destroy();
  }

  async #transcribe(
    samples: Int16Array,
    asked: { model: string; prompt: string; language: string | null },
    clock: Clock,
    signal: AbortSignal,
  ): Promise<Transcription> {
    const deadlines = this.#deadlines(clock, signal);
    try {
      for (;;) {
        const withTimes = this.#givesTimes;
        const { body, contentType } = transcriptionForm(samples, { ...asked, withTimes });
        const reply = await this.#send('POST', '/audio/transcriptions', body, contentType, deadlines.signal);
        if (reply.status < 300) {
          const read = readTranscription(parseObject(reply.text));
          if (read === null) throw failed(this.name, 'its reply is not a transcription');
          return read;
        }
        // Some servers and models return plain text only.
        if (!withTimes || !/response_format|timestamp|verbose/i.test(reply.text) || reply.status >= 500) {
          throw this.#refusal(reply.status, reply.text);
        }
        this.#givesTimes = false;
      }
    } catch (error) {
      throw this.#wrap(error, deadlines.signal);
    } finally {
      deadlines.end();
    }
  }

  async #send(
    method: 'GET' | 'POST',
    path: string,
    body: Buffer | null,
    contentType: string,
    signal: AbortSignal,
  ): Promise<{ status: number; text: string }> {
    const { apiKey } = this.#options;
    const reply = await (
      await this.#pool
    ).request({
      method,
      path: this.#path + path,
      body,
      signal,
      headers: {
        accept: 'application/json',
        'content-type': contentType === '' ? undefined : contentType,
        authorization: apiKey == null ? undefined : `Bearer ${apiKey}`,
      },
    });
    let text = '';
    for await (const chunk of reply.body.setEncoding('utf8')) {
      text += String(chunk);
      if (text.length > MAX_REPLY_CHARS) throw failed(this.name, 'its reply is too long');
    }
    return { status: reply.statusCode, text };
  }

  #deadlines(clock: Clock, signal: AbortSignal): Deadlines {
    const deadlines = new Deadlines(clock, this.name, signal);
    deadlines.within(this.#options.timeoutMs ?? 10_000);
    return deadlines;
  }

  #refusal(status: number, body: string): ParleyError {
    return statusError(this.name, status, this.#clean(messageIn(body)));
  }

  #wrap(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    return error instanceof ParleyError ? error : failed(this.name, this.#clean(connectionReason(error)));
  }

  #clean(text: string): string {
    return withoutSecrets(text, [this.#options.apiKey ?? '']);
  }
}

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
function transcriptionForm(
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
