import type { Clock } from '../../base/clock.js';
import { loopbackOpener } from '../../transports/loopback/open-line.js';
import type { OpenLine } from './line.js';
import { recordingLineOver } from './loopback-line.js';

/** Lines for recordings. All but `file` need real time. */
export const LINES = ['file', 'socket', 'rtp', 'webrtc'] as const;

export type LineName = (typeof LINES)[number];

export function isLine(name: string): name is LineName {
  return (LINES as readonly string[]).includes(name);
}

/** Loads a line with its packages on use, and warms WebRTC up as a daemon does. */
export async function lineOpener(name: LineName, clock: Clock): Promise<OpenLine> {
  if (name === 'file') return (await import('./file-line.js')).openFileLine;
  const open = await loopbackOpener(name === 'socket' ? 'talk-socket' : name);
  if (name === 'webrtc') await (await import('../../transports/webrtc/warm-up.js')).warmUpWebRtc(clock);
  return recordingLineOver(open, name === 'rtp');
}
