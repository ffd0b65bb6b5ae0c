import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import * as z from 'zod';
import { cutAnywhere, madeSpeech } from './made-speech.js';
import { KEY, SpeechDouble } from './speech-double.js';
import { deepgramVoices } from './voice-lists.js';

/**
 * Deepgram's streaming text-to-speech WebSocket `/v1/speak`, strict about what it is sent. Written from
 * developers.deepgram.com/reference/text-to-speech/speak-streaming (AsyncAPI in deepgram/deepgram-api-specs at its
 * version of 2026-07-22) and developers.deepgram.com/docs/tts-ws-flush (read 2026-11-21): 20 flushes a minute.
 */
const messageSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('Speak'), text: z.string().min(1).max(2000) }),
  z.strictObject({ type: z.literal('Flush') }),
  z.strictObject({ type: z.literal('Clear') }),
  z.strictObject({ type: z.literal('Close') }),
]);

const QUERY: Readonly<Record<string, RegExp>> = {
  model: /^aura-(2-)?[a-z]+-[a-z]{2}$/,
  encoding: /^linear16$/,
  sample_rate: /^(8000|16000|24000|32000|48000)$/,
  speed: /^(0\.[7-9]\d*|1(\.[0-4]\d*|\.50*)?)$/,
  mip_opt_out: /^(true|false)$/,
};
const FLUSHES_A_MINUTE = 20;

export class DeepgramDouble extends SpeechDouble {
  override readonly voiceList = deepgramVoices;
  readonly addresses: URL[] = [];
  #dead = 0;

  protected override connectProblem({ url = '', headers }: IncomingMessage) {
    const { pathname, searchParams } = new URL(url, 'http://double');
    if (headers.authorization !== `Token ${KEY}`) return { status: 401, reason: 'Invalid credentials.' };
    if (pathname !== '/v1/speak') return { status: 404, reason: 'not found' };
    for (const [name, value] of searchParams) {
      if (QUERY[name]?.test(value) !== true) return { status: 400, reason: `query ${name}=${value}` };
    }
    return null;
  }

  protected override onLine(line: WebSocket, url: URL): void {
    this.addresses.push(url);
    const rateHz = Number(url.searchParams.get('sample_rate'));
    const send = (value: object): void => line.send(JSON.stringify(value));
    send({ type: 'Metadata', request_id: 'a1', model_name: 'aura', model_version: '1', model_uuid: 'a2' });
    let buffer = '';
    let flushes = 0;
    let sequence_id = 0;
    let stop: () => void = () => undefined;
    line.on('close', () => stop());
    line.on('message', (data: Buffer) => {
      const parsed = messageSchema.safeParse(JSON.parse(data.toString('utf8')));
      if (!parsed.success) {
        this.violation(`no message of the protocol: ${data.toString('utf8').slice(0, 300)}`);
        return;
      }
      const message = parsed.data;
      if (message.type === 'Speak') buffer += message.text;
      else if (message.type === 'Close') line.close(1000);
      else if (message.type === 'Clear') {
        stop();
        buffer = '';
        this.cancelled++;
        send({ type: 'Cleared', sequence_id: sequence_id++ });
        this.changed();
      } else if (++flushes > FLUSHES_A_MINUTE) {
        this.violation('more than 20 flushes within a minute');
        send({ type: 'Warning', code: 'EXCESSIVE_FLUSH', description: 'Flush limit exceeded' });
      } else {
        const text = buffer;
        buffer = '';
        this.spoken.push(text);
        this.changed();
        if (this.#dead < (this.faults.deadConnections ?? 0)) {
          this.#dead++;
          line.terminate();
          return;
        }
        stop = this.pour(
          cutAnywhere(madeSpeech(text, rateHz).bytes, 3001),
          {
            send: (piece) => line.send(piece),
            drop: () => line.terminate(),
            error: () => send({ type: 'Error', description: `with ${KEY}`, code: 'INTERNAL' }),
            garbage: () => line.send('{"type": "Flu'),
          },
          () => send({ type: 'Flushed', sequence_id: sequence_id++ }),
        );
      }
    });
  }
}
