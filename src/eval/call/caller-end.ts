import { FRAME_MS, frameSamples } from '../../audio/frame.js';
import { dbToGain, levelOf } from '../../audio/dsp/level.js';
import { resample } from '../../audio/dsp/resample.js';
import type { Random } from '../../base/random.js';
import type { CallerAudio } from '../caller/caller.js';
import type { LineConditions } from '../suite/suite-schema.js';
import { SPEECH_DBFS } from './caller-voices.js';
import type { CallerLineEvents } from './caller-line.js';

/** Louder frames of the agent are its voice. */
const QUIET_DBFS = -45;
const ECHO_DELAY_MS = 120;
/** A pause in the agent's voice is not its end before this long. */
const AGENT_PAUSE_TICKS = 10;
const FULL_SCALE = 32_768;

export interface CallerEndOptions {
  random: Random;
  conditions: LineConditions;
  /** The noise of `conditions.noise.file`. */
  noise: CallerAudio | null;
  /** Keeps both sides for a recording. */
  records: boolean;
}

/** The caller's device, in ticks of 20 ms: what they say with noise and echo, and what they hear of the agent. */
export class CallerEnd {
  readonly sampleRateHz: number;
  /** What was said and heard here, 20 ms a piece. */
  readonly recorded: { caller: Int16Array[]; agent: Int16Array[] } | null;
  readonly #options: CallerEndOptions;
  readonly #onAgentSpeaks: CallerLineEvents['onAgentSpeaks'];
  readonly #frame: number;
  readonly #noise: NoiseSource | null;
  readonly #noisePeak: number;
  readonly #echoGain: number;
  /** The agent's frames that return as echo, oldest first. */
  readonly #echo: (Int16Array | null)[];
  #speech: { samples: Int16Array; at: number; done: () => void } | null = null;
  #agentQuietTicks = AGENT_PAUSE_TICKS;
  #isOver = false;

  constructor(
    sampleRateHz: number,
    options: CallerEndOptions,
    { onAgentSpeaks }: Pick<CallerLineEvents, 'onAgentSpeaks'>,
  ) {
    const { noise, echo } = options.conditions;
    this.sampleRateHz = sampleRateHz;
    this.#options = options;
    this.#onAgentSpeaks = onAgentSpeaks;
    this.#frame = frameSamples(sampleRateHz);
    this.#noise = this.#noiseSource(noise);
    this.#noisePeak = FULL_SCALE * dbToGain(SPEECH_DBFS - (noise?.snr_db ?? 0));
    this.#echoGain = dbToGain(echo?.level_db ?? 0);
    const echoFrames = echo === undefined ? 0 : Math.max(1, Math.round((echo.delay_ms ?? ECHO_DELAY_MS) / FRAME_MS));
    this.#echo = Array.from({ length: echoFrames }, () => null);
    this.recorded = options.records ? { caller: [], agent: [] } : null;
  }

  #noiseSource(noise: LineConditions['noise']): NoiseSource | null {
    const { random, noise: file } = this.#options;
    if (noise === undefined) return null;
    if (file !== null) return repeatedNoise(resample(file.samples, file.sampleRateHz, this.sampleRateHz));
    return noise.kind === 'white' ? whiteNoise(random) : pinkNoise(random);
  }

  /** Resolves when all of it was sent, or the line is over. */
  say({ samples, sampleRateHz }: CallerAudio): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    return new Promise((done) => {
      this.#speech?.done();
      this.#speech = { samples: resample(samples, sampleRateHz, this.sampleRateHz), at: 0, done };
    });
  }

  /** The agent's frame of this tick; null = silence. @param isVoice false for a background without speech */
  hear(heard: Int16Array | null, isVoice: boolean): void {
    const isLoud = isVoice && heard !== null && levelOf(heard).rmsDbfs > QUIET_DBFS;
    const begins = isLoud && this.#agentQuietTicks >= AGENT_PAUSE_TICKS;
    this.#agentQuietTicks = isLoud ? 0 : this.#agentQuietTicks + 1;
    if (begins) this.#onAgentSpeaks(true, 0);
    else if (this.#agentQuietTicks === AGENT_PAUSE_TICKS)
      this.#onAgentSpeaks(false, (AGENT_PAUSE_TICKS - 1) * FRAME_MS);
    this.recorded?.agent.push(heard ?? new Int16Array(this.#frame));
  }

  /** The caller's frame of this tick: speech, noise and the echo of what is heard; null = silence. */
  next(heard: Int16Array | null): Int16Array | null {
    const echo = this.#echoed(heard);
    const speech = this.#speech;
    if (speech === null && this.#noise === null && echo === null) return null;
    const frame = new Int16Array(this.#frame);
    for (let i = 0; i < frame.length; i++) {
      const sample =
        (speech?.samples[speech.at + i] ?? 0) +
        (this.#noise === null ? 0 : this.#noise() * this.#noisePeak) +
        (echo === null ? 0 : (echo[i] ?? 0) * this.#echoGain);
      frame[i] = Math.max(-FULL_SCALE, Math.min(FULL_SCALE - 1, Math.round(sample)));
    }
    if (speech !== null) {
      speech.at += frame.length;
      if (speech.at >= speech.samples.length) {
        this.#speech = null;
        speech.done();
      }
    }
    return frame;
  }

  /** Keeps what was said in this tick. @param said as it is recorded; null = silence */
  keep(said: Int16Array | null): void {
    this.recorded?.caller.push(said ?? new Int16Array(this.#frame));
  }

  /** The line is over. May be called twice. */
  end(): void {
    this.#isOver = true;
    if (this.#agentQuietTicks < AGENT_PAUSE_TICKS) this.#onAgentSpeaks(false, 0);
    this.#agentQuietTicks = AGENT_PAUSE_TICKS;
    this.#speech?.done();
    this.#speech = null;
  }

  #echoed(heard: Int16Array | null): Int16Array | null {
    if (this.#echo.length === 0) return null;
    this.#echo.push(heard);
    return this.#echo.shift() ?? null;
  }
}

/** Samples of noise with a mean square of 1. */
export type NoiseSource = () => number;

/** Uniformly distributed white noise. */
export function whiteNoise(random: Random): NoiseSource {
  const peak = Math.sqrt(3);
  return () => (random.next() * 2 - 1) * peak;
}

/** Poles and gains of the filter that makes white noise pink, within 0.05 dB above 9 Hz at 44.1 kHz (Paul Kellet, 1999). */
const POLES = [0.99886, 0.99332, 0.969, 0.8665, 0.55, -0.7616] as const;
const GAINS = [0.0555179, 0.0750759, 0.153852, 0.3104856, 0.5329522, -0.016898] as const;
const DIRECT = 0.5362;
const DELAYED = 0.115926;
/** Root mean square of the filter's output for white noise with a mean square of 1; see `noise.test.ts`. */
const FILTERED_RMS = 3.046;

/** Pink noise: 3 dB less an octave. */
export function pinkNoise(random: Random): NoiseSource {
  const white = whiteNoise(random);
  const states = POLES.map(() => 0);
  let delayed = 0;
  return () => {
    const input = white();
    let output = delayed + input * DIRECT;
    for (const [index, pole] of POLES.entries()) {
      const state = pole * (states[index] ?? 0) + input * (GAINS[index] ?? 0);
      states[index] = state;
      output += state;
    }
    delayed = input * DELAYED;
    return output / FILTERED_RMS;
  };
}

/** A recording that repeats, at the level of a mean square of 1. */
export function repeatedNoise(samples: Int16Array): NoiseSource {
  let squares = 0;
  for (const sample of samples) squares += sample * sample;
  const rms = Math.sqrt(squares / Math.max(1, samples.length));
  let at = 0;
  return () => {
    const sample = samples[at] ?? 0;
    at = (at + 1) % Math.max(1, samples.length);
    return rms === 0 ? 0 : sample / rms;
  };
}
