import type { AgentConfig } from '../agent/agent.js';
import type { QueueSettings } from '../agent/extensions/queue.js';
import { pinOf, pinText, type VersionPin } from './agents.js';
import type { SecretBox } from './secret-box.js';
import type { LiveTable, LiveTables } from './sql/live-table.js';
import { sql, type SqlDatabase } from './sql/statement.js';

export type PhoneStatus = 'active' | 'inactive';

/** A number of the daemon, with the agent that answers it. */
export interface StoredPhone {
  /** E.164. */
  number: string;
  carrier: string;
  status: PhoneStatus;
  /** Null = no agent answers. */
  agentId: string | null;
  /** The version that answers; null = the published one, or that of a split. */
  agentVersion: VersionPin | null;
  /** Overrides fields of the agent's configuration. */
  agentConfigOverride: AgentConfig | null;
  /** In place of the agent's queue; null = that of the agent. */
  queue: QueueSettings | null;
  tags: readonly string[];
  /** The address that the buyer gave. */
  address: Readonly<Record<string, string>> | null;
  /** Unix seconds. */
  createdAt: number;
}

/** The members of a number that can change. */
export type PhoneChange = Partial<
  Pick<StoredPhone, 'status' | 'agentId' | 'agentVersion' | 'agentConfigOverride' | 'queue' | 'tags'>
>;

interface Row {
  number: string;
  carrier: string;
  status: PhoneStatus;
  agent_id: string | null;
  agent_version: string | null;
  agent_config_override: string | null;
  queue: string | null;
  tags: string;
  address: string | null;
  created_at: number;
}

const PURPOSE = 'phones.agent_config_override';
const COLUMNS =
  'number, carrier, status, agent_id, agent_version, agent_config_override, queue, tags, address, created_at';

/** The daemon's phone numbers. Overrides of configurations are encrypted, because they may hold credentials. */
export class PhoneStore {
  readonly #database: SqlDatabase;
  readonly #live: LiveTable<StoredPhone>;
  readonly #box: SecretBox;

  private constructor(database: SqlDatabase, live: LiveTable<StoredPhone>, box: SecretBox) {
    this.#database = database;
    this.#live = live;
    this.#box = box;
  }

  static async open(database: SqlDatabase, tables: LiveTables, box: SecretBox): Promise<PhoneStore> {
    const live = await tables.open<Row, StoredPhone>({
      table: 'phones',
      from: 'phones',
      columns: COLUMNS,
      where: 'TRUE',
      order: 'created_at, number',
      key: ['number'],
      stamp: null,
      isCostly: false,
      decode: (row) => decoded(row, box),
    });
    return new PhoneStore(database, live, box);
  }

  async add(phone: StoredPhone): Promise<void> {
    const { number, carrier, status, agentId, agentVersion, agentConfigOverride, queue, tags, address, createdAt } =
      phone;
    const override = this.#sealed(agentConfigOverride);
    await this.#database.run(
      sql`INSERT INTO phones (number, carrier, status, agent_id, agent_version, agent_config_override, queue, tags,
            address, created_at)
        VALUES (${number}, ${carrier}, ${status}, ${agentId}, ${pinText(agentVersion)}, ${override}, ${jsonOr(queue)},
          ${JSON.stringify(tags)}, ${jsonOr(address)}, ${createdAt})`,
    );
    await this.#live.refresh(number);
  }

  get(number: string): StoredPhone | null {
    return this.#live.get(number);
  }

  list(): readonly StoredPhone[] {
    return this.#live.all();
  }

  /** Campaigns lose their pins if another agent answers. Returns the changed number; null = it does not exist. */
  async change(number: string, change: PhoneChange): Promise<StoredPhone | null> {
    const { status, agentId, agentVersion, agentConfigOverride, queue, tags } = change;
    const sets = [
      ...(status === undefined ? [] : [sql`status = ${status}`]),
      ...(agentId === undefined ? [] : [sql`agent_id = ${agentId}`]),
      ...(agentVersion === undefined ? [] : [sql`agent_version = ${pinText(agentVersion)}`]),
      ...(agentConfigOverride === undefined ? [] : [sql`agent_config_override = ${this.#sealed(agentConfigOverride)}`]),
      ...(queue === undefined ? [] : [sql`queue = ${jsonOr(queue)}`]),
      ...(tags === undefined ? [] : [sql`tags = ${JSON.stringify(tags)}`]),
    ];
    const all = sets.reduce((one, next) => sql`${one}, ${next}`, sql`number = number`);
    const row = await this.#database.transaction(function* () {
      // Versions of one agent mean nothing to another. Naming `caller` tells other nodes: their trigger watches it.
      if (agentId !== undefined) {
        yield sql`UPDATE campaigns SET agent_version = NULL, caller = caller
          WHERE caller = ${number} AND agent_version IS NOT NULL AND EXISTS
            (SELECT 1 FROM phones WHERE number = ${number} AND agent_id IS DISTINCT FROM ${agentId})`;
      }
      const { rows } = yield sql`UPDATE phones SET ${all} WHERE number = ${number} RETURNING *`;
      return (rows as unknown as readonly Row[])[0] ?? null;
    });
    await this.#live.refresh(number);
    return row === null ? null : decoded(row, this.#box);
  }

  /** Returns whether the number existed. */
  async remove(number: string): Promise<boolean> {
    const count = await this.#database.run(sql`DELETE FROM phones WHERE number = ${number}`);
    await this.#live.refresh(number);
    return count > 0;
  }

  #sealed(override: AgentConfig | null): string | null {
    return override === null ? null : this.#box.seal(JSON.stringify(override), PURPOSE);
  }
}

function jsonOr(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

function decoded(row: Row, box: SecretBox): StoredPhone {
  const { agent_config_override: sealed } = row;
  return {
    number: row.number,
    carrier: row.carrier,
    status: row.status,
    agentId: row.agent_id,
    agentVersion: pinOf(row.agent_version),
    agentConfigOverride: sealed === null ? null : (JSON.parse(box.open(sealed, PURPOSE)) as AgentConfig),
    queue: row.queue === null ? null : (JSON.parse(row.queue) as QueueSettings),
    tags: JSON.parse(row.tags) as string[],
    address: row.address === null ? null : (JSON.parse(row.address) as Record<string, string>),
    createdAt: row.created_at,
  };
}
