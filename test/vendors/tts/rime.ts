import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import * as z from 'zod';
import { cutAnywhere, madeSpeech } from './made-speech.js';
import { KEY, SpeechDouble } from './speech-double.js';
import { rimeVoices } from './voice-lists.js';

/**
 * Rime's JSON WebSocket `/ws3`, strict about what it is sent. Written from docs.rime.ai/docs/websockets and
 * docs.rime.ai/api-reference/arcana/websockets-json (read 2026-11-21); that a flush is answered with `done` from
 * LiveKit's plug-in (livekit/agents-js, plugins/rime/src/tts.ts, 2026-08-21).
 */
const messageSchema = z.union([
  z.strictObject({ text: z.string(), contextId: z.string().exactOptional() }),
  z.strictObject({ operation: z.enum(['flush', 'clear', 'eos']), contextId: z.string().exactOptional() }),
]);

const QUERY: Readonly<Record<string, RegExp>> = {
  speaker: /^\w+$/,
  modelId: /^(coda|arcana\w*|mistv?\d?)$/,
  audioFormat: /^pcm$/,
  samplingRate: /^\d{4,5}$/,
  lang: /^[a-z]{3}$/,
  segment: /^(immediate|never|bySentence)$/,
  speedAlpha: /^[\d.]+$/,
  timeScaleFactor: /^[\d.]+$/,
};

export class RimeDouble extends SpeechDouble {
  override readonly voiceList = rimeVoices;
  readonly addresses: URL[] = [];
  #dead = 0;

  protected override connectProblem({ url = '', headers }: IncomingMessage) {
    const { pathname, searchParams } = new URL(url, 'http://double');
    if (headers.authorization !== `Bearer ${KEY}`) return { status: 401, reason: 'Unauthorized' };
    if (pathname !== '/ws3') return { status: 404, reason: 'not found' };
    for (const [name, value] of searchParams) {
      if (QUERY[name]?.test(value) !== true) return { status: 400, reason: `query ${name}=${value}` };
    }
    return null;
  }

  protected override onLine(line: WebSocket, url: URL): void {
    this.addresses.push(url);
    const rateHz = Number(url.searchParams.get('samplingRate'));
    let buffer = '';
    let contextId: string | null = null;
    let stop: () => void = () => undefined;
    const send = (value: object): void => {
      if (line.readyState === line.OPEN) line.send(JSON.stringify({ ...value, contextId }));
    };
    line.on('close', () => stop());
    line.on('message', (data: Buffer) => {
      const parsed = messageSchema.safeParse(JSON.parse(data.toString('utf8')));
      if (!parsed.success) {
        this.violation(`no message of the protocol: ${data.toString('utf8').slice(0, 300)}`);
        return;
      }
      const message = parsed.data;
      if ('text' in message) {
        buffer += message.text;
        contextId = message.contextId ?? null;
      } else if (message.operation === 'eos') line.close(1000);
      else if (message.operation === 'clear') {
        stop();
        buffer = '';
        this.cancelled++;
        this.changed();
      } else {
        const text = buffer.trim();
        buffer = '';
        this.#speak(line, text, rateHz, send, (one) => (stop = one));
      }
    });
  }

  #speak(
    line: WebSocket,
    text: string,
    rateHz: number,
    send: (value: object) => void,
    setStop: (stop: () => void) => void,
  ): void {
    this.spoken.push(text);
    this.changed();
    if (this.#dead < (this.faults.deadConnections ?? 0)) {
      this.#dead++;
      line.terminate();
      return;
    }
    const { bytes, words } = madeSpeech(text, rateHz);
    const times = {
      type: 'timestamps',
      word_timestamps: {
        words: words.map((word) => word.text),
        start: words.map(({ startMs }) => startMs / 1000),
        end: words.map(({ endMs }) => endMs / 1000),
      },
    };
    const audio = cutAnywhere(bytes, 4001).map((piece) => ({ type: 'chunk', data: piece.toString('base64') }));
    const stop = this.pour(
      [audio[0] ?? {}, times, ...audio.slice(1)],
      {
        send,
        drop: () => line.terminate(),
        error: () => send({ type: 'error', message: `with ${KEY}` }),
        garbage: () => line.send('<html>'),
      },
      () => send({ type: 'done' }),
    );
    setStop(stop);
  }
}
