import type { SecretBox } from './secret-box.js';
import { run, sql, type SqlDatabase, type Transaction } from './sql/statement.js';

/** How the client of a registered call connects. */
export type RegisteredWay = 'talk' | 'phone';

/** A call whose client has not connected yet. */
export interface StoredRegistration<Call> {
  callId: string;
  sessionId: string;
  way: RegisteredWay;
  /** What the session needs, as JSON. It is encrypted: configurations hold credentials. */
  call: Call;
}

interface Row {
  call_id: string;
  session_id: string;
  way: RegisteredWay;
  registration: string;
}

const PURPOSE = 'registered_calls.registration';

/** Calls that clients' servers have registered, on any node. Each is taken once. Times are the database's. */
export class RegisteredCallStore<Call> {
  readonly #database: SqlDatabase;
  readonly #box: SecretBox;

  constructor(database: SqlDatabase, box: SecretBox) {
    this.#database = database;
    this.#box = box;
  }

  /** @returns whether there was room for another one */
  *add(
    { callId, sessionId, way, call }: StoredRegistration<Call>,
    { lifeMs, most }: { lifeMs: number; most: number },
  ): Transaction<boolean> {
    const expiresUs = (yield* this.#database.nowUs()) + lifeMs * 1000;
    const sealed = this.#box.seal(JSON.stringify(call), PURPOSE);
    const added = yield* run(sql`INSERT INTO registered_calls (call_id, session_id, way, registration, expires_us)
      SELECT ${callId}, ${sessionId}, ${way}, ${sealed}, CAST(${expiresUs} AS BIGINT)
      WHERE (SELECT COUNT(*) FROM registered_calls) < ${most}`);
    return added > 0;
  }

  /** Takes a call that has not expired. Null = there is none, or another node has taken it. */
  *take(callId: string, way: RegisteredWay): Transaction<StoredRegistration<Call> | null> {
    const nowUs = yield* this.#database.nowUs();
    const { rows } = yield sql`DELETE FROM registered_calls
      WHERE call_id = ${callId} AND way = ${way} AND expires_us > ${nowUs}
      RETURNING call_id, session_id, way, registration`;
    const [row] = rows as readonly Row[];
    return row === undefined ? null : this.#decoded(row);
  }

  /** Removes the registration of a session. Returns whether there was one. */
  *remove(sessionId: string): Transaction<boolean> {
    return (yield* run(sql`DELETE FROM registered_calls WHERE session_id = ${sessionId}`)) > 0;
  }

  /** Removes registrations that have expired. Returns their sessions: each is returned once, on one node. */
  *removeExpired(): Transaction<readonly string[]> {
    const nowUs = yield* this.#database.nowUs();
    const { rows } = yield sql`DELETE FROM registered_calls WHERE expires_us <= ${nowUs} RETURNING session_id`;
    return (rows as readonly Pick<Row, 'session_id'>[]).map(({ session_id: id }) => id);
  }

  /** Removes all registrations, of a process that was the only one. Returns their sessions. */
  *removeAll(): Transaction<readonly string[]> {
    const { rows } = yield sql`DELETE FROM registered_calls RETURNING session_id`;
    return (rows as readonly Pick<Row, 'session_id'>[]).map(({ session_id: id }) => id);
  }

  #decoded(row: Row): StoredRegistration<Call> {
    return {
      callId: row.call_id,
      sessionId: row.session_id,
      way: row.way,
      call: JSON.parse(this.#box.open(row.registration, PURPOSE)) as Call,
    };
  }
}
