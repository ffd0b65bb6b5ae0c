import { join } from 'node:path';
import type { Clock } from '../../base/clock.js';
import type { Settings } from '../../settings/settings.js';
import { encodeUrlText } from '../../base/url-text.js';
import { ParleyError } from '../../base/errors.js';
import { type CallHistoryItem, shownItem } from '../../session/record/call-history.js';
import { type SessionTraces, TraceFolder } from '../../session/record/trace-folder.js';
import { type CallFilter, CallPages } from '../../store/call-pages.js';
import { type CallStore, itemJson, type StoredCall } from '../../store/calls.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import type { CallFiles } from '../files/call-files.js';
import type { OpenFile } from '../../store/files/file-store.js';
import { CallLog, type CallLogOptions } from './call-log.js';
import { Retention } from './retention.js';
import type { SignedUrls } from '../http/signed-urls.js';
import type { Leases } from '../../store/leases.js';
import type { EvalRunStore } from '../../store/eval-runs.js';

export interface CallArchiveOptions extends Pick<CallLogOptions, 'multiplierOf' | 'events' | 'writes' | 'queues'> {
  settings: Pick<Settings, 'dataDir' | 'prices' | 'traces' | 'retentionDays' | 'recordingRetentionDays' | 'limits'>;
  database: SqlDatabase;
  store: CallStore;
  /** Test calls. */
  evals: Pick<EvalRunStore, 'call'>;
  /** A real one. */
  clock: Clock;
  leases: Pick<Leases, 'lead'>;
  nowUnixMs: () => number;
  links: SignedUrls;
  onError: (error: Error) => void;
  files: CallFiles;
  /** As `MediaHost.flushTrace`. Default: all sessions run on this thread. */
  flushTrace?: (sessionId: string) => Promise<boolean>;
}

/** Lifetimes of links to recordings in seconds: of those in API answers, and of those in webhooks. */
const ASKED_LINK_S = 3600;
const SENT_LINK_S = 7 * 86_400;

/** All calls with their recordings and event logs, within the retention period. */
export class CallArchive {
  readonly log: CallLog;
  readonly store: CallStore;
  readonly files: CallFiles;
  readonly #options: CallArchiveOptions;
  readonly #pages: CallPages;
  readonly #traces: TraceFolder;
  readonly #retention: Retention;

  constructor(options: CallArchiveOptions) {
    this.#options = options;
    const { settings, database, store, clock, leases, nowUnixMs, links, onError } = options;
    this.store = store;
    this.#pages = new CallPages(database);
    this.files = options.files;
    this.#traces = new TraceFolder({ ...traceFolder(settings), clock });
    this.log = new CallLog({
      ...options,
      store: this.store,
      files: this.files,
      prices: settings.prices,
      unixMsOf: (ms) => nowUnixMs() - clock.nowMs() + ms,
      recordingUrl: (sessionId) => links.url(recordingPath(sessionId), SENT_LINK_S),
    });
    this.#retention = new Retention({
      store: this.store,
      files: this.files,
      clock,
      leases,
      nowUnixMs,
      onError,
      days: settings.retentionDays,
      recordingDays: settings.recordingRetentionDays,
    });
  }

  /** The folder of the event logs; null = the setting `traces` is off. */
  get traces(): SessionTraces | null {
    return this.#options.settings.traces ? this.#traces : null;
  }

  /** Starts retention: deletes old calls and files now and daily. */
  start(): void {
    this.#retention.start();
  }

  /**
   * A page as the JSON answer of `/call-logs`.
   * @param beforeUs `nextUs` of the previous page
   * @param base as for `SignedUrls.url`, for the recordings
   */
  async page(filter: CallFilter, limit: number, beforeUs: number | null, base?: string): Promise<string> {
    const { calls, nextUs } = await this.#pages.rows(filter, limit, beforeUs);
    const items = calls.map((row) => {
      const { session_id: id, recording } = row;
      return itemJson(row, recording === null ? null : this.#askedUrl(id, base));
    });
    return `{"histories":[${items.join(',')}],"next_cursor":${String(nextUs === null ? 0 : nextUs / 1e6)}}`;
  }

  /** A call or a test call. @throws ParleyError NOT_FOUND */
  async get(sessionId: string): Promise<StoredCall> {
    return (await this.store.get(sessionId)) ?? (await this.#options.evals.call(sessionId)) ?? missing(sessionId);
  }

  /** As `/call-logs` shows it, with a fresh link to the recording. */
  shown(call: StoredCall, base?: string): CallHistoryItem {
    const recording = call.recording === null ? null : { recording_url: this.#askedUrl(call.sessionId, base) };
    return shownItem({ ...call.item, recording });
  }

  /** A session's event log with all events so far; null = it has none. @throws ParleyError NOT_FOUND, FILE_STORE_… */
  async trace(sessionId: string): Promise<OpenFile | null> {
    await this.get(sessionId);
    await this.isTraceOpen(sessionId);
    return this.files.trace(sessionId);
  }

  /** Writes all events of a session so far to its event log. Returns whether it may get more. */
  async isTraceOpen(sessionId: string): Promise<boolean> {
    const { flushTrace = () => false } = this.#options;
    const open = await Promise.all([this.#traces.flush(sessionId), flushTrace(sessionId)]);
    return open.includes(true);
  }

  /** Deletes a call, its recording and its trace. @throws ParleyError NOT_FOUND, also for a test call; CALL_GOES_ON */
  async remove(sessionId: string): Promise<void> {
    const call = (await this.store.get(sessionId)) ?? missing(sessionId);
    if (call.endedUs === null) throw new ParleyError('CALL_GOES_ON', { id: sessionId });
    await this.files.remove(call);
    await this.store.remove([call]);
  }

  #askedUrl(sessionId: string, base?: string): string {
    return this.#options.links.url(recordingPath(sessionId), ASKED_LINK_S, base);
  }

  /** May be called twice. Does not close the database. */
  async close(): Promise<void> {
    await Promise.all([this.#retention.close(), this.#traces.close(), this.log.idle()]);
  }
}

function missing(sessionId: string): never {
  throw new ParleyError('NOT_FOUND', { what: 'call', id: sessionId });
}

/** A call for a webhook, with a long-lived link to the recording. */
export function webhookItem(call: StoredCall, links: SignedUrls): CallHistoryItem {
  const url = (): string => links.url(recordingPath(call.sessionId), SENT_LINK_S);
  return shownItem({ ...call.item, recording: call.recording === null ? null : { recording_url: url() } });
}

/** The folder of event logs, with their maximum size. */
export function traceFolder({ dataDir, limits }: Pick<Settings, 'dataDir' | 'limits'>): {
  path: string;
  maxBytes: number;
} {
  return { path: join(dataDir, 'traces'), maxBytes: limits.traceBytes };
}

/** The path of its URL. */
function recordingPath(sessionId: string): string {
  return `/call-logs/${encodeUrlText(sessionId)}/recording`;
}
