import type pg from 'pg';
import { ParleyError } from '../../base/errors.js';
import { BASELINE } from './baseline.js';
import { CHANGES } from './changes.js';

/** A step from one schema version to the next. */
interface Migration {
  /** Of the schema after it, the same as in a data folder's database. */
  version: number;
  /**
   * The earliest schema version whose releases can use the schema after this step. During a rolling update, nodes of the
   * release before still run and may start again.
   */
  readableFrom: number;
  text: string;
}

/** As step 17 of a data folder's database. */
const NODES = `
  CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    address TEXT NOT NULL,
    version TEXT NOT NULL,
    capacity BIGINT NOT NULL,
    sessions BIGINT NOT NULL,
    draining BIGINT NOT NULL,
    started_us BIGINT NOT NULL,
    heartbeat_us BIGINT NOT NULL,
    dead_us BIGINT
  );
  ALTER TABLE calls ADD COLUMN node_id TEXT COLLATE "C";
  ALTER TABLE dials ADD COLUMN node_id TEXT COLLATE "C";
  ALTER TABLE unfinished_sessions ADD COLUMN node_id TEXT COLLATE "C";
  ALTER TABLE campaign_records ADD COLUMN node_id TEXT COLLATE "C";
  ALTER TABLE eval_runs ADD COLUMN node_id TEXT COLLATE "C";
  CREATE TABLE file_deletions (
    key TEXT COLLATE "C" PRIMARY KEY,
    ts_us BIGINT NOT NULL,
    done BIGINT NOT NULL
  );
  CREATE INDEX file_deletions_open ON file_deletions (ts_us) WHERE done = 0;
  CREATE TABLE registered_calls (
    call_id TEXT COLLATE "C" PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL UNIQUE,
    way TEXT NOT NULL CHECK (way IN ('talk', 'phone')),
    registration TEXT NOT NULL,
    expires_us BIGINT NOT NULL
  );
  CREATE INDEX registered_calls_expiry ON registered_calls (expires_us);`;

/** What only nodes that share a database need. */
const SHARED = `
  CREATE TABLE secret_keys (
    purpose TEXT NOT NULL CHECK (purpose IN ('secret', 'signing')),
    id TEXT NOT NULL,
    used_at BIGINT NOT NULL,
    retired_at BIGINT,
    PRIMARY KEY (purpose, id)
  );
  CREATE TABLE session_token_uses (
    id TEXT COLLATE "C" PRIMARY KEY,
    expires_us BIGINT NOT NULL
  );
  CREATE INDEX session_token_uses_expiry ON session_token_uses (expires_us);`;

const MIGRATIONS: readonly Migration[] = [
  { version: 16, readableFrom: 16, text: BASELINE },
  { version: 17, readableFrom: 16, text: [NODES, SHARED, CHANGES].join('\n') },
];

/** The schema version of this parley on PostgreSQL. */
export const POSTGRES_SCHEMA_VERSION = Math.max(...MIGRATIONS.map(({ version }) => version));

/** The oldest server that has all that the statements need, as in `server_version_num`. */
const MIN_SERVER_VERSION = 150_000;
const MIN_SERVER_MAJOR = MIN_SERVER_VERSION / 10_000;

/** Nodes that start at the same time wait for the first one's update of the schema. */
const LOCK = 'parley schema';

/** The version of a database's schema, and the earliest that can use it; null = it has none. */
interface SchemaState {
  version: number;
  readableFrom: number;
}

/**
 * Creates the schema or updates it, one node at a time.
 * @param client connected, not of the pool: an update may take longer than a statement may otherwise
 * @throws ParleyError DATABASE_UNUSABLE for a schema that only later releases can use, or an older server
 */
export async function updateSchema(client: pg.Client): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [LOCK]);
    const state = await readSchema(client);
    for (const { version, readableFrom, text } of MIGRATIONS) {
      if (state !== null && version <= state.version) continue;
      await client.query(text);
      await client.query('DELETE FROM parley_schema');
      await client.query('INSERT INTO parley_schema (version, readable_from) VALUES ($1, $2)', [version, readableFrom]);
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined); // the connection may be lost
    throw error;
  }
}

/**
 * The schema of a database that this release can use.
 * @throws ParleyError DATABASE_UNUSABLE
 */
export async function readSchema(client: pg.Client): Promise<SchemaState | null> {
  const settings = await client.query<{ database: string; version: number; has: boolean }>(
    `SELECT current_database() AS database, current_setting('server_version_num')::int AS version,
       to_regclass('parley_schema') IS NOT NULL AS has`,
  );
  const { database = '', version = 0, has = false } = settings.rows[0] ?? {};
  if (version < MIN_SERVER_VERSION) {
    const server = `${String(Math.floor(version / 10_000))}, parley needs ${String(MIN_SERVER_MAJOR)} or newer`;
    throw new ParleyError('DATABASE_UNUSABLE', { path: database, reason: `the server is PostgreSQL ${server}` });
  }
  if (!has) return null;
  const { rows } = await client.query<{ version: string; readable_from: string }>('SELECT * FROM parley_schema');
  if (rows[0] === undefined) return null;
  const state = { version: Number(rows[0].version), readableFrom: Number(rows[0].readable_from) };
  if (state.readableFrom > POSTGRES_SCHEMA_VERSION) {
    const reason = `it has schema ${String(state.version)}, this version of parley knows ${String(POSTGRES_SCHEMA_VERSION)}`;
    throw new ParleyError('DATABASE_UNUSABLE', { path: database, reason });
  }
  return state;
}
