import { type PeerConfig, type RTCPeerConnection, RTCRtpCodecParameters } from 'werift';
import type { PeerSettings } from './peer.js';

/** The configuration of both ends of a connection. */
export function weriftConfig(settings: PeerSettings): Partial<PeerConfig> {
  const { iceServers = [], portRange = null, addresses = [], ipv6 = true } = settings;
  return {
    codecs: {
      audio: [
        new RTCRtpCodecParameters({
          mimeType: 'audio/opus',
          clockRate: 48_000,
          channels: 2,
          // Requests from the other side: a copy of each packet in the next one, one channel.
          parameters: 'minptime=10;useinbandfec=1;stereo=0;sprop-stereo=0',
        }),
        new RTCRtpCodecParameters({ mimeType: 'audio/telephone-event', clockRate: 48_000, parameters: '0-15' }),
        new RTCRtpCodecParameters({ mimeType: 'audio/telephone-event', clockRate: 8_000, parameters: '0-15' }),
      ],
      video: [],
    },
    iceServers: iceServers.map((server) => ({ ...server })),
    iceUseIpv6: ipv6,
    bundlePolicy: 'max-bundle',
    iceAdditionalHostAddresses: addresses.length > 0 ? [...addresses] : undefined,
    icePortRange: portRange === null ? undefined : [portRange[0], portRange[1]],
  };
}

/**
 * Removes werift's default STUN server (Google's), if none is configured. Call it between a description and the
 * gathering of candidates.
 */
export function removeDefaultStunServer({ iceTransports }: RTCPeerConnection, { iceServers = [] }: PeerSettings): void {
  if (iceServers.some(({ urls }) => urls.startsWith('stun:'))) return;
  for (const { connection } of iceTransports) delete connection.stunServer;
}

/**
 * After an ICE restart, when both descriptions are set: looks for candidate pairs. Once there is a DTLS connection,
 * werift leaves that to the other end and has only the pairs that it finds.
 */
export function findNewWays({ iceTransports, connectionState }: RTCPeerConnection): void {
  if (connectionState !== 'connected') return;
  for (const transport of iceTransports) {
    // The connection's state has the failure.
    if (transport.state !== 'connected') transport.start().catch(() => undefined);
  }
}
