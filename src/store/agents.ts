import type Database from 'better-sqlite3';
import type { AgentConfig } from '../agent/agent.js';
import type { AgentExtensions } from '../agent/extensions/extensions.js';
import { movedParts } from '../agent/extensions/old-place.js';
import type { SecretBox } from './secret-box.js';

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

/** The daemon's agents with their earlier versions. Configurations are encrypted: they hold credentials. */
export class AgentStore {
  readonly #box: SecretBox;
  readonly #all: Database.Statement<unknown[], Row>;
  readonly #versions: Database.Statement<unknown[], Row>;
  readonly #remove: Database.Statement<unknown[]>;
  readonly #embed: Database.Statement<unknown[], string | null>;
  readonly #setEmbed: Database.Statement<unknown[]>;
  readonly #add: (agent: StoredAgent, changedAt: number) => void;
  readonly #change: (agent: StoredAgent, changedAt: number) => void;

  constructor(database: Database.Database, box: SecretBox) {
    this.#box = box;
    moveExtensions(database, box);
    const columns = 'name, config, extensions, script, changed_at, changed_by';
    this.#all = database.prepare(
      `SELECT agents.id, agents.created_at, agents.version, ${columns} FROM agents
       JOIN agent_versions AS now ON now.agent_id = agents.id AND now.version = agents.version
       ORDER BY agents.created_at, agents.rowid`,
    );
    this.#versions = database.prepare(
      `SELECT agent_id AS id, 0 AS created_at, version, ${columns} FROM agent_versions
       WHERE agent_id = ? AND version < ? ORDER BY version DESC LIMIT ?`,
    );
    this.#remove = database.prepare('DELETE FROM agents WHERE id = ?');
    this.#embed = database.prepare<unknown[], string | null>('SELECT embed FROM agents WHERE id = ?').pluck();
    this.#setEmbed = database.prepare('UPDATE agents SET embed = ? WHERE id = ?');
    const insert = database.prepare('INSERT INTO agents (id, created_at, version) VALUES (?, ?, ?)');
    const move = database.prepare('UPDATE agents SET version = ? WHERE id = ?');
    const keep = database.prepare(
      `INSERT INTO agent_versions (agent_id, version, ${columns})
       VALUES (@id, @version, @name, @config, @extensions, @script, @changed_at, @changed_by)`,
    );
    const purge = database.prepare('DELETE FROM agent_versions WHERE agent_id = ? AND version <= ?');
    this.#add = database.transaction((agent: StoredAgent, changedAt: number) => {
      insert.run(agent.id, agent.createdAt, agent.version);
      keep.run(this.#row(agent, changedAt));
    });
    this.#change = database.transaction((agent: StoredAgent, changedAt: number) => {
      keep.run(this.#row(agent, changedAt));
      move.run(agent.version, agent.id);
      purge.run(agent.id, agent.version - MAX_VERSIONS);
    });
  }
  /** In the order of creation. @throws ParleyError SECRETS_UNREADABLE */
  all(): StoredAgent[] {
    return this.#all.all().map((row) => ({
      ...this.#content(row),
      id: row.id,
      createdAt: row.created_at,
      version: row.version,
      changedBy: row.changed_by,
    }));
  }

  /** @param agent its first version */
  add(agent: StoredAgent): void {
    this.#add(agent, agent.createdAt);
  }

  /** @param agent with its next version @param changedAt Unix seconds */
  change(agent: StoredAgent, changedAt: number): void {
    this.#change(agent, changedAt);
  }

  /** Latest first. @param before only versions before this one */
  versions(id: string, { limit, before }: { limit: number; before: number }): AgentVersion[] {
    return this.#versions.all(id, before, limit).map((row) => ({
      ...this.#content(row),
      version: row.version,
      changedAt: row.changed_at,
      changedBy: row.changed_by,
    }));
  }

  /** Deletes an agent with all its versions. Returns whether it existed. */
  remove(id: string): boolean {
    return this.#remove.run(id).changes > 0;
  }

  /** The widget's configuration as JSON; null = none is stored. */
  embed(id: string): string | null {
    return this.#embed.get(id) ?? null;
  }

  setEmbed(id: string, embed: string | null): void {
    this.#setEmbed.run(embed, id);
  }

  #content({ name, script, ...row }: Row): AgentContent {
    const config = JSON.parse(this.#box.open(row.config, PURPOSE)) as AgentConfig;
    const sealed = row.extensions ?? 'null';
    const extensions = JSON.parse(this.#box.open(sealed, EXTENSIONS_PURPOSE)) as AgentExtensions | null;
    return { name, config, extensions, script: script === null ? undefined : (JSON.parse(script) as unknown) };
  }

  #row(agent: StoredAgent, changedAt: number): Omit<Row, 'created_at'> {
    const { id, version, name, config, extensions = null, script, changedBy } = agent;
    return {
      id,
      version,
      name,
      config: this.#box.seal(JSON.stringify(config), PURPOSE),
      extensions: this.#box.seal(JSON.stringify(extensions), EXTENSIONS_PURPOSE),
      script: script === undefined ? null : JSON.stringify(script),
      changed_at: changedAt,
      changed_by: changedBy,
    };
  }
}

/** Moves to the extensions what versions of earlier releases stored in their configurations. */
function moveExtensions(database: Database.Database, box: SecretBox): void {
  const old = database.prepare<unknown[], number>('SELECT rowid FROM agent_versions WHERE extensions IS NULL').pluck();
  const get = database.prepare<unknown[], string>('SELECT config FROM agent_versions WHERE rowid = ?').pluck();
  const set = database.prepare('UPDATE agent_versions SET config = ?, extensions = ? WHERE rowid = ?');
  database.transaction(() => {
    for (const id of old.all()) {
      const stored = JSON.parse(box.open(get.get(id) ?? '{}', PURPOSE)) as AgentConfig;
      const { config, extensions } = movedParts(stored, null);
      const sealed = box.seal(JSON.stringify(extensions), EXTENSIONS_PURPOSE);
      set.run(box.seal(JSON.stringify(config), PURPOSE), sealed, id);
    }
  })();
}

/** Whether an agent with this id exists. */
export function hasAgent(database: Database.Database, id: string): boolean {
  return database.prepare('SELECT 1 FROM agents WHERE id = ?').get(id) !== undefined;
}
