import type { CallGuards } from '../settings/setting-groups.js';
import { ParleyError, type ErrorCode } from '../base/errors.js';
import { run, sql, type SqlDatabase, type Statement, type Transaction } from './sql/statement.js';
import type { RowOwner } from './row-owner.js';

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
  /** Identifies the latest request to end the calls in progress; null = there was none. */
  ending: string | null;
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
const SECONDS = sql`CASE WHEN ended_us IS NULL THEN reserved_s
  WHEN answered_us IS NULL OR answered_us > ended_us THEN 0 ELSE (ended_us - answered_us) / 1e6 END`;

/** Reservations take this lock: no call comes in between the check of the limits and the row that counts for them. */
export const DIALS_LOCK = 'dials';

/**
 * Counts the calls that agents place: concurrent calls, start times and durations. The transaction that checks the limits
 * also reserves the call, and one runs at a time on all nodes, so no call exceeds them. All times are the database's.
 */
export class DialStore {
  readonly #database: SqlDatabase;
  readonly #node: RowOwner | null;

  /** @param node has the calls that are reserved; null = there is one node */
  constructor(database: SqlDatabase, node: RowOwner | null = null) {
    this.#database = database;
    this.#node = node;
  }

  /**
   * The call of an earlier request with this idempotency key; null = there was none.
   * @throws ParleyError IDEMPOTENCY_KEY_REUSED if that request was different
   */
  repeated(idempotency: NonNullable<Reservation['idempotency']>): Promise<Ids | null> {
    return this.#database.read(() => this.#repeated(idempotency));
  }

  /**
   * Reserves a call within the limits, in a transaction with the lock `DIALS_LOCK`.
   * @returns the ids of the call. A repeated request gets those of the first one, and nothing is written
   * @throws ParleyError CALLS_STOPPED, LIMIT_…, IDEMPOTENCY_KEY_REUSED
   */
  *reserve(reservation: Reservation, limits: Limits): Transaction<Ids> {
    const { sessionId, callId, to, maxDurationS, idempotency } = reservation;
    const repeated = idempotency === null ? null : yield* this.#repeated(idempotency);
    if (repeated !== null) return repeated;
    const now = yield* this.#database.nowUs();
    yield* run(sql`DELETE FROM dials WHERE at_us < ${now - KEEP_US} AND ended_us IS NOT NULL`);
    yield* run(sql`DELETE FROM idempotent_calls WHERE at_us < ${now - DAY_US}`);
    if ((yield STOPPED).rows.length > 0) {
      throw new ParleyError('CALLS_STOPPED', { reason: 'POST /calls/resume starts them' });
    }
    yield* check(to, maxDurationS, limits, now);
    yield* run(
      sql`INSERT INTO dials (session_id, to_phone, at_us, reserved_s, node_id)
          VALUES (${sessionId}, ${to}, ${now}, ${maxDurationS}, ${this.#node?.id ?? null})`,
    );
    if (idempotency !== null) {
      const { client, key, fingerprint } = idempotency;
      yield* run(
        sql`INSERT INTO idempotent_calls (client, key, fingerprint, session_id, call_id, at_us)
            VALUES (${client}, ${key}, ${fingerprint}, ${sessionId}, ${callId}, ${now})
            ON CONFLICT (client, key) DO UPDATE SET fingerprint = excluded.fingerprint, session_id = excluded.session_id,
              call_id = excluded.call_id, at_us = excluded.at_us`,
      );
    }
    return { sessionId, callId };
  }

  /**
   * Marks a call as answered: its duration counts from then on.
   * @param agoUs how long ago
   */
  *answered(sessionId: string, agoUs = 0): Transaction<void> {
    const at = (yield* this.#database.nowUs()) - agoUs;
    yield* run(
      sql`UPDATE dials SET answered_us = ${at}
          WHERE session_id = ${sessionId} AND answered_us IS NULL AND ended_us IS NULL`,
    );
  }

  /** @param agoUs how long ago it ended */
  *ended(sessionId: string, agoUs = 0): Transaction<void> {
    const at = (yield* this.#database.nowUs()) - agoUs;
    yield* run(sql`UPDATE dials SET ended_us = ${at} WHERE session_id = ${sessionId} AND ended_us IS NULL`);
  }

  /** Closes the reservations of an earlier process, whose calls have all ended. */
  async closeOpen(): Promise<void> {
    await this.#close(sql`ended_us IS NULL`);
  }

  /** Closes the reservations of a node whose calls have all ended. */
  async closeOf(nodeId: string): Promise<void> {
    await this.#close(sql`ended_us IS NULL AND node_id = ${nodeId}`);
  }

  usage(): Promise<DialUsage> {
    return this.#database.read(() => this.#usage());
  }

  /**
   * Refuses reservations until `resume`, in every process on this database.
   * @param endRunning whether all nodes end their calls in progress: `KillSwitch` does
   * @returns the number of open reservations of other nodes
   */
  async stop(by: string | null, { endRunning = false }: { endRunning?: boolean } = {}): Promise<number> {
    const database = this.#database;
    const own = this.#node?.id ?? null;
    const requests = Number(endRunning);
    // With the lock: when this resolves, no reservation that has not seen it is under way.
    return database.transaction(function* () {
      yield* run(
        sql`INSERT INTO calls_stopped ("only", at_us, by, end_requests)
            VALUES (1, ${yield* database.nowUs()}, ${by}, ${requests})
            ON CONFLICT ("only") DO UPDATE SET end_requests = calls_stopped.end_requests + excluded.end_requests`,
      );
      return yield* countSince(sql`ended_us IS NULL AND node_id IS DISTINCT FROM ${own}`);
    }, DIALS_LOCK);
  }

  async resume(): Promise<void> {
    await this.#database.run(sql`DELETE FROM calls_stopped`);
  }

  /** Null = calls are not stopped. */
  async stopped(): Promise<Stop | null> {
    const row = await this.#database.first<{ at_us: number; by: string | null; end_requests: number }>(STOPPED);
    if (row === null) return null;
    const { at_us: at, by, end_requests: requests } = row;
    return { by, at: Math.floor(at / 1e6), ending: requests === 0 ? null : `${String(at)}.${String(requests)}` };
  }

  async #close(condition: Statement): Promise<void> {
    const database = this.#database;
    await database.transaction(function* () {
      yield* run(sql`UPDATE dials SET ended_us = ${yield* database.nowUs()} WHERE ${condition}`);
    });
  }

  *#usage(): Transaction<DialUsage> {
    const now = yield* this.#database.nowUs();
    return {
      concurrent: yield* openCount(),
      lastMinute: yield* countSince(sql`at_us > ${now - MINUTE_US}`),
      minutesLastDay: (yield* secondsSince(now - DAY_US)).seconds / 60,
    };
  }

  *#repeated({ client, key, fingerprint }: NonNullable<Reservation['idempotency']>): Transaction<Ids | null> {
    const since = (yield* this.#database.nowUs()) - DAY_US;
    const [known] = (yield sql`SELECT fingerprint, session_id, call_id FROM idempotent_calls
      WHERE client = ${client} AND key = ${key} AND at_us > ${since}`).rows as (
      { fingerprint: string; session_id: string; call_id: string } | undefined
    )[];
    if (known === undefined) return null;
    if (known.fingerprint !== fingerprint) throw new ParleyError('IDEMPOTENCY_KEY_REUSED');
    return { sessionId: known.session_id, callId: known.call_id };
  }
}

const STOPPED = sql`SELECT at_us, by, end_requests FROM calls_stopped`;

function* countSince(condition: Statement): Transaction<number> {
  const [row] = (yield sql`SELECT COUNT(*) AS count FROM dials WHERE ${condition}`).rows as [{ count: number }];
  return row.count;
}

function openCount(): Transaction<number> {
  return countSince(sql`ended_us IS NULL`);
}

function* secondsSince(sinceUs: number): Transaction<{ seconds: number; open: number }> {
  const [row] = (yield sql`SELECT SUM(${SECONDS}) AS seconds, COUNT(*) - COUNT(ended_us) AS open FROM dials
    WHERE at_us > ${sinceUs}`).rows as [{ seconds: number | null; open: number }];
  return { seconds: row.seconds ?? 0, open: row.open };
}

/** The time of the call that has `count` later ones. */
function* nthAt(condition: Statement, count: number): Transaction<number | undefined> {
  const [row] = (yield sql`SELECT at_us FROM dials ${condition} ORDER BY at_us DESC LIMIT 1 OFFSET ${count}`).rows as (
    { at_us: number } | undefined
  )[];
  return row?.at_us;
}

/** @throws ParleyError LIMIT_… */
function* check(to: string, maxDurationS: number, limits: Limits, now: number): Transaction<void> {
  const { concurrent, perMinute, perDestinationPerMinute, perDestinationPerDay, minutesPerDay } = limits;
  const refuse = (code: ErrorCode, limit: number, retryAfterS: number): never => {
    throw new ParleyError(code, { limit, retryAfterS });
  };
  const until = (at: number | undefined, windowUs: number): number =>
    Math.min(windowUs / 1e6, Math.max(1, Math.ceil(((at ?? now) + windowUs - now) / 1e6)));
  if ((yield* openCount()) >= concurrent) refuse('LIMIT_CONCURRENT_CALLS', concurrent, CONCURRENT_RETRY_S);
  if ((yield* countSince(sql`at_us > ${now - MINUTE_US}`)) >= perMinute) {
    refuse('LIMIT_CALLS_PER_MINUTE', perMinute, until(yield* nthAt(sql``, perMinute - 1), MINUTE_US));
  }
  const toOne = [
    ['LIMIT_DESTINATION_PER_MINUTE', perDestinationPerMinute, MINUTE_US],
    ['LIMIT_DESTINATION_PER_DAY', perDestinationPerDay, DAY_US],
  ] as const;
  for (const [code, limit, windowUs] of toOne) {
    if ((yield* countSince(sql`to_phone = ${to} AND at_us > ${now - windowUs}`)) < limit) continue;
    refuse(code, limit, until(yield* nthAt(sql`WHERE to_phone = ${to}`, limit - 1), windowUs));
  }
  const { seconds, open } = yield* secondsSince(now - DAY_US);
  const excess = seconds + maxDurationS - minutesPerDay * 60;
  if (excess <= 0) return;
  const freed = until(yield* whenFreed(excess, now - DAY_US), DAY_US);
  refuse('LIMIT_MINUTES_PER_DAY', minutesPerDay, open > 0 ? Math.min(MINUTES_RETRY_S, freed) : freed);
}

/** The start time of the oldest call after which at least `excess` seconds have left the 24-hour window. */
function* whenFreed(excess: number, sinceUs: number): Transaction<number | undefined> {
  const [row] = (yield sql`SELECT at_us FROM
      (SELECT at_us, SUM(${SECONDS}) OVER (ORDER BY at_us) AS freed FROM dials WHERE at_us > ${sinceUs}) AS calls
    WHERE freed >= ${excess} ORDER BY at_us LIMIT 1`).rows as ({ at_us: number } | undefined)[];
  return row?.at_us;
}
