import { frameSamples, HEARING_RATE_HZ } from '../../../dist/audio/frame.js';
import type { Cancel } from '../../../dist/base/clock.js';
import type { Ticker } from '../../../dist/base/ticker.js';
import { ANSWER, type Conduct, SAID, soundOf } from '../../lib/caller-sound.js';
import { InstantLlm, InstantTts, ToldStt } from './livekit-doubles.js';
import { PacedOutput, type PushedInput } from './livekit-line.js';
import { type Detector, detectorFor, startSession } from './livekit-side.js';

/** Louder than the hiss of a caller who says nothing. */
const SPOKEN = 100;
const FRAME = frameSamples(HEARING_RATE_HZ);
/** The recogniser's final transcript comes so long after the end of speech: the detector's delay and 50 ms. */
const FINAL_SAMPLES = HEARING_RATE_HZ * 0.15;

interface CallerLine {
  input: PushedInput;
  output: PacedOutput;
  stt: ToldStt;
  at: number;
}

/** The callers of bench/lib/callers.ts, who talk to LiveKit Agents. */
export class LivekitCallers {
  /** Answers that were heard to begin. */
  answers = 0;
  readonly #conduct: Conduct;
  readonly #detector: Detector;
  readonly #sound: Int16Array;
  readonly #finalAt: number;
  readonly #lines: CallerLine[] = [];
  readonly #stop: Cancel;

  constructor(ticker: Ticker, conduct: Conduct, detector: Detector) {
    this.#conduct = conduct;
    this.#detector = detector;
    this.#sound = soundOf(conduct);
    const endOfSpeech = this.#sound.findLastIndex((sample) => Math.abs(sample) > SPOKEN);
    this.#finalAt = Math.floor((endOfSpeech + FINAL_SAMPLES) / FRAME) * FRAME;
    this.#stop = ticker.subscribe(() => {
      this.#tick();
    });
  }

  /** One more caller; `phase` (0..1) is how far into the cycle it begins. */
  async add(phase: number): Promise<void> {
    const stt = new ToldStt();
    const output = new PacedOutput(
      () => this.answers++,
      () => undefined,
    );
    const [vad, llm, tts] = [await detectorFor(this.#detector), new InstantLlm(ANSWER), new InstantTts()];
    const { input } = await startSession({ stt, vad, llm, tts, output });
    this.#lines.push({ input, output, stt, at: Math.floor((phase * this.#sound.length) / FRAME) * FRAME });
  }

  leave(): void {
    this.#stop();
  }

  #tick(): void {
    for (const line of this.#lines) {
      line.input.push(this.#sound.slice(line.at, line.at + FRAME));
      if (this.#conduct === 'talking' && line.at === this.#finalAt) line.stt.tell(SAID, true);
      line.output.tick();
      line.at = (line.at + FRAME) % this.#sound.length;
    }
  }
}
