import type { Clock } from '../base/clock.js';
import { ParleyError, reasonOf } from '../base/errors.js';

/** A provider that can be warmed up. */
interface Warmable {
  readonly name: string;
}

/** Interval of attempts after a refusal, in milliseconds. */
const AGAIN_MS = 60_000;

/**
 * Vendors that refused the operator's key. Each is tried again every minute until it accepts the key: a revoked key or
 * an account without credit must not stop other agents' calls.
 */
export class Refusals {
  readonly #clock: Clock;
  readonly #onAccepted: (provider: string) => void;
  readonly #refused = new Map<Warmable, ParleyError>();
  readonly #timers = new Map<Warmable, () => void>();
  #closed = false;

  /** @param clock a real-time clock @param onAccepted called with the name of each vendor that accepts again */
  constructor(clock: Clock, onAccepted: (provider: string) => void) {
    this.#clock = clock;
    this.#onAccepted = onAccepted;
  }

  /** Why a provider cannot be used; null = no reason is known. */
  of(provider: Warmable): ParleyError | null {
    return this.#refused.get(provider) ?? null;
  }

  /**
   * Warms a provider up.
   * @returns why it cannot be used now, for the operator; null = it can be
   * @throws ParleyError for a fault that only another setting can fix
   */
  async warmUp(provider: Warmable, warm: () => Promise<void>): Promise<string | null> {
    try {
      await warm();
      return null;
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      if (error.code === 'PROVIDER_REFUSED') {
        this.#refused.set(provider, error);
        this.#askAgain(provider, warm);
        return `${reasonOf(error)}. Agents that need it are refused or use a fallback; it is tried again every minute`;
      }
      if (!error.retryable) throw error;
      return `${reasonOf(error)}: calls will try it again`;
    }
  }

  /** May be called twice. */
  close(): void {
    this.#closed = true;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  #askAgain(provider: Warmable, warm: () => Promise<void>): void {
    if (this.#closed) return;
    this.#timers.get(provider)?.();
    const cancel = this.#clock.schedule(this.#clock.nowMs() + AGAIN_MS, () => {
      warm().then(
        () => {
          if (this.#refused.delete(provider)) this.#onAccepted(provider.name);
        },
        () => this.#askAgain(provider, warm),
      );
    });
    this.#timers.set(provider, cancel);
  }
}
