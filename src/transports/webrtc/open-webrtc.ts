import { loadOpus } from '../../audio/codecs/opus.js';
import type { Clock } from '../../base/clock.js';
import type { PeerSettings } from './peer.js';
import type { WebRtcTransport, WebRtcTransportOptions } from './webrtc-transport.js';

/**
 * A line for one WebRTC connection. WebRTC is loaded late: most processes' first call does not use it.
 * @param channel the messages of its data channel; default those of the talk socket
 */
export async function openWebRtc(
  peers: PeerSettings,
  clock: Clock,
  channel?: WebRtcTransportOptions['channel'],
): Promise<WebRtcTransport> {
  const [{ WeriftPeer }, { WebRtcTransport }, opus] = await Promise.all([
    import('./werift-peer.js'),
    import('./webrtc-transport.js'),
    loadOpus(),
  ]);
  const parts = { peer: new WeriftPeer(peers, clock), opus, clock };
  return new WebRtcTransport(channel === undefined ? parts : { ...parts, channel });
}
