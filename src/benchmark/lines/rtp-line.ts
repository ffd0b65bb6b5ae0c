import { frameSamples, HEARING_RATE_HZ } from '../../audio/frame.js';
import { decodeG711 } from '../../audio/codecs/g711.js';
import { Resampler } from '../../audio/dsp/resample.js';
import { parseRtp } from '../../transports/rtp/packet.js';
import { RtpPorts } from '../../transports/rtp/ports.js';
import { openRtpSession } from '../../transports/rtp/session.js';
import { type DatagramSocket, openUdpSocket } from '../../transports/rtp/socket.js';
import { type LineOptions, type RecordingLine, sayInFrames } from './line.js';

const ADDRESS = '127.0.0.1';
const PHONE_RATE_HZ = 8_000;
const PCMU = 0;

/** The media of a phone call over UDP on loopback: G.711, a packet of 20 ms per tick in both directions. */
export async function openRtpLine(options: LineOptions): Promise<RecordingLine> {
  const { clock, ticker, onHeard } = options;
  const open = (openSocket: typeof openUdpSocket): ReturnType<typeof openRtpSession> =>
    openRtpSession({
      clock,
      ticker,
      codecs: ['PCMU'],
      srtp: 'off',
      ports: new RtpPorts({ clock, localAddress: ADDRESS, portRange: null, openSocket }),
    });
  const agent = await open(openUdpSocket);
  const user = await open(async (address, port) => overheard(await openUdpSocket(address, port), onHeard));
  agent.accept(user.answer(agent.offer()));
  agent.answered();
  user.answered();
  const nothing = (): void => undefined;
  user.line.start({ audio: nothing, digits: nothing, text: nothing, formResult: nothing, closed: nothing });
  const down = new Resampler(HEARING_RATE_HZ, PHONE_RATE_HZ);
  let stop = nothing;
  return {
    transport: agent.line,
    speak: () => {
      stop = sayInFrames(options, frameSamples(HEARING_RATE_HZ), (frame) => user.line.play(down.process(frame)));
    },
    hangUp: async () => {
      stop();
      await Promise.all([user.close(), agent.close()]);
    },
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
