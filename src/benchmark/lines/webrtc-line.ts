import { frameSamples, HEARING_RATE_HZ } from '../../audio/frame.js';
import { loadOpus, type Opus } from '../../audio/codecs/opus.js';
import type { Clock } from '../../base/clock.js';
import { OPUS_CLOCK_HZ } from '../../transports/webrtc/peer.js';
import { WebRtcTransport } from '../../transports/webrtc/webrtc-transport.js';
import { WeriftCaller } from '../../transports/webrtc/werift-caller.js';
import { WeriftPeer } from '../../transports/webrtc/werift-peer.js';
import { type LineOptions, type RecordingLine, sayInFrames } from './line.js';

const ON_LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const FRAME_TICKS = OPUS_CLOCK_HZ / 50;

/** On a busy machine a handshake may time out; connecting is not part of the measurement. */
const ATTEMPTS = 4;

/**
 * A connected WebRTC line over loopback: ICE, DTLS, SRTP and Opus in both directions, as in browsers (without DTX).
 * @throws ParleyError LINE_LOST if the connection fails
 */
export async function openWebRtcLine(options: LineOptions): Promise<RecordingLine> {
  const { clock, onHeard } = options;
  const opus = await loadOpus();
  const { caller, transport } = await connected(clock, opus, ATTEMPTS);
  const encoder = opus.encoder({ sampleRateHz: HEARING_RATE_HZ, dtx: false });
  const decoder = opus.decoder(HEARING_RATE_HZ);
  caller.onAudio = ({ payload }) => onHeard(decoder.decode(payload));
  let stop = (): void => undefined;
  let isOver = false;
  return {
    transport,
    speak: () => {
      let ticks = 0;
      stop = sayInFrames(options, frameSamples(HEARING_RATE_HZ), (frame) =>
        caller.sendAudio(encoder.encode(frame), (ticks += FRAME_TICKS)),
      );
    },
    hangUp: async () => {
      stop();
      if (isOver) return;
      isOver = true;
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
