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

/** werift's ICE connection. */
export interface PacketCarrier {
  readonly state: string;
  /** The candidate pair in use; undefined from the start of an ICE restart until another is found. */
  readonly nominated?: Way;
  send: (data: Buffer) => Promise<void>;
}

interface Way {
  readonly protocol: { sendData(data: Buffer, address: readonly [string, number]): Promise<void> };
  readonly remoteAddr: readonly [string, number];
}

/**
 * Keeps the last candidate pair in use until an ICE restart has found another (RFC 8445, 9). werift would drop packets,
 * including the answer on the data channel that the restart needs. Call once.
 */
export function keepWay(carrier: PacketCarrier): void {
  const { send } = carrier;
  let last: Way | undefined;
  carrier.send = async (data) => {
    const { nominated, state } = carrier;
    if (nominated === undefined && last !== undefined && state !== 'closed' && state !== 'failed') {
      return last.protocol.sendData(data, last.remoteAddr);
    }
    last = nominated;
    return send(data);
  };
}
