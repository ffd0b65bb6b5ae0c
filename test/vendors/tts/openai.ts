import type { IncomingMessage, ServerResponse } from 'node:http';
import * as z from 'zod';
import { HttpSpeechDouble } from './http-speech.js';
import { KEY } from './speech-double.js';
import { openAiCompatibleVoices, type VoiceList } from './voice-lists.js';

/**
 * OpenAI's `POST /v1/audio/speech`, strict about what it is sent, and servers that speak as it does. Written from
 * platform.openai.com/docs/api-reference/audio/createSpeech by the types of the official SDK `openai` 7.57.0
 * (resources/audio/speech, read 2026-11-21); what other servers
 * take from their schemas: remsky/Kokoro-FastAPI (2026-08-17), Lex-au/Orpheus-FastAPI (2025-07-05) and
 * phildougherty/sesame_csm_openai (2025-08-03).
 */
const base = {
  model: z.string().min(1),
  input: z.string().min(1).max(4096),
  voice: z.string().min(1),
  speed: z.number().min(0.25).max(4).exactOptional(),
};
const SCHEMAS = {
  openai: z.strictObject({
    ...base,
    model: z.enum(['tts-1', 'tts-1-hd', 'gpt-4o-mini-tts', 'gpt-4o-mini-tts-2025-12-15']),
    voice: z.union([
      z.enum('alloy ash ballad coral echo fable onyx nova sage shimmer verse marin cedar'.split(' ')),
      z.strictObject({ id: z.string().startsWith('voice_') }),
    ]),
    response_format: z.enum(['pcm', 'wav']),
    instructions: z.string().exactOptional(),
    stream_format: z.enum(['audio']).exactOptional(),
  }),
  kokoro: z.strictObject({
    ...base,
    response_format: z.enum(['pcm', 'wav']),
    lang_code: z.string().exactOptional(),
  }),
  wav: z.strictObject({ ...base, response_format: z.literal('wav') }),
};

const RATE_HZ = 24_000;

export class OpenAiSpeechDouble extends HttpSpeechDouble {
  override readonly voiceList: VoiceList | null;
  readonly bodies: unknown[] = [];
  readonly #schema: z.ZodType<{ input: string; response_format: 'pcm' | 'wav' }>;

  constructor(kind: keyof typeof SCHEMAS = 'openai') {
    super();
    this.#schema = SCHEMAS[kind];
    this.voiceList = kind === 'openai' ? null : openAiCompatibleVoices;
  }

  protected override onHttp({ method, url, headers }: IncomingMessage, body: string, response: ServerResponse): void {
    if (headers.authorization !== `Bearer ${KEY}`) {
      this.refuse(response, 401, { error: { message: `Incorrect API key provided`, type: 'invalid_request_error' } });
    } else if (method === 'GET' && url === '/models') this.refuse(response, 200, { object: 'list', data: [] });
    else if (method !== 'POST' || url !== '/audio/speech' || headers['content-type'] !== 'application/json') {
      this.violation(`${String(method)} ${String(url)} ${String(headers['content-type'])}`);
      this.refuse(response, 404, { error: { message: 'Unknown' } });
    } else {
      const parsed = this.#schema.safeParse(JSON.parse(body));
      this.bodies.push(JSON.parse(body));
      if (parsed.success) this.answer(response, parsed.data.input, RATE_HZ, parsed.data.response_format);
      else {
        this.violation(`no body of the protocol: ${body.slice(0, 300)}`);
        this.refuse(response, 400, { error: { message: parsed.error.message } });
      }
    }
  }
}
