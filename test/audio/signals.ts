/** Signals that the audio tests share. Everything random comes from a seed. */

/** Uniform numbers from 0 to 1 (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** White Gaussian noise of the given RMS in samples. */
export function noise(length: number, rms: number, seed: number): Float64Array {
  const random = seededRandom(seed);
  return Float64Array.from({ length }, () => {
    let sum = -6;
    for (let i = 0; i < 12; i++) sum += random();
    return sum * rms;
  });
}

export function sine(length: number, frequencyHz: number, sampleRateHz: number, amplitude: number): Int16Array {
  const step = (2 * Math.PI * frequencyHz) / sampleRateHz;
  return Int16Array.from({ length }, (_, i) => Math.round(amplitude * Math.sin(step * i)));
}

/** Sums to samples, clipped. */
export function toSamples(...parts: readonly ArrayLike<number>[]): Int16Array {
  const length = Math.max(...parts.map((part) => part.length));
  return Int16Array.from({ length }, (_, i) => {
    const sum = parts.reduce((total, part) => total + (part[i] ?? 0), 0);
    return Math.max(-32_768, Math.min(32_767, Math.round(sum)));
  });
}

/**
 * Something like a voice: pulses at a gliding pitch through three moving resonances, in syllables with pauses and
 * hissing consonants.
 */
export function voiceLike(seconds: number, sampleRateHz: number, seed: number): Int16Array {
  const random = seededRandom(seed);
  const length = Math.round(seconds * sampleRateHz);
  const out = new Float64Array(length);
  const memory = new Float64Array(6);
  let at = 0;
  let phase = 0;
  while (at < length) {
    const count = Math.round((0.08 + 0.25 * random()) * sampleRateHz);
    const kind = random();
    const pitchFrom = 90 + 160 * random();
    const pitchTo = pitchFrom * (0.8 + 0.4 * random());
    const formants = [300 + 600 * random(), 900 + 1400 * random(), 2300 + 900 * random()];
    const loudness = 1000 + 5000 * random();
    for (let i = 0; i < count && at < length; i++, at++) {
      const envelope = Math.sin((Math.PI * i) / count) * loudness;
      phase += (pitchFrom + ((pitchTo - pitchFrom) * i) / count) / sampleRateHz;
      const pulse = phase >= 1 ? 8 : 0;
      phase %= 1;
      let value = kind < 0.65 ? pulse : kind < 0.8 ? (random() - 0.5) * 0.6 : 0;
      for (let f = 0; f < 3; f++) {
        const radius = Math.exp((-Math.PI * 90) / sampleRateHz);
        const turn = (2 * Math.PI * formants[f]!) / sampleRateHz;
        const next = value + 2 * radius * Math.cos(turn) * memory[2 * f]! - radius * radius * memory[2 * f + 1]!;
        memory[2 * f + 1] = memory[2 * f]!;
        memory[2 * f] = next;
        value = next * (1 - radius) * 4;
      }
      out[at] = value * envelope;
    }
  }
  return toSamples(out);
}

/** Power of the part of `samples` that is a sine at this frequency, and of all the rest. */
export function splitTone(samples: ArrayLike<number>, frequencyHz: number, sampleRateHz: number) {
  const turn = (2 * Math.PI * frequencyHz) / sampleRateHz;
  // Least squares on sine and cosine, which need not be orthogonal over this length.
  let [ss, cc, sc, xs, xc, xx] = [0, 0, 0, 0, 0, 0];
  for (let i = 0; i < samples.length; i++) {
    const s = Math.sin(turn * i);
    const c = Math.cos(turn * i);
    const x = samples[i]!;
    ss += s * s;
    cc += c * c;
    sc += s * c;
    xs += x * s;
    xc += x * c;
    xx += x * x;
  }
  const determinant = ss * cc - sc * sc;
  const sinePart = (xs * cc - xc * sc) / determinant;
  const cosinePart = (xc * ss - xs * sc) / determinant;
  const tone = (sinePart * xs + cosinePart * xc) / samples.length;
  return {
    tonePower: tone,
    restPower: Math.max(1e-12, xx / samples.length - tone),
    amplitude: Math.hypot(sinePart, cosinePart),
    /** Of a sine, at the first sample. */
    phase: Math.atan2(cosinePart, sinePart),
  };
}

export function db(powerRatio: number): number {
  return 10 * Math.log10(powerRatio);
}

/** Cuts `samples` into pieces of the lengths given in turn, over and over. */
export function* pieces(samples: Int16Array, lengths: readonly number[]): Generator<Int16Array> {
  for (let at = 0, i = 0; at < samples.length; i++) {
    const length = lengths[i % lengths.length]!;
    yield samples.subarray(at, at + length);
    at += length;
  }
}

export function concat(parts: readonly Int16Array[]): Int16Array {
  const out = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
