import { decodeG711 } from '../../audio/codecs/g711.js';
import { frameSamples, HEARING_RATE_HZ } from '../../audio/frame.js';
import type { FarEnd, OpenLoopbackLine } from '../../transports/loopback/loopback-line.js';
import { parseRtp } from '../../transports/rtp/packet.js';
import type { DatagramSocket } from '../../transports/rtp/socket.js';
import type { LineOptions, OpenLine } from './line.js';

const PCMU = 0;
const FRAME = frameSamples(HEARING_RATE_HZ);

/** Plays a recording over a line of a real transport. */
export function recordingLineOver(open: OpenLoopbackLine, isRtp: boolean): OpenLine {
  return async (options) => {
    const { clock, ticker, onHeard } = options;
    const line = await open({ clock, ticker, userSocket: (socket) => overheard(socket, onHeard) });
    return {
      transport: line.transport,
      speak: () => line.connect(farEnd(options, isRtp)),
      hangUp: () => line.hangUp(),
    };
  };
}

function farEnd({ samples, onSaid, onHeard }: LineOptions, isRtp: boolean): FarEnd {
  let at = 0;
  return {
    next: () => {
      if (at >= samples.length) return null;
      const frame = new Int16Array(FRAME);
      frame.set(samples.subarray(at, at + FRAME));
      at += FRAME;
      onSaid(1);
      return frame;
    },
    heard: (frame) => {
      if (!isRtp) onHeard(frame);
    },
    pressed: () => undefined,
  };
}

/** A socket that reports audio packets on arrival, before the jitter buffer. */
function overheard(socket: DatagramSocket, onHeard: LineOptions['onHeard']): DatagramSocket {
  return {
    port: socket.port,
    send: (datagram, address, port) => socket.send(datagram, address, port),
    close: () => socket.close(),
    listen: (onDatagram) =>
      socket.listen((datagram, address, port) => {
        const packet = parseRtp(datagram);
        if (packet?.payloadType === PCMU) onHeard(decodeG711('mulaw', packet.payload));
        onDatagram(datagram, address, port);
      }),
  };
}
