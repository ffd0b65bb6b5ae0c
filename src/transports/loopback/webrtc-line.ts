import { HEARING_RATE_HZ } from '../../audio/frame.js';
import { loadOpus, type Opus } from '../../audio/codecs/opus.js';
import type { Clock } from '../../base/clock.js';
import { OPUS_CLOCK_HZ } from '../webrtc/peer.js';
import { WebRtcTransport } from '../webrtc/webrtc-transport.js';
import { WeriftCaller } from '../webrtc/werift-caller.js';
import { WeriftPeer } from '../webrtc/werift-peer.js';
import { type LoopbackLine, type LoopbackOptions, pressInTurn, sendInTicks } from './loopback-line.js';

const ON_LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const FRAME_TICKS = OPUS_CLOCK_HZ / 50;

/** On a busy machine a handshake may time out. */
const ATTEMPTS = 4;

/**
 * A connected WebRTC line over loopback: ICE, DTLS, SRTP and Opus in both directions, as in browsers (without DTX).
 * @throws ParleyError LINE_LOST if the connection fails
 */
export async function openWebRtcLine({ clock, ticker }: LoopbackOptions): Promise<LoopbackLine> {
  const opus = await loadOpus();
  const { caller, transport } = await connected(clock, opus, ATTEMPTS);
  const encoder = opus.encoder({ sampleRateHz: HEARING_RATE_HZ, dtx: false });
  const decoder = opus.decoder(HEARING_RATE_HZ);
  const over = new AbortController();
  let stop = (): void => undefined;
  return {
    transport,
    connect: (user) => {
      let ticks = 0;
      caller.onAudio = ({ payload }) => {
        // A last packet may arrive while the connection closes, when the decoder is closed.
        if (!over.signal.aborted) user.heard(decoder.decode(payload), HEARING_RATE_HZ);
      };
      stop = sendInTicks(ticker, user, (frame) => caller.sendAudio(encoder.encode(frame), (ticks += FRAME_TICKS)));
    },
    press: (keys) =>
      pressInTurn(keys, clock, (key) => caller.send(JSON.stringify({ method: 'dtmf', data: key })), over.signal),
    hangUp: async () => {
      stop();
      if (over.signal.aborted) return;
      over.abort(new Error('the call is over'));
      await Promise.all([caller.close(), transport.close()]);
      encoder.close();
      decoder.close();
    },
  };
}

async function connected(
  clock: Clock,
  opus: Opus,
  attempts: number,
): Promise<{ caller: WeriftCaller; transport: WebRtcTransport }> {
  const [peer, caller] = [new WeriftPeer(ON_LOOPBACK, clock), new WeriftCaller(ON_LOOPBACK)];
  const transport = new WebRtcTransport({ peer, opus, clock });
  try {
    await caller.accept(await peer.answer(await caller.offer()));
    await Promise.all([caller.connected, transport.connected]);
    return { caller, transport };
  } catch (error) {
    await Promise.all([caller.close(), transport.close()]);
    if (attempts === 1) throw error;
    return connected(clock, opus, attempts - 1);
  }
}
