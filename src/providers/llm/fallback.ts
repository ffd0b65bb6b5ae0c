import { ParleyError } from '../../errors.js';
import { Deadlines } from '../deadlines.js';
import type { LlmPiece, LlmProvider, LlmRequest } from './llm.js';

export interface FallbackOptions {
  primary: LlmProvider;
  secondary: LlmProvider;
  /** The model id that the secondary is asked for. Default: that of the request. */
  secondaryModel?: string;
  /** Milliseconds until the primary's first text or tool call. Default 3000. */
  firstPieceTimeoutMs?: number;
  /** The secondary takes over, and why. What it throws is not caught. */
  onFallback?: (reason: Error) => void;
}

/**
 * Two models as one: where the primary fails before its first word or tool call, or is slow to give one, the secondary
 * answers. What has been said is never said again by another: a failure after the first piece is the caller's. A reply
 * that ends in good order without saying anything is no failure.
 */
export class FallbackLlmProvider implements LlmProvider {
  readonly name: string;
  readonly virtualTime: boolean;
  readonly #options: FallbackOptions;

  constructor(options: FallbackOptions) {
    this.#options = options;
    this.name = `${options.primary.name}+${options.secondary.name}`;
    this.virtualTime = options.primary.virtualTime && options.secondary.virtualTime;
  }

  /** Warms up both; the secondary is all it needs. */
  async warmUp(): Promise<void> {
    const [, secondary] = await Promise.allSettled([this.#options.primary.warmUp(), this.#options.secondary.warmUp()]);
    if (secondary.status === 'rejected') throw secondary.reason;
  }

  async *complete(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    const { primary, secondary, secondaryModel, firstPieceTimeoutMs = 3000, onFallback } = this.#options;
    const deadlines = new Deadlines(request.clock, primary.name, request.signal);
    const reply = primary.complete({ ...request, signal: deadlines.signal })[Symbol.asyncIterator]();
    let begun = false;
    try {
      deadlines.within(firstPieceTimeoutMs);
      for (;;) {
        const next = await nextUntilAborted(reply, deadlines.signal);
        if (next.done === true) return;
        if (!begun && next.value.type !== 'usage') {
          begun = true;
          deadlines.pause();
        }
        yield next.value;
      }
    } catch (error) {
      if (begun || request.signal.aborted) throw error;
      deadlines.end();
      onFallback?.(asError(error, primary.name));
    } finally {
      deadlines.end();
      // A provider that does not react to its signal must not hold up the call.
      void reply.return?.().catch(() => undefined);
    }
    yield* secondary.complete(secondaryModel === undefined ? request : { ...request, model: secondaryModel });
  }

  async close(): Promise<void> {
    await Promise.all([this.#options.primary.close(), this.#options.secondary.close()]);
  }
}

/** The next piece, or the signal's reason as soon as it is aborted, even where the provider does not react. */
function nextUntilAborted(reply: AsyncIterator<LlmPiece>, signal: AbortSignal): Promise<IteratorResult<LlmPiece>> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    const settled = (): void => {
      signal.removeEventListener('abort', onAbort);
    };
    reply.next().then(resolve, reject).finally(settled);
  });
}

function asError(error: unknown, provider: string): Error {
  return error instanceof Error ? error : new ParleyError('PROVIDER_FAILED', { provider, reason: String(error) });
}
