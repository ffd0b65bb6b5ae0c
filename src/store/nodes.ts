import { DIALS_LOCK } from './dials.js';
import { run, sql, type SqlDatabase, type Transaction } from './sql/statement.js';

/** What a node says of itself with each heartbeat. */
export interface NodeReport {
  id: string;
  /** Where other nodes reach it: scheme and authority; '' = nowhere. */
  address: string;
  version: string;
  /** Maximum of concurrent sessions. */
  capacity: number;
  sessions: number;
  /** Whether it takes no new calls. */
  draining: boolean;
}

/** Ids of the keys with which a node encrypts and signs; they reveal nothing of the keys. */
export interface KeyIds {
  secret: string;
  signing: string;
}

/** A node in the database. Times are the database's, in microseconds since 1970. */
export interface StoredNode extends NodeReport {
  startedUs: number;
  heartbeatUs: number;
  /** When others declared it dead; null = it lives. */
  deadUs: number | null;
}

interface Row {
  id: string;
  address: string;
  version: string;
  capacity: number;
  sessions: number;
  draining: number;
  started_us: number;
  heartbeat_us: number;
  dead_us: number | null;
}

/** The nodes that share a database. */
export class NodeStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  /** Adds a node. */
  join({ id, address, version, capacity, sessions, draining }: NodeReport, keys: KeyIds): Promise<void> {
    const { nowUs } = this.#time();
    return this.#database.transaction(function* () {
      const now = yield* nowUs();
      yield* run(
        sql`INSERT INTO nodes (id, address, version, capacity, sessions, draining, started_us, heartbeat_us,
              secret_key_id, signing_key_id)
            VALUES (${id}, ${address}, ${version}, ${capacity}, ${sessions}, ${Number(draining)}, ${now}, ${now},
              ${keys.secret}, ${keys.signing})
            ON CONFLICT (id) DO UPDATE SET address = excluded.address`,
      );
    });
  }

  /** Notes that a node lives. Returns false if others have declared it dead: its calls are no longer its own. */
  beat({ id, address, capacity, sessions, draining }: NodeReport): Promise<boolean> {
    const { nowUs } = this.#time();
    return this.#database.transaction(function* () {
      const now = yield* nowUs();
      const changed = yield* run(
        sql`UPDATE nodes SET address = ${address}, capacity = ${capacity}, sessions = ${sessions},
              draining = ${Number(draining)}, heartbeat_us = ${now}
            WHERE id = ${id} AND dead_us IS NULL`,
      );
      return changed > 0;
    });
  }

  /** All nodes, oldest first, and the database's time. */
  async list(): Promise<{ nodes: readonly StoredNode[]; nowUs: number }> {
    const { nowUs } = this.#time();
    return this.#database.transaction(function* () {
      const now = yield* nowUs();
      const { rows } = yield sql`SELECT * FROM nodes ORDER BY started_us, id`;
      return { nodes: (rows as readonly Row[]).map(nodeOf), nowUs: now };
    });
  }

  /** A node that lives and encrypts or signs with another key; null = there is none. */
  async withOtherKey({ secret, signing }: KeyIds): Promise<StoredNode | null> {
    const row = await this.#database.first<Row>(
      sql`SELECT * FROM nodes WHERE dead_us IS NULL AND (secret_key_id <> ${secret} OR signing_key_id <> ${signing})
          ORDER BY started_us, id LIMIT 1`,
    );
    return row === null ? null : nodeOf(row);
  }

  /** A node that lives; null = there is none with this id. */
  async live(id: string): Promise<StoredNode | null> {
    const row = await this.#database.first<Row>(sql`SELECT * FROM nodes WHERE id = ${id} AND dead_us IS NULL`);
    return row === null ? null : nodeOf(row);
  }

  /**
   * Declares a node dead if it has sent no heartbeat since. It places no calls from now on: what it has placed is visible.
   * @returns whether this call did so
   */
  async declareDead({ id, heartbeatUs }: Pick<StoredNode, 'id' | 'heartbeatUs'>): Promise<boolean> {
    const { nowUs } = this.#time();
    return this.#database.transaction(function* () {
      const now = yield* nowUs();
      const changed = yield* run(
        sql`UPDATE nodes SET dead_us = ${now}
            WHERE id = ${id} AND heartbeat_us = ${heartbeatUs} AND dead_us IS NULL`,
      );
      return changed > 0;
    }, DIALS_LOCK);
  }

  /** Ids of nodes that have open calls or records under way, but no row: they left before they could end them. */
  async strays(): Promise<readonly string[]> {
    const rows = await this.#database.all<{ node_id: string }>(
      sql`SELECT node_id FROM calls
            WHERE ended_us IS NULL AND node_id IS NOT NULL AND node_id NOT IN (SELECT id FROM nodes)
          UNION
          SELECT node_id FROM campaign_records
            WHERE node_id IS NOT NULL AND node_id NOT IN (SELECT id FROM nodes)`,
    );
    return rows.map(({ node_id: id }) => id);
  }

  /** Removes a node whose calls have all ended. */
  async remove(id: string): Promise<void> {
    await this.#database.run(sql`DELETE FROM nodes WHERE id = ${id}`);
  }

  #time(): Pick<SqlDatabase, 'nowUs'> {
    return { nowUs: () => this.#database.nowUs() };
  }
}

/** Whether a node has a row and others have not declared it dead, for a transaction with `DIALS_LOCK` that takes a call. */
export function* isLiveNode(id: string): Transaction<boolean> {
  const { rows } = yield sql`SELECT 1 FROM nodes WHERE id = ${id} AND dead_us IS NULL`;
  return rows.length > 0;
}

function nodeOf(row: Row): StoredNode {
  return {
    id: row.id,
    address: row.address,
    version: row.version,
    capacity: row.capacity,
    sessions: row.sessions,
    draining: row.draining !== 0,
    startedUs: row.started_us,
    heartbeatUs: row.heartbeat_us,
    deadUs: row.dead_us,
  };
}
