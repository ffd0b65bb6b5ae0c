import { run, sql, type SqlDatabase, type Statement, type Transaction } from './sql/statement.js';

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
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  async get(id: string): Promise<StoredEvalSuite | null> {
    const row = await this.#database.first<Row>(latest(sql`id = ${id}`));
    return row === null ? null : stored(row);
  }

  /** In the order of creation. @param agentId null = suites of all agents */
  async list(agentId: string | null): Promise<StoredEvalSuite[]> {
    const wanted = agentId === null ? sql`TRUE` : sql`agent_id = ${agentId}`;
    return (await this.#database.all<Row>(latest(wanted))).map(stored);
  }

  /** @param suite its first version */
  async add(suite: StoredEvalSuite): Promise<void> {
    const { id, agentId, version, createdAt } = suite;
    await this.#database.transaction(function* () {
      yield* run(sql`INSERT INTO eval_suites (id, agent_id, version, created_at)
        VALUES (${id}, ${agentId}, ${version}, ${createdAt})`);
      yield* keep(suite);
    });
  }

  /**
   * Saves the next version of a suite.
   * @returns whether it is the next one: another change may have come first
   */
  change(suite: StoredEvalSuite): Promise<boolean> {
    const { id, agentId, version } = suite;
    return this.#database.transaction(function* () {
      const changed = yield* run(sql`UPDATE eval_suites SET version = ${version}, agent_id = ${agentId}
        WHERE id = ${id} AND version = ${version - 1}`);
      if (changed === 0) return false;
      yield* keep(suite);
      yield* run(sql`DELETE FROM eval_suite_versions WHERE suite_id = ${id} AND version <= ${version - MAX_VERSIONS}`);
      return true;
    });
  }

  /** Latest first. @param before only versions before this one */
  async versions(id: string, { limit, before }: { limit: number; before: number }): Promise<EvalSuiteVersion[]> {
    const rows = await this.#database.all<Omit<Row, 'id' | 'agent_id' | 'created_at'>>(
      sql`SELECT version, name, text, suite, changed_at, changed_by FROM eval_suite_versions
          WHERE suite_id = ${id} AND version < ${before} ORDER BY version DESC LIMIT ${limit}`,
    );
    return rows.map(({ changed_at: changedAt, changed_by: changedBy, version, name, text, suite }) => {
      return { version, name, text, suite, changedAt, changedBy };
    });
  }

  /** Deletes a suite with its versions and its runs. Returns whether it existed. */
  async remove(id: string): Promise<boolean> {
    return (await this.#database.run(sql`DELETE FROM eval_suites WHERE id = ${id}`)) > 0;
  }
}

function latest(condition: Statement): Statement {
  return sql`SELECT id, agent_id, created_at, kept.version, name, text, suite, changed_at, changed_by
    FROM eval_suites JOIN eval_suite_versions AS kept ON suite_id = id AND kept.version = eval_suites.version
    WHERE ${condition} ORDER BY created_at, eval_suites.rowid`;
}

function* keep({ id, version, name, text, suite, changedAt, changedBy }: StoredEvalSuite): Transaction<void> {
  yield* run(sql`INSERT INTO eval_suite_versions (suite_id, version, name, text, suite, changed_at, changed_by)
    VALUES (${id}, ${version}, ${name}, ${text}, ${suite}, ${changedAt}, ${changedBy})`);
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
