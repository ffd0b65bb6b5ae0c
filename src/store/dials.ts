import type Database from 'better-sqlite3';
import type { CallGuards } from '../settings/setting-groups.js';
import { ParleyError, type ErrorCode } from '../base/errors.js';

/** The parts of a call that the limits depend on. */
export interface Reservation {
  sessionId: string;
  callId: string;
  to: string;
  /** Longest duration, in seconds. */
  maxDurationS: number;
  /** Identifies a repeated request; null = the request has no idempotency key. */
  idempotency: { client: string; key: string; fingerprint: string } | null;
}

/** Current usage of the limits. */
export interface DialUsage {
  concurrent: number;
  lastMinute: number;
  /** Minutes of calls in the last 24 hours. A call in progress counts with its longest duration. */
  minutesLastDay: number;
}

/** When outbound calls were stopped, and by which key. */
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
/** Idempotency keys expire after 24 hours, and reservations when no limit counts them any more. */
const KEEP_US = DAY_US + 60 * MINUTE_US;
/** A guess: the end of a call in progress is unknown. */
const CONCURRENT_RETRY_S = 5;
/** A guess: calls in progress free the minutes that they do not use. */
const MINUTES_RETRY_S = 60;

/** The duration that a call counts with, in seconds. */
const SECONDS = `CASE WHEN ended_us IS NULL THEN reserved_s
  ELSE MAX(0, COALESCE((ended_us - answered_us) / 1e6, 0)) END`;

/**
 * Counts the calls that agents place: concurrent calls, start times and durations. It checks the limits and reserves a
 * call in one exclusive transaction, so no call exceeds them.
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

  /** @param nowUnixMs milliseconds since 1970 */
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
   * The call of an earlier request with this idempotency key; null = there was none.
   * @throws ParleyError IDEMPOTENCY_KEY_REUSED if that request was different
   */
  repeated({ client, key, fingerprint }: NonNullable<Reservation['idempotency']>): Ids | null {
    const known = this.#known.get(client, key, this.#nowUs() - DAY_US);
    if (known === undefined) return null;
    if (known.fingerprint !== fingerprint) throw new ParleyError('IDEMPOTENCY_KEY_REUSED');
    return { sessionId: known.session_id, callId: known.call_id };
  }

  /**
   * Reserves a call within the limits and runs `write`, all or nothing.
   * @param write runs in the same transaction
   * @returns the ids of the call. A repeated request gets those of the first one, and writes nothing
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

  /** Marks a call as answered: its duration counts from now on. */
  answered(sessionId: string): void {
    this.#answered.run(this.#nowUs(), sessionId);
  }

  ended(sessionId: string): void {
    this.#ended.run(this.#nowUs(), sessionId);
  }

  /** Closes the reservations of an earlier process, whose calls have all ended. */
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

  /** Refuses reservations until `resume`, in every process on this database. */
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

  /** The start time of the oldest call after which at least `excess` seconds have left the 24-hour window. */
  #whenFreed(excess: number, since: number): number | undefined {
    let freed = 0;
    for (const { at_us: at, seconds } of this.#eachSeconds.iterate(since)) {
      freed += seconds;
      if (freed >= excess) return at;
    }
    return undefined;
  }
}
