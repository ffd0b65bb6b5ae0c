import type { Clock } from '../base/clock.js';
import type { ProviderOutcome } from '../providers/outcome.js';

/** Reports the outcome of one request to a provider that does not report it itself. */
export class OutcomeTimer {
  readonly #provider: string;
  readonly #tell: ((outcome: ProviderOutcome) => void) | null;
  readonly #clock: Clock;
  readonly #fromMs: number;
  #isFirst = true;

  /** Starts measuring. */
  constructor(
    { name, tellsOutcomes = false }: { readonly name: string; readonly tellsOutcomes?: boolean },
    clock: Clock,
    tell: (outcome: ProviderOutcome) => void,
  ) {
    this.#provider = name;
    this.#tell = tellsOutcomes ? null : tell;
    this.#clock = clock;
    this.#fromMs = clock.nowMs();
  }

  /** A result has arrived; all but the first are ignored. */
  first(): void {
    if (!this.#isFirst) return;
    this.#isFirst = false;
    this.#tell?.({ provider: this.#provider, firstMs: this.#clock.nowMs() - this.#fromMs });
  }

  failed(): void {
    this.#tell?.({ provider: this.#provider, failed: 'error' });
  }
}
