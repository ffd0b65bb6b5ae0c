import type { Cancel, Clock } from '../../base/clock.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import type { ProviderOutcome } from '../outcome.js';
import { allFailed, type Health, inOrder, type FailoverStage, type Switch, type DeadlineBounds } from './health.js';

/** One of several interchangeable providers. */
export interface Contender<T> {
  name: string;
  /** The provider's own name. */
  provider: string;
  health: Health;
  /** Starts the request. The signal aborts when another contender wins. */
  start: (signal: AbortSignal) => AsyncIterable<T>;
  /**
   * A retry of the contender before it. Skipped if that one refused the request, or if it is slow only because its
   * usual latency exceeds the longest deadline.
   */
  again?: boolean;
  /**
   * Start this contender this many milliseconds after the first one, whether or not the others are late; earlier only
   * if they have failed. Default: when the one before it is late.
   */
  byMs?: number | undefined;
  /** It only runs beside another contender, and does not replace one that has failed. */
  isHedge?: boolean;
}

export interface HedgeOptions<T> {
  stage: FailoverStage;
  contenders: readonly Contender<T>[];
  /** Whether a piece counts as a result. Other pieces, such as usage, are held back until the first result. */
  isResult: (piece: T) => boolean;
  bounds: DeadlineBounds;
  clock: Clock;
  signal: AbortSignal;
  onSwitch: (what: Switch) => void;
  onOutcome?: ((outcome: ProviderOutcome) => void) | undefined;
  /** Called with the contender that gives the first result. */
  onWinner?: (winner: Contender<T>) => void;
}

interface Run<T> {
  contender: Contender<T>;
  abort: AbortController;
  pieces: AsyncIterator<T>;
  startedMs: number;
  kept: T[];
  /** The next piece, the end or the error, with the run it belongs to. */
  next: Promise<Step<T>>;
}

type Step<T> = { run: Run<T>; result: IteratorResult<T> } | { run: Run<T>; error: unknown } | { run: null };

/**
 * Hedged request: starts the next contender when one fails or exceeds its usual latency. The first to give a result
 * wins and the others are cancelled. After its first result a failure goes to the caller. A stream that ends normally
 * without a result counts as an answer.
 * @throws the error that `allFailed` builds; the signal's reason when it is aborted
 */
export async function* hedged<T>(options: HedgeOptions<T>): AsyncGenerator<T, void, undefined> {
  const { contenders, clock, signal, isResult, onWinner } = options;
  signal.throwIfAborted();
  const waiting = inOrder(contenders, clock.nowMs());
  const race = new Race(options);
  try {
    race.start(waiting.shift() as Contender<T>);
    let winner: Run<T> | null = null;
    while (winner === null) {
      const step = await race.step(waiting);
      if (step.run === null) race.help(waiting.shift() as Contender<T>);
      else if ('error' in step) race.replace(step.run, step.error, waiting);
      else if (step.result.done === true || isResult(step.result.value)) winner = step.run;
      if (step.run !== null && 'result' in step && step.result.done !== true) step.run.kept.push(step.result.value);
    }
    race.won(winner);
    onWinner?.(winner.contender);
    yield* winner.kept;
    yield* race.rest(winner);
  } finally {
    race.end();
  }
}

class Race<T> {
  readonly #options: HedgeOptions<T>;
  readonly #runs: Run<T>[] = [];
  readonly #errors: { name: string; error: unknown }[] = [];
  readonly #aborted: Promise<never>;
  #onAbort: () => void = () => undefined;
  /** When the first contender started, and when the latest one counts as late. */
  #begunMs: number | null = null;
  #dueMs = 0;

  constructor(options: HedgeOptions<T>) {
    this.#options = options;
    const { signal } = options;
    this.#aborted = new Promise((_resolve, reject) => {
      this.#onAbort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', this.#onAbort, { once: true });
    });
    this.#aborted.catch(() => undefined);
  }

  start(contender: Contender<T>): void {
    const { clock, bounds } = this.#options;
    const startedMs = clock.nowMs();
    this.#begunMs ??= startedMs;
    contender.health.breaker.begin(startedMs);
    const abort = new AbortController();
    const pieces = begun(() => contender.start(AbortSignal.any([this.#options.signal, abort.signal])));
    const run: Run<T> = { contender, abort, pieces, startedMs, kept: [], next: Promise.resolve({ run: null }) };
    this.#ask(run);
    this.#runs.push(run);
    this.#dueMs = startedMs + contender.health.first.deadlineMs(bounds);
  }

  /** Waits for the next event. `run` is null when the latest contender is late and another can start. */
  async step(waiting: readonly Contender<T>[]): Promise<Step<T>> {
    let cancel: Cancel = () => undefined;
    const late = new Promise<Step<T>>((resolve) => {
      const dueMs = this.#helpDueMs(waiting);
      if (dueMs !== null) cancel = this.#options.clock.schedule(dueMs, () => resolve({ run: null }));
    });
    try {
      const step = await Promise.race([...this.#runs.map(({ next }) => next), late, this.#aborted]);
      // An abort of the whole request is not a failure of the provider.
      this.#options.signal.throwIfAborted();
      if (step.run !== null && 'result' in step) this.#ask(step.run);
      return step;
    } finally {
      cancel();
    }
  }

  /** When to start the next contender as a hedge; null = none is left, or a retry would not help. */
  #helpDueMs(waiting: readonly Contender<T>[]): number | null {
    const next = waiting[0];
    const begunMs = this.#begunMs ?? 0;
    const isUseless = next?.again === true && next.health.first.isSlowerThan(this.#options.bounds);
    const dueMs = waiting.flatMap(({ byMs }) => (byMs === undefined ? [] : [begunMs + byMs]));
    if (next !== undefined && next.byMs === undefined && !isUseless) dueMs.push(this.#dueMs);
    return dueMs.length === 0 ? null : Math.min(...dueMs);
  }

  /** The latest contender is late: starts `contender` beside it. */
  help(contender: Contender<T>): void {
    const slow = this.#runs.at(-1);
    if (slow !== undefined) {
      const waitedMs = Math.round(this.#options.clock.nowMs() - slow.startedMs);
      this.#tell(slow.contender, contender, `nothing within ${String(waitedMs)} ms`);
    }
    this.start(contender);
  }

  /** A contender failed: starts the next one. Throws if none is left. */
  replace(run: Run<T>, error: unknown, waiting: Contender<T>[]): void {
    const { clock } = this.#options;
    this.#runs.splice(this.#runs.indexOf(run), 1);
    run.contender.health.failed(clock.nowMs(), error);
    this.#failed(run, 'error');
    const isRefused = error instanceof ParleyError && !error.retryable;
    if (isRefused && waiting[0]?.again === true && waiting[0].health === run.contender.health) waiting.shift();
    const contender = waiting[0]?.isHedge === true ? undefined : waiting.shift();
    this.#errors.push({ name: run.contender.name, error });
    if (contender !== undefined) {
      this.#tell(run.contender, contender, reasonOf(error));
      this.start(contender);
    } else if (this.#runs.length === 0) throw allFailed(this.#errors);
  }

  won(winner: Run<T>): void {
    const { clock } = this.#options;
    const { health } = winner.contender;
    health.breaker.succeeded();
    const firstMs = clock.nowMs() - winner.startedMs;
    health.first.add(firstMs);
    this.#options.onOutcome?.({ provider: winner.contender.provider, firstMs });
    // A success on a retry counts as a success, and a request that was tried twice counts as late once.
    const judged = new Set([health]);
    for (const run of this.#runs.splice(0)) {
      if (run === winner) continue;
      giveUp(run);
      const late = run.contender.health;
      if (judged.has(late)) continue;
      judged.add(late);
      // Contenders that started earlier had more time and were too slow; those that started later have not failed.
      if (run.startedMs < winner.startedMs) {
        late.breaker.failed(clock.nowMs());
        this.#failed(run, 'late');
      } else late.breaker.abandoned();
    }
    this.#runs.push(winner);
  }

  async *rest(winner: Run<T>): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const step = await Promise.race([winner.next, this.#aborted]);
      this.#options.signal.throwIfAborted();
      if (step.run === null || !('result' in step)) {
        const error = 'error' in step ? step.error : undefined;
        winner.contender.health.failed(this.#options.clock.nowMs(), error);
        this.#failed(winner, 'error');
        throw error;
      }
      if (step.result.done === true) return;
      yield step.result.value;
      this.#ask(winner);
    }
  }

  end(): void {
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    for (const run of this.#runs.splice(0)) {
      run.contender.health.breaker.abandoned();
      giveUp(run);
    }
  }

  #ask(run: Run<T>): void {
    run.next = run.pieces.next().then(
      (result) => ({ run, result }),
      (error: unknown) => ({ run, error }),
    );
  }

  #failed({ contender: { provider } }: Run<T>, failed: 'error' | 'late'): void {
    this.#options.onOutcome?.({ provider, failed });
  }

  #tell(from: Contender<T>, to: Contender<T>, reason: string): void {
    this.#options.onSwitch({ stage: this.#options.stage, from: from.name, to: to.name, reason });
  }
}

/** Does not wait: a provider that ignores its signal must not block the request. */
function giveUp<T>({ abort, pieces }: Run<T>): void {
  abort.abort(new DOMException('Another provider was quicker', 'AbortError'));
  void pieces.return?.().catch(() => undefined);
}

/** The iterator of `start`; an exception that `start` throws is deferred to the first piece. */
function begun<T>(start: () => AsyncIterable<T>): AsyncIterator<T> {
  try {
    return start()[Symbol.asyncIterator]();
  } catch (error) {
    return { next: () => Promise.reject(errorOf(error)) };
  }
}
