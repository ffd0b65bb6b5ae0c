import type { LlmPiece, LlmProvider, LlmRequest, ReplyShape } from '../llm/llm.js';
import type { Health, Switch, DeadlineBounds } from './health.js';
import { type Contender, hedged } from './hedge.js';

export interface LlmEntry {
  provider: LlmProvider;
  /** The model id to request. Default: the id of the request. */
  model?: string;
  health: Health;
  /**
   * The model takes text only: it is skipped while the last message is the user's and its transcript is not known yet.
   */
  needsWords?: boolean;
  /** Name in notes and errors. Default: the provider's name and the model id. */
  label?: string;
  /** Retry this entry once, if it fails or is slow, before falling back to the next. Default false. */
  again?: boolean;
}

export interface FailoverLlmOptions {
  /** In order of preference. At least one. */
  entries: readonly LlmEntry[];
  onSwitch: (what: Switch) => void;
  /** Deadline for the first token or tool call. Default 3000 ms at first, then 600 to 5000. */
  bounds?: DeadlineBounds;
}

const BOUNDS: DeadlineBounds = { defaultMs: 3000, minMs: 600, maxMs: 5000 };

/**
 * LLM with fallbacks. If a model fails before its first token or tool call, the next one answers; if it exceeds its
 * usual latency, the next one starts as a hedge and the faster one answers. Text that has been spoken is never
 * repeated: a failure after the first piece goes to the caller. An empty reply that ends normally is not a failure.
 */
export class FailoverLlm implements LlmProvider {
  readonly name: string;
  readonly virtualTime: boolean;
  readonly tellsOutcomes = true;
  /** What all of them can do, so that a fallback's answer has the same form. */
  readonly shapes: readonly ReplyShape[];
  readonly #options: FailoverLlmOptions;

  constructor(options: FailoverLlmOptions) {
    this.#options = options;
    const providers = options.entries.map(({ provider }) => provider);
    this.name = providers[0]?.name ?? 'none';
    this.virtualTime = providers.every((provider) => provider.virtualTime);
    const [first, ...others] = providers;
    this.shapes = (first?.shapes ?? []).filter((shape) => others.every(({ shapes = [] }) => shapes.includes(shape)));
  }

  /** Warms up all entries; one success is enough. */
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
            provider: provider.name,
            health,
            start: (signal) => signed(provider, { ...request, model: model ?? request.model, signal }),
          };
          return again ? [contender, { ...contender, again }] : [contender];
        }),
      isResult: (piece) => piece.type !== 'usage',
      bounds,
      onSwitch,
      onOutcome: request.onOutcome,
      clock: request.clock,
      signal: request.signal,
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#options.entries.map(({ provider }) => provider.close()));
  }
}

/** Adds the provider to usage counts. */
async function* signed(provider: LlmProvider, request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
  const by = { provider: provider.name, model: request.model };
  for await (const piece of provider.complete(request)) yield piece.type === 'usage' ? { ...piece, by } : piece;
}
