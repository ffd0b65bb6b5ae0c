import type Database from 'better-sqlite3';
import type { CallGuards } from '../settings/setting-groups.js';
import { ParleyError, type ErrorCode } from '../base/errors.js';

/** A call that is to be placed, as far as limits care. */
export interface Reservation {
  sessionId: string;
  callId: string;
  to: string;
  /** As long as it may last, in seconds. */
  maxDurationS: number;
  /** What tells a repetition; null = there is none. */
  idempotency: { client: string; key: string; fingerprint: string } | null;
}

/** What of the limits is used. */
export interface DialUsage {
  concurrent: number;
  lastMinute: number;
  /** Minutes of the calls of the last 24 hours; of those under way as many as they may last. */
  minutesLastDay: number;
}

/** Since when, and by whom, outbound calls are stopped. */
export interface Stop {
  /** Unix seconds. */
  at: number;
  by: string | null;
}

type Limits = Pick<
  CallGuards,
  'concurrent' | 'perMinute' | 'perDestinationPerMinute' | 'perDestinationPerDay' | 'minutesPerDay'
>;

interface Ids {
  sessionId: string;
  callId: string;
}

const MINUTE_US = 60_000_000;
const DAY_US = 24 * 60 * MINUTE_US;
/** Reservations are forgotten when they count no more, and keys of repetitions after 24 hours. */
const KEEP_US = DAY_US + 60 * MINUTE_US;
/** When a line becomes free is not known. */
const CONCURRENT_RETRY_S = 5;
/** Calls under way give back what they do not use. */
const MINUTES_RETRY_S = 60;

/** Seconds that a call counts for. */
const SECONDS = `CASE WHEN ended_us IS NULL THEN reserved_s
  ELSE MAX(0, COALESCE((ended_us - answered_us) / 1e6, 0)) END`;

/**
 * The calls that agents place, counted: how many run, when they began, how long they lasted. Limits are looked at and a
 * call is reserved in one transaction that nobody else writes beside, so that they hold to the call.
 */
export class DialStore {
  readonly #database: Database.Database;
  readonly #nowUs: () => number;
  readonly #insert: Database.Statement<unknown[]>;
  readonly #answered: Database.Statement<unknown[]>;
  readonly #ended: Database.Statement<unknown[]>;
  readonly #closeOpen: Database.Statement<unknown[]>;
  readonly #purge: readonly Database.Statement<unknown[]>[];
  readonly #open: Database.Statement<unknown[], { count: number }>;
  readonly #since: Database.Statement<unknown[], { count: number }>;
  readonly #sinceTo: Database.Statement<unknown[], { count: number }>;
  readonly #nth: Database.Statement<unknown[], { at_us: number }>;
  readonly #nthTo: Database.Statement<unknown[], { at_us: number }>;
  readonly #seconds: Database.Statement<unknown[], { seconds: number | null; open: number }>;
  readonly #eachSeconds: Database.Statement<unknown[], { at_us: number; seconds: number }>;
  readonly #known: Database.Statement<unknown[], { fingerprint: string; session_id: string; call_id: string }>;
  readonly #remember: Database.Statement<unknown[]>;
  readonly #stop: Database.Statement<unknown[]>;
  readonly #resume: Database.Statement<unknown[]>;
  readonly #stopped: Database.Statement<unknown[], { at_us: number; by: string | null }>;

  /** @param nowUnixMs the time of day */
  constructor(database: Database.Database, nowUnixMs: () => number) {
    this.#database = database;
    this.#nowUs = () => Math.floor(nowUnixMs() * 1000);
    this.#insert = database.prepare('INSERT INTO dials (session_id, to_phone, at_us, reserved_s) VALUES (?, ?, ?, ?)');
    this.#answered = database.prepare(
      'UPDATE dials SET answered_us = ? WHERE session_id = ? AND answered_us IS NULL AND ended_us IS NULL',
    );
    this.#ended = database.prepare('UPDATE dials SET ended_us = ? WHERE session_id = ? AND ended_us IS NULL');
    this.#closeOpen = database.prepare('UPDATE dials SET ended_us = ? WHERE ended_us IS NULL');
    this.#purge = [
      database.prepare('DELETE FROM dials WHERE at_us < @before AND ended_us IS NOT NULL'),
      database.prepare('DELETE FROM idempotent_calls WHERE at_us < @now - @day'),
    ];
    this.#open = database.prepare('SELECT COUNT(*) AS count FROM dials WHERE ended_us IS NULL');
    this.#since = database.prepare('SELECT COUNT(*) AS count FROM dials WHERE at_us > ?');
    this.#sinceTo = database.prepare('SELECT COUNT(*) AS count FROM dials WHERE to_phone = ? AND at_us > ?');
    this.#nth = database.prepare('SELECT at_us FROM dials ORDER BY at_us DESC LIMIT 1 OFFSET ?');
    this.#nthTo = database.prepare('SELECT at_us FROM dials WHERE to_phone = ? ORDER BY at_us DESC LIMIT 1 OFFSET ?');
    this.#seconds = database.prepare(
      `SELECT SUM(${SECONDS}) AS seconds, COUNT(*) - COUNT(ended_us) AS open FROM dials WHERE at_us > ?`,
    );
    this.#eachSeconds = database.prepare(
      `SELECT at_us, ${SECONDS} AS seconds FROM dials WHERE at_us > ? ORDER BY at_us`,
    );
    this.#known = database.prepare(
      'SELECT fingerprint, session_id, call_id FROM idempotent_calls WHERE client = ? AND key = ? AND at_us > ?',
    );
    this.#remember = database.prepare(
      `INSERT OR REPLACE INTO idempotent_calls (client, key, fingerprint, session_id, call_id, at_us)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#stop = database.prepare(
      'INSERT INTO calls_stopped (only, at_us, by) VALUES (1, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#resume = database.prepare('DELETE FROM calls_stopped');
    this.#stopped = database.prepare('SELECT at_us, by FROM calls_stopped');
  }

  /**
   * The call that a request with this key has led to; null where none has.
   * @throws ParleyError IDEMPOTENCY_KEY_REUSED where that was another request
   */
  repeated({ client, key, fingerprint }: NonNullable<Reservation['idempotency']>): Ids | null {
    const known = this.#known.get(client, key, this.#nowUs() - DAY_US);
    if (known === undefined) return null;
    if (known.fingerprint !== fingerprint) throw new ParleyError('IDEMPOTENCY_KEY_REUSED');
    return { sessionId: known.session_id, callId: known.call_id };
  }

  /**
   * Reserves a call within the limits, and writes what belongs to it, all or nothing.
   * @param write runs in the transaction
   * @returns the call: another one's ids where the request is a repetition, for which nothing is written
   * @throws ParleyError CALLS_STOPPED, LIMIT_…, IDEMPOTENCY_KEY_REUSED; what `write` throws
   */
  reserve(reservation: Reservation, limits: Limits, write: () => void): Ids {
    const { sessionId, callId, to, maxDurationS, idempotency } = reservation;
    return this.#database
      .transaction(() => {
        const repeated = idempotency === null ? null : this.repeated(idempotency);
        if (repeated !== null) return repeated;
        const now = this.#nowUs();
        for (const purge of this.#purge) purge.run({ before: now - KEEP_US, now, day: DAY_US });
        if (this.stopped !== null) throw new ParleyError('CALLS_STOPPED', { reason: 'POST /calls/resume starts them' });
        this.#check(to, maxDurationS, limits, now);
        this.#insert.run(sessionId, to, now, maxDurationS);
        if (idempotency !== null) {
          const { client, key, fingerprint } = idempotency;
          this.#remember.run(client, key, fingerprint, sessionId, callId, now);
        }
        write();
        return { sessionId, callId };
      })
      .immediate();
  }

  /** Somebody has picked up: from now on it counts as used. */
  answered(sessionId: string): void {
    this.#answered.run(this.#nowUs(), sessionId);
  }

  ended(sessionId: string): void {
    this.#ended.run(this.#nowUs(), sessionId);
  }

  /** No call of an earlier process runs any more. */
  closeOpen(): void {
    this.#closeOpen.run(this.#nowUs());
  }

  usage(): DialUsage {
    const now = this.#nowUs();
    return {
      concurrent: this.#open.get()?.count ?? 0,
      lastMinute: this.#since.get(now - MINUTE_US)?.count ?? 0,
      minutesLastDay: (this.#seconds.get(now - DAY_US)?.seconds ?? 0) / 60,
    };
  }

  /** Nothing is reserved until `resume`, in this process and in every other one on this database. */
  stop(by: string | null): void {
    this.#stop.run(this.#nowUs(), by);
  }

  resume(): void {
    this.#resume.run();
  }

  /** Null = calls are not stopped. */
  get stopped(): Stop | null {
    const row = this.#stopped.get();
    return row === undefined ? null : { at: Math.floor(row.at_us / 1e6), by: row.by };
  }

  #check(to: string, maxDurationS: number, limits: Limits, now: number): void {
    const { concurrent, perMinute, perDestinationPerMinute, perDestinationPerDay, minutesPerDay } = limits;
    const refuse = (code: ErrorCode, limit: number, retryAfterS: number): never => {
      throw new ParleyError(code, { limit, retryAfterS });
    };
    const until = (at: number | undefined, windowUs: number): number =>
      Math.min(windowUs / 1e6, Math.max(1, Math.ceil(((at ?? now) + windowUs - now) / 1e6)));
    if ((this.#open.get()?.count ?? 0) >= concurrent) refuse('LIMIT_CONCURRENT_CALLS', concurrent, CONCURRENT_RETRY_S);
    if ((this.#since.get(now - MINUTE_US)?.count ?? 0) >= perMinute) {
      refuse('LIMIT_CALLS_PER_MINUTE', perMinute, until(this.#nth.get(perMinute - 1)?.at_us, MINUTE_US));
    }
    const toOne = [
      ['LIMIT_DESTINATION_PER_MINUTE', perDestinationPerMinute, MINUTE_US],
      ['LIMIT_DESTINATION_PER_DAY', perDestinationPerDay, DAY_US],
    ] as const;
    for (const [code, limit, windowUs] of toOne) {
      if ((this.#sinceTo.get(to, now - windowUs)?.count ?? 0) < limit) continue;
      refuse(code, limit, until(this.#nthTo.get(to, limit - 1)?.at_us, windowUs));
    }
    const { seconds, open } = this.#seconds.get(now - DAY_US) ?? { seconds: 0, open: 0 };
    const excess = (seconds ?? 0) + maxDurationS - minutesPerDay * 60;
    if (excess <= 0) return;
    const freed = until(this.#whenFreed(excess, now - DAY_US), DAY_US);
    refuse('LIMIT_MINUTES_PER_DAY', minutesPerDay, open > 0 ? Math.min(MINUTES_RETRY_S, freed) : freed);
  }

  /** When the call began with which so many seconds are no longer of the last 24 hours. */
  #whenFreed(excess: number, since: number): number | undefined {
    let freed = 0;
    for (const { at_us: at, seconds } of this.#eachSeconds.iterate(since)) {
      freed += seconds;
      if (freed >= excess) return at;
    }
    return undefined;
  }
}
