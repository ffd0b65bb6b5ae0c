import type { TransportSink } from './transport.js';

/** Maximum number of audio blocks and keys that wait for the session: a second of packets. */
const MAX_EARLY = 50;

type Early = { samples: Int16Array } | { keys: string };

/** The input of a telephone line: kept until the session starts, and closed once. */
export class LineInput {
  #sink: TransportSink | null = null;
  #early: Early[] = [];
  #isOver = false;
  #error: Error | undefined;

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Like `Transport.start`. */
  start(sink: TransportSink): void {
    if (this.#isOver) {
      sink.closed(this.#error);
      return;
    }
    this.#sink = sink;
    for (const early of this.#early.splice(0)) {
      if ('keys' in early) sink.digits(early.keys);
      else sink.audio(early.samples);
    }
  }

  /** The samples may be overwritten afterwards. */
  audio(samples: Int16Array): void {
    if (this.#sink !== null) this.#sink.audio(samples);
    else if (!this.#isOver) this.#keep({ samples: samples.slice() });
  }

  digits(keys: string): void {
    if (this.#sink !== null) this.#sink.digits(keys);
    else if (!this.#isOver) this.#keep({ keys });
  }

  /** Another listener takes over: returns the waiting keys. Waiting audio is dropped. */
  takeKeys(): string {
    return this.#early
      .splice(0)
      .map((early) => ('keys' in early ? early.keys : ''))
      .join('');
  }

  /** The line has ended. May be called twice: the first error counts. */
  end(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#early = [];
    const sink = this.#sink;
    this.#sink = null;
    sink?.closed(error);
  }

  #keep(early: Early): void {
    if (this.#early.push(early) > MAX_EARLY) this.#early.shift();
  }
}
