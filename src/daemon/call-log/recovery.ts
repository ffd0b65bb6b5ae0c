import { readFileSync } from 'node:fs';
import { CHAT_STATUS } from '../../engine/chat-report.js';
import type { Engine } from '../../engine/engine.js';
import type { LeftSession, UnfinishedSession } from '../../engine/unfinished-session.js';
import { errorOf } from '../../base/errors.js';
import { type CallFacts, callHistoryItem, type CallHistoryItem } from '../../session/record/call-history.js';
import type { CallOutcome } from '../../session/record/end-reason.js';
import { type FunctionCall, reportOf } from '../../session/record/session-report.js';
import type { StoredCall } from '../../store/calls.js';
import type { DialStore } from '../../store/dials.js';
import type { StoredOutbox } from '../../store/outbox.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import type { AfterCallRecord, UnfinishedStore } from '../../store/unfinished.js';
import { type EventLog, readLog } from '../../replay/read-log.js';
import { newDelivery, sessionMessageId } from '../../tools/outbox.js';
import type { CallArchive } from './call-archive.js';
import { goesOn } from './call-filter.js';

export interface RecoveryOptions {
  database: SqlDatabase;
  unfinished: UnfinishedStore<UnfinishedSession>;
  dials: Pick<DialStore, 'closeOpen' | 'closeOf'>;
  archive: Pick<CallArchive, 'store' | 'log' | 'files'>;
  /** The item of a call for webhooks. */
  itemOf: (call: StoredCall) => CallHistoryItem;
  engine: Pick<Engine, 'finishSession'>;
  /** Of agents' webhooks. */
  outbox: Pick<StoredOutbox, 'adding' | 'wake'>;
  nowUnixMs: () => number;
  onError: (error: Error) => void;
}

/** Calls that are finished concurrently. Each may wait for functions of its agent. */
const AT_ONCE = 8;
const UNKNOWN = 'The daemon stopped while the function ran. Its result is unknown.';
const UNANSWERED = 'The daemon stopped before the answer was complete.';

/**
 * Finishes the calls of a process that died: closes them in the log with the content of their traces, runs their
 * after-call functions and sends their webhooks. Each function runs once over all processes. A webhook that is sent
 * twice has the same id.
 */
export class Recovery {
  readonly #options: RecoveryOptions;
  /** Sessions to finish, once the engines are warm. */
  readonly #waiting: string[] = [];
  #isClosed = false;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /** Closes all open calls: no other process has any. `run` runs their functions and webhooks. */
  async closeCalls(): Promise<void> {
    const { archive, unfinished, dials } = this.#options;
    await dials.closeOpen();
    this.#waiting.push(...(await unfinished.ids()));
    await this.#close(await archive.store.open());
  }

  /**
   * Closes the open calls of a node that has died, and finishes its sessions as `run`. One node at a time does this for a
   * dead one. What it has not done when it dies itself, the next one does.
   */
  async closeCallsOf(nodeId: string): Promise<void> {
    const { archive, unfinished, dials } = this.#options;
    await dials.closeOf(nodeId);
    this.#waiting.push(...(await unfinished.idsOf(nodeId)));
    await this.#close(
      await archive.store.openOf(nodeId),
      `The node ${nodeId} stopped responding while the call went on.`,
    );
    await this.run();
  }

  /** @param reason why they end; null = what their traces say */
  async #close(calls: readonly StoredCall[], reason: string | null = null): Promise<void> {
    const { log } = this.#options.archive;
    for (const call of calls) {
      const { item, recording } = await this.#rebuilt(call, reason);
      await log.close(item, recording);
    }
  }

  /** Runs after-call functions and sends webhooks. Resolves when all have ended, or after `close`. Never rejects. */
  async run(): Promise<void> {
    const work = async (): Promise<void> => {
      for (let id = this.#waiting.shift(); id !== undefined && !this.#isClosed; id = this.#waiting.shift()) {
        await this.#finish(id).catch((error: unknown) => this.#options.onError(errorOf(error)));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  /** Leaves the rest to the next start. */
  close(): void {
    this.#isClosed = true;
  }

  async #finish(sessionId: string): Promise<void> {
    const { database, unfinished, archive, engine, outbox, nowUnixMs, itemOf } = this.#options;
    const record = await unfinished.get(sessionId);
    const call = await archive.store.get(sessionId);
    if (record === null || call === null) {
      await unfinished.remove(sessionId); // it never started, or has been deleted
      return;
    }
    const { to, facts } = record;
    const left = await this.#left(call, record);
    const report = await engine.finishSession(record, left);
    if (this.#isClosed) return;
    const runs = await unfinished.runs(sessionId);
    const functionCalls = [...report.functionCalls, ...runs.flatMap(known(report.functionCalls))];
    const item = callHistoryItem({ ...report, functionCalls }, { ...facts, outcome: null });
    const { function_calls, cost_breakdown } = item;
    await database.transaction(function* () {
      const kept = yield* archive.log.amend({ ...call.item, function_calls, cost_breakdown });
      if (kept !== null && to !== null && (left.ran || facts.phones !== null)) {
        const id = sessionMessageId(sessionId, facts.startUnixMs);
        yield* outbox.adding(newDelivery(sessionId, to, JSON.stringify(itemOf(kept)), nowUnixMs(), id));
      }
      yield* unfinished.removing(sessionId);
    });
    outbox.wake();
  }

  /** The final item of an open call. */
  async #rebuilt(
    call: StoredCall,
    reason: string | null,
  ): Promise<{ item: CallHistoryItem; recording: string | null }> {
    const record = await this.#options.unfinished.get(call.sessionId);
    const left = await this.#left(call, record);
    const report = reportOf(left.parts);
    const outcome = outcomeOf(call, left);
    const facts = record?.facts ?? factsOf(call);
    const item = callHistoryItem(report, { ...facts, outcome });
    if (call.item.queue !== undefined) item.queue = call.item.queue;
    // The logged reason says more than a rebuilt one.
    return {
      item: { ...item, error_message: call.item.error_message ?? reason ?? item.error_message },
      recording: report.recording,
    };
  }

  /** Loads the conversation core on demand: a start without unfinished sessions does not need it. */
  async #left({ sessionId, channel, item }: StoredCall, record: UnfinishedSession | null): Promise<LeftSession> {
    const { files } = this.#options.archive;
    const { leftSession } = await import('./unfinished-session.js');
    return leftSession({
      sessionId,
      trace: this.#trace(sessionId),
      chat: record?.chat ?? null,
      recording: files.leftBehind(sessionId),
      optOut: optedOut(item),
      // A browser's call enters the log when it runs, a phone call before it rings.
      mayHaveRun: channel === 'talk' || channel === 'webrtc',
    });
  }

  #trace(sessionId: string): EventLog | null {
    try {
      return readLog(readFileSync(this.#options.archive.files.traceHere(sessionId), 'utf8'));
    } catch {
      return null; // there is none, or its first line is incomplete
    }
  }
}

/** The end status of a call without a session; null = the session has it. */
function outcomeOf({ channel, status, item }: StoredCall, { parts }: LeftSession): CallOutcome | null {
  if (channel === 'chat') {
    return { status: CHAT_STATUS, error: parts.durationMs === 0 ? UNANSWERED : null, carrier: null };
  }
  return goesOn(status) ? null : { status, error: null, carrier: item.carrier_call_log };
}

/** The session data of a call that has only its row in the log. */
function factsOf({ item, direction, fromPhone, toPhone }: StoredCall): Omit<CallFacts, 'outcome'> {
  return {
    agentId: item.agent_id,
    agentConfig: item.agent_config,
    callId: item.call_id,
    campaignId: item.campaign_id,
    startUnixMs: item.ts * 1000,
    metadata: item.metadata,
    direction,
    recordingUrl: null,
    optOut: optedOut(item),
    phones: fromPhone === null || toPhone === null ? null : { from: fromPhone, to: toPhone },
  };
}

function optedOut({ agent_config: config }: CallHistoryItem): boolean {
  return config.privacy_settings?.opt_out_data_collection === true;
}

/** The functions that an earlier process started, with those that ran now. */
function known(now: readonly FunctionCall[]): (record: AfterCallRecord) => FunctionCall[] {
  const ran = new Set(now.filter(({ runAfterCall }) => runAfterCall).map(({ name }) => name));
  return ({ name, call }) => {
    if (ran.has(name)) return [];
    return [call ?? { name, arguments: '{}', ok: false, result: UNKNOWN, tookMs: 0, runAfterCall: true }];
  };
}
