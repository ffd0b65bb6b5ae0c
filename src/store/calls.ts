import type { AgentConfig } from '../agent/agent.js';
import { wholeAgentConfig } from '../agent/whole-agent.js';
import { type CallHistoryItem, type QueueFacts, shownItem } from '../session/record/call-history.js';
import { reversed } from './phone-pattern.js';
import { inTurn, run, sql, type SqlDatabase, type Statement, type Transaction } from './sql/statement.js';
import type { RowOwner } from './row-owner.js';
import { countSteps, type StepFigures, stepFigures } from './step-figures.js';

/** How a person and an agent are connected. */
export type CallChannel = 'phone' | 'talk' | 'webrtc' | 'chat';

/** The current state of a call, a browser session or a chat. */
export interface StoredCall {
  sessionId: string;
  callId: string | null;
  channel: CallChannel;
  direction: 'inbound' | 'outbound';
  agentId: string | null;
  /** Null = a temporary agent, or a call of an earlier release. */
  agentVersion: number | null;
  campaignId: string | null;
  fromPhone: string | null;
  toPhone: string | null;
  status: string;
  /** Microseconds since 1970, unique: the order of the log. */
  tsUs: number;
  /** Microseconds since 1970; null = it has not ended. */
  endedUs: number | null;
  /** Path of the recording, relative if it is inside the data folder; null = there is none. */
  recording: string | null;
  /** As `/call-logs` shows it, with `call_status` and `ts` as above and without the URL of the recording. */
  item: CallHistoryItem;
}

/** A call at its start. */
export type NewCall = Omit<StoredCall, 'tsUs' | 'endedUs' | 'recording'>;

/** A row of the table. */
export interface CallRow {
  ts_us: number;
  session_id: string;
  call_id: string | null;
  channel: CallChannel;
  direction: 'inbound' | 'outbound';
  agent_id: string | null;
  agent_version: number | null;
  campaign_id: string | null;
  from_phone: string | null;
  to_phone: string | null;
  status: string;
  ended_us: number | null;
  recording: string | null;
  /** JSON of the item without its `call_status`, its `recording` and its `agent_version`. */
  item: string;
}

/** Transactions that add calls come one after the other: a call is visible before a later one gets its time. */
const ORDER = 'calls';

/** All calls, past and present. The row of a call is written before it rings, and updated during the call. */
export class CallStore {
  readonly #database: SqlDatabase;
  readonly #node: RowOwner | null;
  /** The time of the call that was added last, even if that call has been deleted. */
  #lastUs = 0;

  /** @param node has the calls that are added; null = there is one node */
  constructor(database: SqlDatabase, node: RowOwner | null = null) {
    this.#database = database;
    this.#node = node;
  }

  *add(call: NewCall): Transaction<StoredCall> {
    yield* inTurn(this.#database, ORDER);
    const [latest] = (yield sql`SELECT MAX(ts_us) AS ts FROM calls`).rows as [{ ts: number | null }];
    // Later than all others, even after the clock was set back: pages through the log must not miss it.
    const tsUs = Math.max(yield* this.#database.nowUs(), (latest.ts ?? 0) + 1, this.#lastUs + 1);
    this.#lastUs = tsUs;
    const item = { ...call.item, ts: tsUs / 1e6 };
    const { sessionId, callId, channel, direction, agentId, agentVersion, campaignId, fromPhone, toPhone, status } =
      call;
    yield* run(
      sql`INSERT INTO calls (ts_us, session_id, call_id, channel, direction, agent_id, agent_version, campaign_id,
            from_phone, to_phone, status, item, node_id)
          VALUES (${tsUs}, ${sessionId}, ${callId}, ${channel}, ${direction}, ${agentId}, ${agentVersion}, ${campaignId},
            ${fromPhone}, ${toPhone}, ${status}, ${itemText(item)}, ${this.#node?.id ?? null})`,
    );
    yield* noteNumbers([fromPhone, toPhone]);
    return { ...call, item, tsUs, endedUs: null, recording: null };
  }

  /**
   * Updates the status of a call that has not ended. Returns the call; null = there is no such call.
   * @param reason the new `error_message`; null = no change
   */
  *setStatus(sessionId: string, status: string, reason: string | null = null): Transaction<StoredCall | null> {
    let item = sql`item`;
    if (reason !== null) {
      const call = yield* this.find(sessionId);
      if (call?.endedUs !== null) return null;
      item = sql`${itemText({ ...call.item, error_message: reason })}`;
    }
    return yield* firstCall(
      sql`UPDATE calls SET status = ${status}, item = ${item} WHERE session_id = ${sessionId} AND ended_us IS NULL
          RETURNING *`,
    );
  }

  /** Updates how a call that has not ended fares in a queue. Returns the call; null = there is no such call. */
  *setQueue(sessionId: string, queue: QueueFacts): Transaction<StoredCall | null> {
    const call = yield* this.find(sessionId);
    if (call?.endedUs !== null) return null;
    const item = itemText({ ...call.item, queue });
    return yield* firstCall(
      sql`UPDATE calls SET item = ${item} WHERE session_id = ${sessionId} AND ended_us IS NULL RETURNING *`,
    );
  }

  /** Stores the numbers of a call that has not ended, if they were unknown when it was added. */
  *setPhones(sessionId: string, { from, to }: { readonly from: string; readonly to: string }): Transaction<void> {
    const changes = yield* run(
      sql`UPDATE calls SET from_phone = ${from}, to_phone = ${to} WHERE session_id = ${sessionId} AND ended_us IS NULL`,
    );
    if (changes > 0) yield* noteNumbers([from, to]);
  }

  /**
   * Closes a call. Returns the stored call; null = no call with this id is open.
   * @param agoUs how long ago it ended
   */
  *end(sessionId: string, item: CallHistoryItem, recording: string | null, agoUs = 0): Transaction<StoredCall | null> {
    const call = yield* this.find(sessionId);
    if (call?.endedUs !== null) return null;
    const kept = { ...item, ts: call.tsUs / 1e6, recording: null };
    const endedUs = (yield* this.#database.nowUs()) - agoUs;
    yield* countSteps(kept, endedUs);
    return yield* firstCall(
      sql`UPDATE calls SET status = ${item.call_status}, item = ${itemText(kept)}, recording = ${recording},
            ended_us = ${endedUs}
          WHERE session_id = ${sessionId} AND ended_us IS NULL RETURNING *`,
    );
  }

  /** Updates the item of a call that has ended. Returns the call; null = there is no such call. */
  *amend(sessionId: string, item: CallHistoryItem): Transaction<StoredCall | null> {
    const call = yield* this.find(sessionId);
    if (call?.endedUs == null) return null;
    const kept = { ...item, ts: call.tsUs / 1e6, call_status: call.status, recording: null };
    yield* run(sql`UPDATE calls SET item = ${itemText(kept)} WHERE session_id = ${sessionId} AND ended_us IS NOT NULL`);
    return { ...call, item: kept };
  }

  /** How calls of an agent that ended on these days have passed its steps. */
  stepFigures(agentId: string, fromMs: number, toMs: number): Promise<readonly StepFigures[]> {
    return stepFigures(this.#database, agentId, fromMs, toMs);
  }

  /** As `get`, in a transaction. */
  *find(sessionId: string): Transaction<StoredCall | null> {
    return yield* firstCall(sql`SELECT * FROM calls WHERE session_id = ${sessionId}`);
  }

  async get(sessionId: string): Promise<StoredCall | null> {
    return this.#first(sql`SELECT * FROM calls WHERE session_id = ${sessionId}`);
  }

  /** Calls whose session id has this prefix. */
  beginningWith(start: string, limit: number): Promise<StoredCall[]> {
    // "~" sorts after every character of an id.
    return this.#all(
      sql`SELECT * FROM calls WHERE session_id >= ${start} AND session_id < ${`${start}~`} ORDER BY session_id
          LIMIT ${limit}`,
    );
  }

  byCallId(callId: string): Promise<StoredCall | null> {
    return this.#first(sql`SELECT * FROM calls WHERE call_id = ${callId}`);
  }

  /** Calls that started before a time and have ended, oldest first. */
  endedBefore(tsUs: number, limit: number): Promise<StoredCall[]> {
    return this.#all(
      sql`SELECT * FROM calls WHERE ts_us < ${tsUs} AND ended_us IS NOT NULL ORDER BY ts_us LIMIT ${limit}`,
    );
  }

  /** Calls with a recording that started before a time, oldest first. */
  recordedBefore(tsUs: number, limit: number): Promise<StoredCall[]> {
    // PostgreSQL takes this index by itself: it is the smaller one.
    const indexed = this.#database.dialect === 'sqlite' ? sql`INDEXED BY calls_recorded` : sql``;
    return this.#all(
      sql`SELECT * FROM calls ${indexed} WHERE recording IS NOT NULL AND ts_us < ${tsUs} ORDER BY ts_us LIMIT ${limit}`,
    );
  }

  /** Marks the recordings of these calls as deleted. */
  async forgetRecordings(calls: readonly StoredCall[]): Promise<void> {
    await this.#database.transaction(function* () {
      for (const { tsUs } of calls) yield* run(sql`UPDATE calls SET recording = NULL WHERE ts_us = ${tsUs}`);
    });
  }

  /**
   * Deletes calls that have ended, all or none, with the stored messages for later sessions and their finished webhook
   * messages. Returns the number of deleted calls.
   */
  remove(calls: readonly StoredCall[]): Promise<number> {
    return this.#database.transaction(() => removal(calls));
  }

  /** As `remove`, without waiting for the disk: after a power failure, the calls may be back. */
  removeLazily(calls: readonly StoredCall[]): Promise<number> {
    return this.#database.lazyTransaction(() => removal(calls));
  }

  /** Calls that have not ended, oldest first. */
  open(): Promise<StoredCall[]> {
    return this.#all(sql`SELECT * FROM calls WHERE ended_us IS NULL ORDER BY ts_us`);
  }

  /** Leaves a call to the node that will claim it. */
  *release(sessionId: string): Transaction<void> {
    yield* run(sql`UPDATE calls SET node_id = NULL WHERE session_id = ${sessionId}`);
  }

  /** Makes a call one of this node. Returns it; null = it has ended, or has been deleted. */
  *claim(sessionId: string): Transaction<StoredCall | null> {
    return yield* firstCall(
      sql`UPDATE calls SET node_id = ${this.#node?.id ?? null} WHERE session_id = ${sessionId} AND ended_us IS NULL RETURNING *`,
    );
  }

  /** Calls of a node that have not ended, oldest first. */
  openOf(nodeId: string): Promise<StoredCall[]> {
    return this.#all(sql`SELECT * FROM calls WHERE ended_us IS NULL AND node_id = ${nodeId} ORDER BY ts_us`);
  }

  async #first(statement: Statement): Promise<StoredCall | null> {
    const row = await this.#database.first<CallRow>(statement);
    return row === null ? null : callOf(row);
  }

  async #all(statement: Statement): Promise<StoredCall[]> {
    return (await this.#database.all<CallRow>(statement)).map(callOf);
  }
}

function* firstCall(statement: Statement): Transaction<StoredCall | null> {
  const [row] = (yield statement).rows as (CallRow | undefined)[];
  return row === undefined ? null : callOf(row);
}

/** Adds numbers to the table that searches for parts of numbers read. */
function* noteNumbers(numbers: readonly (string | null)[]): Transaction<void> {
  for (const number of numbers) {
    if (number === null) continue;
    yield* run(
      sql`INSERT INTO call_numbers (number, reversed) VALUES (${number}, ${reversed(number)}) ON CONFLICT DO NOTHING`,
    );
  }
}

function* removal(calls: readonly StoredCall[]): Transaction<number> {
  let removed = 0;
  for (const { tsUs, sessionId, fromPhone, toPhone } of calls) {
    if ((yield* run(sql`DELETE FROM calls WHERE ts_us = ${tsUs} AND ended_us IS NOT NULL`)) === 0) continue;
    removed++;
    yield* run(sql`DELETE FROM finished_sessions WHERE id = ${sessionId}`);
    yield* run(sql`DELETE FROM unfinished_sessions WHERE session_id = ${sessionId}`);
    yield* run(sql`DELETE FROM webhook_deliveries WHERE session_id = ${sessionId} AND due_unix_ms IS NULL`);
    for (const number of [fromPhone, toPhone]) {
      if (number === null) continue;
      yield* run(
        sql`DELETE FROM call_numbers WHERE number = ${number}
              AND NOT EXISTS (SELECT 1 FROM calls WHERE from_phone = ${number})
              AND NOT EXISTS (SELECT 1 FROM calls WHERE to_phone = ${number})`,
      );
    }
  }
  return removed;
}

/** The part of an item that the columns do not have, as it is stored. */
function itemText(item: CallHistoryItem): string {
  return JSON.stringify({ ...item, call_status: undefined, recording: undefined, agent_version: undefined });
}

/** A row whose agent configuration and remaining item are separate JSON texts; null = they are not. */
export interface SplitRow extends CallRow {
  agent_config: string | null;
  rest: string | null;
}

/**
 * The item of a row as JSON. It parses only the configuration: a page may have a megabyte.
 * @param recordingUrl null = there is no recording
 */
export function itemJson(row: SplitRow, recordingUrl: string | null): string {
  const recording = recordingUrl === null ? null : { recording_url: recordingUrl };
  if (row.rest === null || row.agent_config === null)
    return JSON.stringify(shownItem({ ...callOf(row).item, recording }));
  const members = {
    agent_config: wholeAgentConfig(JSON.parse(row.agent_config) as AgentConfig),
    recording,
    call_status: row.status,
    agent_version: row.agent_version ?? undefined,
  };
  return `${row.rest.slice(0, -1)},${JSON.stringify(members).slice(1)}`;
}

/** The call of a row. */
export function callOf(row: CallRow): StoredCall {
  const item = JSON.parse(row.item) as CallHistoryItem;
  if (row.agent_version !== null) item.agent_version = row.agent_version;
  return {
    sessionId: row.session_id,
    callId: row.call_id,
    channel: row.channel,
    direction: row.direction,
    agentId: row.agent_id,
    agentVersion: row.agent_version,
    campaignId: row.campaign_id,
    fromPhone: row.from_phone,
    toPhone: row.to_phone,
    status: row.status,
    tsUs: row.ts_us,
    endedUs: row.ended_us,
    recording: row.recording,
    item: { ...item, call_status: row.status, recording: null },
  };
}
