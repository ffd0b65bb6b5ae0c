import { ParleyError, reasonOf } from '../../base/errors.js';
import { isRemote } from '../../engine/remote-line.js';
import { silentStatus } from '../../telephony/calls/call-status.js';
import type { CarrierCall } from '../../telephony/carriers/carrier.js';
import type { SessionLine } from '../../engine/remote-line.js';
import type { Transport } from '../../transports/transport.js';
import type { CallLog } from '../call-log/call-log.js';
import type { CallIds } from './dial.js';

/** Somebody to call, who then joins a running session. */
export interface PersonRequest {
  /** One of the daemon's numbers, E.164. */
  from: string;
  /** E.164. */
  to: string;
  /** The session that they join. */
  sessionId: string;
  /** Default and maximum: the operator's `calls.ringS`. */
  ringTimeoutMs?: number | undefined;
}

export interface PersonCallOptions extends CallIds {
  log: Pick<CallLog, 'status' | 'noteStatus' | 'fail'>;
  /** Places the call. */
  place: () => Promise<CarrierCall<SessionLine>>;
  /** Why it must not be placed; null = it may. Asked immediately before. */
  whyNot: () => Promise<string | null>;
  /** Called last. */
  onEnded: () => Promise<void>;
}

/**
 * An outbound call without an agent, from its row in the log to its end: somebody is called who joins a session. Its
 * line ends it.
 */
export class PersonCall {
  /** It is no session of the engine, nor about to become one. */
  readonly hasSession = true;
  /** Never rejects. */
  readonly finished: Promise<void>;
  readonly #options: PersonCallOptions;
  #resolveFinished!: () => void;
  #call: CarrierCall<SessionLine> | null = null;
  #isGivenUp = false;
  #isStarted = false;

  constructor(options: PersonCallOptions) {
    this.#options = options;
    this.finished = new Promise((resolve) => (this.#resolveFinished = resolve));
  }

  /**
   * Places the call. Resolves to its line when it is answered.
   * @throws ParleyError PARTICIPANT_UNREACHED
   */
  async start(): Promise<Transport> {
    this.#isStarted = true;
    const { log, sessionId } = this.#options;
    try {
      await log.status(sessionId, 'queued');
      const refusal = this.#isGivenUp ? 'it was ended before it was placed' : await this.#options.whyNot();
      if (refusal !== null) throw unreached(refusal);
      this.#call = await this.#options.place();
    } catch (error) {
      await this.#over('failed', reasonOf(error));
      throw error;
    }
    if (this.#isGivenUp) this.#call.hangUp();
    return this.#answered(this.#call);
  }

  end(): void {
    this.#isGivenUp = true;
    this.#call?.hangUp();
    if (!this.#isStarted) void this.#over('canceled', 'It was ended before it was placed.');
  }

  #answered(call: CarrierCall<SessionLine>): Promise<Transport> {
    const { log, sessionId } = this.#options;
    return new Promise((resolve, reject) => {
      const note = (): void => {
        if (call.state === 'initiated' || call.state === 'ringing') log.noteStatus(sessionId, call.state);
        else if (call.state === 'answered') {
          log.noteStatus(sessionId, 'in-progress');
          const { line } = call;
          if (!isRemote(line)) resolve(line);
          else call.hangUp('failed');
        } else {
          const end = call.end ?? { cause: 'failed', by: 'agent', reason: 'it was not answered' };
          const status = silentStatus(end, call.record().answeredMs !== null);
          reject(unreached(status === 'failed' ? end.reason : status));
          void this.#recorded(call).then(() =>
            this.#over(status, status === 'failed' ? end.reason : null, { ...call.record() }),
          );
        }
      };
      call.onState(note);
      note();
    });
  }

  async #recorded(call: CarrierCall<SessionLine>): Promise<void> {
    await call.recorded;
  }

  async #over(status: string, reason: string | null, carrier: Record<string, unknown> | null = null): Promise<void> {
    const { log, sessionId, onEnded } = this.#options;
    try {
      await log.fail(sessionId, status, reason, carrier);
      await onEnded();
    } catch {
      // A database that cannot be written: the next start closes the row.
    }
    this.#resolveFinished();
  }
}

function unreached(reason: string): ParleyError {
  return new ParleyError('PARTICIPANT_UNREACHED', { reason });
}
