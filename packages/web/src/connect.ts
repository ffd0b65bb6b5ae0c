import { Call } from './call.js';
import { over, TabMemory, webRtcOrSocket } from './choose-line.js';
import { checkOptions, type ConnectOptions } from './options.js';
import { openSocketLine } from './socket-line.js';
import { openWebRtcLine } from './webrtc-line.js';

const memory = new TabMemory();

/**
 * Calls an agent. Resolves when the agent is on the line. Call it from a click or a key, because browsers play nothing
 * before.
 * @throws CallError
 */
export async function connect(options: ConnectOptions): Promise<Call> {
  const checked = checkOptions(options);
  if (options.transport === 'webrtc') return Call.begin(checked, over(openWebRtcLine));
  // A single token opens a single line, and the socket works everywhere.
  if (options.transport === 'socket' || checked.isTokenSingle) return Call.begin(checked, over(openSocketLine));
  return Call.begin(checked, webRtcOrSocket(openWebRtcLine, openSocketLine, memory));
}
