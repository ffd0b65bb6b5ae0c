import { Ticker } from '../../dist/base/ticker.js';
import { VirtualClock } from '../../dist/base/virtual-clock.js';
import type { CodecName } from '../../dist/transports/rtp/media-codec.js';
import { serialiseRtp } from '../../dist/transports/rtp/packet.js';
import { RtpPorts } from '../../dist/transports/rtp/ports.js';
import { openRtpSession } from '../../dist/transports/rtp/session.js';
import type { OnDatagram } from '../../dist/transports/rtp/socket.js';
import type { HotFunction } from './hot-functions.js';
import { sound } from './rivals.js';

const ADDRESS = '192.0.2.9';
const PORT = 5_000;
const FRAMES = 20;

/** What a call's 20 ms over RTP take from datagram to sound and from sound to datagram, but for the system's sockets. */
export async function callFunctions(): Promise<HotFunction[]> {
  const [narrow, wide] = [await call('PCMU', 0), await call('G722', 9)];
  return [
    ['RTP, 20 frames of a call each way, PCMU', narrow],
    ['RTP, 20 frames of a call each way, G.722', wide],
  ];
}

async function call(codec: CodecName, payloadType: number): Promise<() => void> {
  const clock = new VirtualClock();
  const hearing: OnDatagram[] = [];
  const openSocket = (_address: string, port: number) =>
    Promise.resolve({
      port,
      listen: (onDatagram: OnDatagram) => void hearing.push(onDatagram),
      send: () => undefined,
      close: () => Promise.resolve(),
    });
  const ports = new RtpPorts({ clock, localAddress: '192.0.2.1', openSocket });
  const session = await openRtpSession({ clock, ticker: new Ticker(clock), ports, codecs: [codec], srtp: 'off' });
  const { line } = session;
  session.offer();
  session.accept(
    [
      'v=0',
      `o=- 1 1 IN IP4 ${ADDRESS}`,
      's=-',
      `c=IN IP4 ${ADDRESS}`,
      't=0 0',
      `m=audio ${String(PORT)} RTP/AVP ${String(payloadType)}`,
      'a=sendrecv',
      '',
    ].join('\r\n'),
  );
  session.answered();
  const nothing = (): void => undefined;
  line.start({ audio: nothing, digits: nothing, text: nothing, formResult: nothing, closed: nothing });
  const [onDatagram] = hearing;
  if (onDatagram === undefined) throw new Error('nobody listens');
  const frame = sound(line.inputRateHz / 50);
  const payload = Uint8Array.from({ length: 160 }, (_, n) => (n * 7) & 0xff);
  let sequence = 0;
  return () => {
    for (let n = 0; n < FRAMES; n++, sequence++) {
      const numbers = { sequence: sequence & 0xffff, timestamp: (sequence * 160) >>> 0, ssrc: 99 };
      onDatagram(serialiseRtp({ payloadType, marker: false, ...numbers, payload }), ADDRESS, PORT);
      line.play(frame);
    }
  };
}
