import type { Clock } from '../../base/clock.js';
import type { OpenLine } from './line.js';

/** Lines for recordings. All but `file` need real time. */
export const LINES = ['file', 'socket', 'rtp', 'webrtc'] as const;

export type LineName = (typeof LINES)[number];

export function isLine(name: string): name is LineName {
  return (LINES as readonly string[]).includes(name);
}

/** Loads a line with its packages on use, and warms WebRTC up as a daemon does. */
export async function lineOpener(name: LineName, clock: Clock): Promise<OpenLine> {
  if (name === 'socket') return (await import('./socket-line.js')).openSocketLine;
  if (name === 'rtp') return (await import('./rtp-line.js')).openRtpLine;
  if (name === 'webrtc') {
    const [{ openWebRtcLine }, { warmUpWebRtc }] = await Promise.all([
      import('./webrtc-line.js'),
      import('../../transports/webrtc/warm-up.js'),
    ]);
    await warmUpWebRtc(clock);
    return openWebRtcLine;
  }
  return (await import('./file-line.js')).openFileLine;
}
