import { delay } from '../../base/clock.js';
import type { SttEvents, SttOptions, SttProvider, SttStream } from '../../providers/stt/stt.js';

export interface PromptedSttOptions {
  /** What each stretch of speech is taken to say, in order. After the last one nothing is understood. */
  lines: readonly string[];
  /** From the end of speech to the final transcript. Default 50. */
  finalMs?: number;
}

/** A recogniser for tests: hears stretches of speech and knows beforehand what they say. */
export function promptedStt(options: PromptedSttOptions): SttProvider {
  return {
    name: 'prompted',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    open: (stream, events) => Promise.resolve(new PromptedStream(options, stream, events)),
    close: () => Promise.resolve(),
  };
}

class PromptedStream implements SttStream {
  readonly #closed = new AbortController();
  #segment = 0;
  #line = 0;
  #turn: string[] = [];

  constructor(
    readonly prompts: PromptedSttOptions,
    readonly options: SttOptions,
    readonly events: SttEvents,
  ) {}

  push(): void {
    // What is said is known beforehand.
  }

  speechStarted(): void {
    // No transcript comes before the end of speech.
  }

  speechStopped(): void {
    const line = this.prompts.lines[this.#line++];
    if (line !== undefined) this.#turn.push(line);
    void this.#tell(this.#segment, this.#turn.join(' '), line !== undefined);
  }

  endTurn(): void {
    this.#segment++;
    this.#turn = [];
  }

  close(): Promise<void> {
    this.#closed.abort();
    return Promise.resolve();
  }

  async #tell(segment: number, text: string, understood: boolean): Promise<void> {
    try {
      await delay(this.options.clock, this.prompts.finalMs ?? 50, this.#closed.signal);
    } catch {
      return; // closed
    }
    this.events.onTranscript({ segment, text, isFinal: true, understood, confidence: understood ? 1 : 0 });
  }
}
