import type { LlmPiece, LlmProvider, LlmRequest } from '../llm/llm.js';
import type { Health, Switch } from './health.js';
import { type Contender, hedged } from './hedge.js';
import type { DeadlineBounds } from './latency-window.js';

export interface LlmEntry {
  provider: LlmProvider;
  /** The model id that it is asked for. Default: that of the request. */
  model?: string;
  health: Health;
  /** It hears nothing itself: where the last message is the user's and its words are not known yet, it is not asked. */
  needsWords?: boolean;
  /** In notes and errors. Default: the provider's name and the model id. */
  label?: string;
  /** It is asked once more, where it fails or is slow, before the next is. Default false. */
  again?: boolean;
}

export interface FailoverLlmOptions {
  /** The first is asked as long as it does well. At least one. */
  entries: readonly LlmEntry[];
  onSwitch: (what: Switch) => void;
  /** Until the first word or tool call. Default 3000 ms at first, then 600 to 5000. */
  bounds?: DeadlineBounds;
}

const BOUNDS: DeadlineBounds = { defaultMs: 3000, minMs: 600, maxMs: 5000 };

/**
 * Several models as one: where one fails before its first word or tool call the next answers, and where it is slower than
 * it ever is the next is asked too, and the quicker one answers. What has been said is never said again by another: a
 * failure after the first piece is the caller's. A reply that ends in good order without saying anything is no failure.
 */
export class FailoverLlm implements LlmProvider {
  readonly name: string;
  readonly virtualTime: boolean;
  readonly #options: FailoverLlmOptions;

  constructor(options: FailoverLlmOptions) {
    this.#options = options;
    const providers = options.entries.map(({ provider }) => provider);
    this.name = providers[0]?.name ?? 'none';
    this.virtualTime = providers.every((provider) => provider.virtualTime);
  }

  /** Warms up all; one is all it needs. */
  async warmUp(): Promise<void> {
    await Promise.any(this.#options.entries.map(({ provider }) => provider.warmUp())).catch((error: unknown) => {
      throw error instanceof AggregateError ? error.errors[0] : error;
    });
  }

  complete(request: LlmRequest): AsyncIterable<LlmPiece> {
    const { entries, onSwitch, bounds = BOUNDS } = this.#options;
    const last = request.messages.at(-1);
    const isWordless = last?.role === 'user' && last.content === '';
    return hedged({
      stage: 'llm',
      contenders: entries
        .filter(({ needsWords = false }) => !(isWordless && needsWords))
        .flatMap(({ provider, model, health, label, again = false }) => {
          const contender: Contender<LlmPiece> = {
            name: label ?? (model === undefined ? provider.name : `${provider.name} ${model}`),
            health,
            start: (signal) => signed(provider, { ...request, ...(model !== undefined && { model }), signal }),
          };
          return again ? [contender, { ...contender, again }] : [contender];
        }),
      isResult: (piece) => piece.type !== 'usage',
      bounds,
      onSwitch,
      clock: request.clock,
      signal: request.signal,
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#options.entries.map(({ provider }) => provider.close()));
  }
}

/** What a model counts, with whose it is. */
async function* signed(provider: LlmProvider, request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
  const by = { provider: provider.name, model: request.model };
  for await (const piece of provider.complete(request)) yield piece.type === 'usage' ? { ...piece, by } : piece;
}
