import type Database from 'better-sqlite3';
import type { CampaignSchedule } from '../settings/campaign-schedule.js';

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

export type CampaignChange = Partial<Omit<StoredCampaign, 'id' | 'createdAt'>>;

interface Row {
  id: string;
  name: string;
  status: CampaignStatus;
  caller: string | null;
  include_metadata_in_prompt: number;
  overrides: string;
  reason: string | null;
  last_call_ms: number | null;
  created_at: number;
}

/** The daemon's campaigns. `CampaignRecordStore` has the people whom they call. */
export class CampaignStore {
  readonly #add: Database.Statement<unknown[]>;
  readonly #get: Database.Statement<unknown[], Row>;
  readonly #list: Database.Statement<unknown[], Row>;
  readonly #update: Database.Statement<unknown[]>;
  readonly #remove: Database.Statement<unknown[]>;
  readonly #change: (id: string, change: CampaignChange) => StoredCampaign | null;

  constructor(database: Database.Database) {
    this.#add = database.prepare(
      `INSERT INTO campaigns (id, name, status, caller, include_metadata_in_prompt, overrides, reason, last_call_ms,
         created_at)
       VALUES (@id, @name, @status, @caller, @include, @overrides, @reason, @lastCallMs, @createdAt)`,
    );
    this.#get = database.prepare('SELECT * FROM campaigns WHERE id = ?');
    this.#list = database.prepare('SELECT * FROM campaigns ORDER BY created_at, rowid');
    this.#update = database.prepare(
      `UPDATE campaigns SET name = @name, status = @status, caller = @caller, include_metadata_in_prompt = @include,
         overrides = @overrides, reason = @reason, last_call_ms = @lastCallMs
       WHERE id = @id`,
    );
    this.#remove = database.prepare('DELETE FROM campaigns WHERE id = ?');
    this.#change = database.transaction((id: string, change: CampaignChange) => {
      const campaign = this.get(id);
      if (campaign === null) return null;
      const changed = { ...campaign, ...change };
      this.#update.run(bound(changed));
      return changed;
    });
  }

  add(campaign: StoredCampaign): void {
    this.#add.run(bound(campaign));
  }

  get(id: string): StoredCampaign | null {
    const row = this.#get.get(id);
    return row === undefined ? null : stored(row);
  }

  /** In the order of creation. */
  list(): StoredCampaign[] {
    return this.#list.all().map(stored);
  }

  /** Returns the changed campaign; null = there is none with this id. */
  change(id: string, change: CampaignChange): StoredCampaign | null {
    return this.#change(id, change);
  }

  /** Deletes a campaign with its records. Returns whether it existed. */
  remove(id: string): boolean {
    return this.#remove.run(id).changes > 0;
  }
}

function bound({ includeMetadataInPrompt, overrides, ...rest }: StoredCampaign): Record<string, unknown> {
  return { ...rest, include: includeMetadataInPrompt ? 1 : 0, overrides: JSON.stringify(overrides) };
}

function stored(row: Row): StoredCampaign {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    caller: row.caller,
    includeMetadataInPrompt: row.include_metadata_in_prompt === 1,
    overrides: JSON.parse(row.overrides) as Partial<CampaignSchedule>,
    reason: row.reason,
    lastCallMs: row.last_call_ms,
    createdAt: row.created_at,
  };
}
