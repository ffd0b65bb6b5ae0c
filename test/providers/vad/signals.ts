/** Sounds at 16 kHz, the same in every run and on every machine. */
const RATE_HZ = 16_000;

export function silence(ms: number): Int16Array {
  return new Int16Array(samplesOf(ms));
}

export function tone(ms: number, frequencyHz: number, peak = 8000): Int16Array {
  return Int16Array.from({ length: samplesOf(ms) }, (_, i) =>
    Math.round(peak * Math.sin((2 * Math.PI * frequencyHz * i) / RATE_HZ)),
  );
}

/** White noise. */
export function noise(ms: number, peak = 1500, seed = 1): Int16Array {
  const random = randomOf(seed);
  return Int16Array.from({ length: samplesOf(ms) }, () => Math.round(peak * (2 * random() - 1)));
}

/**
 * Something like a voice: a buzz of falling pitch through three resonators that glide from vowel to vowel, four
 * syllables a second.
 */
export function voice(ms: number, pitchHz = 130): Int16Array {
  const random = randomOf(7);
  const length = samplesOf(ms);
  const signal = new Float64Array(length);
  let phase = 0;
  for (let i = 0; i < length; i++) {
    const seconds = i / RATE_HZ;
    phase += (pitchHz * (1.1 - 0.1 * seconds + 0.06 * Math.sin(2 * Math.PI * 2.3 * seconds))) / RATE_HZ;
    const pulse = phase >= 1 ? 1 : 0;
    phase %= 1;
    signal[i] = pulse + 0.004 * (2 * random() - 1);
  }
  for (const formant of [0, 1, 2]) resonate(signal, formant);
  const loudest = signal.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return Int16Array.from(signal, (value, i) => {
    const syllable = Math.sin(Math.PI * ((4 * i) / RATE_HZ)) ** 2;
    return Math.round((9000 * (0.15 + 0.85 * syllable) * value) / loudest);
  });
}

export function join(...parts: readonly Int16Array[]): Int16Array {
  const joined = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** `samples` in pieces whose lengths differ from one to the next, some empty. */
export function* pieces(samples: Int16Array, seed: number): Generator<Int16Array> {
  const random = randomOf(seed);
  for (let at = 0; at < samples.length;) {
    const length = Math.floor(random() ** 3 * 2000);
    yield samples.subarray(at, at + length);
    at += length;
  }
}

/** A linear congruential generator: numbers from 0 to below 1. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Formants of the vowels a, i, u, e, o: frequencies in Hz. */
const VOWELS = [
  [730, 1090, 2440],
  [270, 2290, 3010],
  [300, 870, 2240],
  [530, 1840, 2480],
  [570, 840, 2410],
] as const;

/** One two-pole resonator over the whole signal, in place; its frequency glides between vowels. */
function resonate(signal: Float64Array, formant: number): void {
  let before = 0;
  let beforeThat = 0;
  for (let i = 0; i < signal.length; i++) {
    const position = (4 * i) / RATE_HZ;
    const from = VOWELS[Math.floor(position) % VOWELS.length]![formant]!;
    const to = VOWELS[(Math.floor(position) + 1) % VOWELS.length]![formant]!;
    const frequency = from + (to - from) * (position % 1);
    const radius = Math.exp((-Math.PI * (60 + 40 * formant)) / RATE_HZ);
    const value =
      signal[i]! + 2 * radius * Math.cos((2 * Math.PI * frequency) / RATE_HZ) * before - radius * radius * beforeThat;
    beforeThat = before;
    before = value;
    signal[i] = value;
  }
}

function samplesOf(ms: number): number {
  return (ms * RATE_HZ) / 1000;
}

/** The signal whose probabilities `silero-golden.json` holds: 5 s of everything. */
export function goldenSignal(): Int16Array {
  return join(silence(320), voice(1504), silence(512), noise(640), tone(512, 440), voice(960, 210), noise(552, 300, 3));
}
