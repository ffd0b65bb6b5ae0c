import { httpServer, type LocalServer } from '../net/local-server.js';

/**
 * OpenAI's `POST /v1/embeddings`, strict about what it is sent: a model, and 1 to 2048 texts that are not empty. Written
 * from developers.openai.com/api/docs/api-reference/embeddings.
 */
export class EmbeddingsDouble {
  /** How many texts each request had. */
  readonly sizes: number[] = [];
  /** Answers with this status in place of embeddings; null = with embeddings. */
  status: number | null = null;
  /** Replaces the body of the answer; null = does not. */
  body: string | null = null;
  /** Does not answer. */
  isSilent = false;
  readonly #meaning: (text: string) => readonly number[];
  #server: LocalServer | null = null;

  /** @param meaning the vector of a text, of any length */
  constructor(meaning: (text: string) => readonly number[]) {
    this.#meaning = meaning;
  }

  /** @returns the API's root */
  async open(): Promise<string> {
    this.#server = await httpServer((request, response, sent) => {
      const { model, input, encoding_format: format, ...others } = JSON.parse(sent) as Record<string, unknown>;
      const texts = Array.isArray(input) ? (input as unknown[]) : [];
      const isGood =
        request.method === 'POST' &&
        request.url === '/v1/embeddings' &&
        request.headers.authorization === 'Bearer key' &&
        typeof model === 'string' &&
        texts.length >= 1 &&
        texts.length <= 2048 &&
        texts.every((text) => typeof text === 'string' && text !== '') &&
        format === 'float' &&
        Object.keys(others).length === 0;
      this.sizes.push(texts.length);
      if (this.isSilent) return;
      response.statusCode = isGood ? (this.status ?? 200) : 400;
      response.setHeader('content-type', 'application/json');
      const data = (texts as string[]).map((text, index) => {
        return { object: 'embedding', index, embedding: this.#meaning(text) };
      });
      response.end(this.body ?? JSON.stringify({ object: 'list', model, data: data.toReversed() }));
    });
    return `${this.#server.origin}/v1`;
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }
}
