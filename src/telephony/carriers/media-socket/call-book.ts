import type { Clock } from '../../../base/clock.js';
import { waitAtMost } from '../../../base/deadlines.js';
import type { CarrierCall } from '../carrier.js';
import type { SocketCall } from './socket-call.js';
import type { MediaCounts } from './socket-line.js';

/** A carrier's call, and its control. */
export interface BookedCall {
  readonly call: SocketCall;
  /** The carrier's id, once it is known. */
  readonly id: string | null;
  /** Resolves when the carrier knows of the end, or does not answer. */
  readonly ended: Promise<void>;
  hangUp(): void;
  /** Cancels everything in progress. */
  close(): void;
}

/** The carrier may still ask about an ended call for this long. */
const KEPT_MS = 600_000;
/** Deadline for the ends of calls when the carrier closes. */
const CLOSE_MS = 5_000;

/** A carrier's calls, by parley's token and by the carrier's id. */
export class CallBook<C extends BookedCall> {
  readonly #clock: Clock;
  readonly #byToken = new Map<string, C>();
  readonly #byId = new Map<string, C>();
  readonly #byCall = new WeakMap<CarrierCall, C>();
  /** Counts of forgotten calls. */
  readonly #counts: MediaCounts = { badMessages: 0, droppedMs: 0, missingMs: 0, unsentFrames: 0, streams: 0 };
  /** Ended calls, in the order of their ends. */
  readonly #over: { token: string; booked: C; atMs: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(token: string, booked: C): void {
    this.#forget();
    this.#byToken.set(token, booked);
    this.#byCall.set(booked.call, booked);
    if (booked.id !== null) this.#byId.set(booked.id, booked);
    booked.call.onState((state) => {
      if (state === 'ended') this.#over.push({ token, booked, atMs: this.#clock.nowMs() });
    });
  }

  /** The carrier's id of a call has become known. */
  known(id: string, booked: C): void {
    this.#byId.set(id, booked);
  }

  byToken(token: string | undefined): C | undefined {
    return token === undefined ? undefined : this.#byToken.get(token);
  }

  byId(id: string): C | undefined {
    return this.#byId.get(id);
  }

  of(call: CarrierCall): C | null {
    return this.#byCall.get(call) ?? null;
  }

  /** Number of calls in progress. */
  get underWay(): number {
    let count = 0;
    for (const { call } of this.#byToken.values()) if (call.end === null) count++;
    return count;
  }

  /** Audio statistics of all calls so far. */
  counts(): MediaCounts {
    const sums = { ...this.#counts };
    for (const { call } of this.#byToken.values()) add(sums, call.line.counts);
    return sums;
  }

  /** Ends all calls, and waits at most 5 s until the carrier knows. */
  async close(): Promise<void> {
    const all = [...this.#byToken.values()];
    for (const booked of all) {
      if (booked.call.end !== null) continue;
      booked.call.finish({ cause: 'failed', by: 'network', reason: 'the carrier is closed' });
      booked.hangUp();
    }
    await waitAtMost(this.#clock, CLOSE_MS, Promise.all(all.map(({ ended }) => ended)));
    for (const booked of all) booked.close();
    this.#byToken.clear();
    this.#byId.clear();
  }

  /** Forgets calls that ended long enough ago. */
  #forget(): void {
    const nowMs = this.#clock.nowMs();
    for (let first = this.#over[0]; first !== undefined && first.atMs + KEPT_MS < nowMs; first = this.#over[0]) {
      this.#over.shift();
      this.#byToken.delete(first.token);
      add(this.#counts, first.booked.call.line.counts);
      if (first.booked.id !== null) this.#byId.delete(first.booked.id);
    }
  }
}

function add(sums: MediaCounts, counts: Readonly<MediaCounts>): void {
  for (const name of Object.keys(sums) as (keyof MediaCounts)[]) sums[name] += counts[name];
}
