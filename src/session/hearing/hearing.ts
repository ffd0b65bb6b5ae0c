import { BeepDetector } from '../../audio/tones/beep.js';
import type { Denoising } from '../../audio/dsp/denoiser.js';
import { DtmfDetector, type DtmfDigit } from '../../audio/tones/dtmf.js';
import { FaxDetector } from '../../audio/tones/fax.js';
import { frameSamples, HEARING_RATE_HZ, msToSamples, samplesToMs } from '../../audio/frame.js';
import { dbToGain } from '../../audio/dsp/level.js';
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

/** How far apart the two signs of one press may come: what gateways take to find a tone, and a jitter buffer to wait. */
const APART_MS = 500;

/**
 * Presses of keys, which a line brings as such (RFC 4733), as tones in its sound, or both ways: gateways that turn tones
 * into events let some of the tone through, before the event, along with it or behind it. Each press counts once, when its
 * first sign comes; the second one is taken for the same press.
 */
export class PressedKeys {
  readonly #nowMs: () => number;
  /** Presses of which only one sign has come, by its kind. */
  readonly #events: Press[] = [];
  readonly #tones: Press[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Keys that came as such. @returns those of them that are new */
  asEvents(keys: string): string {
    return [...keys].filter((key) => this.#isNew(key, this.#events, this.#tones)).join('');
  }

  /** A key whose tone was heard. @returns whether it is new */
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
  /** Rate of the audio that `audio` is given. */
  inputRateHz: number;
  vad: VadDetector;
  stt: Pick<SttStream, 'push' | 'speechStarted' | 'speechStopped'>;
  /** Probability from which audio is speech, 0..1. */
  vadThreshold: number;
  /** Takes noise out before the VAD, the recogniser or both. Closed with the ears. */
  denoising?: Denoising | undefined;
  /** Whether keys that are heard now may be the agent's own, which are nobody's input. Default: they never are. */
  ownTones?: () => boolean;
  /** Whether a fax machine may be at the other end: who has a screen is none. Default true. */
  hearsFax?: boolean;
  /** Whether a network's announcement may answer in place of who was called. Default false. */
  hearsAnnouncements?: boolean;
  /** Whether a mailbox's beep is of interest, once somebody has spoken. Default: it never is. */
  hearsBeeps?: () => boolean;
}

/** What is heard in place of a step of tone. */
const SILENCE = new Int16Array(frameSamples(HEARING_RATE_HZ));
/** Quieter than any tone that is listened for: a frame of this level has none, however its energy lies in it. */
const TONELESS_RMS = 32_768 * dbToGain(-50);
/** Whoever listens for tones has forgotten everything behind so much of that. */
const TONELESS_MS = 500;
const NO_DIGITS: readonly DtmfDigit[] = [];
/** The least that a mailbox says before its beep. */
const GREETING_SAMPLES = msToSamples(300, HEARING_RATE_HZ);
/** A fax machine shows itself by then, also one that shares its line with somebody who answers first. */
const FAX_SAMPLES = msToSamples(60_000, HEARING_RATE_HZ);
/** An announcement comes at the beginning; one before its tones may be as long. */
const SIT_SAMPLES = msToSamples(30_000, HEARING_RATE_HZ);
/** A VAD takes this long to forget the beginning of a tone, which it heard before the tone was known as one. */
const DEAF_SAMPLES = msToSamples(120, HEARING_RATE_HZ);
/** The frame that is heard, at 16 kHz: one for all calls of a thread, which hear one after another. */
const frame = new Scratch(new Int16Array(frameSamples(HEARING_RATE_HZ) + 1));
/** Whether a call hears it now: one that hears within another's turn has memory of its own. */
let isFrameInUse = false;

/**
 * The agent's ears: brings what the line delivers to 16 kHz, finds keypad tones and speech in it and hands it to the
 * recogniser. A tone is neither speech nor anything to transcribe: while one sounds, silence is heard in its place.
 * (It is known within 40 ms, before any speech that a VAD takes it for is long enough to be reported.)
 *
 * Positions become times of the session's clock by taking the newest sample to have been spoken just now.
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
  /** Audio is looked at in steps of a frame, so that a tone is told from the speech around it however the line cuts. */
  readonly #stepSamples: number;
  /** The line's own rate where that is less work. */
  readonly #toneRateHz: number;
  readonly #tonelessSamples: number;
  readonly #keys: DtmfDetector;
  readonly #pressed: PressedKeys;
  readonly #beeps = new BeepDetector(HEARING_RATE_HZ);
  /** Null once a fax machine has been found, or where there can be none. */
  #fax: FaxDetector | null;
  /** Null once its tones have been found, or where there can be none. */
  #sit: SpecialInformationDetector | null;
  /** Where somebody, or something, first spoke; and where the beep detector began. */
  #spokenFrom: number | null = null;
  #beepFrom: number | null = null;
  #isOver = false;
  #received = 0;
  /** Samples of the tones' rate without any, on end; and how many of them the tones' detectors have not been given. */
  #toneless = 0;
  #leftOut = 0;
  /** Samples that the denoiser has given. */
  #denoised = 0;
  /** Up to where a VAD's echo of the last tone is not taken for speech. */
  #deafUntil = 0;

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
          stt.speechStarted(startSample);
          emit({ type: 'speech.started', startMs: this.#msAt(startSample) });
        },
        onSpeechEnd: (endSample) => {
          stt.speechStopped(endSample);
          emit({ type: 'speech.stopped', endMs: this.#msAt(endSample) });
        },
      },
      { threshold: options.vadThreshold },
    );
  }

  /** Mono audio at the input rate, any length. */
  audio(samples: Int16Array): void {
    if (this.#isOver) return;
    const step = this.#stepSamples;
    let startSample = this.#received;
    this.#received += this.#resampler.outputLength(samples.length);
    for (let at = 0; at < samples.length; at += step) {
      const line = samples.length <= step ? samples : samples.subarray(at, at + step);
      startSample += this.#hear(line, startSample);
    }
  }

  /** Keys that the line brought as such. Those whose tones have been heard are none. */
  keys(keys: string): void {
    const digits = this.#pressed.asEvents(keys);
    if (digits !== '') this.#emit({ type: 'digits', digits });
  }

  /** Hears nothing any more. */
  stop(): void {
    this.#isOver = true;
  }

  close(): void {
    this.stop();
    this.#vad.close();
    this.#denoising?.denoiser.close();
  }

  /** @param line a frame or less; returns how many samples it is at 16 kHz */
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

  /** Whether nobody who listens for tones has to hear these samples: most of a call is silence. */
  #isToneless(samples: Int16Array): boolean {
    let energy = 0;
    for (let i = 0; i < samples.length; i++) energy += samples[i]! * samples[i]!;
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
    // The recogniser first: a speech edge that the VAD finds in these samples refers to audio it then has.
    const denoising = this.#denoising;
    const clean = denoising?.denoiser.process(heard) ?? heard;
    // The denoiser is some samples behind, but what it gives lies where it was: edges keep their times.
    if (denoising?.stt === true) this.#stt.push(clean, this.#denoised);
    else this.#stt.push(heard, startSample);
    this.#vad.process(denoising?.vad === true ? clean : heard, this.#onWindow);
    this.#denoised += clean.length;
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
      // To some VADs a beep is speech: it does not make its own greeting.
      if (this.#beepFrom + beep.startSample < spokenFrom + GREETING_SAMPLES) continue;
      this.#emit({ type: 'beep', endMs: this.#msAt(this.#beepFrom + beep.endSample) });
    }
  }

  readonly #onWindow = (probability: number, endSample: number): void => {
    this.#detector.onWindow(endSample < this.#deafUntil ? 0 : probability, endSample);
  };

  #msAt(sample: number): number {
    const lagMs = samplesToMs(this.#resampler.delaySamples, HEARING_RATE_HZ);
    return this.#nowMs() - samplesToMs(this.#received - sample, HEARING_RATE_HZ) - lagMs;
  }
}

function never(): boolean {
  return false;
}
