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

/** The party at the near end of a call, in place of the agent. */
export interface FarSide {
  /** Audio of the call's far end; may be overwritten afterwards. */
  audio(samples: Int16Array): void;
  digits(keys: string): void;
}

/**
 * The agent's side of a SIP call. It exists before the call's media, and remains when the far end is transferred to
 * another party, which then gets its input.
 */
export class CallLine implements CallLineControl, Transport {
  readonly name = 'sip';
  /** There is no other audio until the target of a transfer answers. */
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

  /** Attaches the open media. */
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
    // A telephone has no display.
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

  /** The media are about to close: the current statistics are final. */
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

  /** Keys of the far end, however they were sent. */
  keys(keys: string): void {
    this.digitsReceived += keys;
    if (this.#other !== null) this.#other.digits(keys);
    else this.#input.digits(keys);
  }

  /** The far end is connected to another party, which gets the keys that wait; waiting audio would be late. */
  handOver(other: FarSide): void {
    this.#other = other;
    const keys = this.#input.takeKeys();
    if (keys !== '') other.digits(keys);
  }

  /** Audio of the other side of a bridge. */
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

/** Maximum audio that waits for the next tick; more is late and dropped. */
const MOST_WAITING_MS = 100;

/** Relays the media of two calls whose agent has left: audio and keys, both ways. */
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

/** One direction. Both lines have the same rate: that of the trunk's first codec. */
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
