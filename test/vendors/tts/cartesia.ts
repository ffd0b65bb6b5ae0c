import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import * as z from 'zod';
import { cutAnywhere, madeSpeech } from './made-speech.js';
import { KEY, SpeechDouble } from './speech-double.js';
import { cartesiaVoices } from './voice-lists.js';

/**
 * Cartesia's text-to-speech WebSocket, strict about what it is sent. Written from
 * docs.cartesia.ai/2026-03-01/api-reference/tts/websocket and docs.cartesia.ai/use-the-api/tts-websocket/contexts (read
 * 2026-11-21), and the types of @cartesia/cartesia-js 4.2.0, whose version of the API, 2026-08-14, names voices without
 * `mode`.
 */
const requestSchema = z.strictObject({
  model_id: z.string().regex(/^sonic-[\w.-]+$/),
  transcript: z.string(),
  voice: z.union([z.strictObject({ mode: z.literal('id').exactOptional(), id: z.string().min(1) }), z.string().min(1)]),
  language: z
    .string()
    .regex(/^[a-z]{2}$/)
    .exactOptional(),
  context_id: z.string().regex(/^[\w-]+$/),
  output_format: z.strictObject({
    container: z.literal('raw'),
    encoding: z.literal('pcm_s16le'),
    sample_rate: z.literal([8000, 16000, 22050, 24000, 44100, 48000]),
  }),
  add_timestamps: z.boolean().exactOptional(),
  continue: z.boolean().exactOptional(),
  flush: z.boolean().exactOptional(),
  max_buffer_delay_ms: z.int().min(0).max(5000).exactOptional(),
  generation_config: z
    .strictObject({
      speed: z.number().min(0.6).max(1.5).exactOptional(),
      volume: z.number().min(0.5).max(2).exactOptional(),
      emotion: z.string().exactOptional(),
    })
    .exactOptional(),
});
const cancelSchema = z.strictObject({ context_id: z.string(), cancel: z.literal(true) });

type Request = z.infer<typeof requestSchema>;

/** Ours, the SDK's, and that of LiveKit's plug-in 1.8.1. */
const VERSIONS = ['2026-03-01', '2026-08-14', '2025-04-16'];

export class CartesiaDouble extends SpeechDouble {
  override readonly voiceList = cartesiaVoices;
  readonly requests: Request[] = [];
  #dead = 0;

  protected override connectProblem({ url = '', headers }: IncomingMessage) {
    const { pathname } = new URL(url, 'http://double');
    const key = headers['x-api-key'] ?? String(headers.authorization).replace(/^Bearer /, '');
    if (key !== KEY) return { status: 401, reason: 'Invalid API key' };
    if (pathname !== '/tts/websocket') return { status: 404, reason: 'not found' };
    const version = String(headers['cartesia-version']);
    return VERSIONS.includes(version) ? null : { status: 400, reason: `version ${version}` };
  }

  protected override onLine(line: WebSocket): void {
    const contexts = new Map<string, { text: string; stop: (() => void) | null }>();
    const send = (context_id: string, value: object): void => {
      if (line.readyState === line.OPEN)
        line.send(JSON.stringify({ status_code: 206, done: false, ...value, context_id }));
    };
    line.on('close', () => {
      for (const { stop } of contexts.values()) stop?.();
    });
    line.on('message', (data: Buffer) => {
      const value: unknown = JSON.parse(data.toString('utf8'));
      const cancel = cancelSchema.safeParse(value);
      if (cancel.success) {
        contexts.get(cancel.data.context_id)?.stop?.();
        contexts.delete(cancel.data.context_id);
        this.cancelled++;
        this.changed();
        return;
      }
      const parsed = requestSchema.safeParse(value);
      if (!parsed.success) {
        this.violation(`no message of the protocol: ${data.toString('utf8').slice(0, 400)}`);
        send('', { type: 'error', title: 'Bad request', message: parsed.error.message, status_code: 400, done: true });
        return;
      }
      const request = parsed.data;
      const { context_id: id, transcript } = request;
      this.requests.push(request);
      const context = contexts.get(id) ?? { text: '', stop: null };
      contexts.set(id, context);
      context.text += transcript;
      if (request.continue === true && request.flush !== true) return;
      this.#speak(line, send, request, context, () => contexts.delete(id));
    });
  }

  #speak(
    line: WebSocket,
    send: (id: string, value: object) => void,
    { context_id: id, output_format: { sample_rate }, add_timestamps = false }: Request,
    context: { text: string; stop: (() => void) | null },
    forget: () => void,
  ): void {
    this.spoken.push(context.text.trim());
    this.changed();
    if (this.#dead < (this.faults.deadConnections ?? 0)) {
      this.#dead++;
      line.terminate();
      return;
    }
    const { bytes, words } = madeSpeech(context.text.trim(), sample_rate);
    const audio = cutAnywhere(bytes, 5001).map((piece) => ({
      type: 'chunk',
      step_time: 5,
      data: piece.toString('base64'),
    }));
    const half = Math.ceil(words.length / 2);
    const times = [words.slice(0, half), words.slice(half)].map((some) => ({
      type: 'timestamps',
      word_timestamps: {
        words: some.map(({ text }) => text),
        start: some.map(({ startMs }) => startMs / 1000),
        end: some.map(({ endMs }) => endMs / 1000),
      },
    }));
    const pieces = add_timestamps ? [audio[0], times[0], ...audio.slice(1), times[1]] : audio;
    context.stop = this.pour(
      pieces.filter((piece) => piece !== undefined),
      {
        send: (piece) => send(id, piece),
        drop: () => line.terminate(),
        error: () =>
          send(id, { type: 'error', title: 'Internal error', message: `with ${KEY}`, status_code: 500, done: true }),
        garbage: () => line.send('{"type": "chunk", '),
      },
      () => {
        forget();
        send(id, { type: 'done', done: true });
      },
    );
  }
}
