import type Database from 'better-sqlite3';
import type { AgentConfig } from '../agent/agent.js';
import type { SecretBox } from './secret-box.js';

export type PhoneStatus = 'active' | 'inactive';

/** A number of the daemon, with the agent that answers it. */
export interface StoredPhone {
  /** E.164. */
  number: string;
  carrier: string;
  status: PhoneStatus;
  /** Null = no agent answers. */
  agentId: string | null;
  /** Overrides fields of the agent's configuration. */
  agentConfigOverride: AgentConfig | null;
  tags: readonly string[];
  /** The address that the buyer gave. */
  address: Readonly<Record<string, string>> | null;
  /** Unix seconds. */
  createdAt: number;
}

/** The members of a number that can change. */
export type PhoneChange = Partial<Pick<StoredPhone, 'status' | 'agentId' | 'agentConfigOverride' | 'tags'>>;

interface Row {
  number: string;
  carrier: string;
  status: PhoneStatus;
  agent_id: string | null;
  agent_config_override: string | null;
  tags: string;
  address: string | null;
  created_at: number;
}

const PURPOSE = 'phones.agent_config_override';

/** The daemon's phone numbers. Overrides of configurations are encrypted, because they may hold credentials. */
export class PhoneStore {
  readonly #box: SecretBox;
  readonly #insert: Database.Statement<unknown[]>;
  readonly #get: Database.Statement<unknown[], Row>;
  readonly #list: Database.Statement<unknown[], Row>;
  readonly #update: Database.Statement<unknown[]>;
  readonly #remove: Database.Statement<unknown[]>;
  readonly #change: (number: string, change: PhoneChange) => StoredPhone | null;

  constructor(database: Database.Database, box: SecretBox) {
    this.#box = box;
    this.#insert = database.prepare(
      `INSERT INTO phones (number, carrier, status, agent_id, agent_config_override, tags, address, created_at)
       VALUES (@number, @carrier, @status, @agent_id, @agent_config_override, @tags, @address, @created_at)`,
    );
    this.#get = database.prepare('SELECT * FROM phones WHERE number = ?');
    this.#list = database.prepare('SELECT * FROM phones ORDER BY created_at, number');
    this.#update = database.prepare(
      `UPDATE phones SET status = @status, agent_id = @agent_id, agent_config_override = @agent_config_override,
       tags = @tags WHERE number = @number`,
    );
    this.#remove = database.prepare('DELETE FROM phones WHERE number = ?');
    this.#change = database.transaction((number: string, change: PhoneChange): StoredPhone | null => {
      const phone = this.get(number);
      if (phone === null) return null;
      const changed = { ...phone, ...change };
      this.#update.run(this.#row(changed));
      return changed;
    });
  }

  add(phone: StoredPhone): void {
    this.#insert.run(this.#row(phone));
  }

  get(number: string): StoredPhone | null {
    const row = this.#get.get(number);
    return row === undefined ? null : this.#phone(row);
  }

  list(): StoredPhone[] {
    return this.#list.all().map((row) => this.#phone(row));
  }

  /** Returns the changed number; null = it does not exist. */
  change(number: string, change: PhoneChange): StoredPhone | null {
    return this.#change(number, change);
  }

  /** Returns whether the number existed. */
  remove(number: string): boolean {
    return this.#remove.run(number).changes > 0;
  }

  #row(phone: StoredPhone): Row {
    const { number, carrier, status, agentId, agentConfigOverride, tags, address, createdAt } = phone;
    return {
      number,
      carrier,
      status,
      agent_id: agentId,
      agent_config_override:
        agentConfigOverride === null ? null : this.#box.seal(JSON.stringify(agentConfigOverride), PURPOSE),
      tags: JSON.stringify(tags),
      address: address === null ? null : JSON.stringify(address),
      created_at: createdAt,
    };
  }

  #phone(row: Row): StoredPhone {
    const { agent_config_override: sealed } = row;
    return {
      number: row.number,
      carrier: row.carrier,
      status: row.status,
      agentId: row.agent_id,
      agentConfigOverride: sealed === null ? null : (JSON.parse(this.#box.open(sealed, PURPOSE)) as AgentConfig),
      tags: JSON.parse(row.tags) as string[],
      address: row.address === null ? null : (JSON.parse(row.address) as Record<string, string>),
      createdAt: row.created_at,
    };
  }
}
