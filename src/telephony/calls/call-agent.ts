import type { AgentRequest, SessionRequest } from '../../engine/options.js';
import type { SessionLine } from '../../engine/remote-line.js';
import type { OnStatus } from './agent-call.js';

/** An agent for a call, and its observers. */
export interface CallAgent
  extends
    AgentRequest,
    Pick<SessionRequest, 'id' | 'callId' | 'campaignId' | 'continuation' | 'observe' | 'log' | 'startUnixMs'> {
  /** Gets each status of the call, in order; the last is its end. */
  onStatus?: OnStatus;
  /** In place of the call's own line. */
  line?: SessionLine | undefined;
  /** Ends the call, or cancels it while it rings. */
  signal?: AbortSignal | undefined;
}
