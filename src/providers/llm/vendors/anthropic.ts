import type { Clock } from '../../../base/clock.js';
import { RealClock } from '../../../base/real-clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { Deadlines } from '../../deadlines.js';
import { parseObject } from '../../wire/json.js';
import { serverSentEvents } from '../../wire/server-sent-events.js';
import { failed, refused, withoutSecrets } from '../../wire/vendor-error.js';
import { VendorHttp, type VendorReply } from '../../wire/vendor-http.js';
import {
  type AnthropicEvent,
  AnthropicReply,
  requestBody,
  type ModelSupport,
  supportOf,
  withoutRefused,
} from './anthropic-wire.js';
import type { LlmPiece, LlmProvider, LlmRequest } from '../llm.js';

export interface AnthropicOptions {
  apiKey: string;
  /** The API's root. Default `https://api.anthropic.com`. */
  baseUrl?: string;
  /** The vendor's name of a model id. Default: the id. */
  modelName?: (modelId: string) => string;
  /** From the request to the first event of the reply, connecting included. Default 15,000 ms. */
  firstByteTimeoutMs?: number;
  /** Maximum gap between two events of the reply, keep-alive events included. Default 10,000 ms. */
  idleTimeoutMs?: number;
  /** Clock for `warmUp`; requests bring their own. Default: real time. */
  clock?: Clock;
}

/** The later version 2026-10-21 does not accept a temperature, which agents set. */
const API_VERSION = '2023-06-01';
/** Maximum length of a reply, in characters. */
const MAX_REPLY_CHARS = 4_194_304;
/** Stream errors that a retry would repeat. */
const REFUSALS = new Set([
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'request_too_large',
]);

/** A model behind Anthropic's Messages API. All sessions share keep-alive connections. */
export class AnthropicProvider implements LlmProvider {
  readonly name = 'anthropic';
  readonly virtualTime = false;
  readonly #options: AnthropicOptions & { clock: Clock };
  readonly #http: VendorHttp;
  /** What models take that have refused a parameter. */
  readonly #support = new Map<string, ModelSupport>();

  /** @throws ParleyError CONFIG_INVALID for an invalid address */
  constructor(options: AnthropicOptions) {
    this.#options = { clock: new RealClock(), ...options };
    const { apiKey, baseUrl = 'https://api.anthropic.com' } = options;
    this.#http = new VendorHttp({
      provider: this.name,
      baseUrl,
      secrets: [apiKey],
      headers: { 'x-api-key': apiKey, 'anthropic-version': API_VERSION },
    });
  }

  /** Opens a connection in advance. Rejects if the key is refused. */
  async warmUp(): Promise<void> {
    const { clock, firstByteTimeoutMs = 15_000 } = this.#options;
    const deadlines = new Deadlines(clock, this.name, new AbortController().signal);
    deadlines.within(firstByteTimeoutMs);
    try {
      const reply = await this.#http.send({ method: 'GET', path: '/v1/models?limit=1', signal: deadlines.signal });
      for await (const chunk of reply.body) void chunk;
    } catch (error) {
      const status = error instanceof ParleyError ? error.details['status'] : undefined;
      // A server without a model list is reachable all the same.
      if (status === undefined || status === 401 || status === 403) throw error;
    } finally {
      deadlines.end();
    }
  }

  async *complete(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    request.signal.throwIfAborted();
    const { firstByteTimeoutMs = 15_000, idleTimeoutMs = 10_000 } = this.#options;
    const deadlines = new Deadlines(request.clock, this.name, request.signal);
    try {
      deadlines.within(request.pieceTimeoutMs ?? firstByteTimeoutMs);
      const { body } = await this.#open(request, deadlines.signal);
      const reply = new AnthropicReply();
      let chars = 0;
      for await (const event of readEvents(body, reply)) {
        if (event.error !== undefined) throw this.#failure(event.error);
        // Only the server's silence counts, not the time the reader takes between two pieces.
        deadlines.pause();
        chars += event.text.length;
        if (chars > MAX_REPLY_CHARS) throw failed(this.name, 'the reply is too long');
        if (event.text !== '') yield { type: 'text', text: event.text };
        if (event.usage !== undefined) yield { type: 'usage', ...event.usage };
        deadlines.within(request.pieceTimeoutMs ?? idleTimeoutMs);
      }
      if (reply.stopReason === 'refusal' && chars === 0) throw failed(this.name, 'the model refused to answer');
      // A call truncated by the token limit is dropped.
      if (reply.stopReason !== 'max_tokens') for (const call of reply.calls) yield { type: 'toolCall', call };
    } catch (error) {
      if (deadlines.signal.aborted) throw deadlines.signal.reason;
      throw error instanceof ParleyError ? error : failed(this.name, reasonOf(error), error);
    } finally {
      deadlines.end();
    }
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  /** Sends the request; on a refusal retries without the refused parameter. */
  async #open(request: LlmRequest, signal: AbortSignal): Promise<VendorReply> {
    const model = this.#options.modelName?.(request.model) ?? request.model;
    for (;;) {
      const support = this.#support.get(model) ?? supportOf(model);
      try {
        return await this.#http.send({
          method: 'POST',
          path: '/v1/messages',
          signal,
          headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
          body: requestBody(request, model, support),
        });
      } catch (error) {
        const isRefusal = error instanceof ParleyError && error.details['status'] === 400;
        const next = isRefusal ? withoutRefused(support, error.message) : null;
        if (next === null) throw error;
        this.#support.set(model, next);
      }
    }
  }

  #failure({ type, message }: { type: string; message: string }): ParleyError {
    const reason = withoutSecrets(`${type}: ${message}`, [this.#options.apiKey]);
    return REFUSALS.has(type) ? refused(this.name, reason) : failed(this.name, reason);
  }
}

/** The events of a stream up to the end of the message. Throws if the stream breaks off or contains invalid JSON. */
async function* readEvents(body: AsyncIterable<Buffer>, reply: AnthropicReply): AsyncGenerator<AnthropicEvent> {
  let ended = false;
  // Reads to the end so that the connection can be reused.
  for await (const data of serverSentEvents(body)) {
    const object = parseObject(data);
    if (object === null) throw new Error('unreadable event in the stream');
    const event = reply.read(object);
    ended ||= event.ended === true;
    yield event;
  }
  if (!ended) throw new Error('the stream broke off');
}
