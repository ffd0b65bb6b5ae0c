import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { RealClock } from '../../dist/base/real-clock.js';
import { Ticker } from '../../dist/base/ticker.js';
import type { CodecName } from '../../dist/transports/rtp/media-codec.js';
import type { SrtpPolicy } from '../../dist/transports/rtp/negotiation.js';
import { RtpPorts } from '../../dist/transports/rtp/ports.js';
import { openRtpSession, type RtpSession } from '../../dist/transports/rtp/session.js';
import { openNodeSocket, type OpenSocket, openUdpSocket } from '../../dist/transports/rtp/socket.js';

export interface RtpCase {
  codec: CodecName;
  srtp: SrtpPolicy;
  calls: number;
  /** The system's by the addon, where it is built, or by Node. */
  sockets: 'fastest' | 'node';
}

const FAR_END = '--far-end';
const LOUD = 6_000;

/** Sessions with lines that are listened to and spoken on: a frame of noise a tick. */
export class SpeakingEnds {
  readonly sessions: RtpSession[] = [];
  readonly ticker: Ticker;
  /** Frames that have been spoken, in all calls. */
  spoken = 0;
  readonly #clock = new RealClock();
  #stop: () => void = () => undefined;

  constructor() {
    this.ticker = new Ticker(this.#clock);
  }

  async open({ codec, srtp, calls, sockets }: RtpCase): Promise<void> {
    const { ticker } = this;
    const openSocket = openSocketOf(sockets);
    const ports = new RtpPorts({ clock: this.#clock, localAddress: '127.0.0.1', portRange: null, openSocket });
    for (let n = 0; n < calls; n++) {
      const session = await openRtpSession({ clock: this.#clock, ticker, ports, codecs: [codec], srtp });
      this.sessions.push(session);
      session.line.start({
        audio: ignore,
        digits: ignore,
        text: ignore,
        formResult: ignore,
        closed: ignore,
      });
    }
  }

  speak(): void {
    const frames = this.sessions
      .slice(0, 1)
      .flatMap(({ line }) =>
        Array.from({ length: 50 }, (_, n) =>
          Int16Array.from(
            { length: line.outputRateHz / 50 },
            (__, i) => ((n * 7_919 + i * 104_729) % (2 * LOUD)) - LOUD,
          ),
        ),
      );
    let tick = 0;
    this.#stop = this.ticker.subscribe(() => {
      const frame = frames[tick++ % frames.length] ?? null;
      for (const { line } of this.sessions) line.play(frame);
      this.spoken += this.sessions.length;
    });
  }

  async close(): Promise<void> {
    this.#stop();
    await Promise.all(this.sessions.map((session) => session.close()));
  }
}

export function openSocketOf(sockets: RtpCase['sockets']): OpenSocket {
  return sockets === 'node' ? openNodeSocket : openUdpSocket;
}

function ignore(): void {
  // Nothing else is sent.
}

/** The other sides of so many calls, in a process of their own: their work does not count. */
export async function farEnds(near: SpeakingEnds, rtpCase: RtpCase): Promise<ChildProcess> {
  const child = fork(process.argv[1] ?? '', [FAR_END, JSON.stringify(rtpCase)], { serialization: 'json' });
  child.send(near.sessions.map((session) => session.offer()));
  const [answers] = (await once(child, 'message')) as [string[]];
  for (const [n, session] of near.sessions.entries()) {
    session.accept(answers[n] ?? '');
    session.answered();
  }
  return child;
}

/** What a process that `farEnds` has started does; false in others. */
export async function isFarEnd(): Promise<boolean> {
  const at = process.argv.indexOf(FAR_END);
  if (at < 0) return false;
  const rtpCase = JSON.parse(process.argv[at + 1] ?? '{}') as RtpCase;
  const ends = new SpeakingEnds();
  const [offers] = (await once(process, 'message')) as [string[]];
  await ends.open({ ...rtpCase, srtp: 'accepted' });
  const answers = ends.sessions.map((session, n) => session.answer(offers[n] ?? ''));
  for (const session of ends.sessions) session.answered();
  ends.speak();
  process.send?.(answers);
  process.once('disconnect', () => process.exit(0));
  return true;
}
