import { HEARING_RATE_HZ, samplesToMs } from '../../audio/frame.js';
import { PROSODY_WINDOW_S, prosodicFeatures } from '../../audio/dsp/prosody.js';
import type { SttStream } from '../../providers/stt/stt.js';
import type { SessionContext } from '../session-context.js';

/** The note in the event log: `endMs` and the features. */
export const PAUSE_NOTE = 'turn.pause';

/** Silence before the turn's first sound that belongs to its audio, as for turn models. */
const LEAD_SAMPLES = HEARING_RATE_HZ / 5;

/** Gets the same audio as the recogniser, and notes the prosody before each pause of the user in the event log. */
export class PauseNotes implements Pick<SttStream, 'push' | 'speechStarted' | 'speechStopped'> {
  readonly #context: Pick<SessionContext, 'nowMs' | 'log'>;
  readonly #ring = new Int16Array(PROSODY_WINDOW_S * HEARING_RATE_HZ);
  #endSample = 0;
  #turnSample: number | null = null;

  constructor(context: Pick<SessionContext, 'nowMs' | 'log'>) {
    this.#context = context;
  }

  push(samples: Int16Array, startSample: number): void {
    for (const [index, sample] of samples.entries()) this.#ring[(startSample + index) % this.#ring.length] = sample;
    this.#endSample = startSample + samples.length;
  }

  speechStarted(sample: number): void {
    this.#turnSample ??= Math.max(0, sample - LEAD_SAMPLES);
  }

  speechStopped(sample: number): void {
    const from = Math.max(this.#turnSample ?? 0, this.#endSample - this.#ring.length);
    const audio = new Int16Array(this.#endSample - from);
    for (let at = 0; at < audio.length; at++) audio[at] = this.#ring[(from + at) % this.#ring.length] ?? 0;
    const features = prosodicFeatures(audio);
    if (features === null) return;
    const endMs = Math.round(this.#context.nowMs() - samplesToMs(this.#endSample - sample, HEARING_RATE_HZ));
    this.#context.log(PAUSE_NOTE, { endMs, ...features });
  }

  /** The turn has ended: the next speech starts a new one. */
  endTurn(): void {
    this.#turnSample = null;
  }
}
