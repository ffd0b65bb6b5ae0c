import type { Side } from '../conversation/control/command.js';
import type { Transport } from '../transports/transport.js';

/** Audio of one side, as the line has it. */
export interface TapFrame {
  side: Side;
  /** Mono, at the line's rate: 20 ms of the agent, or what the line brought of the user. The reader's own copy. */
  samples: Int16Array;
  sampleRateHz: number;
  /**
   * Position of its first sample on the time since the line opened, the same for both sides. It jumps over what the line
   * did not bring, and never goes back: after a stall of the line, whose audio then comes at once, it is ahead until the
   * next gap.
   */
  atSample: number;
  /** Frames before it that the reader was too slow for. */
  dropped: number;
}

export interface TapOptions {
  /** Ends the tap. */
  signal?: AbortSignal | undefined;
  /** How many frames wait for a slow reader; then the oldest are dropped. Default 100: two seconds. */
  maxFrames?: number | undefined;
}

/** Receives a side's audio as the line has it. */
export interface LineEar {
  readonly sampleRateHz: number;
  /** Whether it is of any use. */
  readonly isRead: boolean;
  /** Only while `isRead`. The samples may be overwritten afterwards. */
  push(samples: Int16Array, atSample: number): void;
}

const MAX_FRAMES = 100;

/** The taps of one side: each reader has its own bounded buffer, and none delays the line. */
export class LineTaps implements LineEar {
  readonly #side: Side;
  readonly sampleRateHz: number;
  readonly #onRead: (isRead: boolean) => void;
  readonly #taps = new Set<Tap>();
  #isOver = false;
  /** Whether anybody reads; a line need not be tapped otherwise. */
  isRead = false;

  /** @param onRead called whenever `isRead` changes */
  constructor(side: Side, sampleRateHz: number, onRead: (isRead: boolean) => void = () => undefined) {
    this.#side = side;
    this.sampleRateHz = sampleRateHz;
    this.#onRead = onRead;
  }

  open({ signal, maxFrames = MAX_FRAMES }: TapOptions): AsyncGenerator<TapFrame, void, undefined> {
    const tap = new Tap(maxFrames);
    if (this.#isOver || signal?.aborted === true) tap.end();
    else {
      this.#taps.add(tap);
      this.#note();
    }
    const close = (): void => {
      tap.end();
      this.#taps.delete(tap);
      this.#note();
    };
    signal?.addEventListener('abort', close, { once: true });
    return tap.read(() => {
      signal?.removeEventListener('abort', close);
      close();
    });
  }

  /** Only while `isRead`. The samples are copied. */
  push(samples: Int16Array, atSample: number): void {
    if (samples.length === 0) return;
    this.give({ side: this.#side, samples, sampleRateHz: this.sampleRateHz, atSample, dropped: 0 });
  }

  /** A frame of a tap elsewhere. */
  give(frame: TapFrame): void {
    for (const tap of this.#taps) tap.push({ ...frame, samples: frame.samples.slice() });
  }

  /** Ends all taps after what they have. May be called twice. */
  close(): void {
    this.#isOver = true;
    for (const tap of this.#taps) tap.end();
    this.#taps.clear();
    this.#note();
  }

  #note(): void {
    const isRead = this.#taps.size > 0;
    if (this.isRead === isRead) return;
    this.isRead = isRead;
    this.#onRead(isRead);
  }
}

export function bothTaps(line: Pick<Transport, 'inputRateHz' | 'outputRateHz'>): Record<Side, LineTaps> {
  return { user: new LineTaps('user', line.inputRateHz), agent: new LineTaps('agent', line.outputRateHz) };
}

class Tap {
  readonly #maxFrames: number;
  readonly #frames: TapFrame[] = [];
  #dropped = 0;
  #isOver = false;
  #wake: () => void = () => undefined;

  constructor(maxFrames: number) {
    this.#maxFrames = Math.max(1, maxFrames);
  }

  push(frame: TapFrame): void {
    if (this.#frames.length >= this.#maxFrames) this.#dropped += 1 + (this.#frames.shift()?.dropped ?? 0);
    this.#frames.push(frame);
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *read(close: () => void): AsyncGenerator<TapFrame, void, undefined> {
    try {
      for (;;) {
        const frame = this.#frames.shift();
        if (frame !== undefined) {
          const dropped = frame.dropped + this.#dropped;
          this.#dropped = 0;
          yield { ...frame, dropped };
        } else if (this.#isOver) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      close();
    }
  }
}
