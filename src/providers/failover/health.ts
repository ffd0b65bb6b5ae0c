import { ParleyError } from '../../base/errors.js';

/** Consecutive failures that open the breaker. */
const FAILURES = 3;
/** Initial and maximum time the breaker stays open. Each failed trial doubles it. */
const FIRST_OPEN_MS = 10_000;
const MAX_OPEN_MS = 300_000;

/**
 * A circuit breaker: after several consecutive failures a provider is skipped for a while, then tried with one request.
 * The caller passes in the time.
 */
export class Breaker {
  #failures = 0;
  #openMs = 0;
  #openUntilMs: number | null = null;
  #trying = false;

  /** Whether a request is allowed. A trial that never begins changes nothing. */
  allows(nowMs: number): boolean {
    if (this.#openUntilMs === null) return true;
    return nowMs >= this.#openUntilMs && !this.#trying;
  }

  get isOpen(): boolean {
    return this.#openUntilMs !== null;
  }

  /** A request is sent. */
  begin(nowMs: number): void {
    if (this.#openUntilMs !== null && nowMs >= this.#openUntilMs) this.#trying = true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#openMs = 0;
    this.#openUntilMs = null;
    this.#trying = false;
  }

  /** @param isFinal a retry cannot succeed, for example because the key is refused */
  failed(nowMs: number, isFinal = false): void {
    this.#failures++;
    const wasTrial = this.#trying;
    this.#trying = false;
    if (!isFinal && !wasTrial && this.#failures < FAILURES) return;
    this.#openMs = Math.min(MAX_OPEN_MS, this.#openMs === 0 ? FIRST_OPEN_MS : this.#openMs * 2);
    this.#openUntilMs = nowMs + this.#openMs;
  }

  /** The request was cancelled for reasons unrelated to the provider; it counts as neither success nor failure. */
  abandoned(): void {
    this.#trying = false;
  }
}

/** Health of one provider, across all sessions of an engine. */
export class Health {
  readonly breaker = new Breaker();
  /** Time to first result: the first token of an LLM, the first audio of TTS, the final transcript of STT. */
  readonly first = new LatencyWindow();
  /** Time to the first interim transcript after speech starts. */
  readonly words = new LatencyWindow();
  /** Time to open a stream. */
  readonly open = new LatencyWindow();

  failed(nowMs: number, error: unknown): void {
    this.breaker.failed(nowMs, error instanceof ParleyError && !error.retryable);
  }
}

/** The health of every provider, by stage and name. */
export class HealthBook {
  readonly #health = new Map<string, Health>();

  of(stage: FailoverStage, name: string): Health {
    const key = `${stage} ${name}`;
    const health = this.#health.get(key) ?? new Health();
    this.#health.set(key, health);
    return health;
  }
}

export type FailoverStage = 'stt' | 'llm' | 'tts';

/** A fallback or hedge: another provider takes over from or runs beside `from`, or the same one is retried. */
export interface Switch {
  stage: FailoverStage;
  from: string;
  to: string;
  /** Why, as text. */
  reason: string;
}

export function switchText({ from, to, reason }: Switch): string {
  return from === to ? `${from} is asked again: ${reason}` : `${from} -> ${to}: ${reason}`;
}

/** Providers in order, healthy ones first; those with an open breaker come last as a final resort. */
export function inOrder<T extends { health: Health }>(entries: readonly T[], nowMs: number): T[] {
  const usable = entries.filter(({ health }) => health.breaker.allows(nowMs));
  return [...usable, ...entries.filter((entry) => !usable.includes(entry))];
}

/** One error for all failures; retryable if any of them is. */
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

/** Number of recent latencies that are kept. */
const WINDOW = 200;
/** With fewer samples, the default applies. */
const ENOUGH = 10;

/** Bounds of an adaptive deadline, in milliseconds. */
export interface DeadlineBounds {
  /** Applies until there are enough samples. */
  defaultMs: number;
  minMs: number;
  maxMs: number;
}

/** Deadline as a multiple of the 99th percentile. */
const SLACK = 1.25;

/** A sliding window of recent latencies, and the adaptive deadline derived from it. */
export class LatencyWindow {
  readonly #times: number[] = [];
  #next = 0;

  add(ms: number): void {
    this.#times[this.#next] = ms;
    this.#next = (this.#next + 1) % WINDOW;
  }

  /** The 99th percentile in milliseconds; null = too few samples. */
  get p99Ms(): number | null {
    if (this.#times.length < ENOUGH) return null;
    const sorted = this.#times.toSorted((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? null;
  }

  /** Whether the usual latency exceeds the longest deadline. */
  isSlowerThan({ maxMs }: DeadlineBounds): boolean {
    const { p99Ms } = this;
    return p99Ms !== null && p99Ms * SLACK > maxMs;
  }

  deadlineMs({ defaultMs, minMs, maxMs }: DeadlineBounds): number {
    const { p99Ms } = this;
    return p99Ms === null ? defaultMs : Math.min(maxMs, Math.max(minMs, p99Ms * SLACK));
  }
}
