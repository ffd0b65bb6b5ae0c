import { KEY_OFF_MS, KEY_ON_MS, WAIT_MS } from '../../audio/tones/dtmf.js';
import { type Cancel, type Clock, delay } from '../../base/clock.js';
import type { Ticker } from '../../base/ticker.js';
import type { CodecName } from '../rtp/media-codec.js';
import type { DatagramSocket } from '../rtp/socket.js';
import type { Transport } from '../transport.js';

/** A line between a user and an agent. Both ends are in this process, with a real network between them. */
export interface LoopbackLine {
  /** The agent's end. */
  readonly transport: Transport;
  /** The user's end starts to send and to hear. Call it once, when the session runs. */
  connect(user: FarEnd): void;
  /**
   * The user presses keys: 0-9, *, #, A-D; `w` waits. Resolves when all are sent; rejects when the line is over.
   */
  press(keys: string): Promise<void>;
  /** Hangs up the user's end and frees the line. May be called twice. */
  hangUp(): Promise<void>;
}

/** The user's end. */
export interface FarEnd {
  /** The next 20 ms of the user: mono, 16 kHz. Called for each tick; null = nothing is sent. */
  next(): Int16Array | null;
  /** Decoded audio that reaches the user. */
  heard(samples: Int16Array, sampleRateHz: number): void;
  /** Keys of the agent that come as events. Keys that come as tones are heard. */
  pressed(keys: string): void;
}

export interface LoopbackOptions {
  /** A real one. */
  clock: Clock;
  ticker: Ticker;
  /** RTP's codec; the others have one of their own. Default PCMU. */
  codec?: CodecName;
  /** Wraps the user's sockets, RTP's only: their packets may be watched, lost or delayed. */
  userSocket?: (socket: DatagramSocket) => DatagramSocket;
}

/** @throws the system's error if no socket can be opened */
export type OpenLoopbackLine = (options: LoopbackOptions) => Promise<LoopbackLine>;

/** Passes the user's frames to `send`, one per tick; catches up on skipped ticks. */
export function sendInTicks(ticker: Ticker, user: FarEnd, send: (frame: Int16Array) => void): Cancel {
  return ticker.subscribe((skipped) => {
    for (let missed = 0; missed <= skipped; missed++) {
      const frame = user.next();
      if (frame !== null) send(frame);
    }
  });
}

/** Passes keys to `send` at the pace at which a telephone presses them. Rejects with the signal's reason. */
export async function pressInTurn(
  keys: string,
  clock: Clock,
  send: (key: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const key of keys) {
    await delay(clock, key === 'w' ? WAIT_MS : KEY_ON_MS + KEY_OFF_MS, signal);
    if (key !== 'w') send(key);
  }
}
