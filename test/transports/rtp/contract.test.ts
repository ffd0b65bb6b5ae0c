import { describe, it } from 'vitest';
import { decodeG711, encodeG711 } from '../../../src/audio/codecs/g711.js';
import { Ticker } from '../../../src/base/ticker.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { Random } from '../../../src/base/random.js';
import { parseRtp, serialiseRtp } from '../../../src/transports/rtp/packet.js';
import { RtpPorts } from '../../../src/transports/rtp/ports.js';
import { parseSdp } from '../../../src/transports/rtp/sdp.js';
import { openRtpSession } from '../../../src/transports/rtp/session.js';
import { type ContractLine, transportContract } from '../../../src/testing/contracts/transport-contract.js';
import { UdpNetwork } from './udp-network.js';

const THEIRS = { address: '10.0.0.9', port: 5_000 };
const OFFER = [
  'v=0',
  'o=- 1 1 IN IP4 10.0.0.9',
  's=-',
  'c=IN IP4 10.0.0.9',
  't=0 0',
  'm=audio 5000 RTP/AVP 0 101',
  'a=rtpmap:101 telephone-event/8000',
  '',
].join('\r\n');
const FRAME = 160;

const mulaw = (samples: Int16Array): Int16Array => decodeG711('mulaw', encodeG711('mulaw', samples));

/** A line over RTP, whose far end writes its packets by hand. */
async function rtpLine(): Promise<ContractLine> {
  const clock = new VirtualClock();
  const network = new UdpNetwork(clock, new Random(1));
  const ports = new RtpPorts({ clock, localAddress: '10.0.0.1', openSocket: network.open });
  const session = await openRtpSession({ clock, ticker: new Ticker(clock), ports, codecs: ['PCMU'] });
  const to = { address: '10.0.0.1', port: parseSdp(session.answer(OFFER)).media[0]?.port ?? 0 };
  session.answered();
  let [sequence, timestamp] = [0, 0];
  let waiting: number[] = [];
  const send = (payloadType: number, payload: Uint8Array): void => {
    network.send(serialiseRtp({ payloadType, marker: false, sequence, timestamp, ssrc: 7, payload }), THEIRS, to);
    sequence++;
  };
  const sendSound = (samples: number[]): void => {
    send(0, encodeG711('mulaw', Int16Array.from(samples)));
    timestamp += samples.length;
  };
  return {
    transport: session.line,
    heard: () => {
      const packets = network.sent.flatMap(({ from, datagram }) => {
        const packet = from.startsWith('10.0.0.1:') ? parseRtp(datagram) : null;
        return packet?.payloadType === 0 ? [...decodeG711('mulaw', packet.payload)] : [];
      });
      return Int16Array.from(packets);
    },
    asHeard: mulaw,
    hangUp: () => session.close(),
    settle: async () => {
      if (waiting.length > 0) sendSound(waiting.splice(0));
      await clock.advanceBy(60);
    },
    dispose: () => session.close(),
    sendAudio: (samples) => {
      waiting = [...waiting, ...samples];
      while (waiting.length >= FRAME) sendSound(waiting.splice(0, FRAME));
    },
    sendDigits: (digits) => {
      for (const digit of digits) {
        const key = '0123456789*#ABCD'.indexOf(digit);
        for (const end of [0, 0, 0x80, 0x80, 0x80]) send(101, Uint8Array.of(key, end | 10, 1, 64));
        timestamp += FRAME;
      }
    },
  };
}

const checks = await transportContract(rtpLine);
describe('the transport contract: RTP', () => {
  for (const { name, run } of checks) it(name, run);
});
