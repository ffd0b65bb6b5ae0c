import Database from 'better-sqlite3';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ParleyError, reasonOf } from '../base/errors.js';
import { sqliteFault, storageFault } from './sqlite.js';

/** The database file's name in the data folder. */
const FILE_NAME = 'parley.db';

/** Steps from one schema version to the next. `user_version` of a database is the number of steps taken. */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE keys (
     id TEXT PRIMARY KEY,
     kind TEXT NOT NULL CHECK (kind IN ('private', 'public')),
     name TEXT NOT NULL,
     hash BLOB NOT NULL UNIQUE,
     hint TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     revoked_at INTEGER
   ) STRICT`,
  `CREATE TABLE phones (
     number TEXT PRIMARY KEY,
     carrier TEXT NOT NULL,
     status TEXT NOT NULL CHECK (status IN ('active', 'inactive')),
     agent_id TEXT,
     agent_config_override TEXT,
     tags TEXT NOT NULL DEFAULT '[]',
     address TEXT,
     created_at INTEGER NOT NULL
   ) STRICT`,
  `CREATE TABLE webhook_deliveries (
     seq INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     session_id TEXT NOT NULL,
     url TEXT NOT NULL,
     headers TEXT NOT NULL,
     body TEXT NOT NULL,
     created_unix_ms REAL NOT NULL,
     attempts INTEGER NOT NULL,
     due_unix_ms REAL,
     delivered_unix_ms REAL,
     error TEXT
   ) STRICT;
   CREATE INDEX webhook_deliveries_open ON webhook_deliveries (session_id, seq) WHERE due_unix_ms IS NOT NULL`,
  `CREATE TABLE memories (
     session_id TEXT PRIMARY KEY,
     agent_id TEXT NOT NULL,
     user TEXT NOT NULL,
     text TEXT NOT NULL,
     unix_ms REAL NOT NULL
   ) STRICT;
   CREATE INDEX memories_of_user ON memories (user, agent_id, unix_ms)`,
  `CREATE TABLE do_not_call (
     number TEXT PRIMARY KEY,
     source TEXT NOT NULL CHECK (source IN ('rule', 'model', 'operator')),
     session_id TEXT,
     created_at INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE finished_sessions (
     id TEXT NOT NULL UNIQUE,
     agent_id TEXT,
     messages TEXT NOT NULL,
     ended_ms INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE session_identifiers (
     session_id TEXT NOT NULL REFERENCES finished_sessions (id) ON DELETE CASCADE,
     name TEXT NOT NULL,
     value TEXT NOT NULL,
     PRIMARY KEY (session_id, name)
   ) STRICT;
   CREATE INDEX session_identifiers_value ON session_identifiers (name, value)`,
  `CREATE TABLE calls (
     ts_us INTEGER PRIMARY KEY,
     session_id TEXT NOT NULL UNIQUE,
     call_id TEXT UNIQUE,
     channel TEXT NOT NULL CHECK (channel IN ('phone', 'talk', 'webrtc', 'chat')),
     direction TEXT NOT NULL CHECK (direction IN ('inbound', 'outbound')),
     agent_id TEXT,
     campaign_id TEXT,
     from_phone TEXT,
     to_phone TEXT,
     status TEXT NOT NULL,
     ended_us INTEGER,
     recording TEXT,
     item TEXT NOT NULL
   ) STRICT;
   CREATE INDEX calls_of_agent ON calls (agent_id, ts_us);
   CREATE INDEX calls_of_campaign ON calls (campaign_id, ts_us) WHERE campaign_id IS NOT NULL;
   CREATE INDEX calls_from ON calls (from_phone, ts_us) WHERE from_phone IS NOT NULL;
   CREATE INDEX calls_to ON calls (to_phone, ts_us) WHERE to_phone IS NOT NULL;
   CREATE INDEX calls_of_status ON calls (status, ts_us);
   CREATE INDEX calls_open ON calls (ts_us) WHERE ended_us IS NULL`,
  `ALTER TABLE keys ADD COLUMN agents TEXT NOT NULL DEFAULT '[]';
   ALTER TABLE keys ADD COLUMN origins TEXT NOT NULL DEFAULT '[]';
   ALTER TABLE keys ADD COLUMN source TEXT CHECK (source IN ('environment'));
   UPDATE keys SET source = 'environment' WHERE name IN ('PARLEY_API_KEY', 'PARLEY_PUBLIC_KEY');
   CREATE TABLE agents (
     id TEXT PRIMARY KEY,
     created_at INTEGER NOT NULL,
     version INTEGER NOT NULL,
     embed TEXT
   ) STRICT;
   CREATE TABLE agent_versions (
     agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
     version INTEGER NOT NULL,
     name TEXT NOT NULL,
     config TEXT NOT NULL,
     script TEXT,
     changed_at INTEGER NOT NULL,
     changed_by TEXT,
     PRIMARY KEY (agent_id, version)
   ) STRICT`,
  // With any filter, a page of calls takes a few index steps, see call-pages.ts.
  `CREATE INDEX calls_of_agent_status ON calls (agent_id, status, ts_us);
   CREATE INDEX calls_of_campaign_status ON calls (campaign_id, status, ts_us) WHERE campaign_id IS NOT NULL;
   CREATE INDEX calls_from_status ON calls (from_phone, status, ts_us) WHERE from_phone IS NOT NULL;
   CREATE INDEX calls_to_status ON calls (to_phone, status, ts_us) WHERE to_phone IS NOT NULL;
   CREATE INDEX calls_in_time ON calls (ts_us, agent_id, campaign_id, status, from_phone, to_phone);
   CREATE INDEX calls_recorded ON calls (ts_us) WHERE recording IS NOT NULL;
   CREATE TABLE call_numbers (
     number TEXT PRIMARY KEY,
     reversed TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX call_numbers_reversed ON call_numbers (reversed);
   INSERT INTO call_numbers (number, reversed)
     WITH RECURSIVE
       numbers (number) AS (
         SELECT from_phone FROM calls WHERE from_phone IS NOT NULL
         UNION SELECT to_phone FROM calls WHERE to_phone IS NOT NULL
       ),
       turned (number, taken, reversed) AS (
         SELECT number, 0, '' FROM numbers
         UNION ALL SELECT number, taken + 1, substr(number, taken + 1, 1) || reversed FROM turned WHERE taken < length(number)
       )
     SELECT number, reversed FROM turned WHERE taken = length(number)`,
  `CREATE TABLE dials (
     session_id TEXT PRIMARY KEY,
     to_phone TEXT NOT NULL,
     at_us INTEGER NOT NULL,
     reserved_s REAL NOT NULL,
     answered_us INTEGER,
     ended_us INTEGER
   ) STRICT;
   CREATE INDEX dials_at ON dials (at_us);
   CREATE INDEX dials_to ON dials (to_phone, at_us);
   CREATE INDEX dials_open ON dials (at_us) WHERE ended_us IS NULL;
   CREATE TABLE idempotent_calls (
     client TEXT NOT NULL,
     key TEXT NOT NULL,
     fingerprint TEXT NOT NULL,
     session_id TEXT NOT NULL,
     call_id TEXT NOT NULL,
     at_us INTEGER NOT NULL,
     PRIMARY KEY (client, key)
   ) STRICT;
   CREATE INDEX idempotent_calls_at ON idempotent_calls (at_us);
   CREATE TABLE calls_stopped (
     only INTEGER PRIMARY KEY CHECK (only = 1),
     at_us INTEGER NOT NULL,
     by TEXT
   ) STRICT;
   ALTER TABLE webhook_deliveries ADD COLUMN audience TEXT NOT NULL DEFAULT 'agent'
     CHECK (audience IN ('agent', 'operator'));
   DROP INDEX webhook_deliveries_open;
   CREATE INDEX webhook_deliveries_open ON webhook_deliveries (audience, session_id, seq) WHERE due_unix_ms IS NOT NULL;
   CREATE INDEX webhook_deliveries_session ON webhook_deliveries (session_id, seq)`,
  // The next record of each place is the first entry of an index, see campaign-records.ts.
  `CREATE TABLE campaigns (
     id TEXT PRIMARY KEY,
     name TEXT NOT NULL,
     status TEXT NOT NULL CHECK (status IN ('idle', 'started', 'paused', 'finished', 'failed')),
     caller TEXT,
     include_metadata_in_prompt INTEGER NOT NULL,
     overrides TEXT NOT NULL,
     reason TEXT,
     last_call_ms REAL,
     created_at INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE campaign_records (
     seq INTEGER PRIMARY KEY,
     campaign_id TEXT NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
     phone TEXT NOT NULL,
     metadata TEXT NOT NULL,
     place TEXT NOT NULL,
     status TEXT NOT NULL CHECK (status IN ('not_started', 'started', 'finished', 'failed')),
     session_id TEXT,
     calling INTEGER NOT NULL,
     attempts INTEGER NOT NULL,
     retried TEXT NOT NULL,
     due_ms REAL,
     reason TEXT,
     UNIQUE (campaign_id, phone)
   ) STRICT;
   CREATE INDEX campaign_records_due ON campaign_records (campaign_id, place, due_ms, seq) WHERE due_ms IS NOT NULL;
   CREATE INDEX campaign_records_calling ON campaign_records (campaign_id, seq) WHERE calling = 1;
   CREATE INDEX campaign_records_status ON campaign_records (campaign_id, status, seq);
   CREATE INDEX campaign_records_seq ON campaign_records (campaign_id, seq);
   CREATE TABLE campaign_rejections (
     seq INTEGER PRIMARY KEY,
     campaign_id TEXT NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
     phone TEXT NOT NULL,
     metadata TEXT NOT NULL,
     reason TEXT NOT NULL
   ) STRICT;
   CREATE INDEX campaign_rejections_seq ON campaign_rejections (campaign_id, seq)`,
  `CREATE TABLE custom_voices (
     provider TEXT NOT NULL,
     voice_id TEXT NOT NULL,
     base_voice_id TEXT NOT NULL,
     name TEXT NOT NULL,
     model TEXT,
     settings TEXT NOT NULL,
     language TEXT,
     category TEXT,
     multiplier REAL NOT NULL,
     created_at INTEGER NOT NULL,
     PRIMARY KEY (provider, voice_id)
   ) STRICT`,
  // Counting a hundred thousand records would take longer than all other work on them.
  `CREATE TABLE campaign_counts (
     campaign_id TEXT NOT NULL,
     status TEXT NOT NULL,
     count INTEGER NOT NULL,
     PRIMARY KEY (campaign_id, status)
   ) STRICT, WITHOUT ROWID;
   INSERT INTO campaign_counts SELECT campaign_id, status, COUNT(*) FROM campaign_records GROUP BY campaign_id, status;
   INSERT INTO campaign_counts SELECT campaign_id, 'rejected', COUNT(*) FROM campaign_rejections GROUP BY campaign_id;
   CREATE TRIGGER campaign_records_added AFTER INSERT ON campaign_records BEGIN
     INSERT INTO campaign_counts VALUES (NEW.campaign_id, NEW.status, 1) ON CONFLICT DO UPDATE SET count = count + 1;
   END;
   CREATE TRIGGER campaign_records_removed AFTER DELETE ON campaign_records BEGIN
     UPDATE campaign_counts SET count = count - 1 WHERE campaign_id = OLD.campaign_id AND status = OLD.status;
   END;
   CREATE TRIGGER campaign_records_moved AFTER UPDATE OF status ON campaign_records WHEN OLD.status <> NEW.status BEGIN
     UPDATE campaign_counts SET count = count - 1 WHERE campaign_id = OLD.campaign_id AND status = OLD.status;
     INSERT INTO campaign_counts VALUES (NEW.campaign_id, NEW.status, 1) ON CONFLICT DO UPDATE SET count = count + 1;
   END;
   CREATE TRIGGER campaign_rejections_added AFTER INSERT ON campaign_rejections BEGIN
     INSERT INTO campaign_counts VALUES (NEW.campaign_id, 'rejected', 1) ON CONFLICT DO UPDATE SET count = count + 1;
   END;
   CREATE TRIGGER campaign_rejections_removed AFTER DELETE ON campaign_rejections BEGIN
     UPDATE campaign_counts SET count = count - 1 WHERE campaign_id = OLD.campaign_id AND status = 'rejected';
   END;
   CREATE TRIGGER campaigns_removed AFTER DELETE ON campaigns BEGIN
     DELETE FROM campaign_counts WHERE campaign_id = OLD.id;
   END`,
  `CREATE TABLE unfinished_sessions (
     session_id TEXT PRIMARY KEY,
     record TEXT NOT NULL
   ) STRICT;
   CREATE TABLE after_call_runs (
     session_id TEXT NOT NULL,
     tool TEXT NOT NULL,
     run TEXT,
     PRIMARY KEY (session_id, tool)
   ) STRICT;
   CREATE TRIGGER unfinished_sessions_removed AFTER DELETE ON unfinished_sessions BEGIN
     DELETE FROM after_call_runs WHERE session_id = OLD.session_id;
   END`,
  // All temporary agents shared these memories, and their owners are unknown.
  `DELETE FROM memories WHERE agent_id = ''`,
  // Null = stored by an earlier release. AgentStore can decrypt the configurations and moves their extensions here.
  `ALTER TABLE agent_versions ADD COLUMN extensions TEXT`,
  // Suites and runs of an agent are deleted with it. A run keeps the version of its suite and of its agent.
  `CREATE TABLE eval_suites (
     id TEXT PRIMARY KEY,
     agent_id TEXT REFERENCES agents (id) ON DELETE CASCADE,
     version INTEGER NOT NULL,
     created_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX eval_suites_of_agent ON eval_suites (agent_id);
   CREATE TABLE eval_suite_versions (
     suite_id TEXT NOT NULL REFERENCES eval_suites (id) ON DELETE CASCADE,
     version INTEGER NOT NULL,
     name TEXT NOT NULL,
     text TEXT NOT NULL,
     suite TEXT NOT NULL,
     changed_at INTEGER NOT NULL,
     changed_by TEXT,
     PRIMARY KEY (suite_id, version)
   ) STRICT;
   CREATE TABLE eval_runs (
     seq INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     suite_id TEXT NOT NULL REFERENCES eval_suites (id) ON DELETE CASCADE,
     suite_version INTEGER NOT NULL,
     agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
     agent_version INTEGER NOT NULL,
     status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'done', 'canceled', 'failed')),
     reason TEXT,
     passed INTEGER,
     request TEXT NOT NULL,
     webhook TEXT,
     progress TEXT NOT NULL,
     summary TEXT,
     result TEXT,
     created_ms REAL NOT NULL,
     started_ms REAL,
     finished_ms REAL
   ) STRICT;
   CREATE INDEX eval_runs_of_suite ON eval_runs (suite_id, seq);
   CREATE INDEX eval_runs_of_agent ON eval_runs (agent_id, seq);
   CREATE INDEX eval_runs_open ON eval_runs (seq) WHERE finished_ms IS NULL;
   CREATE TABLE eval_calls (
     session_id TEXT PRIMARY KEY,
     run_id TEXT NOT NULL REFERENCES eval_runs (id) ON DELETE CASCADE,
     call TEXT NOT NULL
   ) STRICT;
   CREATE INDEX eval_calls_of_run ON eval_calls (run_id)`,
  // The node that has a call, so that others know whose calls to close when it dies.
  `CREATE TABLE nodes (
     id TEXT PRIMARY KEY,
     address TEXT NOT NULL,
     version TEXT NOT NULL,
     capacity INTEGER NOT NULL,
     sessions INTEGER NOT NULL,
     draining INTEGER NOT NULL,
     started_us INTEGER NOT NULL,
     heartbeat_us INTEGER NOT NULL,
     dead_us INTEGER,
     secret_key_id TEXT NOT NULL,
     signing_key_id TEXT NOT NULL
   ) STRICT;
   ALTER TABLE calls ADD COLUMN node_id TEXT;
   ALTER TABLE dials ADD COLUMN node_id TEXT;
   ALTER TABLE unfinished_sessions ADD COLUMN node_id TEXT;
   ALTER TABLE campaign_records ADD COLUMN node_id TEXT;
   ALTER TABLE campaign_records ADD COLUMN claimed_until_us INTEGER;
   CREATE INDEX campaign_records_claimed ON campaign_records (campaign_id, claimed_until_us)
     WHERE claimed_until_us IS NOT NULL;
   ALTER TABLE campaigns ADD COLUMN claimed_us INTEGER;
   CREATE INDEX campaigns_started ON campaigns (id) WHERE status = 'started';
   CREATE TABLE campaign_uploads (
     id TEXT PRIMARY KEY,
     campaign_id TEXT NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
     until_us INTEGER NOT NULL
   ) STRICT;
   ALTER TABLE eval_runs ADD COLUMN node_id TEXT;
   ALTER TABLE eval_runs ADD COLUMN cancel INTEGER NOT NULL DEFAULT 0;
   CREATE TABLE file_deletions (
     key TEXT PRIMARY KEY,
     ts_us INTEGER NOT NULL,
     done INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX file_deletions_open ON file_deletions (ts_us) WHERE done = 0;
   CREATE TABLE registered_calls (
     call_id TEXT PRIMARY KEY,
     session_id TEXT NOT NULL UNIQUE,
     way TEXT NOT NULL CHECK (way IN ('talk', 'phone')),
     registration TEXT NOT NULL,
     expires_us INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX registered_calls_expiry ON registered_calls (expires_us);
   ALTER TABLE calls_stopped ADD COLUMN end_requests INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE keys ADD COLUMN scopes TEXT;
   ALTER TABLE phones ADD COLUMN queue TEXT;
   CREATE TABLE step_figures (
     agent_id TEXT NOT NULL,
     day INTEGER NOT NULL,
     step TEXT NOT NULL,
     next TEXT NOT NULL,
     count INTEGER NOT NULL,
     ms INTEGER NOT NULL,
     PRIMARY KEY (agent_id, day, step, next)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE mcp_authorizations (
     server TEXT PRIMARY KEY,
     record TEXT,
     claimed_by TEXT,
     claimed_until_us INTEGER
   ) STRICT;
   ALTER TABLE agents ADD COLUMN draft INTEGER;
   ALTER TABLE agents ADD COLUMN publishing TEXT;
   ALTER TABLE agents ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE agent_versions ADD COLUMN changed_by_key TEXT;
   ALTER TABLE agent_versions ADD COLUMN note TEXT;
   ALTER TABLE agent_versions ADD COLUMN published_at INTEGER;
   UPDATE agent_versions SET published_at = changed_at;
   CREATE TABLE agent_publications (
     seq INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
     action TEXT NOT NULL CHECK (action IN ('publish', 'rollback', 'split', 'discard', 'settings')),
     status TEXT NOT NULL CHECK (status IN ('checking', 'scheduled', 'done', 'refused', 'canceled')),
     version INTEGER,
     previous INTEGER,
     note TEXT,
     details TEXT NOT NULL,
     run_id TEXT,
     due_us INTEGER,
     by_key TEXT,
     by_name TEXT,
     created_us INTEGER NOT NULL,
     finished_us INTEGER
   ) STRICT;
   CREATE INDEX agent_publications_of_agent ON agent_publications (agent_id, seq);
   CREATE INDEX agent_publications_open ON agent_publications (seq) WHERE finished_us IS NULL;
   ALTER TABLE phones ADD COLUMN agent_version TEXT;
   ALTER TABLE campaigns ADD COLUMN agent_version TEXT;
   ALTER TABLE calls ADD COLUMN agent_version INTEGER;
   CREATE INDEX calls_of_version ON calls (agent_id, agent_version, ts_us) WHERE agent_version IS NOT NULL;
   CREATE INDEX calls_of_version_status ON calls (agent_id, agent_version, status, ts_us)
     WHERE agent_version IS NOT NULL`,
];

/** The schema version of this parley. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Opens the daemon's database in `dataDir` and updates its schema. It creates both if they are missing, readable by
 * their owner only. Committed data survives a crash of the process and of the machine.
 * @throws ParleyError FILE_NOT_WRITABLE without the necessary permissions, or if a file has the folder's name;
 *   DATABASE_UNUSABLE if it is damaged, not a database, or of a later version; DISK_FULL; SQLITE_MISSING
 */
export function openDatabase(dataDir: string): Database.Database {
  try {
    return open(dataDir);
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    const fault = sqliteFault(error) ?? storageFault(error, databaseFile(dataDir));
    if (fault !== null) throw fault;
    const path = `the data folder ${dataDir} (PARLEY_DATA_DIR)`;
    throw new ParleyError('FILE_NOT_WRITABLE', { path, reason: reasonOf(error) }, { cause: error });
  }
}

/** The path of the database of a data folder. */
export function databaseFile(dataDir: string): string {
  return join(dataDir, FILE_NAME);
}

function open(dataDir: string): Database.Database {
  makeDataFolder(dataDir);
  const path = databaseFile(dataDir);
  // Others may be able to read an older folder. SQLite's other files get their mode from this file.
  closeSync(openSync(path, 'a', 0o600));
  const database = new Database(path, { timeout: 5000 });
  try {
    database.pragma('journal_mode = WAL');
    // better-sqlite3 is built with NORMAL for WAL, which can lose the last commits in a power failure.
    database.pragma('synchronous = FULL');
    database.pragma('foreign_keys = ON');
    // SQLite overwrites deleted content in the file.
    database.pragma('secure_delete = ON');
    migrate(database);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/**
 * Creates a folder and its parents, accessible to their owner only. Node's own `recursive` never returns where the
 * system allows no folders, such as below /proc.
 */
export function makeDataFolder(path: string): void {
  if (existsSync(path)) return;
  const above = dirname(path);
  if (above !== path) makeDataFolder(above);
  mkdirSync(path, { mode: 0o700 });
}

function migrate(database: Database.Database): void {
  const version = database.pragma('user_version', { simple: true }) as number;
  if (version > MIGRATIONS.length) {
    const reason = `it has schema ${String(version)}, this version of parley knows ${String(MIGRATIONS.length)}`;
    throw new ParleyError('DATABASE_UNUSABLE', { path: database.name, reason });
  }
  database.transaction(() => {
    for (const step of MIGRATIONS.slice(version)) database.exec(step);
    database.pragma(`user_version = ${String(MIGRATIONS.length)}`);
  })();
}
