import type Database from 'better-sqlite3';

/** The latest version of a test suite. */
export interface StoredEvalSuite {
  id: string;
  /** The agent that it tests; it is deleted with this agent. Null = any agent. */
  agentId: string | null;
  /** Counts from 1. */
  version: number;
  name: string;
  /** YAML or JSON, as its author wrote it. */
  text: string;
  /** The suite of that text, as JSON. */
  suite: string;
  /** Unix seconds. */
  createdAt: number;
  changedAt: number;
  /** The name of the key that made the latest change. */
  changedBy: string | null;
}

/** One version of a suite. */
export type EvalSuiteVersion = Omit<StoredEvalSuite, 'id' | 'agentId' | 'createdAt'>;

interface Row {
  id: string;
  agent_id: string | null;
  version: number;
  name: string;
  text: string;
  suite: string;
  created_at: number;
  changed_at: number;
  changed_by: string | null;
}

/** Versions that are kept of one suite. The oldest are deleted first. */
const MAX_VERSIONS = 1000;

/** The daemon's test suites with their earlier versions. */
export class EvalSuiteStore {
  readonly #get: Database.Statement<unknown[], Row>;
  readonly #list: Database.Statement<unknown[], Row>;
  readonly #versions: Database.Statement<unknown[], Row>;
  readonly #remove: Database.Statement<unknown[]>;
  readonly #add: (suite: StoredEvalSuite) => void;
  readonly #change: (suite: StoredEvalSuite) => void;

  constructor(database: Database.Database) {
    const columns = 'kept.version, name, text, suite, changed_at, changed_by';
    const latest = `SELECT id, agent_id, created_at, ${columns} FROM eval_suites
      JOIN eval_suite_versions AS kept ON suite_id = id AND kept.version = eval_suites.version`;
    this.#get = database.prepare(`${latest} WHERE id = ?`);
    this.#list = database.prepare(
      `${latest} WHERE @agentId IS NULL OR agent_id = @agentId ORDER BY created_at, eval_suites.rowid`,
    );
    this.#versions = database.prepare(
      `SELECT suite_id AS id, NULL AS agent_id, 0 AS created_at, ${columns} FROM eval_suite_versions AS kept
       WHERE suite_id = ? AND kept.version < ? ORDER BY kept.version DESC LIMIT ?`,
    );
    this.#remove = database.prepare('DELETE FROM eval_suites WHERE id = ?');
    const insert = database.prepare(
      'INSERT INTO eval_suites (id, agent_id, version, created_at) VALUES (@id, @agentId, @version, @createdAt)',
    );
    const move = database.prepare('UPDATE eval_suites SET version = @version, agent_id = @agentId WHERE id = @id');
    const keep = database.prepare(
      `INSERT INTO eval_suite_versions (suite_id, version, name, text, suite, changed_at, changed_by)
       VALUES (@id, @version, @name, @text, @suite, @changedAt, @changedBy)`,
    );
    const purge = database.prepare('DELETE FROM eval_suite_versions WHERE suite_id = ? AND version <= ?');
    this.#add = database.transaction((suite: StoredEvalSuite) => {
      insert.run(suite);
      keep.run(suite);
    });
    this.#change = database.transaction((suite: StoredEvalSuite) => {
      keep.run(suite);
      move.run(suite);
      purge.run(suite.id, suite.version - MAX_VERSIONS);
    });
  }

  get(id: string): StoredEvalSuite | null {
    const row = this.#get.get(id);
    return row === undefined ? null : stored(row);
  }

  /** In the order of creation. @param agentId null = suites of all agents */
  list(agentId: string | null): StoredEvalSuite[] {
    return this.#list.all({ agentId }).map(stored);
  }

  /** @param suite its first version */
  add(suite: StoredEvalSuite): void {
    this.#add(suite);
  }

  /** @param suite with its next version */
  change(suite: StoredEvalSuite): void {
    this.#change(suite);
  }

  /** Latest first. @param before only versions before this one */
  versions(id: string, { limit, before }: { limit: number; before: number }): EvalSuiteVersion[] {
    return this.#versions.all(id, before, limit).map(({ version, name, text, suite, changed_at, changed_by }) => ({
      version,
      name,
      text,
      suite,
      changedAt: changed_at,
      changedBy: changed_by,
    }));
  }

  /** Deletes a suite with its versions and its runs. Returns whether it existed. */
  remove(id: string): boolean {
    return this.#remove.run(id).changes > 0;
  }
}

function stored(row: Row): StoredEvalSuite {
  return {
    id: row.id,
    agentId: row.agent_id,
    version: row.version,
    name: row.name,
    text: row.text,
    suite: row.suite,
    createdAt: row.created_at,
    changedAt: row.changed_at,
    changedBy: row.changed_by,
  };
}
