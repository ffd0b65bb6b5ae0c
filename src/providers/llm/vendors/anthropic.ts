import { createParser } from 'eventsource-parser';
import type { Clock } from '../../../base/clock.js';
import { RealClock } from '../../../base/real-clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { Deadlines } from '../../deadlines.js';
import { parseObject } from '../../wire/json.js';
import { failed, refused, withoutSecrets } from '../../wire/vendor-error.js';
import { VendorHttp, type VendorReply } from '../../wire/vendor-http.js';
import { requestBody, type WireEvent, WireReader } from './anthropic-wire.js';
import type { LlmPiece, LlmProvider, LlmRequest } from '../llm.js';

/** What a model takes: newer ones refuse what older ones were asked for. */
export interface Manners {
  temperature: boolean;
  /**
   * The least thinking that can be asked for, because the user waits: none at all, none before the first words, little, or
   * whatever the model's default is.
   */
  thinking: 'disabled' | 'between_tools' | 'low' | 'default';
  /** Whether a tool can be required. Else the model is only told to call it. */
  requiredTool: boolean;
}

const EVERYTHING: Manners = { temperature: true, thinking: 'disabled', requiredTool: true };

/**
 * By the beginning of the model's name, so that no call begins with a refusal.
 * Source: platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5, …/opus-5-5/overview,
 * …/haiku-5-5/migration-guide (November 2026).
 */
const KNOWN: readonly (readonly [RegExp, Manners])[] = [
  [/^claude-(3|haiku-4|sonnet-4|opus-4)/, EVERYTHING],
  [/^claude-sonnet-5-5/, { temperature: false, thinking: 'between_tools', requiredTool: false }],
  [/^claude-(opus-5-5|fable|mythos)/, { temperature: false, thinking: 'low', requiredTool: false }],
  [/^claude-(haiku|sonnet|opus)-5/, { temperature: false, thinking: 'disabled', requiredTool: true }],
];

export function mannersOf(model: string): Manners {
  return KNOWN.find(([name]) => name.test(model))?.[1] ?? EVERYTHING;
}

/** What to ask instead of what was refused with these words; null = it was something else. */
export function humbler(manners: Manners, refusal: string): Manners | null {
  const { temperature, thinking, requiredTool } = manners;
  if (temperature && /temperature|sampling/i.test(refusal)) return { ...manners, temperature: false };
  // Before thinking, which such a refusal may name as its reason.
  if (requiredTool && /tool_choice|forced tool/i.test(refusal)) return { ...manners, requiredTool: false };
  if (thinking === 'disabled' && /between_tools/.test(refusal)) return { ...manners, thinking: 'between_tools' };
  if ((thinking === 'disabled' || thinking === 'between_tools') && /thinking/i.test(refusal)) {
    return { ...manners, thinking: 'low' };
  }
  return thinking === 'low' && /output_config|effort/i.test(refusal) ? { ...manners, thinking: 'default' } : null;
}

export interface AnthropicOptions {
  apiKey: string;
  /** The API's root. Default `https://api.anthropic.com`. */
  baseUrl?: string;
  /** The vendor's name of a model id. Default: the id. */
  modelName?: (modelId: string) => string;
  /** From the request to the first event of the reply, connecting included. Default 15,000 ms. */
  firstByteTimeoutMs?: number;
  /** Between two events of the reply; those that say nothing count. Default 10,000 ms. */
  idleTimeoutMs?: number;
  /** Times `warmUp`; requests bring their own clock. Default: real time. */
  clock?: Clock;
}

/** The later one, 2026-10-21, takes no temperature, which agents set. */
const API_VERSION = '2023-06-01';
/** Longest event, longest reply, in characters. */
const MAX_EVENT_CHARS = 1_048_576;
const MAX_REPLY_CHARS = 4_194_304;
/** Errors of a stream that the same request runs into again. */
const REFUSALS = new Set([
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'request_too_large',
]);

/** A model behind Anthropic's messages. Connections are kept alive and shared by all sessions. */
export class AnthropicProvider implements LlmProvider {
  readonly name = 'anthropic';
  readonly virtualTime = false;
  readonly #options: AnthropicOptions & { clock: Clock };
  readonly #http: VendorHttp;
  /** Of models that have refused something. */
  readonly #manners = new Map<string, Manners>();

  /** @throws ParleyError CONFIG_INVALID for an address that is none */
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

  /** Opens a connection, so that the first call does not wait for it. Rejects where the key is refused. */
  async warmUp(): Promise<void> {
    const { clock, firstByteTimeoutMs = 15_000 } = this.#options;
    const deadlines = new Deadlines(clock, this.name, new AbortController().signal);
    deadlines.within(firstByteTimeoutMs);
    try {
      const reply = await this.#http.send({ method: 'GET', path: '/v1/models?limit=1', signal: deadlines.signal });
      for await (const chunk of reply.body) void chunk;
    } catch (error) {
      const status = error instanceof ParleyError ? error.details['status'] : undefined;
      // A server that has no such list is there all the same.
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
      deadlines.within(firstByteTimeoutMs);
      const reply = await this.#open(request, deadlines.signal);
      const reader = new WireReader();
      let chars = 0;
      for await (const event of readEvents(reply.body, reader)) {
        if (event.error !== undefined) throw this.#failure(event.error);
        // The reader may take its time between two pieces: only the server's silence counts.
        deadlines.pause();
        chars += event.text.length;
        if (chars > MAX_REPLY_CHARS) throw failed(this.name, 'the reply is too long');
        if (event.text !== '') yield { type: 'text', text: event.text };
        if (event.usage !== undefined) yield { type: 'usage', ...event.usage };
        deadlines.within(idleTimeoutMs);
      }
      if (reader.stopReason === 'refusal' && chars === 0) throw failed(this.name, 'the model refused to answer');
      // A call that the limit of tokens has cut is none.
      if (reader.stopReason !== 'max_tokens') for (const call of reader.calls) yield { type: 'toolCall', call };
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

  /** Sends the request, again without what the model refuses of it. */
  async #open(request: LlmRequest, signal: AbortSignal): Promise<VendorReply> {
    const model = this.#options.modelName?.(request.model) ?? request.model;
    for (;;) {
      const manners = this.#manners.get(model) ?? mannersOf(model);
      try {
        return await this.#http.send({
          method: 'POST',
          path: '/v1/messages',
          signal,
          headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
          body: requestBody(request, model, manners),
        });
      } catch (error) {
        const isRefusal = error instanceof ParleyError && error.details['status'] === 400;
        const next = isRefusal ? humbler(manners, error.message) : null;
        if (next === null) throw error;
        this.#manners.set(model, next);
      }
    }
  }

  #failure({ type, message }: { type: string; message: string }): ParleyError {
    const reason = withoutSecrets(`${type}: ${message}`, [this.#options.apiKey]);
    return REFUSALS.has(type) ? refused(this.name, reason) : failed(this.name, reason);
  }
}

/** The events of a stream, up to the message's end. Throws where it breaks off or holds broken JSON. */
async function* readEvents(body: AsyncIterable<Buffer>, reader: WireReader): AsyncGenerator<WireEvent> {
  const ready: string[] = [];
  let overflow = false;
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: (event) => ready.push(event.data),
    onError: (error) => {
      overflow ||= error.type === 'max-buffer-size-exceeded';
    },
  });
  const decoder = new TextDecoder();
  let ended = false;
  // Read to its end, so that the connection can be used again.
  for await (const chunk of body) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (overflow) throw new Error('an event is too long');
    for (const data of ready.splice(0)) {
      const object = parseObject(data);
      if (object === null) throw new Error('unreadable event in the stream');
      const event = reader.read(object);
      ended ||= event.ended === true;
      yield event;
    }
  }
  if (!ended) throw new Error('the stream broke off');
}
