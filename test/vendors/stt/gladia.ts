/**
 * Gladia's live transcription v2, from https://docs.gladia.io/api-reference/v2/live/init,
 * https://docs.gladia.io/asyncapi.yaml, https://docs.gladia.io/chapters/introduction/models and
 * https://docs.gladia.io/chapters/live-stt/features/endpointing (read on 2026-11-22) and the types of @gladiaio/sdk 2.1.0
 * (21 September 2026).
 */
import { type DoubleConversation, type DoubleLine, type DoubleProtocol, typed } from './socket-double.js';
import { Ear } from './spoken-words.js';

const FIELDS = (
  'encoding bit_depth sample_rate channels model endpointing maximum_duration_without_endpointing language_config ' +
  'realtime_processing messages_config'
).split(' ');

/** Of a live session: LiveV2TranscriptionLanguageCode. */
const LANGUAGES = (
  'af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he hi hr ht hu hy id is it ja ' +
  'jw ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa sd si sk sl sn so sq ' +
  'sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo zh'
).split(' ');

interface Init {
  [name: string]: unknown;
  endpointing?: number;
  model?: string;
  language_config?: { languages?: string[] };
  realtime_processing?: { custom_vocabulary_config?: { vocabulary?: { value: string; intensity: number }[] } };
}

export function gladiaDouble(key: string): DoubleProtocol {
  const sessions = new Map<string, Init>();
  return {
    http: (request, body) => {
      if (request.method !== 'POST' || request.url !== '/v2/live') return null;
      const given = String(request.headers['x-gladia-key']);
      if (given !== key) return { status: 401, body: { statusCode: 401, message: `invalid API key ${given}` } };
      const init = JSON.parse(body) as Init;
      const strange = Object.keys(init).find((name) => !FIELDS.includes(name));
      if (strange !== undefined) return { status: 422, body: { statusCode: 422, message: `unknown ${strange}` } };
      const language = (init.language_config?.languages ?? []).find((code) => !LANGUAGES.includes(code));
      if (language !== undefined) return { status: 422, body: { statusCode: 422, message: `language ${language}` } };
      const intensities = init.realtime_processing?.custom_vocabulary_config?.vocabulary ?? [];
      if (intensities.some(({ intensity }) => intensity < 0 || intensity > 1)) {
        return { status: 422, body: { statusCode: 422, message: 'intensity' } };
      }
      const token = `session-${String(sessions.size)}`;
      sessions.set(token, init);
      const url = `ws://${request.headers.host ?? ''}/v2/live?token=${token}`;
      return { status: 201, body: { id: token, created_at: '2026-11-21T00:00:00.000Z', url } };
    },
    refuses: ({ path, query }) =>
      path === '/v2/live' && sessions.has(query.get('token') ?? '') ? null : [401, '{"message":"no such session"}'],
    converse: (line) => {
      const init = sessions.get(line.request.query.get('token') ?? '') ?? {};
      line.asked({
        model: init.model ?? '',
        language: init.language_config?.languages?.[0] ?? null,
        keywords: (init.realtime_processing?.custom_vocabulary_config?.vocabulary ?? []).map(({ value }) => value),
      });
      return new Live(line, (init.endpointing ?? 0.05) * 1000);
    },
  };
}

class Live implements DoubleConversation {
  readonly #line: DoubleLine;
  readonly #endpointingMs: number;
  readonly #ear = new Ear();
  #utterance = 0;
  #fromMs = 0;
  #reported = 0;

  constructor(line: DoubleLine, endpointingMs: number) {
    this.#line = line;
    this.#endpointingMs = endpointingMs;
  }

  binary(data: Buffer): void {
    this.#ear.hear(data);
    const words = this.#words();
    if (words.length > 0 && this.#ear.quietMs >= this.#endpointingMs) this.#tell(true);
    else if (words.length > this.#reported) this.#tell(false);
  }

  text(text: string): void {
    const { type } = typed(text, this.#line);
    if (type !== 'stop_recording') this.#line.violation(`unknown message ${type}`);
    this.#line.close(1000);
  }

  #words() {
    return this.#ear.words.filter(({ startMs }) => startMs >= this.#fromMs);
  }

  #tell(isFinal: boolean): void {
    const words = this.#words();
    this.#reported = words.length;
    this.#line.say({
      session_id: 's',
      created_at: '2026-11-21T00:00:00.000Z',
      type: 'transcript',
      data: {
        id: `00_${String(this.#utterance).padStart(8, '0')}`,
        is_final: isFinal,
        utterance: {
          start: (words[0]?.startMs ?? 0) / 1000,
          end: (words.at(-1)?.endMs ?? 0) / 1000,
          confidence: 0.9,
          channel: 0,
          language: 'en',
          text: words.map((word) => word.text).join(' '),
          words: words.map((word) => ({
            word: ` ${word.text}`,
            start: word.startMs / 1000,
            end: word.endMs / 1000,
            confidence: 0.9,
          })),
        },
      },
    });
    if (!isFinal) return;
    this.#utterance++;
    this.#fromMs = this.#ear.heardMs;
    this.#reported = 0;
  }
}
