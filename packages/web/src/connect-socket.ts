import { Call } from './call.js';
import { over } from './choose-line.js';
import { checkOptions, type ConnectOptions } from './options.js';
import { openSocketLine } from './socket-line.js';

/** Like `connect` with the transport `socket`, for bundles without the code for WebRTC. @throws CallError */
export async function connectSocket(options: Omit<ConnectOptions, 'transport'>): Promise<Call> {
  return Call.begin(checkOptions(options), over(openSocketLine));
}
