import type { RTCPeerConnection, RTCRtpCodecParameters, RTCRtpTransceiver, RtpPacket } from 'werift';

interface Named {
  encodings: { ssrc: number }[];
  codecs: RTCRtpCodecParameters[];
  headerExtensions: never[];
}

/** What sorts a connection's packets, as werift has it. */
interface Router {
  readonly ssrcTable: Readonly<Record<number, unknown>>;
  routeRtp: (packet: RtpPacket) => void;
  registerRtpReceiverBySsrc(transceiver: RTCRtpTransceiver, named: Named): void;
}

/**
 * Hears who did not name their source in the offer: browsers do (`a=ssrc`), other programs need not. The first packet of
 * a payload type that was agreed upon names it then (RFC 9143, 9.2). werift would drop them all. Where a source is named,
 * nothing changes. To be called once.
 */
export function hearUnnamed(connection: RTCPeerConnection): void {
  const { router } = connection as unknown as { router: Router };
  const { routeRtp } = router;
  router.routeRtp = (packet) => {
    const { ssrc, payloadType } = packet.header;
    if (!(ssrc in router.ssrcTable)) {
      const unnamed = connection
        .getTransceivers()
        .find(
          ({ kind, codecs, receiver }) =>
            kind === 'audio' &&
            receiver.tracks.length === 0 &&
            codecs.some((codec) => codec.payloadType === payloadType),
        );
      if (unnamed !== undefined) {
        const { codecs } = unnamed;
        router.registerRtpReceiverBySsrc(unnamed, { encodings: [{ ssrc }], codecs, headerExtensions: [] });
      }
    }
    routeRtp(packet);
  };
}
