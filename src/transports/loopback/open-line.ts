import type { OpenLoopbackLine } from './loopback-line.js';

/** Real transports whose two ends may be in one process. */
export const LOOPBACK_LINES = ['talk-socket', 'rtp', 'webrtc'] as const;

export type LoopbackName = (typeof LOOPBACK_LINES)[number];

/** Loads a line with its packages on use. */
export async function loopbackOpener(name: LoopbackName): Promise<OpenLoopbackLine> {
  if (name === 'talk-socket') return (await import('./talk-socket-line.js')).openTalkSocketLine;
  if (name === 'rtp') return (await import('./rtp-line.js')).openRtpLine;
  return (await import('./webrtc-line.js')).openWebRtcLine;
}
