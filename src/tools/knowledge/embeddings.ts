import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { parseJson } from '../../base/json.js';
import { reasonOf } from '../../base/errors.js';
import { GuardedClient } from '../../net/guarded-client.js';

/** An embedding model: any server with OpenAI's `/embeddings`. */
export interface EmbeddingRoute {
  /** The API's root, with its version. */
  baseUrl: string;
  apiKey: string | null;
  /** The server's own name of the model. */
  model: string;
}

/** Texts per request. */
export const EMBEDDING_BATCH = 64;

/** Fits 64 vectors of 4,096 numbers as JSON. */
const MAX_REPLY_BYTES = 16_777_216;

const replySchema = z.object({
  data: z.array(z.object({ index: z.int().min(0), embedding: z.array(z.number()).min(1) })),
});

export class Embedder {
  readonly route: EmbeddingRoute;
  readonly #client: GuardedClient;

  constructor(route: EmbeddingRoute, clock: Clock) {
    this.route = route;
    this.#client = new GuardedClient({ clock, allowUrls: [new URL(route.baseUrl).origin] });
  }

  /**
   * The embeddings of texts, normalised to length 1, in order.
   * @param texts at most 64
   * @param signal default none
   * @throws Error describing the server's failure; the signal's reason when it is aborted
   */
  async embed(texts: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<Float32Array[]> {
    const { baseUrl, apiKey, model } = this.route;
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (apiKey !== null) headers['authorization'] = `Bearer ${apiKey}`;
    const reply = await this.#client.request({
      url: `${baseUrl.replace(/\/+$/, '')}/embeddings`,
      method: 'POST',
      headers,
      body: JSON.stringify({ model, input: texts, encoding_format: 'float' }),
      timeoutMs,
      maxBytes: MAX_REPLY_BYTES,
      signal: signal ?? new AbortController().signal,
    });
    if (reply.status !== 200) throw new Error(`the embedding server answered with status ${String(reply.status)}`);
    const vectors = new Map(parsed(reply.body).map(({ index, embedding }) => [index, unit(embedding)]));
    const length = vectors.get(0)?.length;
    return texts.map((_text, index) => {
      const vector = vectors.get(index);
      if (vector === undefined || vector.length !== length) throw new Error('the embedding server left vectors out');
      return vector;
    });
  }

  /** Closes its connections. May be called twice. */
  close(): Promise<void> {
    return this.#client.close();
  }
}

function parsed(body: Buffer): z.infer<typeof replySchema>['data'] {
  try {
    return replySchema.parse(parseJson(body.toString('utf8'))).data;
  } catch (error) {
    throw new Error(`the embedding server's reply is invalid (${reasonOf(error).slice(0, 100)})`, { cause: error });
  }
}

function unit(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector) || 1;
  return Float32Array.from(vector, (it) => it / length);
}
