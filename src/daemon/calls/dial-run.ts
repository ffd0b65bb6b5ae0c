import type { AgentCall } from '../../telephony/calls/agent-call.js';
import { reasonOf } from '../../base/errors.js';
import type { CallEventBus } from '../call-event-bus.js';
import type { CallLog } from '../call-log/call-log.js';
import type { Telephone } from './telephone.js';
import type { CallIds, DialEnd, DialRequest } from './dial.js';
import { type DialAgent, timedConfig } from './dial-agent.js';

export interface DialRunOptions {
  ids: CallIds;
  request: DialRequest;
  agent: DialAgent;
  log: CallLog;
  ringTimeoutMs: number;
  openTelephone: () => Promise<Telephone>;
  /** Whether calls may still be placed; asked right before this one is. */
  mayStart: () => boolean;
  events: CallEventBus;
  onAnswered: () => void;
  /** The last thing that it does. */
  onEnded: () => void;
}

const GIVEN_UP: DialEnd = { status: 'canceled', error: null };

/** One call on its way, from its row in the log to its end. */
export class DialRun {
  /** Never rejects. */
  readonly finished: Promise<DialEnd>;
  readonly #options: DialRunOptions;
  #resolveFinished!: (end: DialEnd) => void;
  #call: AgentCall | null = null;
  #isGivenUp = false;
  #hasSession = false;

  constructor(options: DialRunOptions) {
    this.#options = options;
    this.finished = new Promise((resolve) => (this.#resolveFinished = resolve));
  }

  /** To be called once. Returns `finished`. */
  start(): Promise<DialEnd> {
    void this.#run();
    return this.finished;
  }

  /** Whether it counts among the engine's sessions. */
  get hasSession(): boolean {
    return this.#hasSession;
  }

  end(): void {
    this.#isGivenUp = true;
    void this.#call?.hangUp();
  }

  async #run(): Promise<void> {
    const { ids, log, onEnded } = this.#options;
    let end: DialEnd;
    try {
      log.status(ids.sessionId, 'queued');
      end = await this.#placed();
    } catch (error) {
      end = { status: 'failed', error: reasonOf(error) };
    }
    // A session ends the row itself, with more than is known here.
    const ended = end;
    if (this.#call === null) this.#attempt(() => log.fail(ids.sessionId, ended.status, ended.error));
    this.#attempt(onEnded);
    this.#resolveFinished(end);
  }

  async #placed(): Promise<DialEnd> {
    const { ids, request, agent, log, openTelephone, mayStart, events, onAnswered, ringTimeoutMs } = this.#options;
    const { from, to, metadata = {}, includeMetadataInPrompt = false, continuation, campaignId } = request;
    const { sessionId, callId } = ids;
    const phone = await openTelephone();
    if (this.#isGivenUp || !mayStart()) return GIVEN_UP;
    const call = await phone.place({
      id: sessionId,
      callId,
      from,
      to,
      ringTimeoutMs,
      metadata,
      includeMetadataInPrompt,
      agent: timedConfig(agent),
      script: agent.script,
      extensions: agent.extensions,
      agentId: agent.agentId,
      campaignId,
      continuation,
      observe: events.observer(sessionId, agent.agentId),
      onStatus: (status, reason) => {
        log.status(sessionId, status, reason);
        if (status === 'in-progress') onAnswered();
      },
    });
    this.#call = call;
    // Until its session is made the call counts as pending, not among the engine's sessions.
    call.session.then(
      () => (this.#hasSession = true),
      () => undefined,
    );
    if (this.#isGivenUp) void call.hangUp();
    const { status, error } = await call.finished;
    return { status, error };
  }

  /** Ignores a database that cannot be written: the call ends all the same, and the next start closes its row. */
  #attempt(work: () => void): void {
    try {
      work();
    } catch {
      // Other writers fail too, and report it.
    }
  }
}
