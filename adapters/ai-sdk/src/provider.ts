import type { LlmPiece, LlmProvider, LlmRequest, ToolCall } from '@parley-voice/parley';
import { Deadlines, failed } from '@parley-voice/parley/providers';
import { parleyError, wordsOf } from './errors.js';
import type { AiSdkModel, AiSdkPart, AiSdkProviderOptions } from './model.js';
import { readPart } from './parts.js';
import { callOf } from './prompt.js';

export interface AiSdkOptions {
  /** A model, or what makes one of the agent's model id (`(id) => openai(id)`). */
  model: AiSdkModel | ((modelId: string) => AiSdkModel);
  /** For messages and traces. Default `ai-sdk`. */
  name?: string;
  /** Milliseconds from the request to the first part of the reply. Default 15000. */
  firstPartTimeoutMs?: number;
  /** Milliseconds between two parts. Default 10000. */
  idleTimeoutMs?: number;
  /** Keys that no error may show, where a vendor repeats them. Default none. */
  secrets?: readonly string[];
  /** Sent with every request, where the model's vendor is spoken to over HTTP. */
  headers?: Readonly<Record<string, string>>;
  /** The vendor's own options, by the vendor's name in the AI SDK: `{ openai: { reasoningEffort: 'minimal' } }`. */
  providerOptions?: AiSdkProviderOptions;
}

const MAX_REPLY_CHARS = 4_194_304;
const MAX_CALLS = 64;

/**
 * A language model of the AI SDK. The model is called by itself, without `streamText` and without its retries: parley
 * has failover and deadlines of its own.
 */
export class AiSdkLlm implements LlmProvider {
  readonly name: string;
  readonly virtualTime = false;
  readonly #options: AiSdkOptions;

  constructor(options: AiSdkOptions) {
    this.#options = options;
    this.name = options.name ?? 'ai-sdk';
  }

  /** Nothing: the SDK has no way to open a connection before a request. */
  async warmUp(): Promise<void> {}

  /** @throws ParleyError PROVIDER_FAILED, PROVIDER_REFUSED, PROVIDER_TIMEOUT; the signal's reason when it is aborted */
  async *complete(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    request.signal.throwIfAborted();
    const { firstPartTimeoutMs = 15_000, idleTimeoutMs = 10_000, secrets = [] } = this.#options;
    const deadlines = new Deadlines(request.clock, this.name, request.signal);
    let reader: ReadableStreamDefaultReader<AiSdkPart> | null = null;
    try {
      deadlines.within(firstPartTimeoutMs);
      const opened = this.#open(request, deadlines.signal);
      // A model that overlooks the signal may open its stream when nobody wants it any more.
      void opened.then(
        ({ stream }) => deadlines.signal.aborted && drop(stream),
        () => undefined,
      );
      const { stream } = await untilAborted(opened, deadlines.signal);
      reader = stream.getReader();
      const reply = new Reply();
      for (;;) {
        const { done, value } = await untilAborted(reader.read(), deadlines.signal);
        if (done) break;
        // The reader may take its time between two parts: only the model's silence counts.
        deadlines.pause();
        for (const piece of reply.take(value)) yield piece;
        deadlines.within(idleTimeoutMs);
      }
      yield* reply.finish();
    } catch (error) {
      if (deadlines.signal.aborted) throw deadlines.signal.reason as Error;
      throw parleyError(this.name, error instanceof BrokenReply ? failed(this.name, error.message) : error, secrets);
    } finally {
      deadlines.end();
      reader?.cancel().catch(() => undefined);
    }
  }

  /** Nothing is kept open here. */
  async close(): Promise<void> {}

  async #open(request: LlmRequest, abortSignal: AbortSignal): Promise<{ stream: ReadableStream<AiSdkPart> }> {
    const { model, headers, providerOptions } = this.#options;
    const chosen = typeof model === 'function' ? model(request.model) : model;
    return chosen.doStream({
      ...callOf(request),
      abortSignal,
      ...(headers && { headers: { ...headers } }),
      ...(providerOptions && { providerOptions }),
    });
  }
}

class BrokenReply extends Error {}

/** What has come of one reply. Calls are handed on at its end: one that breaks off has asked for nothing. */
class Reply {
  readonly #calls: ToolCall[] = [];
  #chars = 0;
  #finishReason: string | null = null;

  *take(part: AiSdkPart): Generator<LlmPiece, void, undefined> {
    const { text = '', call, usage, finishReason, error } = readPart(part);
    if (error !== undefined) throw error instanceof Error ? error : new Error(wordsOf(error));
    if (call !== undefined) this.#calls.push(call);
    this.#chars += text.length + (call?.arguments.length ?? 0);
    if (this.#chars > MAX_REPLY_CHARS || this.#calls.length > MAX_CALLS) throw new BrokenReply('the reply is too long');
    if (text !== '') yield { type: 'text', text };
    if (usage !== undefined) yield { type: 'usage', ...usage };
    this.#finishReason = finishReason ?? this.#finishReason;
  }

  *finish(): Generator<LlmPiece, void, undefined> {
    const reason = this.#finishReason;
    if (reason === null) throw new BrokenReply('the stream broke off');
    if (reason === 'error') throw new BrokenReply('the model stopped because of an error');
    if (reason === 'content-filter' && this.#chars === 0) {
      throw new BrokenReply('the content filter withheld the reply');
    }
    // A call that the limit of tokens has cut is none.
    if (reason === 'length') return;
    for (const call of this.#calls) yield { type: 'toolCall', call };
  }
}

function drop(stream: ReadableStream<AiSdkPart>): void {
  stream.cancel().catch(() => undefined);
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
