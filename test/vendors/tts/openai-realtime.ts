import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import * as z from 'zod';
import { cutAnywhere, madeSpeech } from './made-speech.js';
import { KEY, SpeechDouble } from './speech-double.js';

/**
 * OpenAI's Realtime API as far as reading aloud goes, strict about what it is sent. Written from
 * platform.openai.com/docs/api-reference/realtime-client-events and …/realtime-server-events by the types of the official
 * SDK `openai` 7.57.0 (resources/realtime/realtime, read 2026-11-21).
 */
const voice = z.enum(['alloy', 'ash', 'ballad', 'coral', 'echo', 'sage', 'shimmer', 'verse', 'marin', 'cedar']);
const messageSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('session.update'),
    session: z.strictObject({
      type: z.literal('realtime'),
      output_modalities: z.tuple([z.literal('audio')]),
      instructions: z.string().min(1),
      audio: z.strictObject({
        output: z.strictObject({
          format: z.strictObject({ type: z.literal('audio/pcm'), rate: z.literal(24_000) }),
          voice,
          speed: z.number().min(0.25).max(1.5).exactOptional(),
        }),
      }),
    }),
  }),
  z.strictObject({
    type: z.literal('response.create'),
    response: z.strictObject({
      conversation: z.enum(['auto', 'none']),
      metadata: z.record(z.string(), z.string()),
      output_modalities: z.tuple([z.literal('audio')]),
      instructions: z.string().min(1),
      input: z.tuple([
        z.strictObject({
          type: z.literal('message'),
          role: z.literal('user'),
          content: z.tuple([z.strictObject({ type: z.literal('input_text'), text: z.string().min(1) })]),
        }),
      ]),
    }),
  }),
  z.strictObject({ type: z.literal('response.cancel'), response_id: z.string() }),
]);

type Message = z.infer<typeof messageSchema>;

export class OpenAiRealtimeDouble extends SpeechDouble {
  readonly received: Message[] = [];
  #dead = 0;
  #count = 0;

  protected override connectProblem({ url = '', headers }: IncomingMessage) {
    const { pathname, searchParams } = new URL(url, 'http://double');
    if (headers.authorization !== `Bearer ${KEY}`) return { status: 401, reason: 'Incorrect API key provided' };
    if (pathname !== '/realtime') return { status: 404, reason: 'not found' };
    return searchParams.get('model')?.startsWith('gpt-') === true ? null : { status: 400, reason: 'model' };
  }

  protected override onLine(line: WebSocket): void {
    let hasSession = false;
    let running: { id: string; stop: () => void; metadata: object } | null = null;
    const send = (value: object): void => {
      if (line.readyState === line.OPEN)
        line.send(JSON.stringify({ event_id: `event_${String(++this.#count)}`, ...value }));
    };
    const end = (status: string, status_details: object | null): void => {
      if (running === null) return;
      const { id, metadata } = running;
      running = null;
      send({ type: 'response.done', response: { id, object: 'realtime.response', status, status_details, metadata } });
    };
    send({ type: 'session.created', session: { type: 'realtime' } });
    line.on('close', () => running?.stop());
    line.on('message', (data: Buffer) => {
      const parsed = messageSchema.safeParse(JSON.parse(data.toString('utf8')));
      if (!parsed.success) {
        this.violation(`no message of the protocol: ${data.toString('utf8').slice(0, 400)}`);
        send({ type: 'error', error: { type: 'invalid_request_error', message: parsed.error.message } });
        return;
      }
      const message = parsed.data;
      this.received.push(message);
      if (message.type === 'session.update') {
        hasSession = true;
        send({ type: 'session.updated', session: message.session });
      } else if (message.type === 'response.cancel') {
        if (running?.id !== message.response_id) {
          send({
            type: 'error',
            error: { type: 'invalid_request_error', code: 'response_cancel_not_active', message: '' },
          });
          return;
        }
        running.stop();
        this.cancelled++;
        end('cancelled', { type: 'cancelled', reason: 'client_cancelled' });
        this.changed();
      } else {
        if (!hasSession) this.violation('a response before the session was set up');
        if (running !== null) this.violation('two responses at once');
        const text = message.response.input[0].content[0].text;
        const id = `resp_${String(++this.#count)}`;
        running = { id, stop: () => undefined, metadata: message.response.metadata };
        this.spoken.push(text);
        this.changed();
        if (this.#dead < (this.faults.deadConnections ?? 0)) {
          this.#dead++;
          line.terminate();
          return;
        }
        send({
          type: 'response.created',
          response: { id, status: 'in_progress', metadata: message.response.metadata },
        });
        const of = { response_id: id, item_id: 'item_1', output_index: 0, content_index: 0 };
        running.stop = this.pour(
          cutAnywhere(madeSpeech(text, 24_000).bytes),
          {
            send: (piece) => send({ type: 'response.output_audio.delta', ...of, delta: piece.toString('base64') }),
            drop: () => line.terminate(),
            error: () => end('failed', { type: 'failed', error: { type: 'server_error', message: `with ${KEY}` } }),
            garbage: () => line.send('{"type":'),
          },
          () => {
            send({ type: 'response.output_audio.done', ...of });
            end('completed', null);
          },
        );
      }
    });
  }
}
