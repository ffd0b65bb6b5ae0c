import pg from 'pg';
import type { Cancel, Clock } from '../../base/clock.js';
import { waitAtMost } from '../../base/deadlines.js';
import { errorOf } from '../../base/errors.js';
import type { Lease, Leases, LeadWork } from '../leases.js';
import { postgresFault } from './faults.js';

export interface PostgresLeasesOptions {
  /** As `PostgresOptions.url`. A pooler in transaction mode between them would lose the locks. */
  url: string;
  /** A real one. */
  clock: Clock;
  /** Called when the connection is lost. */
  onError: (error: Error) => void;
  /** A node without contact to the server loses its leases within this time, ms. Default 10 s. */
  termMs?: number;
}

const TERM_MS = 10_000;
/** Each node asks this many times in a term. */
const ASKED_IN_TERM = 5;
/** This part of a term before the server's end of it, the node stops: clocks run at slightly different speeds. */
const MARGIN = 0.1;
/** How long work may take to end before its lease is given back. */
const END_MS = 5_000;

/**
 * Leases as advisory locks of one session on the server. The server ends a session that it has not heard of for a term
 * (`idle_session_timeout`), and with it its locks; the node counts the same term from its last question that got an
 * answer, so it stops before another node begins.
 */
export class PostgresLeases implements Leases {
  readonly #options: PostgresLeasesOptions;
  readonly #termMs: number;
  readonly #leases = new Map<string, PostgresLease>();
  #client: pg.Client | null = null;
  /** When the last question was asked that got an answer. */
  #heardMs = -Infinity;
  #cancelRound: Cancel = () => undefined;
  #cancelEnd: Cancel = () => undefined;
  #round: Promise<void> = Promise.resolve();
  #hasFailed = false;
  #closing: Promise<void> | null = null;

  constructor(options: PostgresLeasesOptions) {
    this.#options = options;
    this.#termMs = options.termMs ?? TERM_MS;
  }

  lead(name: string, work: LeadWork): Lease {
    if (this.#leases.has(name)) throw new Error(`The lease ${name} is taken by this node already`);
    const lease = new PostgresLease({
      work,
      clock: this.#options.clock,
      onError: this.#options.onError,
      isProven: () => this.#isProven,
      unlock: () => this.#unlock(name),
    });
    this.#leases.set(name, lease);
    this.#ask();
    return lease;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Whether the server cannot have ended the session yet. */
  get #isProven(): boolean {
    return this.#client !== null && this.#options.clock.nowMs() < this.#heardMs + this.#termMs * (1 - MARGIN);
  }

  /** Asks the server now, after a question under way. */
  #ask(): void {
    this.#cancelRound();
    this.#round = this.#round.then(() => this.#askOnce());
  }

  async #askOnce(): Promise<void> {
    if (this.#closing !== null) return;
    const { clock } = this.#options;
    this.#cancelRound();
    let client: pg.Client | null = null;
    try {
      client = this.#client ?? (await this.#connect());
      const askedMs = clock.nowMs();
      const wanted = Array.from(this.#leases).flatMap(([name, { isWanted }]) => (isWanted ? [name] : []));
      const { rows } = await client.query<{ name: string; got: boolean }>(
        'SELECT name, pg_try_advisory_lock(hashtextextended(name, 0)) AS got FROM unnest($1::text[]) AS name',
        [wanted],
      );
      this.#heard(client, askedMs);
      for (const { name, got } of rows) if (got) await this.#got(client, name);
    } catch (error) {
      this.#lose(client, error);
    }
    this.#cancelRound = clock.schedule(clock.nowMs() + this.#termMs / ASKED_IN_TERM, () => this.#ask());
  }

  /** A lease that was released while the server was asked is given back. */
  async #got(client: pg.Client, name: string): Promise<void> {
    const lease = this.#leases.get(name);
    if (lease === undefined || client !== this.#client) await unlock(client, name);
    else lease.begin();
  }

  async #connect(): Promise<pg.Client> {
    const { url } = this.#options;
    const timeoutMs = this.#termMs / 2;
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      keepAlive: true,
      application_name: 'parley leases',
    });
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client, new Error('the server ended the session of leases')));
    try {
      await client.connect();
      await client.query(`SET idle_session_timeout = ${String(Math.ceil(this.#termMs))}`);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    return client;
  }

  #heard(client: pg.Client, askedMs: number): void {
    const { clock } = this.#options;
    this.#hasFailed = false;
    this.#heardMs = askedMs;
    this.#cancelEnd();
    this.#cancelEnd = clock.schedule(askedMs + this.#termMs * (1 - MARGIN), () => {
      this.#lose(client, new Error('the server did not answer in time'));
    });
  }

  /** Ends the work of all leases: the server may give them to others. */
  #lose(client: pg.Client | null, error: unknown): void {
    void client?.end().catch(() => undefined);
    const isEarlier = this.#client !== null && client !== this.#client;
    if (isEarlier) return;
    this.#client = null;
    this.#cancelEnd();
    for (const lease of this.#leases.values()) lease.lose();
    // Reported once until the server answers again.
    if (this.#hasFailed || this.#closing !== null) return;
    this.#hasFailed = true;
    this.#options.onError(errorOf(postgresFault(error)));
  }

  /** Gives a lock back, after a question under way. */
  async #unlock(name: string): Promise<void> {
    this.#leases.delete(name);
    this.#round = this.#round.then(async () => {
      const client = this.#client;
      if (client !== null) await unlock(client, name).catch((error: unknown) => this.#lose(client, error));
    });
    await this.#round;
  }

  async #close(): Promise<void> {
    this.#cancelRound();
    await Promise.all(Array.from(this.#leases.values(), (lease) => lease.release()));
    this.#cancelEnd();
    await this.#round;
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => undefined);
  }
}

async function unlock(client: pg.Client, name: string): Promise<void> {
  await client.query('SELECT pg_advisory_unlock(hashtextextended($1, 0))', [name]);
}

interface PostgresLeaseOptions {
  work: LeadWork;
  clock: Clock;
  onError: (error: Error) => void;
  /** Whether the session that holds the lock lives. */
  isProven: () => boolean;
  /** Lets another node lock it. */
  unlock: () => Promise<void>;
}

class PostgresLease implements Lease {
  readonly #options: PostgresLeaseOptions;
  #term: AbortController | null = null;
  #running: Promise<void> = Promise.resolve();
  #releasing: Promise<void> | null = null;

  constructor(options: PostgresLeaseOptions) {
    this.#options = options;
  }

  get isHeld(): boolean {
    return this.#term !== null && this.#options.isProven();
  }

  /** Whether the server shall lock it for this node. */
  get isWanted(): boolean {
    return this.#term === null && this.#releasing === null;
  }

  /** The server has locked it for this node. */
  begin(): void {
    const term = new AbortController();
    this.#term = term;
    // The work of an earlier term may not have noticed its end.
    this.#running = this.#running
      .then(() => (term.signal.aborted ? undefined : this.#options.work(term.signal)))
      .catch((error: unknown) => this.#options.onError(errorOf(error)));
  }

  lose(): void {
    this.#term?.abort(new Error('the lease is lost'));
    this.#term = null;
  }

  release(): Promise<void> {
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  async #release(): Promise<void> {
    const { clock, unlock: giveBack } = this.#options;
    this.lose();
    await waitAtMost(clock, END_MS, this.#running);
    await giveBack();
  }
}
