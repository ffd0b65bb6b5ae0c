import type { Clock } from '../clock/clock.js';
import { reasonOf } from '../errors.js';
import type { SessionHandle } from '../engine/line-elsewhere.js';
import type { SessionRequest } from '../engine/options.js';
import type { LogEntry } from '../session/event-log.js';
import { recordingLeftIn } from '../session/recording-folder.js';
import type { Consultation } from '../session/line-actions.js';
import type { SessionEvent } from '../session/session-options.js';
import type { SessionReport } from '../session/session-report.js';
import type { TransferOutcome } from '../transports/transport.js';
import { LostReport } from './lost-report.js';
import type { ThreadMethods } from './protocol.js';
import type { Rpc } from './rpc.js';

export interface ThreadSessionOptions {
  id: string;
  rpc: Pick<Rpc<ThreadMethods>, 'tell'>;
  request: SessionRequest;
  clock: Clock;
  /** The folder that its thread records in; null = none. */
  recordings: string | null;
}

/** The main thread's handle of a session that runs in a media thread. */
export class ThreadSession implements SessionHandle {
  readonly id: string;
  readonly finished: Promise<SessionReport>;
  readonly #options: ThreadSessionOptions;
  readonly #known = new LostReport();
  #resolve!: (report: SessionReport) => void;
  #startMs: number | null = null;
  #isOver = false;
  #logs = true;

  constructor(options: ThreadSessionOptions) {
    this.id = options.id;
    this.#options = options;
    this.finished = new Promise((resolve) => (this.#resolve = resolve));
  }

  run(): Promise<SessionReport> {
    if (this.#startMs === null) {
      this.#startMs = this.#options.clock.nowMs();
      this.#options.rpc.tell('runSession', this.id);
    }
    return this.finished;
  }

  say(text: string): void {
    this.#options.rpc.tell('say', { session: this.id, text });
  }

  sendText(text: string): void {
    this.#options.rpc.tell('sendText', { session: this.id, text });
  }

  noteFault(name: string, reason: string): void {
    this.#options.rpc.tell('noteFault', { session: this.id, name, reason });
  }

  finish(target: string | null = null): void {
    this.#options.rpc.tell('finish', { session: this.id, target });
  }

  close(): Promise<SessionReport> {
    this.#options.rpc.tell('closeSession', this.id);
    return this.finished;
  }

  /** Something happened in it. */
  event(event: SessionEvent): void {
    if (this.#isOver) return;
    this.#known.take(event);
    try {
      this.#options.request.observe?.(event);
    } catch (error) {
      this.noteFault('observer.failed', reasonOf(error));
    }
  }

  log(entry: LogEntry): void {
    try {
      if (this.#logs) this.#options.request.log?.(entry);
    } catch {
      this.#logs = false; // a log that cannot be written must not cost the call
      this.noteFault('log.failed', 'its sink threw');
    }
  }

  /** It is over, for whatever reason; the first one counts. */
  end(report: SessionReport): void {
    if (this.#isOver) return;
    this.event({ type: 'ended', report });
    this.#isOver = true;
    this.#resolve(report);
  }

  /** Its thread has ended under it. */
  lost(reason: string): void {
    const { request, clock, recordings } = this.#options;
    const durationMs = this.#startMs === null ? 0 : clock.nowMs() - this.#startMs;
    const optOut = request.agent.privacy_settings?.opt_out_data_collection === true;
    const report = this.#known.report(this.id, durationMs, reason, optOut);
    // What was recorded is whole as far as it goes, and is to be found where whoever erases the call looks for it.
    this.end({ ...report, recording: recordings === null ? null : recordingLeftIn(recordings, this.id) });
  }

  /** Why the call must not be handed on to somebody; null = it may. */
  async mayTransfer(target: string): Promise<string | null> {
    return (await this.#options.request.mayTransfer?.(target)) ?? null;
  }

  async consult(about: Consultation, signal: AbortSignal): Promise<TransferOutcome> {
    return (await this.#options.request.consult?.(about, signal)) ?? { ok: false, reason: 'unsupported' };
  }
}
