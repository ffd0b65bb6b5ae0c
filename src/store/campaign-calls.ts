import { type RecordRow, recordOf, type RecordStatus, type StoredRecord } from './campaign-records.js';
import { campaignLock, campaignOf, type CampaignRow, finishCampaign, type StoredCampaign } from './campaigns.js';
import { inTurn, run, sql, type SqlDatabase, type Statement, type Transaction } from './sql/statement.js';

/** A started campaign, as a node reads it that looks for the next call. */
export interface RunningCampaign {
  campaign: StoredCampaign;
  /** Calls in progress, on all nodes. */
  calls: number;
  /** Records that nodes are about to call. */
  claims: number;
  /** When a record was claimed last, in microseconds since 1970; null = never, or its node has given it back. */
  claimedUs: number | null;
  /** When the last of the claims ends at the latest; null = there are none. */
  claimsEndUs: number | null;
  /** When the last of the uploads under way ends at the latest; null = there are none. */
  uploadsEndUs: number | null;
}

/** A place with waiting records. */
export interface WaitingPlace {
  place: string;
  /** Its record with the earliest due time that no node has claimed. */
  first: { seq: number; dueMs: number } | null;
}

/** A record that a node is about to call. Other nodes leave it alone until the claim ends. */
export interface RecordClaim {
  record: StoredRecord;
  /** When it was claimed, in microseconds since 1970. */
  claimedUs: number;
}

/** The new state of a record after its call. */
export interface RecordEnd {
  status: RecordStatus;
  dueMs: number | null;
  retried: Readonly<Record<string, number>>;
  reason: string | null;
}

/** Until a claimed record is called at the latest. If its node dies meanwhile, another one calls it after this time. */
const CLAIM_US = 30_000_000;
const NO_CLAIM = sql`node_id = NULL, claimed_until_us = NULL`;

/**
 * The calls of campaigns. Several nodes call the records of one campaign: each claims the record that it is about to
 * call, and the transaction that places the call checks the claim. All times are the database's. A SQLite database has
 * one node, which calls one record after the other, so nothing is written about its claims.
 */
export class CampaignCallStore {
  readonly #database: SqlDatabase;
  readonly #node: { readonly id: string };
  /** Whether there may be other nodes. */
  readonly #isShared: boolean;

  /** @param node whose rows it writes */
  constructor(database: SqlDatabase, node: { readonly id: string }) {
    this.#database = database;
    this.#node = node;
    this.#isShared = database.dialect === 'postgres';
  }

  /** Runs the decision about the next call. A machine that crashes may forget it: then nobody has been called. */
  decide<T>(decision: () => Transaction<T>): Promise<T> {
    return this.#database.lazyTransaction(decision);
  }

  transaction<T>(work: () => Transaction<T>): Promise<T> {
    return this.#database.transaction(work);
  }

  /** The time that all nodes share, in microseconds since 1970. */
  nowUs(): Transaction<number> {
    return this.#database.nowUs();
  }

  /** The started campaigns, those first that have waited for their next call for the longest time. */
  *running(nowUs: number): Transaction<RunningCampaign[]> {
    const { rows } = yield sql`SELECT campaigns.*,
        (SELECT COUNT(*) FROM campaign_records WHERE campaign_id = campaigns.id AND calling = 1) AS calls,
        (SELECT COUNT(*) FROM campaign_records WHERE campaign_id = campaigns.id AND claimed_until_us > ${nowUs}) AS claims,
        (SELECT MAX(claimed_until_us) FROM campaign_records
           WHERE campaign_id = campaigns.id AND claimed_until_us > ${nowUs}) AS claims_end_us,
        (SELECT MAX(until_us) FROM campaign_uploads
           WHERE campaign_id = campaigns.id AND until_us > ${nowUs}) AS uploads_end_us
      FROM campaigns WHERE status = 'started' ORDER BY COALESCE(last_call_ms, 0), created_at, rowid`;
    return (rows as RunningRow[]).map((row) => ({
      campaign: campaignOf(row),
      calls: row.calls,
      claims: row.claims,
      claimedUs: row.claimed_us,
      claimsEndUs: row.claims_end_us,
      uploadsEndUs: row.uploads_end_us,
    }));
  }

  /** The places with waiting records. Takes a few index steps for each place, whatever the number of records. */
  *waiting(campaignId: string, nowUs: number): Transaction<WaitingPlace[]> {
    // Of both columns on its own: PostgreSQL would join all records.
    const first = sql`FROM campaign_records WHERE campaign_id = ${campaignId} AND place = places.place
        AND due_ms IS NOT NULL AND (claimed_until_us IS NULL OR claimed_until_us <= ${nowUs})
      ORDER BY due_ms, seq LIMIT 1`;
    const { rows } = yield sql`WITH RECURSIVE places (place) AS (
        SELECT MIN(place) FROM campaign_records WHERE campaign_id = ${campaignId} AND due_ms IS NOT NULL
        UNION ALL
        SELECT (SELECT MIN(place) FROM campaign_records
                  WHERE campaign_id = ${campaignId} AND due_ms IS NOT NULL AND place > places.place)
          FROM places WHERE places.place IS NOT NULL
      )
      SELECT place, (SELECT seq ${first}) AS seq, (SELECT due_ms ${first}) AS due_ms
      FROM places WHERE place IS NOT NULL ORDER BY place`;
    return (rows as WaitingRow[]).map(({ place, seq, due_ms: dueMs }) => ({
      place,
      first: seq === null || dueMs === null ? null : { seq, dueMs },
    }));
  }

  /**
   * Claims the record of a place that is due first. Null = another node has claimed one of this campaign since it was
   * read, or nothing is due any more.
   */
  *claim(
    { campaign, claimedUs }: Pick<RunningCampaign, 'campaign' | 'claimedUs'>,
    place: string,
    nowUs: number,
  ): Transaction<RecordClaim | null> {
    const { id } = campaign;
    const first = sql`SELECT seq FROM campaign_records WHERE campaign_id = ${id} AND place = ${place}
        AND due_ms <= ${nowUs / 1000} AND (claimed_until_us IS NULL OR claimed_until_us <= ${nowUs})
      ORDER BY due_ms, seq LIMIT 1`;
    if (!this.#isShared) return claimOf((yield sql`SELECT * FROM campaign_records WHERE seq = (${first})`).rows, nowUs);
    // Later claims wait here until this transaction ends, and then see that it was first.
    const isFirst = yield* run(
      sql`UPDATE campaigns SET claimed_us = ${nowUs}
          WHERE id = ${id} AND status = 'started' AND claimed_us IS NOT DISTINCT FROM ${claimedUs}`,
    );
    if (isFirst === 0) return null;
    const { rows } = yield sql`UPDATE campaign_records
      SET node_id = ${this.#node.id}, claimed_until_us = ${nowUs + CLAIM_US}
      WHERE seq = (${first} FOR UPDATE SKIP LOCKED) RETURNING *`;
    if (rows.length === 0) yield* run(sql`UPDATE campaigns SET claimed_us = ${claimedUs} WHERE id = ${id}`);
    return claimOf(rows, nowUs);
  }

  /** Gives a claimed record back. The pace of its campaign goes on as if nobody had claimed it. */
  async release(claim: RecordClaim): Promise<void> {
    if (this.#isShared) await this.#giveBack(claim, NO_CLAIM);
  }

  /** Gives a claimed record back for later. */
  postpone(claim: RecordClaim, forMs: number): Promise<void> {
    return this.#giveBack(claim, (nowUs) => sql`due_ms = ${nowUs / 1000 + forMs}, ${NO_CLAIM}`);
  }

  /** Marks a claimed record as failed: it gets no more calls. */
  refuse(claim: RecordClaim, reason: string): Promise<void> {
    return this.#giveBack(claim, sql`status = 'failed', due_ms = NULL, reason = ${reason}, ${NO_CLAIM}`);
  }

  /** Marks all waiting records of a place as failed. */
  *refusePlace(campaignId: string, place: string, reason: string): Transaction<void> {
    yield* run(
      sql`UPDATE campaign_records SET status = 'failed', due_ms = NULL, reason = ${reason}, ${NO_CLAIM}
          WHERE campaign_id = ${campaignId} AND due_ms IS NOT NULL AND place = ${place}`,
    );
  }

  /** The campaign and the place of a record. The campaign changes no more before the transaction ends. */
  *ofRecord(seq: number): Transaction<{ campaign: StoredCampaign; place: string } | null> {
    const lock = this.#isShared ? sql`FOR NO KEY UPDATE OF campaigns` : sql``;
    const row = (yield sql`SELECT campaigns.*, place FROM campaign_records JOIN campaigns ON id = campaign_id
      WHERE seq = ${seq} ${lock}`).rows[0] as (CampaignRow & { place: string }) | undefined;
    return row === undefined ? null : { campaign: campaignOf(row), place: row.place };
  }

  /**
   * Marks the start of a call to a record that this node has claimed: counts the attempt and stores the time for the pace
   * of the campaign. Run it behind `ofRecord` in the transaction that writes the row of the call. Returns false and
   * changes nothing if the claim has been lost, or the campaign has as many calls as it may have.
   */
  *begin(
    { seq, campaignId }: Pick<StoredRecord, 'seq' | 'campaignId'>,
    { sessionId, nowMs, concurrent }: { sessionId: string; nowMs: number; concurrent: number },
  ): Transaction<boolean> {
    const begun = yield* run(
      sql`UPDATE campaign_records SET status = 'started', session_id = ${sessionId}, calling = 1,
            attempts = attempts + 1, due_ms = NULL, node_id = ${this.#node.id}, claimed_until_us = NULL
          WHERE seq = ${seq} AND ${this.#isMine}
            AND ${concurrent} > (SELECT COUNT(*) FROM campaign_records WHERE campaign_id = ${campaignId} AND calling = 1)`,
    );
    if (begun === 0) return false;
    yield* run(sql`UPDATE campaigns SET last_call_ms = ${nowMs} WHERE id = ${campaignId}`);
    return true;
  }

  /** The record whose call in progress has this session. */
  *inProgress(campaignId: string, sessionId: string): Transaction<StoredRecord | null> {
    const row = (yield sql`SELECT * FROM campaign_records
      WHERE campaign_id = ${campaignId} AND calling = 1 AND session_id = ${sessionId}`).rows[0];
    return row === undefined ? null : recordOf(row as RecordRow);
  }

  /** Marks the end of a call. Returns false if it was marked before. */
  *end(seq: number, sessionId: string, { status, dueMs, retried, reason }: RecordEnd): Transaction<boolean> {
    const ended = yield* run(
      sql`UPDATE campaign_records SET status = ${status}, calling = 0, due_ms = ${dueMs},
            retried = ${JSON.stringify(retried)}, reason = ${reason}, node_id = NULL
          WHERE seq = ${seq} AND session_id = ${sessionId} AND calling = 1`,
    );
    return ended > 0;
  }

  /** Waits for uploads to a campaign and others that may finish it, until the transaction ends. */
  hold(campaignId: string): Transaction<void> {
    return inTurn(this.#database, campaignLock(campaignId));
  }

  /** Finishes a paused campaign that has nothing left to do. Run it behind `hold`. */
  *finishPaused(campaignId: string): Transaction<void> {
    yield* finishCampaign(this.#database, campaignId, 'paused');
  }

  /** The number of calls in progress, on all nodes. */
  async callsOf(campaignId: string): Promise<number> {
    const row = await this.#database.first<{ count: number }>(
      sql`SELECT COUNT(*) AS count FROM campaign_records WHERE campaign_id = ${campaignId} AND calling = 1`,
    );
    return row?.count ?? 0;
  }

  /** Records whose call is in progress on a node. @param node null = on any */
  async calling(node: string | null): Promise<StoredRecord[]> {
    const also = node === null ? sql`` : sql` AND node_id = ${node}`;
    const rows = await this.#database.all<RecordRow>(
      sql`SELECT * FROM campaign_records WHERE calling = 1${also} ORDER BY campaign_id, seq`,
    );
    return rows.map(recordOf);
  }

  /** Gives back what a dead node has claimed. @param node null = all nodes */
  async releaseAll(node: string | null): Promise<void> {
    const also = node === null ? sql`` : sql` AND node_id = ${node}`;
    await this.#database.run(sql`UPDATE campaign_records SET ${NO_CLAIM} WHERE claimed_until_us IS NOT NULL${also}`);
  }

  /** The condition on a record that this node may call. */
  get #isMine(): Statement {
    if (!this.#isShared) return sql`due_ms IS NOT NULL`;
    return sql`due_ms IS NOT NULL AND node_id = ${this.#node.id} AND claimed_until_us IS NOT NULL`;
  }

  #giveBack({ record, claimedUs }: RecordClaim, change: Statement | ((nowUs: number) => Statement)): Promise<void> {
    const [database, isMine, isShared] = [this.#database, this.#isMine, this.#isShared];
    const { seq, campaignId } = record;
    return database.lazyTransaction(function* () {
      const set = typeof change === 'function' ? change(yield* database.nowUs()) : change;
      yield* run(sql`UPDATE campaign_records SET ${set} WHERE seq = ${seq} AND ${isMine}`);
      if (!isShared) return;
      yield* run(sql`UPDATE campaigns SET claimed_us = NULL WHERE id = ${campaignId} AND claimed_us = ${claimedUs}`);
    });
  }
}

function claimOf([row]: readonly unknown[], claimedUs: number): RecordClaim | null {
  return row === undefined ? null : { record: recordOf(row as RecordRow), claimedUs };
}

interface RunningRow extends CampaignRow {
  calls: number;
  claims: number;
  claimed_us: number | null;
  claims_end_us: number | null;
  uploads_end_us: number | null;
}

interface WaitingRow {
  place: string;
  seq: number | null;
  due_ms: number | null;
}
