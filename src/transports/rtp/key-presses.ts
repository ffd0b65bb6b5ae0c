import { dialTones, KEY_OFF_MS, KEY_ON_MS, WAIT_MS } from '../../audio/tones/dtmf.js';
import { FRAME_MS, frameSamples } from '../../audio/frame.js';

/** 20 ms of a key press. */
export type KeyFrame =
  /**
   * A packet of an event (RFC 4733, 2.3). `isFirst`: the first packet of its key; all packets of a key have the same
   * timestamp.
   */
  { kind: 'event'; payload: Uint8Array; isFirst: boolean } | { kind: 'tone'; samples: Int16Array } | { kind: 'pause' };

interface Press {
  readonly keys: string[];
  readonly done: () => void;
  readonly fail: (reason: Error) => void;
}

const KEYS = '0123456789*#ABCD';
const ON_FRAMES = KEY_ON_MS / FRAME_MS;
const KEY_FRAMES = ON_FRAMES + KEY_OFF_MS / FRAME_MS;
const WAIT_FRAMES = WAIT_MS / FRAME_MS;
/** The last packet of a key is sent three times (RFC 4733, 2.5.1.4). */
const END_PACKETS = 3;
const END_BIT = 0x80;
/** Volume of the tones, in -dBm0. */
const VOLUME = 10;

/** Outgoing keys, 20 ms at a time: as events if the other side accepts them, otherwise as tones. */
export class KeyPresses {
  readonly #rateHz: number;
  readonly #presses: Press[] = [];
  #events: { clockRateHz: number } | null = null;
  /** The current key, its sent frames, and its form, which does not change during a key. */
  #key: string | null = null;
  #frames = 0;
  #clockRateHz: number | null = null;
  #tone: Int16Array = new Int16Array();

  /** @param rateHz of the tones */
  constructor(rateHz: number) {
    this.#rateHz = rateHz;
  }

  /** Applies from the next key on. */
  useEvents(events: { clockRateHz: number } | null): void {
    this.#events = events;
  }

  /** 0-9, *, #, A-D, and `w` for a pause. When aborted, the current key is still completed. */
  press(keys: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const press: Press = {
        keys: [...keys].filter((key) => key === 'w' || KEYS.includes(key)),
        done: () => {
          signal.removeEventListener('abort', abort);
          resolve();
        },
        fail: (reason) => {
          signal.removeEventListener('abort', abort);
          reject(reason);
        },
      };
      const abort = (): void => {
        const at = this.#presses.indexOf(press);
        if (at >= 0) this.#presses.splice(at, 1);
        reject(signal.reason as Error);
      };
      if (signal.aborted) {
        abort();
        return;
      }
      signal.addEventListener('abort', abort, { once: true });
      this.#presses.push(press);
    });
  }

  /** The next 20 ms; null = no key. */
  next(): KeyFrame | null {
    if (this.#key === null && !this.#begin()) return null;
    const key = this.#key;
    const frame = this.#frames++;
    if (this.#frames >= (key === 'w' ? WAIT_FRAMES : KEY_FRAMES)) this.#key = null;
    if (key === null || key === 'w') return { kind: 'pause' };
    if (this.#clockRateHz !== null) return eventOf(key, frame, this.#clockRateHz);
    const length = frameSamples(this.#rateHz);
    return { kind: 'tone', samples: this.#tone.subarray(frame * length, (frame + 1) * length) };
  }

  close(): void {
    for (const { fail } of this.#presses.splice(0)) fail(new Error('the call is over'));
    this.#key = null;
  }

  #begin(): boolean {
    for (;;) {
      const press = this.#presses[0];
      if (press === undefined) return false;
      const key = press.keys.shift();
      if (key === undefined) {
        this.#presses.shift();
        press.done();
        continue;
      }
      this.#key = key;
      this.#frames = 0;
      this.#clockRateHz = this.#events?.clockRateHz ?? null;
      if (key !== 'w' && this.#clockRateHz === null) this.#tone = dialTones(key, this.#rateHz);
      return true;
    }
  }
}

function eventOf(key: string, frame: number, clockRateHz: number): KeyFrame {
  if (frame >= ON_FRAMES + END_PACKETS) return { kind: 'pause' };
  const isEnd = frame >= ON_FRAMES;
  const duration = (Math.min(frame + 1, ON_FRAMES) * FRAME_MS * clockRateHz) / 1_000;
  const payload = Uint8Array.of(KEYS.indexOf(key), (isEnd ? END_BIT : 0) | VOLUME, duration >> 8, duration & 0xff);
  return { kind: 'event', payload, isFirst: frame === 0 };
}
