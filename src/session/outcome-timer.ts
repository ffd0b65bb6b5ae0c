import type { Clock } from '../base/clock.js';
import type { ProviderOutcome } from '../providers/outcome.js';

/** Tells what comes of one request to a provider, where the provider does not tell it itself. */
export class OutcomeTimer {
  readonly #provider: string;
  readonly #tell: ((outcome: ProviderOutcome) => void) | null;
  readonly #clock: Clock;
  readonly #fromMs: number;
  #isFirst = true;

  /** The request begins now. */
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

  /** A result is there; all but the first are ignored. */
  first(): void {
    if (!this.#isFirst) return;
    this.#isFirst = false;
    this.#tell?.({ provider: this.#provider, firstMs: this.#clock.nowMs() - this.#fromMs });
  }

  failed(): void {
    this.#tell?.({ provider: this.#provider, failed: 'error' });
  }
}
