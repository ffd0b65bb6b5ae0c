import { untilAborted } from '../base/deadlines.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import type { LlmPiece, LlmProvider, LlmRequest } from '../providers/llm/llm.js';
import { successorOf } from '../settings/models.js';
import type { CompletionRequest } from './options.js';
import { RunningAnswers } from './running-answers.js';
import type { EngineServices } from './services.js';

/** Replies of the engine's models outside sessions. See `Engine.complete`. */
export class Completions {
  readonly #services: EngineServices;
  readonly #running: RunningAnswers;

  constructor(services: EngineServices) {
    this.#services = services;
    this.#running = new RunningAnswers(services.networkClock);
  }

  answer(request: CompletionRequest): AsyncGenerator<LlmPiece, void, undefined> {
    return this.#running.pass(request.signal, (signal) => this.#answer(request, signal));
  }

  /** Aborts running replies. May be called twice. */
  close(): Promise<void> {
    return this.#running.close();
  }

  async *#answer(request: CompletionRequest, signal: AbortSignal): AsyncGenerator<LlmPiece, void, undefined> {
    signal.throwIfAborted();
    const asked = this.#asked(request, signal);
    const llm = this.#provider(asked.model, request.fallbacks ?? true);
    try {
      const by = { provider: llm.name, model: asked.model };
      for await (const piece of untilAborted(llm.complete(asked), signal)) {
        yield piece.type === 'usage' && piece.by === undefined ? { ...piece, by } : piece;
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof ParleyError) throw error;
      throw new ParleyError('PROVIDER_FAILED', { provider: llm.name, reason: reasonOf(error) }, { cause: error });
    }
  }

  #asked(request: CompletionRequest, signal: AbortSignal): LlmRequest {
    const { model, messages, tools, requiredTool, temperature, seed, pieceTimeoutMs } = request;
    const { networkClock: clock, options } = this.#services;
    if (messages.length === 0) throw invalid('messages', 'at least one message is expected');
    const asked: LlmRequest = {
      model: options.models.has(model) ? model : (successorOf(model, options.models) ?? model),
      messages,
      tools: tools ?? [],
      temperature: temperature ?? 0,
      clock,
      signal,
    };
    if (seed != null) asked.seed = seed;
    if (pieceTimeoutMs != null) asked.pieceTimeoutMs = pieceTimeoutMs;
    if (requiredTool == null) return asked;
    if (!asked.tools.some(({ name }) => name === requiredTool)) {
      throw invalid('requiredTool', `"${requiredTool}" is not one of the tools`);
    }
    asked.requiredTool = requiredTool;
    return asked;
  }

  /** @throws ParleyError PROVIDER_UNKNOWN */
  #provider(model: string, hasFallbacks: boolean): LlmProvider {
    const { providers, networkFallbacks } = this.#services;
    if (!hasFallbacks) return providers.llm(model, undefined);
    return networkFallbacks.llm(model, undefined, () => undefined);
  }
}

function invalid(member: string, reason: string): ParleyError {
  return new ParleyError('ARGUMENT_INVALID', { argument: `CompletionRequest.${member}`, reason });
}
