import { ParleyError } from '../../base/errors.js';
import { LatencyWindow } from './latency-window.js';

/** So many failures one after another open it. */
const FAILURES = 3;
/** How long it stays open at first, and at most: each trial that fails doubles it. */
const FIRST_OPEN_MS = 10_000;
const MAX_OPEN_MS = 300_000;

/**
 * A circuit breaker: after some failures in a row a provider is left alone for a while, and then tried with one request.
 * Time is passed in.
 */
export class Breaker {
  #failures = 0;
  #openMs = 0;
  #openUntilMs: number | null = null;
  #trying = false;

  /** Whether it may be asked. A trial that nobody begins changes nothing. */
  allows(nowMs: number): boolean {
    if (this.#openUntilMs === null) return true;
    return nowMs >= this.#openUntilMs && !this.#trying;
  }

  get isOpen(): boolean {
    return this.#openUntilMs !== null;
  }

  /** A request goes out. */
  begin(nowMs: number): void {
    if (this.#openUntilMs !== null && nowMs >= this.#openUntilMs) this.#trying = true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#openMs = 0;
    this.#openUntilMs = null;
    this.#trying = false;
  }

  /** @param isFinal trying again cannot help: a refused key */
  failed(nowMs: number, isFinal = false): void {
    this.#failures++;
    const wasTrial = this.#trying;
    this.#trying = false;
    if (!isFinal && !wasTrial && this.#failures < FAILURES) return;
    this.#openMs = Math.min(MAX_OPEN_MS, this.#openMs === 0 ? FIRST_OPEN_MS : this.#openMs * 2);
    this.#openUntilMs = nowMs + this.#openMs;
  }

  /** Nobody learned anything: the request was given up for reasons of our own. */
  abandoned(): void {
    this.#trying = false;
  }
}

/** What is known of a provider, from all sessions of an engine. */
export class Health {
  readonly breaker = new Breaker();
  /** Until the first result: a word of the model, audio of a voice, the final words of a recogniser. */
  readonly first = new LatencyWindow();
  /** Until a recogniser's first words of somebody who speaks. */
  readonly words = new LatencyWindow();
  /** Until a stream was open. */
  readonly open = new LatencyWindow();

  failed(nowMs: number, error: unknown): void {
    this.breaker.failed(nowMs, error instanceof ParleyError && !error.retryable);
  }
}

/** The health of every provider, by stage and name. */
export class HealthBook {
  readonly #health = new Map<string, Health>();

  of(stage: Stage, name: string): Health {
    const key = `${stage} ${name}`;
    const health = this.#health.get(key) ?? new Health();
    this.#health.set(key, health);
    return health;
  }
}

export type Stage = 'stt' | 'llm' | 'tts';

/** One provider took over from another, or helps it; or it is asked once more itself. */
export interface Switch {
  stage: Stage;
  from: string;
  to: string;
  /** Why, in words. */
  reason: string;
}

export function switchText({ from, to, reason }: Switch): string {
  return from === to ? `${from} is asked again: ${reason}` : `${from} -> ${to}: ${reason}`;
}

/** Those that may be asked, in order, and behind them those that are left alone just now: better than nobody. */
export function inOrder<T extends { health: Health }>(entries: readonly T[], nowMs: number): T[] {
  const usable = entries.filter(({ health }) => health.breaker.allows(nowMs));
  return [...usable, ...entries.filter((entry) => !usable.includes(entry))];
}

/** The error of all of them: retryable where that of one is. */
export function allFailed(errors: readonly { name: string; error: unknown }[]): Error {
  const [only] = errors;
  if (errors.length === 1 && only?.error instanceof Error) return only.error;
  const reason = errors
    .map(({ name, error }) => {
      const text = error instanceof Error ? error.message : String(error);
      return text.startsWith(name) ? text : `${name}: ${text}`;
    })
    .join('; ');
  const retryable = errors.some(({ error }) => !(error instanceof ParleyError) || error.retryable);
  const provider = 'every provider of the list';
  return new ParleyError(retryable ? 'PROVIDER_FAILED' : 'PROVIDER_REFUSED', { provider, reason });
}
