import { HEARING_RATE_HZ } from '../audio/frame.js';
import type { SttStream } from '../providers/stt/stt.js';

/** Audio kept at most while no recogniser is there. */
const MAX_BACKLOG_SAMPLES = 10 * HEARING_RATE_HZ;

type Entry =
  | { type: 'push'; samples: Int16Array; startSample: number }
  | { type: 'speechStarted' | 'speechStopped'; sample: number }
  | { type: 'endTurn' };

/** Stands in for a recogniser that is being opened, so that the first words are not lost. */
export class SttBacklog implements SttStream {
  #entries: Entry[] = [];
  #samples = 0;

  push(samples: Int16Array, startSample: number): void {
    this.#entries.push({ type: 'push', samples: samples.slice(), startSample });
    this.#samples += samples.length;
    while (this.#samples > MAX_BACKLOG_SAMPLES) {
      const oldest = this.#entries.findIndex((entry) => entry.type === 'push');
      const [entry] = this.#entries.splice(oldest, 1);
      const length = entry?.type === 'push' ? entry.samples.length : 0;
      this.#samples -= length;
    }
  }

  speechStarted(sample: number): void {
    this.#entries.push({ type: 'speechStarted', sample });
  }

  speechStopped(sample: number): void {
    this.#entries.push({ type: 'speechStopped', sample });
  }

  endTurn(): void {
    this.#entries.push({ type: 'endTurn' });
  }

  /** Tells `stt` all that has happened. */
  replayTo(stt: SttStream): void {
    for (const entry of this.#entries) {
      if (entry.type === 'push') stt.push(entry.samples, entry.startSample);
      else if (entry.type === 'endTurn') stt.endTurn();
      else stt[entry.type](entry.sample);
    }
    this.#entries = [];
    this.#samples = 0;
  }

  close(): Promise<void> {
    this.#entries = [];
    return Promise.resolve();
  }
}
