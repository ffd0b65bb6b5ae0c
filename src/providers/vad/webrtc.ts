/**
 * WebRTC's VAD through the optional dependency `webrtcvad`: a few microseconds a frame, for machines packed with calls.
 * It judges by the shape of the spectrum alone, so steady noise, keyboards and music often pass for speech.
 */
import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { HEARING_RATE_HZ } from '../../audio/frame.js';
import { ParleyError } from '../../errors.js';
import type { VadDetector, VadProvider } from './vad.js';
import { WindowBuffer } from './window-buffer.js';

/** What the package exports. One instance judges one stream, in pieces of 10, 20 or 30 ms. */
interface Package {
  readonly default: new (sampleRateHz: number, mode: number) => Judge;
}
interface Judge {
  process(samples: Buffer): boolean;
}

/** 20 ms: one frame of the media path. */
const WINDOW_SAMPLES = 320;
/** The strictest of the four; the others take most noise for speech. */
const MODE = 3;
/** How much of the probability each window makes up. */
const WEIGHT = 0.4;

/**
 * The provider `webrtc`. The package only says yes or no for each window; the probability is the share of recent windows
 * that were speech, older ones weighing ever less. From silence, a threshold of 0.5 is reached by 2 windows of speech in
 * a row (40 ms), 0.8 by 4, 0.9 by 5.
 */
export class WebRtcVad implements VadProvider {
  readonly name = 'webrtc';
  readonly #require: (name: string) => unknown;
  #package: Package | null = null;

  /** @param require how to load the package */
  constructor(require: (name: string) => unknown = createRequire(import.meta.url)) {
    this.#require = require;
  }

  /** @throws ParleyError `PROVIDER_FAILED` when the package is not there, or off the main thread. */
  warmUp(): Promise<void> {
    return new Promise((resolve) => {
      this.#load();
      resolve();
    });
  }

  /** @throws ParleyError as `warmUp` does */
  createDetector(): VadDetector {
    return new WebRtcDetector(this.#load());
  }

  #load(): Package {
    // It keeps a reference in a C++ global, and a second thread that loads it brings the process down.
    if (!isMainThread) throw failed('the package webrtcvad works on the main thread only');
    try {
      this.#package ??= this.#require('webrtcvad') as Package;
    } catch (error) {
      throw failed('the optional package webrtcvad is not installed or did not compile', error);
    }
    return this.#package;
  }
}

class WebRtcDetector implements VadDetector {
  readonly windowSamples = WINDOW_SAMPLES;
  readonly #create: () => Judge;
  readonly #windows: WindowBuffer;
  #vad: Judge | null;
  #probability = 0;
  #onWindow: ((probability: number, endSample: number) => void) | null = null;

  constructor({ default: JudgeClass }: Package) {
    this.#create = () => new JudgeClass(HEARING_RATE_HZ, MODE);
    this.#vad = this.#create();
    this.#windows = new WindowBuffer(WINDOW_SAMPLES, (endSample) => {
      const isSpeech = this.#vad?.process(bytes) === true;
      this.#probability += WEIGHT * ((isSpeech ? 1 : 0) - this.#probability);
      this.#onWindow?.(this.#probability, endSample);
    });
    const bytes = Buffer.from(this.#windows.window.buffer);
  }

  process(samples: Int16Array, onWindow: (probability: number, endSample: number) => void): void {
    if (this.#vad === null) return;
    this.#onWindow = onWindow;
    this.#windows.push(samples);
  }

  reset(): void {
    if (this.#vad === null) return;
    this.#vad = this.#create();
    this.#probability = 0;
    this.#windows.reset();
  }

  close(): void {
    this.#vad = null;
    this.#onWindow = null;
  }
}

function failed(reason: string, cause?: unknown): ParleyError {
  return new ParleyError('PROVIDER_FAILED', { provider: 'webrtc', reason }, { cause });
}
