import type { CampaignSchedule } from '../settings/campaign-schedule.js';
import { pinOf, pinText, type VersionPin } from './agents.js';
import { run, sql, type SqlDatabase, type SqlValue, type Statement, type Transaction } from './sql/statement.js';

/**
 * - `idle`: not started yet.
 * - `started`: it places calls.
 * - `paused`: it places no more calls; calls in progress continue to their end.
 * - `finished`: all records have their final state. It cannot start again.
 * - `failed`: it cannot place calls; `reason` says why. It can start again.
 */
export type CampaignStatus = 'idle' | 'started' | 'paused' | 'finished' | 'failed';

export interface StoredCampaign {
  id: string;
  name: string;
  status: CampaignStatus;
  /** The daemon's number that the campaign calls from. */
  caller: string | null;
  /** The version of the number's agent; null = as all other calls of the number. */
  agentVersion: VersionPin | null;
  includeMetadataInPrompt: boolean;
  /** Overrides of the operator's schedule. */
  overrides: Partial<CampaignSchedule>;
  /** Why the campaign failed. */
  reason: string | null;
  /** When the campaign placed its last call, in milliseconds since 1970. */
  lastCallMs: number | null;
  /** Unix seconds. */
  createdAt: number;
}

export type CampaignChange = Partial<Omit<StoredCampaign, 'id' | 'lastCallMs' | 'createdAt'>>;

/** A row of the table. */
export interface CampaignRow {
  id: string;
  name: string;
  status: CampaignStatus;
  caller: string | null;
  agent_version: string | null;
  include_metadata_in_prompt: number;
  overrides: string;
  reason: string | null;
  last_call_ms: number | null;
  created_at: number;
}

/** All but `finished`. */
const CHANGEABLE: readonly CampaignStatus[] = ['idle', 'started', 'paused', 'failed'];

/** The lock of what adds records to a campaign and what finishes it: a finished campaign gets no more records. */
export function campaignLock(id: string): string {
  return `campaign ${id}`;
}

/** The daemon's campaigns. `CampaignRecordStore` has the people whom they call, `CampaignCallStore` their calls. */
export class CampaignStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  async add(campaign: StoredCampaign): Promise<void> {
    const { id, name, status, caller, includeMetadataInPrompt, overrides, reason, lastCallMs, createdAt } = campaign;
    await this.#database.run(
      sql`INSERT INTO campaigns (id, name, status, caller, include_metadata_in_prompt, overrides, reason, last_call_ms,
            created_at)
          VALUES (${id}, ${name}, ${status}, ${caller}, ${includeMetadataInPrompt ? 1 : 0},
            ${JSON.stringify(overrides)}, ${reason}, ${lastCallMs}, ${createdAt})`,
    );
  }

  async get(id: string): Promise<StoredCampaign | null> {
    const row = await this.#database.first<CampaignRow>(sql`SELECT * FROM campaigns WHERE id = ${id}`);
    return row === null ? null : campaignOf(row);
  }

  /** In the order of creation. */
  async list(): Promise<StoredCampaign[]> {
    const rows = await this.#database.all<CampaignRow>(sql`SELECT * FROM campaigns ORDER BY created_at, rowid`);
    return rows.map(campaignOf);
  }

  /**
   * Returns the changed campaign; null = there is none with this id and one of these statuses.
   * @param from default all but `finished`
   */
  async change(
    id: string,
    change: CampaignChange,
    from: readonly CampaignStatus[] = CHANGEABLE,
  ): Promise<StoredCampaign | null> {
    const row = await this.#database.first<CampaignRow>(
      sql`UPDATE campaigns SET ${changesOf(change)} WHERE id = ${id} AND status IN (${listOf(from)}) RETURNING *`,
    );
    return row === null ? null : campaignOf(row);
  }

  /** Finishes a campaign that has this status and nothing left to do. Returns whether it did. */
  finish(id: string, from: CampaignStatus): Promise<boolean> {
    const database = this.#database;
    return database.transaction(() => finishCampaign(database, id, from), campaignLock(id));
  }

  /** Finishes a campaign that is to be removed. Returns false if it runs, a call of it is in progress, or there is none. */
  retire(id: string): Promise<boolean> {
    return this.#database.transaction(function* () {
      const retired = yield* run(
        sql`UPDATE campaigns SET status = 'finished' WHERE id = ${id} AND status <> 'started'
              AND NOT EXISTS (SELECT 1 FROM campaign_records WHERE campaign_id = ${id} AND calling = 1)`,
      );
      return retired > 0;
    }, campaignLock(id));
  }

  /** Deletes a campaign with its records. Returns whether it existed. */
  async remove(id: string): Promise<boolean> {
    return (await this.#database.run(sql`DELETE FROM campaigns WHERE id = ${id}`)) > 0;
  }
}

/** The campaign of a row. */
export function campaignOf(row: CampaignRow): StoredCampaign {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    caller: row.caller,
    agentVersion: pinOf(row.agent_version),
    includeMetadataInPrompt: row.include_metadata_in_prompt === 1,
    overrides: JSON.parse(row.overrides) as Partial<CampaignSchedule>,
    reason: row.reason,
    lastCallMs: row.last_call_ms,
    createdAt: row.created_at,
  };
}

/**
 * Finishes a campaign that has this status, unless a record waits or is being called, or an upload is under way. Run it
 * with the lock of the campaign. Returns whether it did.
 */
export function* finishCampaign(database: SqlDatabase, id: string, from: CampaignStatus): Transaction<boolean> {
  const nowUs = yield* database.nowUs();
  const finished = yield* run(
    sql`UPDATE campaigns SET status = 'finished' WHERE id = ${id} AND status = ${from}
          AND NOT EXISTS (SELECT 1 FROM campaign_records WHERE campaign_id = ${id} AND due_ms IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM campaign_records WHERE campaign_id = ${id} AND calling = 1)
          AND NOT EXISTS (SELECT 1 FROM campaign_uploads WHERE campaign_id = ${id} AND until_us > ${nowUs})`,
  );
  return finished > 0;
}

/** A campaign as a generator reads it. */
export function* readCampaign(id: string): Transaction<StoredCampaign | null> {
  const row = (yield sql`SELECT * FROM campaigns WHERE id = ${id}`).rows[0];
  return row === undefined ? null : campaignOf(row as CampaignRow);
}

/** Only the given columns: others may change at the same time. */
function changesOf(change: CampaignChange): Statement {
  const { name, status, caller, agentVersion, includeMetadataInPrompt, overrides, reason } = change;
  const sets: [string, SqlValue][] = [];
  if (name !== undefined) sets.push(['name = ?', name]);
  if (status !== undefined) sets.push(['status = ?', status]);
  if (caller !== undefined) sets.push(['caller = ?', caller]);
  if (agentVersion !== undefined) sets.push(['agent_version = ?', pinText(agentVersion)]);
  if (includeMetadataInPrompt !== undefined)
    sets.push(['include_metadata_in_prompt = ?', includeMetadataInPrompt ? 1 : 0]);
  if (overrides !== undefined) sets.push(['overrides = ?', JSON.stringify(overrides)]);
  if (reason !== undefined) sets.push(['reason = ?', reason]);
  if (sets.length === 0) return sql`id = id`;
  return { text: sets.map(([set]) => set).join(', '), values: sets.map(([, value]) => value) };
}

function listOf(values: readonly SqlValue[]): Statement {
  return { text: values.map(() => '?').join(', '), values };
}
