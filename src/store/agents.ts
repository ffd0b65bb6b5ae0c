import { isDeepStrictEqual } from 'node:util';
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

/** A version of an agent: its number, `draft` = the draft, or the published one if there is none, `published`. */
export type VersionPin = number | 'draft' | 'published';

/** The pin of a column. */
export function pinOf(text: string | null): VersionPin | null {
  return text === null || text === 'draft' || text === 'published' ? text : Number(text);
}

export function pinText(pin: VersionPin | null): string | null {
  return pin === null ? null : String(pin);
}

/** Versions that share the new conversations of an agent. */
export interface AgentSplit {
  versions: readonly { readonly version: number; readonly weight: number }[];
  /** Another seed gives callers to the versions anew. */
  seed: string;
}

/** How the versions of an agent come to its callers. */
export interface Publishing {
  /** Whether changes become a draft. */
  drafts: boolean;
  /** The test suite that a version must pass before it is published; null = none. */
  gate: string | null;
  /** The version of sessions with public keys; null = as all others. */
  widget: VersionPin | null;
  /** Null = new conversations have the published version. */
  split: AgentSplit | null;
}

/** Each change is live at once. */
export const LIVE_AT_ONCE: Publishing = { drafts: false, gate: null, widget: null, split: null };

/** Whose key changes something. */
export interface Author {
  id: string;
  name: string;
}

/** The published version of an agent. */
export interface StoredAgent extends AgentContent {
  id: string;
  /** Unix seconds. */
  createdAt: number;
  /** Counts from 1. */
  version: number;
  /** The name of the key that made the version; null = the daemon, at its start. */
  changedBy: string | null;
  /** The version that changes until it is published; null = there is none. */
  draft: number | null;
  publishing: Publishing;
  /** Grows with each change of what the agent points to. */
  revision: number;
}

/** One version of an agent. It never changes. */
export interface AgentVersion extends AgentContent {
  version: number;
  /** Unix seconds. */
  changedAt: number;
  /** The name of the key that made the change; null = the daemon, at its start. */
  changedBy: string | null;
  /** Its id; null also for versions of earlier releases. */
  changedByKey: string | null;
  /** What its author says about it. */
  note: string | null;
  /** When callers had it for the first time, in Unix seconds; null = never. */
  publishedAt: number | null;
}

/** A new version and what the agent points to after a change. `new` = the new version. */
export interface AgentStep {
  /** Null = no new version. */
  content: AgentContent | null;
  note: string | null;
  live: number | 'new';
  draft: number | 'new' | null;
  publishing: Publishing;
}

interface Row {
  id: string;
  created_at: number;
  version: number;
  draft: number | null;
  publishing: string | null;
  revision: number;
  stamp: string;
  name: string;
  config: string;
  extensions: string | null;
  script: string | null;
  changed_at: number;
  changed_by: string | null;
  changed_by_key: string | null;
  note: string | null;
  published_at: number | null;
}

/**
 * Versions that are kept of one agent. The oldest are deleted first, but none that callers may get: the published one, the
 * draft, those of a split, of a number or a campaign, of an open publication, and those to which a rollback may lead.
 */
export const MAX_VERSIONS = 1000;
/** Publications whose versions before are kept for rollbacks. */
const ROLLBACKS = 20;
const PURPOSE = 'agent_versions.config';
const EXTENSIONS_PURPOSE = 'agent_versions.extensions';

const VERSION_COLUMNS = 'name, config, extensions, script, changed_at, changed_by, changed_by_key, note, published_at';
/** Nodes of the release before raise only the version. */
const AGENTS = `(SELECT id, created_at, rowid AS rowid, version, draft, publishing, revision,
  version || '/' || revision AS stamp FROM agents) AS agents`;

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
      from: `${AGENTS} JOIN agent_versions AS live ON live.agent_id = agents.id AND live.version = agents.version`,
      columns: `agents.id, agents.created_at, agents.rowid, agents.version, agents.draft, agents.publishing,
        agents.revision, agents.stamp, ${VERSION_COLUMNS}`,
      where: 'TRUE',
      order: 'agents.created_at, agents.rowid',
      key: ['agents.id'],
      stamp: 'agents.stamp',
      isCostly: true,
      decode: (row) => ({
        ...contentOf(row, box),
        id: row.id,
        createdAt: row.created_at,
        version: row.version,
        changedBy: row.changed_by,
        draft: row.draft,
        publishing:
          row.publishing === null ? LIVE_AT_ONCE : { ...LIVE_AT_ONCE, ...(JSON.parse(row.publishing) as Publishing) },
        revision: row.revision,
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
  async add(agent: StoredAgent, by: Author | null): Promise<boolean> {
    const { id, createdAt, version } = agent;
    const keeping = (): Transaction<void> =>
      this.#keeping(id, { content: agent, note: null, version, by, at: createdAt, isLive: true });
    const isAdded = await this.#database.transaction(function* () {
      const count = yield* run(
        sql`INSERT INTO agents (id, created_at, version) VALUES (${id}, ${createdAt}, ${version})
          ON CONFLICT (id) DO NOTHING`,
      );
      if (count > 0) yield* keeping();
      return count > 0;
    });
    await this.#live.refresh(id);
    return isAdded;
  }

  /**
   * Takes a step from the agent as it was.
   * @param at Unix seconds
   * @param also runs in the same transaction
   * @returns the agent after it; null = another node has changed or deleted it meanwhile
   */
  async take(
    now: StoredAgent,
    step: AgentStep,
    { by, at }: { by: Author | null; at: number },
    also?: () => Transaction<void>,
  ): Promise<StoredAgent | null> {
    const isTaken = await this.#database.transaction(() => this.#stepping(now, step, { by, at }, also));
    await this.#live.refresh(now.id);
    return isTaken ? this.get(now.id) : null;
  }

  /** Latest first. @param before only versions before this one */
  async versions(id: string, { limit, before }: { limit: number; before: number }): Promise<AgentVersion[]> {
    const rows = await this.#database.all<Row>(
      sql`SELECT version, name, config, extensions, script, changed_at, changed_by, changed_by_key, note, published_at
        FROM agent_versions
        WHERE agent_id = ${id} AND version < ${before} ORDER BY version DESC LIMIT ${limit}`,
    );
    return rows.map((row) => ({
      ...contentOf(row, this.#box),
      version: row.version,
      changedAt: row.changed_at,
      changedBy: row.changed_by,
      changedByKey: row.changed_by_key,
      note: row.note,
      publishedAt: row.published_at,
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

  *#stepping(
    now: StoredAgent,
    step: AgentStep,
    { by, at }: { by: Author | null; at: number },
    also: (() => Transaction<void>) | undefined,
  ): Transaction<boolean> {
    const { id } = now;
    const [found] = (yield sql`SELECT MAX(version) AS latest FROM agent_versions WHERE agent_id = ${id}`).rows;
    const added = ((found as { latest: number | null }).latest ?? 0) + 1;
    const live = step.live === 'new' ? added : step.live;
    const draft = step.draft === 'new' ? added : step.draft;
    const publishing = isDeepStrictEqual(step.publishing, LIVE_AT_ONCE) ? null : JSON.stringify(step.publishing);
    const count = yield* run(
      sql`UPDATE agents SET version = ${live}, draft = ${draft}, publishing = ${publishing}, revision = revision + 1
        WHERE id = ${id} AND version = ${now.version} AND revision = ${now.revision}`,
    );
    if (count === 0) return false;
    const { content, note } = step;
    if (content !== null) {
      yield* this.#keeping(id, { content, note, version: added, by, at, isLive: live === added });
    }
    const shown = [live, ...(step.publishing.split?.versions.map(({ version }) => version) ?? [])];
    for (const version of shown) {
      yield sql`UPDATE agent_versions SET published_at = ${at}
        WHERE agent_id = ${id} AND version = ${version} AND published_at IS NULL`;
    }
    if (also !== undefined) yield* also();
    const { widget } = step.publishing;
    const own = [draft, typeof widget === 'number' ? widget : null].filter((version) => version !== null);
    const kept = [...shown, ...own].reduce((list, each) => sql`${list}, ${each}`, sql`${live}`);
    yield sql`DELETE FROM agent_versions WHERE agent_id = ${id} AND version <= ${added - MAX_VERSIONS}
      AND version NOT IN (${kept})
      AND CAST(version AS TEXT) NOT IN (SELECT agent_version FROM phones WHERE agent_version IS NOT NULL)
      AND CAST(version AS TEXT) NOT IN (SELECT agent_version FROM campaigns WHERE agent_version IS NOT NULL)
      AND version NOT IN (SELECT version FROM agent_publications
        WHERE agent_id = ${id} AND finished_us IS NULL AND version IS NOT NULL)
      AND version NOT IN (SELECT previous FROM (SELECT previous FROM agent_publications
        WHERE agent_id = ${id} AND previous IS NOT NULL ORDER BY seq DESC LIMIT ${ROLLBACKS}) AS latest)`;
    return true;
  }

  *#keeping(
    id: string,
    {
      content: { name, config, extensions = null, script },
      ...made
    }: {
      content: AgentContent;
      note: string | null;
      version: number;
      by: Author | null;
      at: number;
      isLive: boolean;
    },
  ): Transaction<void> {
    const { version, by, at, note, isLive } = made;
    const [sealed, own] = sealedParts(config, extensions, this.#box);
    const rules = script === undefined ? null : JSON.stringify(script);
    yield sql`INSERT INTO agent_versions
        (agent_id, version, name, config, extensions, script, changed_at, changed_by, changed_by_key, note, published_at)
      VALUES (${id}, ${version}, ${name}, ${sealed}, ${own}, ${rules}, ${at}, ${by?.name ?? null}, ${by?.id ?? null},
        ${note}, ${isLive ? at : null})`;
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
