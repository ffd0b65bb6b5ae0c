import type Database from 'better-sqlite3';
import type { AgentConfig } from '../agent/agent.js';
import { wholeAgentConfig } from '../agent/whole-agent.js';
import { type CallHistoryItem, shownItem } from '../session/record/call-history.js';
import { reversed } from './phone-pattern.js';

/** How a person and an agent are connected. */
export type CallChannel = 'phone' | 'talk' | 'webrtc' | 'chat';

/** The current state of a call, a browser session or a chat. */
export interface StoredCall {
  sessionId: string;
  callId: string | null;
  channel: CallChannel;
  direction: 'inbound' | 'outbound';
  agentId: string | null;
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
  campaign_id: string | null;
  from_phone: string | null;
  to_phone: string | null;
  status: string;
  ended_us: number | null;
  recording: string | null;
  /** JSON of the item without its `call_status` and its `recording`. */
  item: string;
}

/** All calls, past and present. The row of a call is written before it rings, and updated during the call. */
export class CallStore {
  readonly #database: Database.Database;
  readonly #add: (call: NewCall) => StoredCall;
  readonly #status: Database.Statement<unknown[]>;
  readonly #reason: Database.Statement<unknown[]>;
  readonly #end: Database.Statement<unknown[]>;
  readonly #amend: Database.Statement<unknown[]>;
  readonly #setPhones: (sessionId: string, phones: { readonly from: string; readonly to: string }) => void;
  readonly #get: Database.Statement<unknown[], CallRow>;
  readonly #beginning: Database.Statement<unknown[], CallRow>;
  readonly #byCallId: Database.Statement<unknown[], CallRow>;
  readonly #open: Database.Statement<unknown[], CallRow>;
  readonly #ended: Database.Statement<unknown[], CallRow>;
  readonly #recorded: Database.Statement<unknown[], CallRow>;
  readonly #forgetRecordings: (calls: readonly StoredCall[]) => void;
  readonly #remove: (calls: readonly StoredCall[]) => number;
  readonly #nowUs: () => number;
  /** The time of the call that was added last, even if that call has been deleted. */
  #lastUs = 0;

  /** @param nowUnixMs milliseconds since 1970, with a fraction if the clock has one */
  constructor(database: Database.Database, nowUnixMs: () => number) {
    this.#database = database;
    this.#nowUs = () => Math.floor(nowUnixMs() * 1000);
    const insert = database.prepare(
      `INSERT INTO calls (ts_us, session_id, call_id, channel, direction, agent_id, campaign_id, from_phone, to_phone,
         status, item)
       VALUES (@tsUs, @sessionId, @callId, @channel, @direction, @agentId, @campaignId, @fromPhone, @toPhone, @status,
         @item)`,
    );
    const note = database.prepare('INSERT OR IGNORE INTO call_numbers (number, reversed) VALUES (?, ?)');
    const latest = database.prepare<unknown[], { ts: number | null }>('SELECT MAX(ts_us) AS ts FROM calls');
    this.#add = database.transaction((call: NewCall) => {
      // Later than all others, even after the clock was set back: pages through the log must not miss it.
      const tsUs = Math.max(this.#nowUs(), (latest.get()?.ts ?? 0) + 1, this.#lastUs + 1);
      this.#lastUs = tsUs;
      const item = { ...call.item, ts: tsUs / 1e6 };
      insert.run({ ...call, tsUs, item: itemText(item) });
      for (const number of [call.fromPhone, call.toPhone]) if (number !== null) note.run(number, reversed(number));
      return { ...call, item, tsUs, endedUs: null, recording: null };
    });
    const phone = database.prepare(
      'UPDATE calls SET from_phone = @from, to_phone = @to WHERE session_id = @sessionId AND ended_us IS NULL',
    );
    this.#setPhones = database.transaction((sessionId: string, { from, to }: { from: string; to: string }) => {
      if (phone.run({ sessionId, from, to }).changes === 0) return;
      for (const number of [from, to]) note.run(number, reversed(number));
    });
    this.#status = database.prepare('UPDATE calls SET status = ? WHERE session_id = ? AND ended_us IS NULL');
    this.#reason = database.prepare(
      `UPDATE calls SET status = ?, item = json_set(item, '$.error_message', ?)
       WHERE session_id = ? AND ended_us IS NULL`,
    );
    this.#end = database.prepare(
      `UPDATE calls SET status = @status, item = @item, recording = @recording, ended_us = @endedUs
       WHERE session_id = @sessionId AND ended_us IS NULL`,
    );
    this.#amend = database.prepare(
      'UPDATE calls SET item = @item WHERE session_id = @sessionId AND ended_us IS NOT NULL',
    );
    this.#get = database.prepare('SELECT * FROM calls WHERE session_id = ?');
    // "~" sorts after every character of an id.
    this.#beginning = database.prepare(
      `SELECT * FROM calls WHERE session_id >= ? AND session_id < ? || '~' ORDER BY session_id LIMIT ?`,
    );
    this.#byCallId = database.prepare('SELECT * FROM calls WHERE call_id = ?');
    const remove = database.prepare('DELETE FROM calls WHERE ts_us = ? AND ended_us IS NOT NULL');
    const forget = database.prepare(
      `DELETE FROM call_numbers WHERE number = @number
         AND NOT EXISTS (SELECT 1 FROM calls WHERE from_phone = @number)
         AND NOT EXISTS (SELECT 1 FROM calls WHERE to_phone = @number)`,
    );
    const said = database.prepare('DELETE FROM finished_sessions WHERE id = ?');
    const unfinished = database.prepare('DELETE FROM unfinished_sessions WHERE session_id = ?');
    const deliveries = database.prepare('DELETE FROM webhook_deliveries WHERE session_id = ? AND due_unix_ms IS NULL');
    this.#remove = database.transaction((calls: readonly StoredCall[]) => {
      let removed = 0;
      for (const { tsUs, sessionId, fromPhone, toPhone } of calls) {
        if (remove.run(tsUs).changes === 0) continue;
        removed++;
        said.run(sessionId);
        unfinished.run(sessionId);
        deliveries.run(sessionId);
        for (const number of [fromPhone, toPhone]) if (number !== null) forget.run({ number });
      }
      return removed;
    });
    this.#ended = database.prepare(
      'SELECT * FROM calls WHERE ts_us < ? AND ended_us IS NOT NULL ORDER BY ts_us LIMIT ?',
    );
    this.#recorded = database.prepare(
      'SELECT * FROM calls INDEXED BY calls_recorded WHERE recording IS NOT NULL AND ts_us < ? ORDER BY ts_us LIMIT ?',
    );
    const unrecord = database.prepare('UPDATE calls SET recording = NULL WHERE ts_us = ?');
    this.#forgetRecordings = database.transaction((calls: readonly StoredCall[]) => {
      for (const { tsUs } of calls) unrecord.run(tsUs);
    });
    this.#open = database.prepare('SELECT * FROM calls WHERE ended_us IS NULL ORDER BY ts_us');
  }

  add(call: NewCall): StoredCall {
    return this.#add(call);
  }

  /**
   * Updates the status of a call that has not ended. Returns whether there is such a call.
   * @param reason the new `error_message`; null = no change
   */
  setStatus(sessionId: string, status: string, reason: string | null = null): boolean {
    const { changes } =
      reason === null ? this.#status.run(status, sessionId) : this.#reason.run(status, reason, sessionId);
    return changes > 0;
  }

  /** Stores the numbers of a call that has not ended, if they were unknown when it was added. */
  setPhones(sessionId: string, phones: { readonly from: string; readonly to: string }): void {
    this.#setPhones(sessionId, phones);
  }

  /** Closes a call. Returns the stored call; null = no call with this id is open. */
  end(sessionId: string, item: CallHistoryItem, recording: string | null): StoredCall | null {
    const call = this.get(sessionId);
    if (call === null || call.endedUs !== null) return null;
    const kept = { ...item, ts: call.tsUs / 1e6, recording: null };
    const status = item.call_status;
    const endedUs = this.#nowUs();
    this.#end.run({ sessionId, status, recording, endedUs, item: itemText(kept) });
    return { ...call, status, recording, endedUs, item: kept };
  }

  /** Updates the item of a call that has ended. Returns the call; null = there is no such call. */
  amend(sessionId: string, item: CallHistoryItem): StoredCall | null {
    const call = this.get(sessionId);
    if (call?.endedUs == null) return null;
    const kept = { ...item, ts: call.tsUs / 1e6, call_status: call.status, recording: null };
    this.#amend.run({ sessionId, item: itemText(kept) });
    return { ...call, item: kept };
  }

  get(sessionId: string): StoredCall | null {
    const row = this.#get.get(sessionId);
    return row === undefined ? null : callOf(row);
  }

  /** Calls whose session id has this prefix. */
  beginningWith(start: string, limit: number): StoredCall[] {
    return this.#beginning.all(start, start, limit).map(callOf);
  }

  byCallId(callId: string): StoredCall | null {
    const row = this.#byCallId.get(callId);
    return row === undefined ? null : callOf(row);
  }

  /** Calls that started before a time and have ended, oldest first. */
  endedBefore(tsUs: number, limit: number): StoredCall[] {
    return this.#ended.all(tsUs, limit).map(callOf);
  }

  /** Calls with a recording that started before a time, oldest first. */
  recordedBefore(tsUs: number, limit: number): StoredCall[] {
    return this.#recorded.all(tsUs, limit).map(callOf);
  }

  /** Marks the recordings of these calls as deleted. */
  forgetRecordings(calls: readonly StoredCall[]): void {
    this.#forgetRecordings(calls);
  }

  /**
   * Deletes calls that have ended, all or none, with the stored messages for later sessions and their finished webhook
   * messages. Returns the number of deleted calls.
   */
  remove(calls: readonly StoredCall[]): number {
    return this.#remove(calls);
  }

  /** As `remove`, without waiting for the disk: after a power failure, the calls may be back. */
  removeLazily(calls: readonly StoredCall[]): number {
    this.#database.pragma('synchronous = NORMAL');
    try {
      return this.#remove(calls);
    } finally {
      this.#database.pragma('synchronous = FULL');
    }
  }

  /** Calls that have not ended, oldest first. */
  open(): StoredCall[] {
    return this.#open.all().map(callOf);
  }
}

/** The part of an item that the columns do not have, as it is stored. */
function itemText(item: CallHistoryItem): string {
  return JSON.stringify({ ...item, call_status: undefined, recording: undefined });
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
  };
  return `${row.rest.slice(0, -1)},${JSON.stringify(members).slice(1)}`;
}

/** The call of a row. */
export function callOf(row: CallRow): StoredCall {
  const item = JSON.parse(row.item) as CallHistoryItem;
  return {
    sessionId: row.session_id,
    callId: row.call_id,
    channel: row.channel,
    direction: row.direction,
    agentId: row.agent_id,
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
