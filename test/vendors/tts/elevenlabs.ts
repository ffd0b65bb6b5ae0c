import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import * as z from 'zod';
import { cutAnywhere, madeSpeech } from './made-speech.js';
import { KEY, SpeechDouble } from './speech-double.js';
import { elevenLabsVoices } from './voice-lists.js';

/**
 * ElevenLabs' multi-context text-to-speech WebSocket, strict about what it is sent. Written from the AsyncAPI description
 * of elevenlabs.io/docs/api-reference/text-to-speech/v-1-text-to-speech-voice-id-multi-stream-input (repository
 * elevenlabs/elevenlabs-docs, fern/apis/api/asyncapi.yml, read at its version of 2025-08-25), the names on the wire from
 * the serialization of @elevenlabs/elevenlabs-js 2.73.0 (2026-11); the limit of five contexts and its close code from
 * the report in livekit/agents-js issue 1985.
 */
const settings = z.strictObject({
  stability: z.number().min(0).max(1).exactOptional(),
  similarity_boost: z.number().min(0).max(1).exactOptional(),
  style: z.number().min(0).max(1).exactOptional(),
  use_speaker_boost: z.boolean().exactOptional(),
  speed: z.number().min(0.7).max(1.2).exactOptional(),
});
const messageSchema = z.strictObject({
  text: z.string().nullable().exactOptional(),
  context_id: z.string().min(1).exactOptional(),
  voice_settings: settings.exactOptional(),
  flush: z.boolean().exactOptional(),
  close_context: z.boolean().exactOptional(),
  close_socket: z.boolean().exactOptional(),
});

const QUERY: Readonly<Record<string, RegExp>> = {
  model_id: /^eleven_\w+$/,
  output_format: /^pcm_(8000|16000|22050|24000|44100)$/,
  auto_mode: /^(true|false)$/,
  inactivity_timeout: /^([1-9]\d?|1[0-7]\d|180)$/,
  language_code: /^[a-z]{2,3}$/,
  enable_ssml_parsing: /^(true|false)$/,
  enable_logging: /^(true|false)$/,
  sync_alignment: /^(true|false)$/,
  apply_text_normalization: /^(auto|on|off)$/,
};
const MOST_CONTEXTS = 5;

interface Context {
  buffer: string;
  audio: (() => void) | null;
  /** Flushed while it speaks: comes after that. */
  waiting: string[];
  closing: boolean;
  flushed: boolean;
}

export class ElevenLabsDouble extends SpeechDouble {
  override readonly voiceList = elevenLabsVoices;
  /** Settings that contexts were begun with. */
  readonly voiceSettings: unknown[] = [];
  /** Addresses that were connected to. */
  readonly addresses: URL[] = [];
  keepAlives = 0;
  #dead = 0;

  protected override connectProblem({ url = '', headers }: IncomingMessage) {
    const { pathname, searchParams } = new URL(url, 'http://double');
    if (headers['xi-api-key'] !== KEY) return { status: 401, reason: 'Invalid API key' };
    if (!/^\/v1\/text-to-speech\/[\w%-]+\/multi-stream-input$/.test(pathname))
      return { status: 404, reason: 'Not Found' };
    for (const [name, value] of searchParams) {
      if (QUERY[name]?.test(value) !== true) return { status: 400, reason: `query ${name}=${value}` };
    }
    return null;
  }

  protected override onLine(line: WebSocket, url: URL): void {
    this.addresses.push(url);
    const rateHz = Number(/\d+$/.exec(url.searchParams.get('output_format') ?? '')?.[0] ?? 0);
    const contexts = new Map<string, Context>();
    const send = (value: object): void => line.send(JSON.stringify(value));
    line.on('close', () => {
      for (const { audio } of contexts.values()) audio?.();
    });
    line.on('message', (data: Buffer, isBinary: boolean) => {
      const parsed = isBinary ? null : messageSchema.safeParse(JSON.parse(data.toString('utf8')));
      if (parsed?.success !== true) {
        this.violation(`no message of the protocol: ${data.toString('utf8').slice(0, 300)}`);
        line.close(1008, 'invalid message');
        return;
      }
      const { text, context_id: id, voice_settings, flush, close_context, close_socket } = parsed.data;
      if (close_socket === true) {
        line.close(1000);
        return;
      }
      if (id === undefined) {
        if (text !== '') this.violation('text without a context');
        this.keepAlives++;
        this.changed();
        return;
      }
      let context = contexts.get(id);
      if (context === undefined) {
        if (close_context === true) return;
        if (text !== ' ') this.violation('a context begins with a single space');
        if (contexts.size >= MOST_CONTEXTS) {
          send({
            error: 'max_active_conversations',
            message: 'Maximum simultaneous contexts exceeded (5)',
            code: 1008,
          });
          line.close(1008, 'Maximum simultaneous contexts exceeded (5)');
          return;
        }
        this.voiceSettings.push(voice_settings ?? null);
        context = { buffer: '', audio: null, waiting: [], closing: false, flushed: false };
        contexts.set(id, context);
      } else if (voice_settings !== undefined) this.violation('settings after the first message');
      if (context.closing) this.violation('a context that was closed already');
      context.buffer += text ?? '';
      // Where nothing is buffered, there is nothing to flush.
      if (flush === true && context.buffer.trim() !== '') {
        context.flushed = true;
        context.waiting.push(context.buffer);
        context.buffer = '';
        if (context.waiting.length === 1 && context.audio === null) this.#speak(line, contexts, id, context, rateHz);
      }
      if (close_context === true) {
        context.closing = true;
        // What was flushed comes to its end first.
        if (!context.flushed) this.#final(line, contexts, id);
      }
    });
  }

  #speak(line: WebSocket, contexts: Map<string, Context>, id: string, context: Context, rateHz: number): void {
    const buffer = context.waiting.shift() ?? '';
    if (!buffer.endsWith(' ')) this.violation('text should end with a space');
    const text = buffer.trim();
    this.spoken.push(text);
    this.changed();
    if (this.#dead < (this.faults.deadConnections ?? 0)) {
      this.#dead++;
      line.terminate();
      return;
    }
    const speech = madeSpeech(text, rateHz);
    const pieces = cutAnywhere(speech.bytes);
    let atByte = 0;
    const send = (piece: Buffer): void => {
      const fromMs = (atByte / 2 / rateHz) * 1000;
      atByte += piece.length;
      const toMs = atByte === speech.bytes.length ? Infinity : (atByte / 2 / rateHz) * 1000;
      // Times are relative to the chunk, as the description says.
      const own = speech.letters.filter(({ startMs }) => startMs >= fromMs && startMs < toMs);
      const alignment = {
        chars: own.map(({ text: letter }) => letter),
        charStartTimesMs: own.map(({ startMs }) => Math.round(startMs - fromMs)),
        charDurationsMs: own.map(({ startMs, endMs }) => Math.round(endMs - startMs)),
      };
      const message = {
        audio: piece.toString('base64'),
        normalizedAlignment: null,
        alignment,
        contextId: id,
      };
      line.send(JSON.stringify(own.length > 0 ? message : { ...message, alignment: null }));
    };
    context.audio = this.pour(
      pieces,
      {
        send,
        drop: () => line.terminate(),
        error: () =>
          line.send(JSON.stringify({ error: 'internal_server_error', message: `with ${KEY}`, contextId: id })),
        garbage: () => line.send('{"audio": tr'),
      },
      () => {
        if (context.waiting.length > 0) this.#speak(line, contexts, id, context, rateHz);
        else this.#final(line, contexts, id);
      },
    );
  }

  #final(line: WebSocket, contexts: Map<string, Context>, id: string): void {
    contexts.delete(id);
    line.send(JSON.stringify({ isFinal: true, contextId: id }));
  }
}
