import type { Denoiser } from '../../../audio/dsp/denoiser.js';
import { levelOf } from '../../../audio/dsp/level.js';
import { HEARING_RATE_HZ, msToSamples } from '../../../audio/frame.js';

/** Noise this close to the speech, in dB, costs words; see docs/stt.md. */
const NOISY_DB = 24;
/** Between noisy and clean, so that the line does not go back and forth. */
const HYSTERESIS_DB = 6;
/** Level of speech before any was heard, in dBFS. */
const USUAL_SPEECH_DBFS = -22;
/**
 * How fast the measured levels follow, as a share of the difference by block. The noise rises slowly: speech begins some
 * blocks before it is detected.
 */
const FOLLOW = { noiseUp: 0.03, noiseDown: 0.2, speech: 0.1 } as const;
const BLOCK_SAMPLES = msToSamples(20, HEARING_RATE_HZ);
/** The noise counts as measured after this many blocks without speech. */
const MEASURED_BLOCKS = 15;
/** Digital silence counts as noise of this level. */
const SILENCE_DBFS = -80;

/**
 * Takes steady noise out of a session's audio as long as the line is noisy: it compares the level of speech with that
 * between. A quiet line passes unchanged, because the denoiser takes part of soft sounds, too.
 */
export class CleanLine {
  readonly #denoiser: Denoiser;
  #noiseDbfs: number | null = null;
  #speechDbfs = USUAL_SPEECH_DBFS;
  #blocks = 0;
  /** Position of the next denoised sample; null = the line is quiet. */
  #denoisedTo: number | null = null;

  /** @param denoiser closed with this object */
  constructor(denoiser: Denoiser) {
    this.#denoiser = denoiser;
  }

  /** Whether noise is being taken out. */
  get isNoisy(): boolean {
    return this.#denoisedTo !== null;
  }

  /**
   * The audio to recognise. The denoiser's lags a little, but keeps its positions.
   * @param isSpeech whether the user speaks, as far as is known; the line changes only while they do not
   */
  process(samples: Int16Array, startSample: number, isSpeech: boolean): { samples: Int16Array; startSample: number } {
    this.#measure(samples, isSpeech);
    if (!isSpeech) this.#choose(startSample);
    if (this.#denoisedTo === null) return { samples, startSample };
    const clean = this.#denoiser.process(samples);
    const from = this.#denoisedTo;
    this.#denoisedTo += clean.length;
    return { samples: clean, startSample: from };
  }

  close(): void {
    this.#denoiser.close();
  }

  #measure(samples: Int16Array, isSpeech: boolean): void {
    for (let at = 0; at + BLOCK_SAMPLES <= samples.length; at += BLOCK_SAMPLES) {
      const level = Math.max(SILENCE_DBFS, levelOf(samples.subarray(at, at + BLOCK_SAMPLES)).rmsDbfs);
      if (!isSpeech) {
        this.#blocks++;
        const noise = this.#noiseDbfs ?? level;
        this.#noiseDbfs = follow(noise, level, level > noise ? FOLLOW.noiseUp : FOLLOW.noiseDown);
      } else if (this.#noiseDbfs === null || level > this.#noiseDbfs + HYSTERESIS_DB) {
        this.#speechDbfs = follow(this.#speechDbfs, level, FOLLOW.speech);
      }
    }
  }

  #choose(startSample: number): void {
    if (this.#noiseDbfs === null || this.#blocks < MEASURED_BLOCKS) return;
    const distance = this.#speechDbfs - this.#noiseDbfs;
    if (this.#denoisedTo === null && distance < NOISY_DB) this.#denoisedTo = startSample;
    else if (distance > NOISY_DB + HYSTERESIS_DB) this.#denoisedTo = null;
  }
}

function follow(value: number, level: number, share: number): number {
  return value + share * (level - value);
}
