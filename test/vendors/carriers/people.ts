import { decodeG711, encodeG711 } from '../../../src/audio/codecs/g711.js';
import { DtmfDetector } from '../../../src/audio/tones/dtmf.js';

/** How somebody on a carrier's far side behaves when a call comes. */
export interface Habits {
  /** `absent`: it rings for ever. */
  does: 'answer' | 'busy' | 'absent' | 'reject' | 'unknown';
  /** From the ringing to the answer. */
  answersAfterMs?: number;
  /** What is said, mulaw; silence behind it. */
  says?: Uint8Array;
  /** What is said in the next 20 ms, in place of `says`; null = nothing. */
  speaks?: () => Uint8Array | null;
  /** Gets each 20 ms that is heard. */
  hears?: (samples: Int16Array) => void;
  /** Keys, this long after the answer. */
  presses?: { keys: string; afterMs: number };
  /** Hangs up by itself after the answer. */
  leavesAfterMs?: number;
}

export const FRAME_BYTES = 160;
const SILENCE = new Uint8Array(FRAME_BYTES).fill(0xff);

/** Somebody on the telephone, 20 ms of mulaw at a time. */
export class Person {
  readonly number: string;
  readonly habits: Habits;
  keys = '';
  loudness = 0;
  /** Frames that were not silent, in order. */
  readonly heard: Uint8Array[] = [];
  readonly #tones = new DtmfDetector(8_000);
  #at = 0;

  constructor(number: string, habits: Habits) {
    this.number = number;
    this.habits = habits;
  }

  speak(): Uint8Array {
    const { speaks, says } = this.habits;
    if (speaks !== undefined) return speaks() ?? SILENCE;
    const said = says?.subarray(this.#at, this.#at + FRAME_BYTES) ?? new Uint8Array(0);
    this.#at += FRAME_BYTES;
    if (said.length === 0) return SILENCE;
    const frame = SILENCE.slice();
    frame.set(said);
    return frame;
  }

  hear(frame: Uint8Array): void {
    const samples = decodeG711('mulaw', frame);
    this.habits.hears?.(samples);
    for (const sample of samples) this.loudness = Math.max(this.loudness, Math.abs(sample));
    if (samples.some((sample) => Math.abs(sample) > 100)) this.heard.push(frame.slice());
    for (const { digit } of this.#tones.push(samples)) this.keys += digit;
  }
}

/** A second of tone, mulaw. */
export function tone(ms = 1_000): Uint8Array {
  return encodeG711(
    'mulaw',
    Int16Array.from({ length: ms * 8 }, (_, at) => 8_000 * Math.sin(at * 0.5)),
  );
}
