/** What levels are measured against: a full-scale square wave is 0 dBFS, so a full-scale sine is -3.01 dBFS RMS. */
const FULL_SCALE = 32_768;

/** The level reported for digital silence; the quietest single sample is -90.3 dBFS. */
export const SILENCE_DBFS = -100;

export interface Level {
  /** Root mean square, SILENCE_DBFS to 0. */
  readonly rmsDbfs: number;
  /** The largest sample, SILENCE_DBFS to 0. */
  readonly peakDbfs: number;
}

/** Factor for a change by `db`: 0 dB is 1, -6.02 dB is a half. */
export function dbToGain(db: number): number {
  return 10 ** (db / 20);
}

/** Amplitude in samples (0 to 32768) as dBFS. */
export function amplitudeToDbfs(amplitude: number): number {
  return amplitude > 0 ? Math.max(SILENCE_DBFS, 20 * Math.log10(amplitude / FULL_SCALE)) : SILENCE_DBFS;
}

/** Measures over as many frames as are pushed between two reads. */
export class LevelMeter {
  #squares = 0;
  #samples = 0;
  #peak = 0;

  push(samples: Int16Array): void {
    let squares = 0;
    let peak = this.#peak;
    for (let i = 0; i < samples.length; i++) {
      const sample = samples[i]!;
      const size = sample < 0 ? -sample : sample;
      if (size > peak) peak = size;
      squares += sample * sample;
    }
    this.#squares += squares;
    this.#samples += samples.length;
    this.#peak = peak;
  }

  /** The level since the last read, which starts a new measurement. */
  read(): Level {
    const rms = this.#samples > 0 ? Math.sqrt(this.#squares / this.#samples) : 0;
    const level = { rmsDbfs: amplitudeToDbfs(rms), peakDbfs: amplitudeToDbfs(this.#peak) };
    this.#squares = 0;
    this.#samples = 0;
    this.#peak = 0;
    return level;
  }
}

/** The level of one piece of audio. */
export function levelOf(samples: Int16Array): Level {
  const meter = new LevelMeter();
  meter.push(samples);
  return meter.read();
}
