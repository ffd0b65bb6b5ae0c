import { delay } from '../../base/clock.js';
import type { SttEvents, SttOptions, SttProvider, SttStream } from '../../providers/stt/stt.js';

export interface PromptedSttOptions {
  /** Transcripts of stretches of speech, in order. Later stretches are not understood. */
  lines: readonly string[];
  /** From the end of speech to the final transcript. Default 50. */
  finalMs?: number;
}

/** A recogniser for tests, with prepared transcripts. */
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
    // The transcripts are prepared.
  }

  speechStarted(): void {
    // There are no interim transcripts.
  }

  speechStopped(): void {
    const line = this.prompts.lines[this.#line++];
    if (line !== undefined) this.#turn.push(line);
    void this.#send(this.#segment, this.#turn.join(' '), line !== undefined);
  }

  endTurn(): void {
    this.#segment++;
    this.#turn = [];
  }

  close(): Promise<void> {
    this.#closed.abort();
    return Promise.resolve();
  }

  async #send(segment: number, text: string, understood: boolean): Promise<void> {
    try {
      await delay(this.options.clock, this.prompts.finalMs ?? 50, this.#closed.signal);
    } catch {
      return; // closed
    }
    this.events.onTranscript({ segment, text, isFinal: true, understood, confidence: understood ? 1 : 0 });
  }
}
