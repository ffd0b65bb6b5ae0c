import { AudioHistory } from '../../audio/audio-history.js';
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
  readonly #history = new AudioHistory(PROSODY_WINDOW_S * HEARING_RATE_HZ);
  #turnSample: number | null = null;

  constructor(context: Pick<SessionContext, 'nowMs' | 'log'>) {
    this.#context = context;
  }

  push(samples: Int16Array, startSample: number): void {
    this.#history.write(samples, startSample);
  }

  speechStarted(sample: number): void {
    this.#turnSample ??= Math.max(0, sample - LEAD_SAMPLES);
  }

  speechStopped(sample: number): void {
    const features = prosodicFeatures(this.#history.readFrom(this.#turnSample ?? 0));
    if (features === null) return;
    const endMs = Math.round(this.#context.nowMs() - samplesToMs(this.#history.end - sample, HEARING_RATE_HZ));
    this.#context.log(PAUSE_NOTE, { endMs, ...features });
  }

  /** The turn has ended: the next speech starts a new one. */
  endTurn(): void {
    this.#turnSample = null;
  }
}
