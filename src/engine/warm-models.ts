import type { Clock } from '../base/clock.js';
import type { LlmProvider } from '../providers/llm/llm.js';

/** Vendors' connections stay open for a minute without requests. */
const WARM_MS = 45_000;

/** Opens connections to language models when calls begin, so that the first turn does not wait for one. */
export class WarmModels {
  readonly #clock: Clock;
  readonly #sinceMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does not wait: a failure shows in the first request. */
  open(llm: LlmProvider, model: string): void {
    if (llm.virtualTime || this.#clock.virtual) return;
    const nowMs = this.#clock.nowMs();
    if (nowMs - (this.#sinceMs.get(model) ?? -Infinity) < WARM_MS) return;
    this.#sinceMs.set(model, nowMs);
    void llm.warmUp().catch(() => undefined);
  }
}
