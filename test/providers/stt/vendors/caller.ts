import { RealClock } from '../../../../src/base/real-clock.js';
import type { SttOptions, SttProvider, SttStream, SttTranscript } from '../../../../src/providers/stt/stt.js';
import { silence } from '../../../vendors/stt/spoken-words.js';

const FRAME = 320;

/** A session as a recogniser sees it: speaks, tells the edges of speech, and keeps what comes. */
export class Caller {
  readonly transcripts: SttTranscript[] = [];
  readonly errors: Error[] = [];
  readonly turnEnds: number[] = [];
  readonly abort = new AbortController();
  readonly #watchers = new Set<() => void>();
  #stream: SttStream | null = null;
  /** Where the next sample lies. */
  sample: number;

  constructor(sample = 0) {
    this.sample = sample;
  }

  async open(stt: SttProvider, options: Partial<SttOptions> = {}): Promise<void> {
    this.#stream = await stt.open(
      {
        language: 'en-US',
        clock: new RealClock(),
        signal: this.abort.signal,
        hints: { phrases: [], texts: [], keywords: new Map() },
        ...options,
      },
      {
        onTranscript: (transcript) => this.#note(() => this.transcripts.push(transcript)),
        onTurnEnds: (probability) => this.#note(() => this.turnEnds.push(probability)),
        onError: (error) => this.#note(() => this.errors.push(error)),
      },
    );
  }

  get stream(): SttStream {
    if (this.#stream === null) throw new Error('no stream is open');
    return this.#stream;
  }

  /** In frames of 20 ms, as fast as they go. The buffer is used again, as a session's is. */
  hear(samples: Int16Array): void {
    const frame = new Int16Array(FRAME);
    for (let at = 0; at < samples.length; at += FRAME) {
      const piece = samples.subarray(at, at + FRAME);
      frame.set(piece);
      this.stream.push(frame.subarray(0, piece.length), this.sample);
      this.sample += piece.length;
    }
  }

  /** Says it, and is silent for as long as a VAD needs to be sure. */
  say(samples: Int16Array): void {
    const start = this.sample;
    this.hear(samples.subarray(0, 1600));
    this.stream.speechStarted(start);
    this.hear(samples.subarray(1600));
    const end = this.sample;
    this.hear(silence(200));
    this.stream.speechStopped(end);
  }

  /** The next final transcript, beside the `known` first. */
  async final(known = 0): Promise<SttTranscript> {
    await this.until(() => this.#finals().length > known, 'a final transcript');
    return this.#finals()[known] as SttTranscript;
  }

  async until(isThere: () => boolean, what: string): Promise<void> {
    const deadline = AbortSignal.timeout(5000);
    while (!isThere()) {
      await new Promise<void>((resolve, reject) => {
        const wake = (): void => {
          this.#watchers.delete(wake);
          resolve();
        };
        this.#watchers.add(wake);
        deadline.addEventListener(
          'abort',
          () => reject(new Error(`${what} did not come; there is ${JSON.stringify([this.transcripts, this.errors])}`)),
          { once: true },
        );
      });
    }
  }

  #finals(): SttTranscript[] {
    return this.transcripts.filter(({ isFinal }) => isFinal);
  }

  #note(note: () => void): void {
    note();
    for (const watcher of this.#watchers) watcher();
  }
}

/** What was said, whatever the vendor does to its spelling. */
export function plain(text: string): string {
  return text.toLowerCase().replace(/[.,!?]/g, '');
}
