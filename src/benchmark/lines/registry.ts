import type { Clock } from '../../base/clock.js';
import type { OpenLine } from './line.js';

/** What a recording can be played over. All but `file` take real time. */
export const LINES = ['file', 'socket', 'rtp', 'webrtc'] as const;

export type LineName = (typeof LINES)[number];

export function isLine(name: string): name is LineName {
  return (LINES as readonly string[]).includes(name);
}

/** Loaded late: the packages of lines that are not asked for stay where they are. Warm, as a daemon's are. */
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
