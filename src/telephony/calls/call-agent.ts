import type { AgentRequest, SessionRequest } from '../../engine/options.js';
import type { OnStatus } from './agent-call.js';

/** An agent for a call, and who watches it. */
export interface CallAgent
  extends
    AgentRequest,
    Pick<SessionRequest, 'id' | 'callId' | 'campaignId' | 'continuation' | 'observe' | 'log' | 'startUnixMs'> {
  /** Each status of the call, in order; the last is its end. */
  onStatus?: OnStatus;
}
