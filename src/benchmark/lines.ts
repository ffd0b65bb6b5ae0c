import type { Clock } from '../base/clock.js';
import { loopbackOpener } from '../transports/loopback/open-line.js';
import type { Ticker } from '../base/ticker.js';
import type { Transport, TransportSink } from '../transports/transport.js';
import { decodeG711 } from '../audio/codecs/g711.js';
import { frameSamples, HEARING_RATE_HZ } from '../audio/frame.js';
import type { FarEnd, OpenLoopbackLine } from '../transports/loopback/loopback-line.js';
import { parseRtp } from '../transports/rtp/packet.js';
import type { DatagramSocket } from '../transports/rtp/socket.js';
import { FileTransport } from '../transports/file.js';

/** Lines for recordings. All but `file` need real time. */
export const LINES = ['file', 'socket', 'rtp', 'webrtc'] as const;

export type LineName = (typeof LINES)[number];

export function isLine(name: string): name is LineName {
  return (LINES as readonly string[]).includes(name);
}

/** Loads a line with its packages on use, and warms WebRTC up as a daemon does. */
export async function lineOpener(name: LineName, clock: Clock): Promise<OpenLine> {
  if (name === 'file') return openFileLine;
  const open = await loopbackOpener(name === 'socket' ? 'talk-socket' : name);
  if (name === 'webrtc') await (await import('../transports/webrtc/warm-up.js')).warmUpWebRtc(clock);
  return recordingLineOver(open, name === 'rtp');
}

/** A line between a recorded user and an agent. Both ends are in this process, with a real network between them. */
export interface RecordingLine {
  /** The agent's end. */
  readonly transport: Transport;
  /** The user's end starts to speak at the next tick. Call it when the session runs. */
  speak(): void;
  /** Hangs up the user's end and frees the line. May be called twice. */
  hangUp(): Promise<void>;
}

export interface RecordingLineOptions {
  /** The user's audio: mono, 16 kHz. */
  samples: Int16Array;
  clock: Clock;
  ticker: Ticker;
  /** Called when 20 ms frames of the user's audio are sent; the last sample of the last frame is spoken now. */
  onSaid: (frames: number) => void;
  /**
   * Called with decoded audio that reaches the user's end, at any rate; null = a tick of silence. There is no jitter
   * buffer: its delay belongs to the user's device.
   */
  onHeard: (frame: Int16Array | null) => void;
}

/** @throws the system's error if no socket can be opened */
export type OpenLine = (options: RecordingLineOptions) => Promise<RecordingLine>;

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

function farEnd({ samples, onSaid, onHeard }: RecordingLineOptions, isRtp: boolean): FarEnd {
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
function overheard(socket: DatagramSocket, onHeard: RecordingLineOptions['onHeard']): DatagramSocket {
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

/** A line without a network, on any clock. */
export function openFileLine(options: RecordingLineOptions): Promise<RecordingLine> {
  const transport = new OverheardFile(options);
  return Promise.resolve({ transport, speak: () => undefined, hangUp: () => transport.close() });
}

/** Reports the frames of a file transport. It plays the recording from the start and never hangs up itself. */
class OverheardFile extends FileTransport {
  readonly #onSaid: RecordingLineOptions['onSaid'];
  readonly #onHeard: RecordingLineOptions['onHeard'];

  constructor({ samples, ticker, onSaid, onHeard }: RecordingLineOptions) {
    super({ samples, sampleRateHz: HEARING_RATE_HZ, ticker, hangUpAfterMs: Number.MAX_SAFE_INTEGER });
    this.#onSaid = onSaid;
    this.#onHeard = onHeard;
  }

  override start(sink: TransportSink): void {
    super.start({
      audio: (samples) => {
        this.#onSaid(samples.length / frameSamples(HEARING_RATE_HZ));
        sink.audio(samples);
      },
      digits: (digits) => sink.digits(digits),
      text: (text) => sink.text(text),
      formResult: (id, value) => sink.formResult(id, value),
      closed: (error) => sink.closed(error),
    });
  }

  override play(frame: Int16Array | null): void {
    this.#onHeard(frame);
    super.play(frame);
  }
}
