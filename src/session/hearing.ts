import { HEARING_RATE_HZ, samplesToMs } from '../audio/frame.js';
import { Resampler } from '../audio/resample.js';
import type { ConversationEvent } from '../conversation/events.js';
import type { SttStream } from '../providers/stt/stt.js';
import { SpeechDetector } from '../providers/vad/speech-detector.js';
import type { VadDetector } from '../providers/vad/vad.js';

export interface HearingOptions {
  /** Rate of the audio that `audio` is given. */
  inputRateHz: number;
  vad: VadDetector;
  /** The recogniser to speak to just now. */
  stt: () => SttStream;
  /** Probability from which audio is speech, 0..1. */
  vadThreshold: number;
  nowMs: () => number;
  onEvent: (event: ConversationEvent) => void;
}

/**
 * The agent's ears: brings what the line delivers to 16 kHz, finds speech in it and hands it to the recogniser.
 * Positions become times of the session's clock by taking the newest sample to have been spoken just now.
 */
export class Hearing {
  readonly #options: HearingOptions;
  readonly #resampler: Resampler;
  readonly #detector: SpeechDetector;
  #received = 0;

  constructor(options: HearingOptions) {
    this.#options = options;
    this.#resampler = new Resampler(options.inputRateHz, HEARING_RATE_HZ);
    this.#detector = new SpeechDetector(
      options.vad.windowSamples,
      {
        onSpeechStart: (startSample) => {
          options.stt().speechStarted(startSample);
          options.onEvent({ type: 'speech.started', startMs: this.#msAt(startSample) });
        },
        onSpeechEnd: (endSample) => {
          options.stt().speechStopped(endSample);
          options.onEvent({ type: 'speech.stopped', endMs: this.#msAt(endSample) });
        },
      },
      { threshold: options.vadThreshold },
    );
  }

  /** Mono audio at the input rate, any length. */
  audio(samples: Int16Array): void {
    if (samples.length === 0) return;
    const heard = this.#resampler.process(samples);
    const start = this.#received;
    this.#received += heard.length;
    // The recogniser first: a speech edge that the VAD finds in these samples refers to audio it then has.
    this.#options.stt().push(heard, start);
    this.#options.vad.process(heard, this.#detector.onWindow);
  }

  close(): void {
    this.#options.vad.close();
  }

  #msAt(sample: number): number {
    return this.#options.nowMs() - samplesToMs(this.#received - sample, HEARING_RATE_HZ);
  }
}
