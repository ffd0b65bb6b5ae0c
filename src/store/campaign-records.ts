import { campaignLock } from './campaigns.js';
import { run, sql, type SqlDatabase, type Statement, type Transaction } from './sql/statement.js';

export type RecordStatus = 'not_started' | 'started' | 'finished' | 'failed';

/** A person whom a campaign calls. */
export interface StoredRecord {
  /** Position in the order of upload. */
  seq: number;
  campaignId: string;
  /** E.164. */
  phone: string;
  metadata: Readonly<Record<string, unknown>>;
  /** The place whose calling hours apply. */
  place: string;
  status: RecordStatus;
  /** The session of the latest call. */
  sessionId: string | null;
  /** Whether that call is in progress. */
  calling: boolean;
  /** Calls so far. */
  attempts: number;
  /** Repeated calls, by reason. */
  retried: Readonly<Record<string, number>>;
  /** When the next call is due, in milliseconds since 1970; null = a call is in progress, or none is planned. */
  dueMs: number | null;
  /** Why the latest call failed, or why there will be another one. */
  reason: string | null;
}

export type NewRecord = Pick<StoredRecord, 'phone' | 'metadata' | 'place'> & { dueMs: number };

/** A refused item of an upload. */
export interface StoredRejection {
  seq: number;
  /** As the client wrote it. */
  phone: string;
  metadata: Readonly<Record<string, unknown>>;
  reason: string;
}

export interface PageOf {
  campaignId: string;
  /** `seq` of the last item of the previous page; 0 = from the start. */
  after: number;
  limit: number;
}

/** A row of the table. */
export interface RecordRow {
  seq: number;
  campaign_id: string;
  phone: string;
  metadata: string;
  place: string;
  status: RecordStatus;
  session_id: string | null;
  calling: number;
  attempts: number;
  retried: string;
  due_ms: number | null;
  reason: string | null;
}

/** Refusals that are kept of one campaign. The oldest are deleted first. */
const REJECTIONS = 10_000;
/** An upload that adds nothing for this long has died with its node. */
const UPLOAD_US = 60_000_000;
/** Rows of one INSERT. Few sizes, because each is another prepared statement. */
const ROWS_AT_ONCE = [100, 10, 1];

/** The records of campaigns, with the state of each. */
export class CampaignRecordStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  /** Keeps a campaign from finishing while an upload adds records. Returns false if it takes no more. */
  beginUpload(id: string, campaignId: string): Promise<boolean> {
    const database = this.#database;
    return database.transaction(() => keepUpload(database, id, campaignId), campaignLock(campaignId));
  }

  async endUpload(id: string): Promise<void> {
    await this.#database.run(sql`DELETE FROM campaign_uploads WHERE id = ${id}`);
  }

  /** Ends the uploads of an earlier process, where it was the only one. */
  async endUploads(): Promise<void> {
    await this.#database.run(sql`DELETE FROM campaign_uploads`);
  }

  /**
   * Adds records in one transaction. Returns for each whether it was added, false = it exists already; null = the
   * campaign takes no more.
   * @param upload of `beginUpload`
   */
  add(campaignId: string, records: readonly NewRecord[], upload: string): Promise<boolean[] | null> {
    const database = this.#database;
    return database.transaction(function* () {
      if (!(yield* keepUpload(database, upload, campaignId))) return null;
      const added = new Set<string>();
      for (const some of chunks(records)) {
        const { rows } = yield addition(campaignId, some);
        for (const row of rows) added.add((row as RecordRow).phone);
      }
      // The first of those with the same number.
      return records.map(({ phone }) => added.delete(phone));
    }, campaignLock(campaignId));
  }

  /** Stores refused items of an upload, and deletes the oldest beyond 10,000. */
  async reject(campaignId: string, rejections: readonly Omit<StoredRejection, 'seq'>[]): Promise<void> {
    await this.#database.transaction(function* () {
      for (const some of chunks(rejections)) {
        const values = some.map(({ phone, metadata, reason }) => [campaignId, phone, JSON.stringify(metadata), reason]);
        const rows = { text: values.map(() => '(?, ?, ?, ?)').join(', '), values: values.flat() };
        yield* run(sql`INSERT INTO campaign_rejections (campaign_id, phone, metadata, reason) VALUES ${rows}`);
      }
      yield* run(
        sql`DELETE FROM campaign_rejections WHERE campaign_id = ${campaignId} AND seq <=
              (SELECT seq FROM campaign_rejections WHERE campaign_id = ${campaignId}
               ORDER BY seq DESC LIMIT 1 OFFSET ${REJECTIONS})`,
      );
    });
  }

  async get(campaignId: string, phone: string): Promise<StoredRecord | null> {
    const row = await this.#database.first<RecordRow>(
      sql`SELECT * FROM campaign_records WHERE campaign_id = ${campaignId} AND phone = ${phone}`,
    );
    return row === null ? null : recordOf(row);
  }

  async bySeq(seq: number): Promise<StoredRecord | null> {
    const row = await this.#database.first<RecordRow>(sql`SELECT * FROM campaign_records WHERE seq = ${seq}`);
    return row === null ? null : recordOf(row);
  }

  /** In the order of upload. @param status default all */
  async page({ campaignId, after, limit }: PageOf, status?: RecordStatus): Promise<StoredRecord[]> {
    const also = status === undefined ? sql`` : sql` AND status = ${status}`;
    const rows = await this.#database.all<RecordRow>(
      sql`SELECT * FROM campaign_records WHERE campaign_id = ${campaignId}${also} AND seq > ${after}
          ORDER BY seq LIMIT ${limit}`,
    );
    return rows.map(recordOf);
  }

  async rejections({ campaignId, after, limit }: PageOf): Promise<StoredRejection[]> {
    const rows = await this.#database.all<{ seq: number; phone: string; metadata: string; reason: string }>(
      sql`SELECT seq, phone, metadata, reason FROM campaign_rejections WHERE campaign_id = ${campaignId} AND seq > ${after}
          ORDER BY seq LIMIT ${limit}`,
    );
    return rows.map(({ metadata, ...rest }) => ({
      ...rest,
      metadata: JSON.parse(metadata) as StoredRecord['metadata'],
    }));
  }

  /** Deletes a record. Returns false if its call is in progress or it does not exist. */
  async remove(seq: number): Promise<boolean> {
    return (await this.#database.run(sql`DELETE FROM campaign_records WHERE seq = ${seq} AND calling = 0`)) > 0;
  }

  async counts(campaignId: string): Promise<Record<RecordStatus | 'rejected', number>> {
    const counts = { not_started: 0, started: 0, finished: 0, failed: 0, rejected: 0 };
    const rows = await this.#database.all<{ status: RecordStatus | 'rejected'; count: number }>(
      sql`SELECT status, count FROM campaign_counts WHERE campaign_id = ${campaignId}`,
    );
    for (const { status, count } of rows) counts[status] = count;
    return counts;
  }

  /** Deletes at most this many records and refusals of a campaign. Returns false if none are left. */
  removeSome(campaignId: string, most: number): Promise<boolean> {
    return this.#database.transaction(function* () {
      const records = yield* run(
        sql`DELETE FROM campaign_records WHERE seq IN
              (SELECT seq FROM campaign_records WHERE campaign_id = ${campaignId} LIMIT ${most})`,
      );
      const rejections = yield* run(
        sql`DELETE FROM campaign_rejections WHERE seq IN
              (SELECT seq FROM campaign_rejections WHERE campaign_id = ${campaignId} LIMIT ${most})`,
      );
      return records + rejections > 0;
    });
  }

  /**
   * Deletes a number from all campaigns, except where its call is in progress, and from refusals in any notation. Returns
   * the number of deleted records and refusals.
   */
  erase(number: string): Promise<number> {
    return this.#database.transaction(function* () {
      const records = yield* run(sql`DELETE FROM campaign_records WHERE phone = ${number} AND calling = 0`);
      return records + (yield* run(sql`DELETE FROM campaign_rejections WHERE ${PLAIN} = ${number}`));
    });
  }
}

/** The record of a row. */
export function recordOf(row: RecordRow): StoredRecord {
  return {
    seq: row.seq,
    campaignId: row.campaign_id,
    phone: row.phone,
    metadata: JSON.parse(row.metadata) as Record<string, unknown>,
    place: row.place,
    status: row.status,
    sessionId: row.session_id,
    calling: row.calling === 1,
    attempts: row.attempts,
    retried: JSON.parse(row.retried) as Record<string, number>,
    dueMs: row.due_ms,
    reason: row.reason,
  };
}

/** The number of a refusal without the characters that people put into numbers. */
const PLAIN: Statement = {
  text: ["' '", "'-'", "'('", "')'", "'.'", "'/'"].reduce((text, it) => `replace(${text}, ${it}, '')`, 'phone'),
  values: [],
};

/** Returns false if the campaign takes no more records. */
function* keepUpload(database: SqlDatabase, id: string, campaignId: string): Transaction<boolean> {
  const untilUs = (yield* database.nowUs()) + UPLOAD_US;
  const open = yield* run(
    sql`INSERT INTO campaign_uploads (id, campaign_id, until_us)
          SELECT ${id}, id, ${untilUs} FROM campaigns WHERE id = ${campaignId} AND status <> 'finished'
        ON CONFLICT (id) DO UPDATE SET until_us = EXCLUDED.until_us`,
  );
  return open > 0;
}

/** Adds records that do not exist yet, and returns their numbers. */
function addition(campaignId: string, records: readonly NewRecord[]): Statement {
  const values = records.map(({ phone, metadata, place, dueMs }) => [
    campaignId,
    phone,
    JSON.stringify(metadata),
    place,
    dueMs,
  ]);
  const rows = {
    text: values.map(() => "(?, ?, ?, ?, 'not_started', 0, 0, '{}', ?)").join(', '),
    values: values.flat(),
  };
  return sql`INSERT INTO campaign_records (campaign_id, phone, metadata, place, status, calling, attempts, retried, due_ms)
    VALUES ${rows} ON CONFLICT (campaign_id, phone) DO NOTHING RETURNING phone`;
}

function* chunks<T>(items: readonly T[]): Generator<readonly T[]> {
  let from = 0;
  for (const size of ROWS_AT_ONCE) {
    for (; from + size <= items.length; from += size) yield items.slice(from, from + size);
  }
}
