import { frameSamples } from '../frame.js';
import { dbToGain } from '../dsp/level.js';
import { ToneGenerator } from './tones.js';

export type HoldSoundKind = 'music' | 'ringing';

/** Endless sound for a caller on hold, 20 ms at a time. */
export interface HoldSound {
  /** The next 20 ms, in a new array. */
  frame(): Int16Array;
}

/** The ringing of ITU-T E.180: 425 Hz, a second of it every five. */
const RINGING = { frequenciesHz: [425], levelDbfs: -20, cadenceMs: [1000, 4000] };

/** @throws ParleyError AUDIO_RATE_UNSUPPORTED outside 8 to 48 kHz */
export function holdSound(kind: HoldSoundKind, sampleRateHz: number): HoldSound {
  if (kind === 'music') return new HoldMusic(sampleRateHz);
  const tone = new ToneGenerator(sampleRateHz, RINGING);
  return {
    frame: () => {
      const out = new Int16Array(frameSamples(sampleRateHz));
      tone.read(out);
      return out;
    },
  };
}

/** Four chords, broken, each of them twice; in Hz, equal temperament. */
const CHORDS = [
  [261.63, 392, 523.25, 659.26],
  [220, 329.63, 523.25, 659.26],
  [349.23, 440, 523.25, 587.33],
  [293.66, 392, 493.88, 587.33],
];
const ORDER = [0, 1, 2, 3, 2, 1, 2, 3];
const NOTE_MS = 320;
const DECAY_MS = 700;
const ATTACK_MS = 12;
/** Of one note; as many as sound together stay well below the agent's voice. */
const NOTE_DBFS = -24;
/** A note that has faded by 50 dB is over. */
const OVER = 0.003;

interface Note {
  /** The two latest samples of the oscillator. */
  last: number;
  before: number;
  readonly turn: number;
  gain: number;
  age: number;
}

/**
 * A generated music box. Its notes are single frequencies below 800 Hz, so that no detector takes them for keys, and
 * above 200 Hz, the lower end of the telephone band. An oscillator costs two multiplications per sample, so no melody
 * is computed in advance.
 */
class HoldMusic implements HoldSound {
  readonly #rateHz: number;
  readonly #noteSamples: number;
  readonly #attackSamples: number;
  readonly #decay: number;
  readonly #amplitude = 32_767 * dbToGain(NOTE_DBFS);
  #notes: Note[] = [];
  #played = 0;
  #untilNext = 0;

  constructor(sampleRateHz: number) {
    this.#rateHz = sampleRateHz;
    this.#noteSamples = Math.round((NOTE_MS * sampleRateHz) / 1000);
    this.#attackSamples = (ATTACK_MS * sampleRateHz) / 1000;
    this.#decay = Math.exp(-1000 / (DECAY_MS * sampleRateHz));
  }

  frame(): Int16Array {
    const out = new Int16Array(frameSamples(this.#rateHz));
    for (let at = 0; at < out.length; at++) {
      if (this.#untilNext-- === 0) this.#strike();
      let sum = 0;
      for (const note of this.#notes) sum += this.#next(note);
      out[at] = Math.round(sum);
    }
    this.#notes = this.#notes.filter(({ gain }) => gain > OVER);
    return out;
  }

  #strike(): void {
    const chord = CHORDS[Math.floor(this.#played / (2 * ORDER.length)) % CHORDS.length] ?? [];
    const hz = chord[ORDER[this.#played % ORDER.length] ?? 0] ?? 440;
    const step = (2 * Math.PI * hz) / this.#rateHz;
    this.#notes.push({ last: 0, before: -Math.sin(step), turn: 2 * Math.cos(step), gain: 1, age: 0 });
    this.#played++;
    this.#untilNext = this.#noteSamples - 1;
  }

  #next(note: Note): number {
    const value = note.turn * note.last - note.before;
    note.before = note.last;
    note.last = value;
    note.gain *= this.#decay;
    const rising = Math.min(1, note.age++ / this.#attackSamples);
    return value * note.gain * rising * this.#amplitude;
  }
}
