import { BeepDetector } from '../../audio/tones/beep.js';
import type { Denoising } from '../../audio/dsp/denoiser.js';
import { DtmfDetector, type DtmfDigit } from '../../audio/tones/dtmf.js';
import { FaxDetector } from '../../audio/tones/fax.js';
import { frameSamples, HEARING_RATE_HZ, msToSamples, samplesToMs } from '../../audio/frame.js';
import { amplitudeToDbfs, dbToGain } from '../../audio/dsp/level.js';
import { Resampler } from '../../audio/dsp/resample.js';
import { Scratch } from '../../audio/dsp/scratch.js';
import { SpecialInformationDetector } from '../../audio/tones/special-information-tones.js';
import type { SttStream } from '../../providers/stt/stt.js';
import { SpeechDetector } from '../../providers/vad/speech-detector.js';
import type { VadDetector } from '../../providers/vad/vad.js';
import type { SessionContext } from '../session-context.js';

interface Press {
  readonly key: string;
  readonly atMs: number;
}

/**
 * Maximum time between the two signs of one key press: the time that gateways take to detect a tone, and the delay of a
 * jitter buffer.
 */
const APART_MS = 500;

/**
 * Key presses that arrive as events (RFC 4733), as tones in the audio, or both: gateways that convert tones to events
 * let part of the tone through before, with or after the event. Each press counts once, at its first sign; the second
 * sign is matched to it.
 */
export class PressedKeys {
  readonly #nowMs: () => number;
  /** Presses with only one sign so far, by its kind. */
  readonly #events: Press[] = [];
  readonly #tones: Press[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Keys that arrived as events. @returns the new ones among them */
  asEvents(keys: string): string {
    return [...keys].filter((key) => this.#isNew(key, this.#events, this.#tones)).join('');
  }

  /** A key whose tone was detected. @returns whether it is new */
  asTone(key: string): boolean {
    return this.#isNew(key, this.#tones, this.#events);
  }

  #isNew(key: string, same: Press[], others: Press[]): boolean {
    const atMs = this.#nowMs();
    for (const presses of [same, others]) {
      while (presses[0] !== undefined && atMs - presses[0].atMs > APART_MS) presses.shift();
    }
    const pair = others.findIndex((press) => press.key === key);
    if (pair >= 0) {
      others.splice(pair, 1);
      return false;
    }
    same.push({ key, atMs });
    return true;
  }
}

export interface HearingOptions {
  /** Sample rate of the audio for `audio`. */
  inputRateHz: number;
  vad: VadDetector;
  stt: Pick<SttStream, 'push' | 'speechStarted' | 'speechStopped'>;
  /** Probability from which audio is speech, 0 to 1. */
  vadThreshold: number;
  /** Denoises for the VAD, the recogniser or both. Closed with this object. */
  denoising?: Denoising | undefined;
  /** Whether keys detected now may be the agent's own, which are not input. Default: never. */
  ownTones?: () => boolean;
  /** Whether the other end may be a fax machine; false for a user with a screen. Default true. */
  hearsFax?: boolean;
  /** Whether a network announcement may answer the call. Default false. */
  hearsAnnouncements?: boolean;
  /** Whether to report a mailbox's beep after speech. Default: never. */
  hearsBeeps?: () => boolean;
}

/** Replaces a step with a tone. */
const SILENCE = new Int16Array(frameSamples(HEARING_RATE_HZ));
/** Quieter than any tone to detect: a frame below this level contains none. */
const TONELESS_RMS = 32_768 * dbToGain(-50);
/** After this much silence the tone detectors have no memory of earlier audio. */
const TONELESS_MS = 500;
const NO_DIGITS: readonly DtmfDigit[] = [];
/** Minimum length of a mailbox's greeting before its beep. */
const GREETING_SAMPLES = msToSamples(300, HEARING_RATE_HZ);
/** A fax machine is detected within this time, also if a person on the same line answers first. */
const FAX_SAMPLES = msToSamples(60_000, HEARING_RATE_HZ);
/** Special information tones come within this time; an announcement before them may last as long. */
const SIT_SAMPLES = msToSamples(30_000, HEARING_RATE_HZ);
/** Silence after speech that ends every turn. */
const SETTLED_SAMPLES = msToSamples(4000, HEARING_RATE_HZ);
/** A VAD needs this long to forget the start of a tone, which it got before the tone was detected. */
const DEAF_SAMPLES = msToSamples(120, HEARING_RATE_HZ);
/** The current frame at 16 kHz, shared by all calls of a thread, which are processed one after another. */
const frame = new Scratch(new Int16Array(frameSamples(HEARING_RATE_HZ) + 1));
/** Whether a call uses the shared frame; a nested call uses its own memory. */
let isFrameInUse = false;

/**
 * The agent's audio input: resamples the line's audio to 16 kHz, detects keys and speech, and feeds the recogniser. A
 * tone is neither speech nor words, so silence replaces it. (A tone is detected within 40 ms, before a VAD could report
 * it as speech.)
 *
 * Positions become times on the session's clock: the newest sample was spoken now.
 */
export class Hearing {
  readonly #inputRateHz: number;
  readonly #vad: VadDetector;
  readonly #stt: HearingOptions['stt'];
  readonly #denoising: Denoising | undefined;
  readonly #nowMs: () => number;
  readonly #ownTones: () => boolean;
  readonly #hearsBeeps: (() => boolean) | null;
  readonly #emit: SessionContext['emit'];
  readonly #resampler: Resampler;
  readonly #detector: SpeechDetector;
  /**
   * Audio is processed in steps of a frame, so that the detection of tones does not depend on the line's block size.
   */
  readonly #stepSamples: number;
  /** The line's own rate, if that is cheaper. */
  readonly #toneRateHz: number;
  readonly #tonelessSamples: number;
  readonly #keys: DtmfDetector;
  readonly #pressed: PressedKeys;
  readonly #beeps = new BeepDetector(HEARING_RATE_HZ);
  /** Null after a fax machine was detected, or if there cannot be one. */
  #fax: FaxDetector | null;
  /** Null after the tones were detected, or if there cannot be any. */
  #sit: SpecialInformationDetector | null;
  /** Start of the first speech, and of the beep detector. */
  #spokenFrom: number | null = null;
  #beepFrom: number | null = null;
  /** End of the last speech. */
  #silentFrom: number | null = null;
  #isOver = false;
  #isDeaf = false;
  #received = 0;
  /** Consecutive samples without tones at the tone rate, and how many of them the tone detectors have not got. */
  #toneless = 0;
  #leftOut = 0;
  /** Samples from the denoiser. */
  #denoised = 0;
  /** Until here a VAD's reaction to the last tone does not count as speech. */
  #deafUntil = 0;
  /** Mean square of the newest step, and sum and number of those that the VAD took for speech since it last began. */
  #power = 0;
  #spokenPower = 0;
  #spokenSteps = 0;
  #isSpeech = false;
  readonly #vadThreshold: number;

  constructor({ nowMs, emit }: Pick<SessionContext, 'nowMs' | 'emit'>, options: HearingOptions) {
    const { inputRateHz, vad, stt, hearsFax = true } = options;
    this.#inputRateHz = inputRateHz;
    this.#vad = vad;
    this.#stt = stt;
    this.#denoising = options.denoising;
    this.#nowMs = nowMs;
    this.#ownTones = options.ownTones ?? never;
    this.#hearsBeeps = options.hearsBeeps ?? null;
    this.#emit = emit;
    this.#vadThreshold = options.vadThreshold;
    this.#resampler = new Resampler(inputRateHz, HEARING_RATE_HZ);
    this.#pressed = new PressedKeys(nowMs);
    this.#stepSamples = Math.floor(frameSamples(inputRateHz));
    this.#toneRateHz = Math.min(inputRateHz, HEARING_RATE_HZ);
    this.#tonelessSamples = msToSamples(TONELESS_MS, this.#toneRateHz);
    this.#keys = new DtmfDetector(this.#toneRateHz);
    this.#fax = hearsFax ? new FaxDetector(this.#toneRateHz) : null;
    this.#sit = options.hearsAnnouncements === true ? new SpecialInformationDetector(this.#toneRateHz) : null;
    this.#detector = new SpeechDetector(
      vad.windowSamples,
      {
        onSpeechStart: (startSample) => {
          this.#spokenFrom ??= startSample;
          this.#spokenPower = 0;
          this.#spokenSteps = 0;
          stt.speechStarted(startSample);
          emit({ type: 'speech.started', startMs: this.#msAt(startSample) });
        },
        onSpeechEnd: (endSample) => {
          this.#silentFrom = endSample;
          stt.speechStopped(endSample);
          emit({ type: 'speech.stopped', endMs: this.#msAt(endSample) });
        },
      },
      { threshold: options.vadThreshold },
    );
  }

  /** How loud the user's latest speech is so far: RMS, SILENCE_DBFS to 0. */
  get speechLevelDbfs(): number {
    return amplitudeToDbfs(this.#spokenSteps === 0 ? 0 : Math.sqrt(this.#spokenPower / this.#spokenSteps));
  }

  /** Whether the user speaks, or has just spoken: the VAD, the recogniser and the turn model need the silence after it. */
  get awaitsSilence(): boolean {
    if (this.#isOver) return false;
    return (
      this.#detector.speaking || (this.#silentFrom !== null && this.#received - this.#silentFrom < SETTLED_SAMPLES)
    );
  }

  /** Hears silence in place of the line, or (`on` false) the line again. */
  deafen(on: boolean): void {
    this.#isDeaf = on;
  }

  /** Mono audio at the input rate, of any length. */
  audio(brought: Int16Array): void {
    if (this.#isOver) return;
    const samples = this.#isDeaf ? new Int16Array(brought.length) : brought;
    const step = this.#stepSamples;
    let startSample = this.#received;
    this.#received += this.#resampler.outputLength(samples.length);
    for (let at = 0; at < samples.length; at += step) {
      const line = samples.length <= step ? samples : samples.subarray(at, at + step);
      startSample += this.#hear(line, startSample);
    }
  }

  /** Keys that arrived as events. Those whose tones were detected before do not count again. */
  keys(keys: string): void {
    const digits = this.#pressed.asEvents(keys);
    if (digits !== '') this.#emit({ type: 'digits', digits });
  }

  /** Stops all processing. */
  stop(): void {
    this.#isOver = true;
  }

  close(): void {
    this.stop();
    this.#vad.close();
    this.#denoising?.denoiser.close();
  }

  /** @param line at most a frame; returns its number of samples at 16 kHz */
  #hear(line: Int16Array, startSample: number): number {
    if (this.#inputRateHz === HEARING_RATE_HZ || isFrameInUse) {
      return this.#heard(line, this.#resampler.process(line), startSample);
    }
    isFrameInUse = true;
    try {
      const samples = frame.of(this.#resampler.outputLength(line.length));
      this.#resampler.processInto(line, samples);
      return this.#heard(line, samples, startSample);
    } finally {
      isFrameInUse = false;
    }
  }

  #heard(line: Int16Array, samples: Int16Array, startSample: number): number {
    const tones = this.#toneRateHz === this.#inputRateHz ? line : samples;
    if (this.#isToneless(tones)) this.#step(samples, startSample, NO_DIGITS, false);
    else {
      const digits = this.#keys.push(tones);
      this.#step(samples, startSample, digits, this.#keys.held !== undefined || digits.length > 0);
      if (this.#fax !== null && startSample < FAX_SAMPLES) this.#listenForFax(this.#fax, tones);
      if (this.#sit !== null && startSample < SIT_SAMPLES) this.#listenForTones(this.#sit, tones);
    }
    return samples.length;
  }

  /** Whether the tone detectors can skip these samples: most of a call is silence. */
  #isToneless(samples: Int16Array): boolean {
    let energy = 0;
    for (let i = 0; i < samples.length; i++) energy += samples[i]! * samples[i]!;
    this.#power = energy / samples.length;
    const wasToneless = this.#toneless >= this.#tonelessSamples;
    this.#toneless = energy < TONELESS_RMS ** 2 * samples.length ? this.#toneless + samples.length : 0;
    if (wasToneless && this.#toneless > 0) {
      this.#leftOut += samples.length;
      return true;
    }
    if (this.#leftOut > 0) {
      this.#keys.skip(this.#leftOut);
      this.#fax?.skip(this.#leftOut);
      this.#sit?.skip(this.#leftOut);
      this.#leftOut = 0;
    }
    return false;
  }

  #step(samples: Int16Array, startSample: number, digits: readonly DtmfDigit[], toneSounds: boolean): void {
    if (toneSounds) this.#deafUntil = startSample + samples.length + DEAF_SAMPLES;
    const heard = toneSounds ? SILENCE.subarray(0, samples.length) : samples;
    // The recogniser comes first: a speech edge that the VAD finds in these samples refers to audio that it must
    // already have.
    const denoising = this.#denoising;
    const clean = denoising?.denoiser.process(heard) ?? heard;
    // The denoiser lags some samples, but its output keeps its position, so edges keep their times.
    if (denoising?.stt === true) this.#stt.push(clean, this.#denoised);
    else this.#stt.push(heard, startSample);
    this.#vad.process(denoising?.vad === true ? clean : heard, this.#onWindow);
    this.#denoised += clean.length;
    if (this.#isSpeech) {
      this.#spokenPower += this.#power;
      this.#spokenSteps++;
    }
    if (digits.length > 0 && !this.#ownTones()) {
      for (const { digit } of digits) if (this.#pressed.asTone(digit)) this.#emit({ type: 'digits', digits: digit });
    }
    if (this.#spokenFrom !== null && this.#hearsBeeps?.() === true) {
      this.#listenForBeep(samples, startSample, this.#spokenFrom);
    }
  }

  #listenForFax(fax: FaxDetector, samples: Int16Array): void {
    const sign = fax.push(samples);
    if (sign === null) return;
    this.#fax = null;
    this.#emit({ type: 'fax', sign });
  }

  #listenForTones(sit: SpecialInformationDetector, samples: Int16Array): void {
    const end = sit.push(samples);
    if (end === null) return;
    this.#sit = null;
    this.#emit({ type: 'sit', end });
  }

  #listenForBeep(samples: Int16Array, startSample: number, spokenFrom: number): void {
    this.#beepFrom ??= startSample;
    for (const beep of this.#beeps.push(samples)) {
      // Some VADs take a beep for speech: it is not its own greeting.
      if (this.#beepFrom + beep.startSample < spokenFrom + GREETING_SAMPLES) continue;
      this.#emit({ type: 'beep', endMs: this.#msAt(this.#beepFrom + beep.endSample) });
    }
  }

  readonly #onWindow = (probability: number, endSample: number): void => {
    const speech = endSample < this.#deafUntil ? 0 : probability;
    this.#isSpeech = speech >= this.#vadThreshold;
    this.#detector.onWindow(speech, endSample);
  };

  #msAt(sample: number): number {
    const lagMs = samplesToMs(this.#resampler.delaySamples, HEARING_RATE_HZ);
    return this.#nowMs() - samplesToMs(this.#received - sample, HEARING_RATE_HZ) - lagMs;
  }
}

function never(): boolean {
  return false;
}
