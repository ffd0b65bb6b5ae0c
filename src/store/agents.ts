import type { AgentConfig } from '../agent/agent.js';
import type { AgentExtensions } from '../agent/extensions/extensions.js';
import { movedParts } from '../agent/extensions/old-place.js';
import type { SecretBox } from './secret-box.js';
import type { LiveTable, LiveTables } from './sql/live-table.js';
import { run, sql, type SqlDatabase, type Transaction } from './sql/statement.js';

/** The content of an agent. Each change makes a new version. */
export interface AgentContent {
  name: string;
  config: AgentConfig;
  /** Rules of the embedded scripted model. Undefined = none. */
  script?: unknown;
  /** What AgentConfig has no place for. Default null, nothing. */
  extensions?: AgentExtensions | null;
}

/** The latest version of an agent. */
export interface StoredAgent extends AgentContent {
  id: string;
  /** Unix seconds. */
  createdAt: number;
  /** Counts from 1. */
  version: number;
  /** The name of the key that made the latest change; null = the daemon, at its start. */
  changedBy: string | null;
}

/** One version of an agent. */
export interface AgentVersion extends AgentContent {
  version: number;
  /** Unix seconds. */
  changedAt: number;
  /** The name of the key that made the change; null = the daemon, at its start. */
  changedBy: string | null;
}

interface Row {
  id: string;
  created_at: number;
  version: number;
  name: string;
  config: string;
  extensions: string | null;
  script: string | null;
  changed_at: number;
  changed_by: string | null;
}

/** Versions that are kept of one agent. The oldest are deleted first. */
const MAX_VERSIONS = 1000;
const PURPOSE = 'agent_versions.config';
const EXTENSIONS_PURPOSE = 'agent_versions.extensions';

const VERSION_COLUMNS = 'name, config, extensions, script, changed_at, changed_by';

/**
 * The daemon's agents with their earlier versions. The latest versions are in memory. Configurations are encrypted: they
 * hold credentials.
 */
export class AgentStore {
  readonly #database: SqlDatabase;
  readonly #live: LiveTable<StoredAgent>;
  readonly #box: SecretBox;

  private constructor(database: SqlDatabase, live: LiveTable<StoredAgent>, box: SecretBox) {
    this.#database = database;
    this.#live = live;
    this.#box = box;
  }

  /** @throws ParleyError SECRETS_UNREADABLE */
  static async open(database: SqlDatabase, tables: LiveTables, box: SecretBox): Promise<AgentStore> {
    await moveExtensions(database, box);
    const live = await tables.open<Row, StoredAgent>({
      table: 'agents',
      from: 'agents JOIN agent_versions AS latest ON latest.agent_id = agents.id AND latest.version = agents.version',
      columns: `agents.id, agents.created_at, agents.rowid, agents.version, ${VERSION_COLUMNS}`,
      where: 'TRUE',
      order: 'agents.created_at, agents.rowid',
      key: ['agents.id'],
      stamp: 'agents.version',
      isCostly: true,
      decode: (row) => ({
        ...contentOf(row, box),
        id: row.id,
        createdAt: row.created_at,
        version: row.version,
        changedBy: row.changed_by,
      }),
    });
    return new AgentStore(database, live, box);
  }

  /** In the order of creation. */
  all(): readonly StoredAgent[] {
    return this.#live.all();
  }

  /** Null = there is no agent with this id. */
  get(id: string): StoredAgent | null {
    return this.#live.get(id);
  }

  /** @param agent its first version. Returns whether it was stored: its id may be taken */
  async add(agent: StoredAgent): Promise<boolean> {
    const { id, createdAt } = agent;
    const isAdded = await this.#database.transaction(() => this.#addition(agent, createdAt));
    await this.#live.refresh(id);
    return isAdded;
  }

  /**
   * @param agent with its next version
   * @param changedAt Unix seconds
   * @returns whether it was stored: another node may have changed or deleted the agent
   */
  async change(agent: StoredAgent, changedAt: number): Promise<boolean> {
    const isChanged = await this.#database.transaction(() => this.#changing(agent, changedAt));
    await this.#live.refresh(agent.id);
    return isChanged;
  }

  /** Latest first. @param before only versions before this one */
  async versions(id: string, { limit, before }: { limit: number; before: number }): Promise<AgentVersion[]> {
    const rows = await this.#database.all<Row>(
      sql`SELECT version, name, config, extensions, script, changed_at, changed_by FROM agent_versions
        WHERE agent_id = ${id} AND version < ${before} ORDER BY version DESC LIMIT ${limit}`,
    );
    return rows.map((row) => ({
      ...contentOf(row, this.#box),
      version: row.version,
      changedAt: row.changed_at,
      changedBy: row.changed_by,
    }));
  }

  /** Deletes an agent with all its versions, unless it answers a number. Returns that number, else null. */
  async remove(id: string): Promise<string | null> {
    const number = await this.#database.transaction(function* () {
      const { rows } = yield sql`SELECT number FROM phones WHERE agent_id = ${id} ORDER BY number LIMIT 1`;
      const [phone] = rows as readonly { number: string }[];
      if (phone === undefined) {
        yield sql`DELETE FROM step_figures WHERE agent_id = ${id}`;
        yield sql`DELETE FROM agents WHERE id = ${id}`;
      }
      return phone?.number ?? null;
    });
    await this.#live.refresh(id);
    return number;
  }

  /** The widget's configuration as JSON; null = none is stored. */
  async embed(id: string): Promise<string | null> {
    const row = await this.#database.first<{ embed: string | null }>(sql`SELECT embed FROM agents WHERE id = ${id}`);
    return row?.embed ?? null;
  }

  async setEmbed(id: string, embed: string | null): Promise<void> {
    await this.#database.run(sql`UPDATE agents SET embed = ${embed} WHERE id = ${id}`);
  }

  *#addition(agent: StoredAgent, changedAt: number): Transaction<boolean> {
    const { id, createdAt, version } = agent;
    const count = yield* run(
      sql`INSERT INTO agents (id, created_at, version) VALUES (${id}, ${createdAt}, ${version})
        ON CONFLICT (id) DO NOTHING`,
    );
    if (count > 0) yield* this.#keeping(agent, changedAt);
    return count > 0;
  }

  *#changing(agent: StoredAgent, changedAt: number): Transaction<boolean> {
    const { id, version } = agent;
    const count = yield* run(sql`UPDATE agents SET version = ${version} WHERE id = ${id} AND version = ${version - 1}`);
    if (count === 0) return false;
    yield* this.#keeping(agent, changedAt);
    yield sql`DELETE FROM agent_versions WHERE agent_id = ${id} AND version <= ${version - MAX_VERSIONS}`;
    return true;
  }

  *#keeping(agent: StoredAgent, changedAt: number): Transaction<void> {
    const { id, version, name, config, extensions = null, script, changedBy } = agent;
    const [sealed, own] = sealedParts(config, extensions, this.#box);
    const rules = script === undefined ? null : JSON.stringify(script);
    yield sql`INSERT INTO agent_versions
        (agent_id, version, name, config, extensions, script, changed_at, changed_by)
      VALUES (${id}, ${version}, ${name}, ${sealed}, ${own}, ${rules}, ${changedAt}, ${changedBy})`;
  }
}

function contentOf(
  { name, script, ...row }: Pick<Row, 'name' | 'script' | 'config' | 'extensions'>,
  box: SecretBox,
): AgentContent {
  const config = JSON.parse(box.open(row.config, PURPOSE)) as AgentConfig;
  const sealed = row.extensions ?? 'null';
  const extensions = JSON.parse(box.open(sealed, EXTENSIONS_PURPOSE)) as AgentExtensions | null;
  return { name, config, extensions, script: script === null ? undefined : (JSON.parse(script) as unknown) };
}

function sealedParts(config: AgentConfig, extensions: AgentExtensions | null, box: SecretBox): [string, string] {
  return [box.seal(JSON.stringify(config), PURPOSE), box.seal(JSON.stringify(extensions), EXTENSIONS_PURPOSE)];
}

/** Moves to the extensions what versions of earlier releases stored in their configurations. */
async function moveExtensions(database: SqlDatabase, box: SecretBox): Promise<void> {
  const old = sql`SELECT agent_id, version, config FROM agent_versions WHERE extensions IS NULL`;
  await database.transaction(function* () {
    const { rows } = yield old;
    for (const { agent_id: id, version, config: stored } of rows as readonly (Row & { agent_id: string })[]) {
      const { config, extensions } = movedParts(JSON.parse(box.open(stored, PURPOSE)) as AgentConfig, null);
      const [sealed, own] = sealedParts(config, extensions, box);
      yield sql`UPDATE agent_versions SET config = ${sealed}, extensions = ${own}
        WHERE agent_id = ${id} AND version = ${version}`;
    }
  });
}

/** Whether an agent with this id exists. */
export async function hasAgent(database: SqlDatabase, id: string): Promise<boolean> {
  return (await database.first(sql`SELECT 1 AS found FROM agents WHERE id = ${id}`)) !== null;
}
