import { ParleyError } from '../../errors.js';
import { Breaker } from './breaker.js';
import { LatencyWindow } from './latency-window.js';

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
