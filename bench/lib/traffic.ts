import type { Random } from '../../src/base/random.js';

/**
 * The share of calls that find all lines taken, with random arrivals (Erlang B; A. K. Erlang, 1917).
 * @param erlangs calls in progress on average, if none were refused
 */
export function blocked(erlangs: number, lines: number): number {
  let inverse = 1;
  for (let line = 1; line <= lines; line++) inverse = 1 + (line / erlangs) * inverse;
  return 1 / inverse;
}

/** The fewest lines with which at most this share of calls is refused. */
export function linesFor(erlangs: number, share: number): number {
  // The recurrence of `blocked`, step by step.
  let inverse = 1;
  let lines = 0;
  while (1 / inverse > share) inverse = 1 + (++lines / erlangs) * inverse;
  return lines;
}

/**
 * The mean wait for one of several servers, in units of the mean service time, with random arrivals and services
 * (Erlang C).
 * @param erlangs offered; must be less than `servers`
 */
export function meanWait(erlangs: number, servers: number): number {
  const share = blocked(erlangs, servers);
  const waits = share / (1 - (erlangs / servers) * (1 - share));
  return waits / (servers - erlangs);
}

/** Lengths of calls: log-normal, as telephone calls are (Bolotin, ITC 14, 1994). */
export class CallLengths {
  readonly #random: Random;
  readonly #mu: number;
  readonly #sigma: number;

  /** @param spread standard deviation divided by the mean */
  constructor(random: Random, meanS: number, spread: number) {
    this.#random = random;
    this.#sigma = Math.sqrt(Math.log(1 + spread ** 2));
    this.#mu = Math.log(meanS) - this.#sigma ** 2 / 2;
  }

  /** Of a new call, in seconds. */
  next(): number {
    return Math.exp(this.#mu + this.#sigma * this.#normal());
  }

  /**
   * How much longer a call lasts that is found in progress at some moment. Long calls are found more often: in proportion
   * to their length, which for a log-normal distribution is the same with a larger `mu`; and at a random point.
   */
  rest(): number {
    const found = Math.exp(this.#mu + this.#sigma ** 2 + this.#sigma * this.#normal());
    return found * this.#random.next();
  }

  /** Box and Muller, 1958. */
  #normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.#random.next()));
    return radius * Math.cos(2 * Math.PI * this.#random.next());
  }
}

export interface Drains {
  /** Seconds until a node's last call was over or cut off: the median, and 99 of 100. */
  medianS: number;
  worstS: number;
  /** Share of the calls in progress that were cut off. */
  cut: number;
}

/** Drains of a node with so many calls, each for at most `drainS`. */
export function drains(lengths: CallLengths, calls: number, drainS: number, rounds: number): Drains {
  let cut = 0;
  const times = Array.from({ length: rounds }, () => {
    let last = 0;
    for (let call = 0; call < calls; call++) {
      const rest = lengths.rest();
      if (rest > drainS) cut++;
      last = Math.max(last, Math.min(rest, drainS));
    }
    return last;
  }).sort((one, other) => one - other);
  const at = (share: number): number => times[Math.min(rounds - 1, Math.floor(share * rounds))] ?? 0;
  return { medianS: at(0.5), worstS: at(0.99), cut: cut / (calls * rounds) };
}
