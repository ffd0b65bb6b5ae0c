import type Database from 'better-sqlite3';

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

/** The new state of a record after its call. */
export interface RecordEnd {
  status: RecordStatus;
  dueMs: number | null;
  retried: Readonly<Record<string, number>>;
  reason: string | null;
}

export interface PageOf {
  campaignId: string;
  /** `seq` of the last item of the previous page; 0 = from the start. */
  after: number;
  limit: number;
}

interface Row {
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

/** The records of campaigns, with the state of each. */
export class CampaignRecordStore {
  readonly #addAll: (campaignId: string, records: readonly NewRecord[]) => boolean[];
  readonly #rejectAll: (campaignId: string, rejections: readonly Omit<StoredRejection, 'seq'>[]) => void;
  readonly #get: Database.Statement<unknown[], Row>;
  readonly #bySeq: Database.Statement<unknown[], Row>;
  readonly #page: Database.Statement<unknown[], Row>;
  readonly #pageOfStatus: Database.Statement<unknown[], Row>;
  readonly #rejections: Database.Statement<unknown[], { seq: number; phone: string; metadata: string; reason: string }>;
  readonly #remove: Database.Statement<unknown[]>;
  readonly #nextPlace: Database.Statement<unknown[], { place: string | null }>;
  readonly #first: Database.Statement<unknown[], { seq: number; due_ms: number }>;
  readonly #begin: (seq: number, sessionId: string, nowMs: number) => boolean;
  readonly #end: Database.Statement<unknown[]>;
  readonly #refuse: Database.Statement<unknown[]>;
  readonly #refusePlace: Database.Statement<unknown[]>;
  readonly #postpone: Database.Statement<unknown[]>;
  readonly #calling: Database.Statement<unknown[], Row>;
  readonly #counts: Database.Statement<unknown[], { status: RecordStatus | 'rejected'; count: number }>;
  readonly #removeSome: (campaignId: string, most: number) => boolean;
  readonly #erase: (number: string) => number;

  constructor(database: Database.Database) {
    this.#addAll = prepareAdd(database);
    this.#rejectAll = prepareReject(database);
    this.#begin = prepareBegin(database);
    this.#erase = prepareErase(database);
    this.#removeSome = prepareRemoveSome(database);
    this.#get = database.prepare('SELECT * FROM campaign_records WHERE campaign_id = ? AND phone = ?');
    this.#bySeq = database.prepare('SELECT * FROM campaign_records WHERE seq = ?');
    this.#page = database.prepare(
      'SELECT * FROM campaign_records WHERE campaign_id = @campaignId AND seq > @after ORDER BY seq LIMIT @limit',
    );
    this.#pageOfStatus = database.prepare(
      `SELECT * FROM campaign_records WHERE campaign_id = @campaignId AND status = @status AND seq > @after
       ORDER BY seq LIMIT @limit`,
    );
    this.#rejections = database.prepare(
      `SELECT seq, phone, metadata, reason FROM campaign_rejections WHERE campaign_id = @campaignId AND seq > @after
       ORDER BY seq LIMIT @limit`,
    );
    this.#remove = database.prepare('DELETE FROM campaign_records WHERE seq = ? AND calling = 0');
    this.#nextPlace = database.prepare(
      'SELECT MIN(place) AS place FROM campaign_records WHERE campaign_id = ? AND due_ms IS NOT NULL AND place > ?',
    );
    this.#first = database.prepare(
      `SELECT seq, due_ms FROM campaign_records WHERE campaign_id = ? AND due_ms IS NOT NULL AND place = ?
       ORDER BY due_ms, seq LIMIT 1`,
    );
    this.#end = database.prepare(
      `UPDATE campaign_records SET status = @status, calling = 0, due_ms = @dueMs, retried = @retried, reason = @reason
       WHERE seq = @seq AND session_id = @sessionId AND calling = 1`,
    );
    this.#refuse = database.prepare(
      `UPDATE campaign_records SET status = 'failed', due_ms = NULL, reason = ? WHERE seq = ? AND due_ms IS NOT NULL`,
    );
    this.#refusePlace = database.prepare(
      `UPDATE campaign_records SET status = 'failed', due_ms = NULL, reason = @reason
       WHERE campaign_id = @campaignId AND due_ms IS NOT NULL AND place = @place`,
    );
    this.#postpone = database.prepare('UPDATE campaign_records SET due_ms = ? WHERE seq = ? AND due_ms IS NOT NULL');
    this.#calling = database.prepare('SELECT * FROM campaign_records WHERE calling = 1 ORDER BY campaign_id, seq');
    this.#counts = database.prepare('SELECT status, count FROM campaign_counts WHERE campaign_id = ?');
  }

  /** Adds records in one transaction. Returns for each whether it was added; false = it exists already. */
  add(campaignId: string, records: readonly NewRecord[]): boolean[] {
    return this.#addAll(campaignId, records);
  }

  /** Stores refused items of an upload. */
  reject(campaignId: string, rejections: readonly Omit<StoredRejection, 'seq'>[]): void {
    this.#rejectAll(campaignId, rejections);
  }

  get(campaignId: string, phone: string): StoredRecord | null {
    return storedOrNull(this.#get.get(campaignId, phone));
  }

  bySeq(seq: number): StoredRecord | null {
    return storedOrNull(this.#bySeq.get(seq));
  }

  /** In the order of upload. @param status default all */
  page(page: PageOf, status?: RecordStatus): StoredRecord[] {
    return (status === undefined ? this.#page.all(page) : this.#pageOfStatus.all({ ...page, status })).map(stored);
  }

  rejections(page: PageOf): StoredRejection[] {
    return this.#rejections
      .all(page)
      .map(({ metadata, ...rest }) => ({ ...rest, metadata: JSON.parse(metadata) as Record<string, unknown> }));
  }

  /** Deletes a record. Returns false if its call is in progress or it does not exist. */
  remove(seq: number): boolean {
    return this.#remove.run(seq).changes > 0;
  }

  /** Places with waiting records. Takes a few index steps for each place, whatever the number of records. */
  places(campaignId: string): string[] {
    const places: string[] = [];
    if (this.first(campaignId, '') !== null) places.push('');
    for (let next = this.#next(campaignId, ''); next !== null; next = this.#next(campaignId, next)) places.push(next);
    return places;
  }

  /** The record of a place with the earliest due time. */
  first(campaignId: string, place: string): { seq: number; dueMs: number; place: string } | null {
    const row = this.#first.get(campaignId, place);
    return row === undefined ? null : { seq: row.seq, dueMs: row.due_ms, place };
  }

  /**
   * Marks the start of a call to a record. Run it in the transaction that writes the row of the call. Returns false if
   * the record is not waiting.
   */
  begin(seq: number, sessionId: string, nowMs: number): boolean {
    return this.#begin(seq, sessionId, nowMs);
  }

  /** Marks the end of a call. Returns false if it was marked before. */
  end(seq: number, sessionId: string, end: RecordEnd): boolean {
    return this.#end.run({ ...end, seq, sessionId, retried: JSON.stringify(end.retried) }).changes > 0;
  }

  /** Marks a record as failed: it gets no more calls. */
  refuse(seq: number, reason: string): void {
    this.#refuse.run(reason, seq);
  }

  /** Marks all waiting records of a place as failed. */
  refusePlace(campaignId: string, place: string, reason: string): void {
    this.#refusePlace.run({ campaignId, place, reason });
  }

  postpone(seq: number, dueMs: number): void {
    this.#postpone.run(dueMs, seq);
  }

  /** Records with a call in progress, including calls of a process that has died. */
  calling(): StoredRecord[] {
    return this.#calling.all().map(stored);
  }

  counts(campaignId: string): Record<RecordStatus | 'rejected', number> {
    const counts = { not_started: 0, started: 0, finished: 0, failed: 0, rejected: 0 };
    for (const { status, count } of this.#counts.all(campaignId)) counts[status] = count;
    return counts;
  }

  /** Deletes at most this many records and refusals of a campaign. Returns false if none are left. */
  removeSome(campaignId: string, most: number): boolean {
    return this.#removeSome(campaignId, most);
  }

  /** Deletes a number from all campaigns, except where its call is in progress. Returns the number of deleted records. */
  erase(number: string): number {
    return this.#erase(number);
  }

  #next(campaignId: string, after: string): string | null {
    return this.#nextPlace.get(campaignId, after)?.place ?? null;
  }
}

function storedOrNull(row: Row | undefined): StoredRecord | null {
  return row === undefined ? null : stored(row);
}

function stored(row: Row): StoredRecord {
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

/** Adds records that do not exist yet. */
function prepareAdd(database: Database.Database): (campaignId: string, records: readonly NewRecord[]) => boolean[] {
  const insert = database.prepare(
    `INSERT INTO campaign_records (campaign_id, phone, metadata, place, status, calling, attempts, retried, due_ms)
     VALUES (?, ?, ?, ?, 'not_started', 0, 0, '{}', ?) ON CONFLICT (campaign_id, phone) DO NOTHING`,
  );
  return database.transaction((campaignId: string, records: readonly NewRecord[]) =>
    records.map(
      ({ phone, metadata, place, dueMs }) =>
        insert.run(campaignId, phone, JSON.stringify(metadata), place, dueMs).changes > 0,
    ),
  );
}

/** Stores refusals, and deletes the oldest beyond `REJECTIONS`. */
function prepareReject(
  database: Database.Database,
): (campaignId: string, rejections: readonly Omit<StoredRejection, 'seq'>[]) => void {
  const reject = database.prepare(
    'INSERT INTO campaign_rejections (campaign_id, phone, metadata, reason) VALUES (?, ?, ?, ?)',
  );
  const forget = database.prepare(
    `DELETE FROM campaign_rejections WHERE campaign_id = @campaignId AND seq <=
       (SELECT seq FROM campaign_rejections WHERE campaign_id = @campaignId ORDER BY seq DESC LIMIT 1 OFFSET ${String(REJECTIONS)})`,
  );
  return database.transaction((campaignId: string, rejections: readonly Omit<StoredRejection, 'seq'>[]) => {
    for (const { phone, metadata, reason } of rejections)
      reject.run(campaignId, phone, JSON.stringify(metadata), reason);
    forget.run({ campaignId });
  });
}

/** Marks the start of a call: counts the attempt and stores the time for the pace of the campaign. */
function prepareBegin(database: Database.Database): (seq: number, sessionId: string, nowMs: number) => boolean {
  const begin = database.prepare(
    `UPDATE campaign_records SET status = 'started', session_id = ?, calling = 1, attempts = attempts + 1, due_ms = NULL
     WHERE seq = ? AND due_ms IS NOT NULL`,
  );
  const paced = database.prepare(
    'UPDATE campaigns SET last_call_ms = ? WHERE id = (SELECT campaign_id FROM campaign_records WHERE seq = ?)',
  );
  return database.transaction((seq: number, sessionId: string, nowMs: number) => {
    if (begin.run(sessionId, seq).changes === 0) return false;
    paced.run(nowMs, seq);
    return true;
  });
}

/** Deletes a number from all campaigns, and from refusals in any notation. */
function prepareErase(database: Database.Database): (number: string) => number {
  const erase = database.prepare('DELETE FROM campaign_records WHERE phone = ? AND calling = 0');
  const plain = ["' '", "'-'", "'('", "')'", "'.'", "'/'"].reduce((text, it) => `replace(${text}, ${it}, '')`, 'phone');
  const eraseRejections = database.prepare(`DELETE FROM campaign_rejections WHERE ${plain} = ?`);
  return database.transaction((number: string) => erase.run(number).changes + eraseRejections.run(number).changes);
}

/** Deletes some records and refusals of a campaign. */
function prepareRemoveSome(database: Database.Database): (campaignId: string, most: number) => boolean {
  const someRecords = database.prepare(
    'DELETE FROM campaign_records WHERE seq IN (SELECT seq FROM campaign_records WHERE campaign_id = ? LIMIT ?)',
  );
  const someRejections = database.prepare(
    'DELETE FROM campaign_rejections WHERE seq IN (SELECT seq FROM campaign_rejections WHERE campaign_id = ? LIMIT ?)',
  );
  return database.transaction((campaignId: string, most: number) => {
    const removed = someRecords.run(campaignId, most).changes;
    return removed + someRejections.run(campaignId, most).changes > 0;
  });
}
