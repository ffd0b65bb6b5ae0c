/** Work that exactly one of all nodes does. */
export interface Lease {
  /** Whether this node does it now. Check it before a step that must not happen twice. */
  readonly isHeld: boolean;
  /** Ends the work and lets another node do it. Resolves when the work has ended. May be called twice. */
  release(): Promise<void>;
}

/** Does the work until the signal aborts: another node does it then. May return before. */
export type LeadWork = (lost: AbortSignal) => Promise<void> | void;

/** Chooses one node for each kind of work. */
export interface Leases {
  /**
   * Begins the work as soon as no other node does it, and again each time this node gets the lease back.
   * @param name the same on all nodes
   */
  lead(name: string, work: LeadWork): Lease;
  /** Ends all work. May be called twice. */
  close(): Promise<void>;
}

/** The leases of the only node. */
export class SoleLeases implements Leases {
  readonly #leases = new Set<SoleLease>();

  lead(_name: string, work: LeadWork): Lease {
    const lease = new SoleLease(work);
    this.#leases.add(lease);
    return lease;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#leases, (lease) => lease.release()));
  }
}

class SoleLease implements Lease {
  readonly #lost = new AbortController();
  readonly #running: Promise<void>;

  constructor(work: LeadWork) {
    this.#running = Promise.resolve(work(this.#lost.signal));
  }

  get isHeld(): boolean {
    return !this.#lost.signal.aborted;
  }

  async release(): Promise<void> {
    this.#lost.abort();
    await this.#running;
  }
}
