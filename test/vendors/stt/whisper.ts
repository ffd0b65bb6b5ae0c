/**
 * A server with OpenAI's POST /audio/transcriptions, from
 * https://developers.openai.com/api/reference/resources/audio/subresources/transcriptions/methods/create (read on
 * 2026-11-21) and the types of the package openai 7.57.0.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Busboy } from '@fastify/busboy';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { delay } from '../../../src/base/clock.js';
import { RealClock } from '../../../src/base/real-clock.js';
import { type Asked, type Faults, NO_FAULTS } from './socket-double.js';
import { Ear } from './spoken-words.js';

const FIELDS = ['model', 'temperature', 'response_format', 'timestamp_granularities[]', 'language', 'prompt'];

export class WhisperDouble {
  readonly faults: Faults = { ...NO_FAULTS, garbage: [] };
  readonly violations: string[] = [];
  readonly asked: Asked[] = [];
  /** Refuses `verbose_json`, as some models do. */
  plainOnly = false;
  /** Requests whose client went away before the reply. */
  cut = 0;
  readonly #key: string;
  readonly #http: Server;
  readonly #watchers = new Set<() => void>();

  constructor(key: string) {
    this.#key = key;
    this.#http = createServer((request, response) => void this.#answer(request, response));
  }

  async listen(): Promise<string> {
    this.#http.listen(0, '127.0.0.1');
    await once(this.#http, 'listening');
    return this.url;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#http.address() as AddressInfo).port)}/v1`;
  }

  drop(): void {
    this.faults.refuse = [0, ''];
    this.#http.closeAllConnections();
  }

  async until(isThere: () => boolean, what: string): Promise<void> {
    const deadline = AbortSignal.timeout(5000);
    while (!isThere()) {
      await new Promise<void>((resolve, reject) => {
        const wake = (): void => {
          this.#watchers.delete(wake);
          resolve();
        };
        this.#watchers.add(wake);
        deadline.addEventListener('abort', () => reject(new Error(`${what} did not come`)), { once: true });
      });
    }
  }

  async close(): Promise<void> {
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('close', () => {
      if (!response.writableFinished) this.cut++;
      this.#wake();
    });
    const { refuse, stalled } = this.faults;
    if (refuse?.[0] === 0) {
      request.destroy();
      return;
    }
    if (refuse !== null) {
      reply(response, ...refuse);
      return;
    }
    if (request.headers.authorization !== `Bearer ${this.#key}`) {
      const said = request.headers.authorization ?? '';
      reply(response, 401, JSON.stringify({ error: { message: `Incorrect API key provided: ${said}` } }));
      return;
    }
    if (request.method === 'GET' && request.url === '/v1/models') {
      reply(response, 200, '{"object":"list","data":[]}');
      return;
    }
    if (request.method !== 'POST' || request.url !== '/v1/audio/transcriptions') {
      reply(response, 404, '{"error":{"message":"no such path"}}');
      return;
    }
    const { fields, file } = await form(request);
    const model = fields.get('model')?.[0] ?? '';
    const keywords = (fields.get('prompt')?.[0] ?? '').split(', ').filter((word) => word !== '');
    this.asked.push({ model, language: fields.get('language')?.[0] ?? null, keywords });
    this.#wake();
    if (stalled) return;
    for (const name of fields.keys()) if (!FIELDS.includes(name)) this.violations.push(`unknown field ${name}`);
    if (model === '') this.violations.push('model is required');
    const isVerbose = fields.get('response_format')?.[0] === 'verbose_json';
    if (isVerbose && this.plainOnly) {
      const message = "response_format 'verbose_json' is not compatible with this model";
      reply(response, 400, JSON.stringify({ error: { message, param: 'response_format' } }));
      return;
    }
    const garbage = this.faults.garbage.shift();
    if (garbage !== undefined) {
      reply(response, 200, garbage);
      return;
    }
    const { lateMs } = this.faults;
    if (lateMs > 0) await delay(new RealClock(), lateMs);
    const text = JSON.stringify(this.#transcribe(file, isVerbose));
    if (this.faults.split) {
      const bytes = Buffer.from(text);
      response.writeHead(200, { 'content-type': 'application/json' });
      for (const byte of bytes) response.write(Buffer.from([byte]));
      response.end();
    } else reply(response, 200, text);
  }

  #transcribe(file: Buffer, isVerbose: boolean): object {
    const { samples, sampleRateHz } = decodeWav(file);
    if (sampleRateHz !== 16_000) this.violations.push(`rate ${String(sampleRateHz)}`);
    const ear = new Ear();
    ear.hear(Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength));
    ear.hear(Buffer.alloc(640));
    const text = ear.words.map((word) => word.text).join(' ');
    if (!isVerbose) return { text };
    const isNoise = text === '';
    return {
      task: 'transcribe',
      language: 'english',
      duration: samples.length / 16_000,
      // What Whisper makes of noise.
      text: isNoise ? ' Thank you for watching!' : ` ${text}`,
      segments: [
        {
          id: 0,
          start: 0,
          end: samples.length / 16_000,
          text: isNoise ? ' Thank you for watching!' : ` ${text}`,
          avg_logprob: isNoise ? -1.4 : -0.2,
          no_speech_prob: isNoise ? 0.9 : 0.01,
        },
      ],
      words: ear.words.map((word) => ({ word: word.text, start: word.startMs / 1000, end: word.endMs / 1000 })),
    };
  }

  #wake(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

function reply(response: ServerResponse, status: number, body: string, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

async function form(request: IncomingMessage): Promise<{ fields: Map<string, string[]>; file: Buffer }> {
  const fields = new Map<string, string[]>();
  const chunks: Buffer[] = [];
  const headers = request.headers as IncomingMessage['headers'] & { 'content-type': string };
  const parser = new Busboy({ headers });
  parser.on('field', (name, value) => fields.set(name, [...(fields.get(name) ?? []), value]));
  parser.on('file', (_name, stream) => stream.on('data', (chunk: Buffer) => chunks.push(chunk)));
  const done = once(parser, 'finish');
  request.pipe(parser);
  await done;
  return { fields, file: Buffer.concat(chunks) };
}
