import type { CallLineControl, CallLineEvents } from './call-media-host.js';
import {
  type LineStats,
  NO_LINE_STATS,
  type TransferOutcome,
  type Transport,
  type TransportSink,
} from '../../../transports/transport.js';
import { LineInput } from '../../../transports/line-input.js';
import { FRAME_MS } from '../../../audio/frame.js';
import type { Cancel } from '../../../base/clock.js';
import type { Ticker } from '../../../base/ticker.js';

/** Who is at the near end of a call in the agent's place. */
export interface FarSide {
  /** Sound of the call's far end; it may be overwritten afterwards. */
  audio(samples: Int16Array): void;
  digits(keys: string): void;
}

/**
 * The agent's end of a SIP call. It is there before the call's media are, and stays when the far end is handed on to
 * somebody else, who then gets what the agent got.
 */
export class CallLine implements CallLineControl, Transport {
  readonly name = 'sip';
  /** Nobody else sounds until the target of a transfer answers. */
  readonly ringsOnTransfer = true;
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  digitsSent = '';
  digitsReceived = '';
  readonly #events: CallLineEvents;
  #media: Transport | null = null;
  readonly #input = new LineInput();
  #other: FarSide | null = null;
  #last: LineStats | null = null;

  constructor(rateHz: number, events: CallLineEvents) {
    this.inputRateHz = rateHz;
    this.outputRateHz = rateHz;
    this.#events = events;
  }

  /** The media are there. */
  attach(media: Transport): void {
    this.#media = media;
    media.start({
      audio: (samples) => this.#audio(samples),
      digits: (keys) => this.keys(keys),
      text: () => undefined,
      formResult: () => undefined,
      closed: (error) => this.gone(error),
    });
  }

  start(sink: TransportSink): void {
    this.#input.start(sink);
  }

  play(frame: Int16Array | null, isBackground?: boolean): void {
    if (!this.#input.isOver && this.#other === null) this.#media?.play(frame, isBackground);
  }

  send(): void {
    // A telephone shows nothing.
  }

  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    return this.#input.isOver
      ? Promise.resolve({ ok: false, reason: 'failed' })
      : this.#events.onTransfer(target, signal);
  }

  async sendDigits(keys: string, signal: AbortSignal): Promise<void> {
    const media = this.#media;
    if (this.#input.isOver || media?.sendDigits === undefined) throw new Error('the call is over');
    await media.sendDigits(keys, signal);
    this.digitsSent += keys.replaceAll('w', '');
  }

  lineStats(): LineStats {
    return this.#last ?? this.#media?.lineStats?.() ?? NO_LINE_STATS;
  }

  received(): Promise<number> {
    return Promise.resolve(this.lineStats().received);
  }

  /** The media are about to be closed: what is known of them now is the last that is. */
  freeze(): void {
    this.#last = this.lineStats();
  }

  close(): Promise<void> {
    if (!this.#input.isOver) {
      this.#input.end();
      this.#events.onClosed();
    }
    return Promise.resolve();
  }

  /** Keys that the far end pressed, however they came. */
  keys(keys: string): void {
    this.digitsReceived += keys;
    if (this.#other !== null) this.#other.digits(keys);
    else this.#input.digits(keys);
  }

  /** The far end talks with somebody else from now on, who gets the keys that it has pressed already; its sound would be late. */
  handOver(other: FarSide): void {
    this.#other = other;
    const keys = this.#input.takeKeys();
    if (keys !== '') other.digits(keys);
  }

  /** What the other side of a bridge says. */
  relay(frame: Int16Array | null): void {
    this.#media?.play(frame);
  }

  /** Keys of the other side of a bridge. */
  press(keys: string, signal: AbortSignal): void {
    this.#media?.sendDigits?.(keys, signal).catch(() => undefined);
  }

  /** The call is over for the agent. May be called twice. */
  gone(error?: Error): void {
    this.#input.end(error);
  }

  #audio(samples: Int16Array): void {
    if (this.#other !== null) this.#other.audio(samples);
    else this.#input.audio(samples);
  }
}

/** Sound that may wait for the next tick: what comes more is late, and left out. */
const MOST_WAITING_MS = 100;

/** Relays the media of two calls whose agent has left: sound and keys, both ways. */
export class Bridge {
  readonly #stopTicks: Cancel;
  readonly #closing = new AbortController();

  constructor(first: CallLine, second: CallLine, ticker: Ticker) {
    const toSecond = new Relay(first, second, this.#closing.signal);
    const toFirst = new Relay(second, first, this.#closing.signal);
    this.#stopTicks = ticker.subscribe(() => {
      toFirst.tick();
      toSecond.tick();
    });
  }

  /** May be called twice. */
  close(): void {
    this.#stopTicks();
    this.#closing.abort();
  }
}

/** One direction. Both lines have the same rate: that of the trunk's best codec. */
class Relay {
  readonly #to: CallLine;
  readonly #frame: number;
  #waiting: Int16Array;
  #length = 0;

  constructor(from: CallLine, to: CallLine, signal: AbortSignal) {
    this.#to = to;
    this.#frame = (from.inputRateHz * FRAME_MS) / 1000;
    this.#waiting = new Int16Array((from.inputRateHz * MOST_WAITING_MS) / 1000);
    from.handOver({
      audio: (samples) => this.#take(samples),
      digits: (keys) => to.press(keys, signal),
    });
  }

  tick(): void {
    if (this.#length < this.#frame) return this.#to.relay(null);
    this.#to.relay(this.#waiting.slice(0, this.#frame));
    this.#waiting.copyWithin(0, this.#frame, this.#length);
    this.#length -= this.#frame;
  }

  #take(samples: Int16Array): void {
    const room = this.#waiting.length - this.#length;
    this.#waiting.set(samples.length > room ? samples.subarray(0, room) : samples, this.#length);
    this.#length += Math.min(room, samples.length);
  }
}
