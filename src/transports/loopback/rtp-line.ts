import { HEARING_RATE_HZ } from '../../audio/frame.js';
import { Resampler } from '../../audio/dsp/resample.js';
import { RtpPorts } from '../rtp/ports.js';
import { openRtpSession } from '../rtp/session.js';
import { openUdpSocket } from '../rtp/socket.js';
import { type LoopbackLine, type LoopbackOptions, sendInTicks } from './loopback-line.js';

const ADDRESS = '127.0.0.1';

/** The media of a phone call over UDP on loopback: a packet of 20 ms per tick in both directions. */
export async function openRtpLine(options: LoopbackOptions): Promise<LoopbackLine> {
  const { clock, ticker, codec = 'PCMU', userSocket = (socket) => socket } = options;
  const open = (openSocket: typeof openUdpSocket): ReturnType<typeof openRtpSession> =>
    openRtpSession({
      clock,
      ticker,
      codecs: [codec],
      srtp: 'off',
      ports: new RtpPorts({ clock, localAddress: ADDRESS, portRange: null, openSocket }),
    });
  const agent = await open(openUdpSocket);
  const user = await open(async (address, port) => userSocket(await openUdpSocket(address, port)));
  agent.accept(user.answer(agent.offer()));
  agent.answered();
  user.answered();
  const rateHz = user.line.inputRateHz;
  const down = new Resampler(HEARING_RATE_HZ, rateHz);
  const over = new AbortController();
  const nothing = (): void => undefined;
  let stop = nothing;
  return {
    transport: agent.line,
    connect: (far) => {
      user.line.start({
        audio: (samples) => far.heard(samples, rateHz),
        digits: (keys) => far.pressed(keys),
        text: nothing,
        formResult: nothing,
        closed: nothing,
      });
      stop = sendInTicks(ticker, far, (frame) =>
        user.line.play(rateHz === HEARING_RATE_HZ ? frame : down.process(frame)),
      );
    },
    press: async (keys) => user.line.sendDigits?.(keys, over.signal),
    hangUp: async () => {
      stop();
      over.abort(new Error('the call is over'));
      await Promise.all([user.close(), agent.close()]);
    },
  };
}
