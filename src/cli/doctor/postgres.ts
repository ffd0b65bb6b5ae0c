import pg from 'pg';
import { errorOf, reasonOf } from '../../base/errors.js';
import type { Settings } from '../../settings/settings.js';
import { postgresFault } from '../../store/postgres/faults.js';
import { NODE_CONNECTIONS } from '../../store/postgres/postgres-database.js';
import { MIN_SERVER_VERSION, POSTGRES_SCHEMA_VERSION } from '../../store/postgres/schema.js';
import { type Check, hint, ok, problem } from './check.js';

const NAME = 'postgresql';
const TIMEOUT_MS = 5_000;
/** Nodes' clocks may differ from the server's by a few seconds. */
const CLOCK_MS = 2_000;
/** Connections that are left for the operator's own tools. */
const SPARE_CONNECTIONS = 5;

interface ServerFacts {
  version: number;
  shown: string;
  tls: boolean;
  local: boolean;
  now_ms: string;
  may_create: boolean;
  max_connections: number;
  reserved: number;
  has_schema: boolean;
  has_vector: boolean;
  in_recovery: boolean;
  statement_timeout_ms: number;
}

interface SchemaFacts {
  version: string;
  readable_from: string;
}

/** Checks the PostgreSQL database of the settings. Changes nothing. */
export async function checkPostgres(
  { databaseUrl }: Pick<Settings, 'databaseUrl'>,
  nowUnixMs: () => number,
): Promise<Check[]> {
  if (databaseUrl === null) return [];
  let client: pg.Client;
  try {
    client = new pg.Client({
      connectionString: databaseUrl,
      connectionTimeoutMillis: TIMEOUT_MS,
      // As nodes ask for.
      statement_timeout: TIMEOUT_MS,
      query_timeout: 2 * TIMEOUT_MS,
      application_name: 'parley doctor',
    });
  } catch (error) {
    return [problem(NAME, `PARLEY_DATABASE_URL is no address: ${reasonOf(error)}`, 'postgres://user@host:5432/parley')];
  }
  client.on('error', () => undefined); // the statement under way rejects
  try {
    await client.connect();
    return await checkServer(client, nowUnixMs);
  } catch (error) {
    const { message } = errorOf(postgresFault(error));
    return [problem(NAME, message, 'check PARLEY_DATABASE_URL, the server and its pg_hba.conf')];
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function checkServer(client: pg.Client, nowUnixMs: () => number): Promise<Check[]> {
  const beforeMs = nowUnixMs();
  const { rows } = await client.query<ServerFacts>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS shown,
       COALESCE((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS tls,
       inet_client_addr() IS NULL OR host(inet_client_addr()) IN ('127.0.0.1', '::1') AS local,
       EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS now_ms,
       has_schema_privilege(current_schema(), 'CREATE') AS may_create,
       current_setting('max_connections')::int AS max_connections,
       current_setting('superuser_reserved_connections')::int AS reserved,
       to_regclass('parley_schema') IS NOT NULL AS has_schema, to_regtype('vector') IS NOT NULL AS has_vector,
       pg_is_in_recovery() AS in_recovery,
       (SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout') AS statement_timeout_ms`,
  );
  const [facts] = rows;
  if (facts === undefined) return [];
  const skewMs = (beforeMs + nowUnixMs()) / 2 - Number(facts.now_ms);
  return [
    checkVersion(facts),
    ...(facts.in_recovery
      ? [problem(NAME, 'the server is a standby that only reads', 'name the primary server in PARLEY_DATABASE_URL')]
      : []),
    ...(facts.tls || facts.local
      ? []
      : [hint(NAME, 'the connection is not encrypted', 'add ?sslmode=verify-full to PARLEY_DATABASE_URL')]),
    ...(facts.statement_timeout_ms === TIMEOUT_MS
      ? []
      : [problem(NAME, 'a pooler between drops statement_timeout', 'let nodes connect to the server itself')]),
    ...(facts.may_create
      ? []
      : [problem(NAME, 'the user may not create tables', 'GRANT CREATE ON SCHEMA public TO the user')]),
    ...(await checkSchema(client, facts)),
    checkClock(skewMs),
    await checkConnections(client, facts),
    facts.has_vector
      ? ok(NAME, 'pgvector compares vectors of the knowledge base')
      : ok(NAME, 'without pgvector: each node compares vectors of the knowledge base itself'),
  ];
}

function checkVersion({ version, shown }: ServerFacts): Check {
  return version >= MIN_SERVER_VERSION
    ? ok(NAME, `reached: PostgreSQL ${shown}`)
    : problem(NAME, `PostgreSQL ${shown} is too old`, `install ${String(MIN_SERVER_VERSION / 10_000)} or newer`);
}

async function checkSchema(client: pg.Client, { has_schema: has }: ServerFacts): Promise<Check[]> {
  if (!has) return [ok(NAME, 'the first node that starts will create its tables')];
  const { rows } = await client.query<SchemaFacts>('SELECT version, readable_from FROM parley_schema');
  const version = Number(rows[0]?.version);
  const readableFrom = Number(rows[0]?.readable_from);
  if (readableFrom > POSTGRES_SCHEMA_VERSION) {
    return [problem(NAME, `a later version of parley wrote it (schema ${String(version)})`, 'install that version')];
  }
  const checks = [
    version === POSTGRES_SCHEMA_VERSION
      ? ok(NAME, `schema ${String(version)}`)
      : hint(
          NAME,
          `schema ${String(version)}, this release has ${String(POSTGRES_SCHEMA_VERSION)}`,
          schemaHelp(version),
        ),
  ];
  if (version < POSTGRES_SCHEMA_VERSION) return checks;
  const half = await client.query(`SELECT 1 FROM migration WHERE state <> 'verified' LIMIT 1`);
  if (half.rows.length > 0) {
    checks.push(problem(NAME, 'a data folder has been copied into it only in part', 'run parley migrate again'));
  }
  const rights = await client.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()
       AND NOT CASE WHEN schemaname = current_schema()
         THEN has_table_privilege(format('%I.%I', schemaname, tablename), 'INSERT, UPDATE, DELETE') ELSE true END LIMIT 1`,
  );
  if (rights.rows[0] !== undefined) {
    checks.push(problem(NAME, `the user may not write the table ${rights.rows[0].name}`, 'GRANT ALL ON ALL TABLES'));
  }
  return checks;
}

function schemaHelp(version: number): string {
  return version < POSTGRES_SCHEMA_VERSION
    ? 'the next node of this release that starts updates it; nodes of the release before go on'
    : 'this release can use it; update this node next';
}

function checkClock(skewMs: number): Check {
  const text = `the clock of this machine is ${String(Math.abs(Math.round(skewMs)))} ms ${skewMs < 0 ? 'behind' : 'ahead of'} the server's`;
  return Math.abs(skewMs) <= CLOCK_MS ? ok(NAME, text) : hint(NAME, text, 'synchronise both with NTP');
}

/** Compares the connections that all nodes may need with what the server allows. */
async function checkConnections(client: pg.Client, facts: ServerFacts): Promise<Check> {
  const { max_connections: most, reserved } = facts;
  const found = await client.query<{ has: boolean }>(`SELECT to_regclass('nodes') IS NOT NULL AS has`);
  const nodes = found.rows[0]?.has
    ? Number((await client.query<{ count: string }>('SELECT COUNT(*) AS count FROM nodes')).rows[0]?.count ?? 0)
    : 0;
  const free = most - reserved - SPARE_CONNECTIONS;
  const room = Math.floor(free / NODE_CONNECTIONS);
  const text = `a node uses up to ${String(NODE_CONNECTIONS)} connections, the server allows ${String(most)}: enough for ${String(room)} nodes`;
  if (room < Math.max(1, nodes)) {
    return problem(NAME, `${text}, ${String(nodes)} run`, 'raise max_connections');
  }
  return room <= nodes
    ? hint(NAME, `${text}, ${String(nodes)} run`, 'raise max_connections before another one starts')
    : ok(NAME, text);
}
