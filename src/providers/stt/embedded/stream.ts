import type { ExpectedAnswer } from '../../../agent/expected-answer.js';
import type { Clock } from '../../../base/clock.js';
import type { SttEvents, SttStream, SttTranscript } from '../stt.js';
import type { CleanLine } from './clean-line.js';
import type { Hypothesis } from './protocol.js';
import { TurnAudio } from './turn-audio.js';
import type { WorkerHost } from './worker-host.js';

/**
 * Recognition of one session. A turn is one segment: each 100 ms of audio requests the transcript so far; the end of
 * speech requests the final one. Speech that resumes before `endTurn` continues the segment and replaces its
 * transcript. Requests depend on sample counts alone.
 */
export class EmbeddedStream implements SttStream {
  readonly #host: WorkerHost;
  readonly #stream: number;
  readonly #clock: Clock;
  readonly #events: SttEvents;
  readonly #onClose: () => void;
  readonly #line: CleanLine;
  readonly #audio = new TurnAudio();
  #segment = 0;
  #asked = 0;
  #delivered = 0;
  #lastText = '';
  #closed = false;

  constructor(host: WorkerHost, stream: number, line: CleanLine, clock: Clock, events: SttEvents, onClose: () => void) {
    this.#line = line;
    this.#host = host;
    this.#stream = stream;
    this.#clock = clock;
    this.#events = events;
    this.#onClose = onClose;
  }

  push(samples: Int16Array, startSample: number): void {
    if (this.#closed) return;
    const clean = this.#line.process(samples, startSample, this.#audio.inTurn);
    for (const chunk of this.#audio.push(clean.samples, clean.startSample)) this.#ask(chunk, false);
  }

  speechStarted(sample: number): void {
    if (this.#closed) return;
    for (const chunk of this.#audio.speechStarted(sample)) this.#ask(chunk, false);
  }

  speechStopped(sample: number): void {
    if (this.#closed || !this.#audio.speaking) return;
    this.#ask(this.#audio.speechStopped(sample), true);
  }

  endTurn(): void {
    if (this.#closed || !this.#audio.inTurn) return;
    this.#audio.endTurn();
    this.#segment++;
    this.#lastText = '';
    this.#host.send({ kind: 'end', stream: this.#stream });
  }

  expect(answer: ExpectedAnswer | null): void {
    if (!this.#closed) this.#host.send({ kind: 'expect', stream: this.#stream, answer });
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.#host.send({ kind: 'close', stream: this.#stream });
      this.#line.close();
      this.#onClose();
    }
    return Promise.resolve();
  }

  /** Fails the stream; notifies the session once. */
  fail(error: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#host.send({ kind: 'close', stream: this.#stream });
    this.#line.close();
    this.#onClose();
    this.#events.onError(error);
  }

  #ask(samples: Int16Array, isFinal: boolean): void {
    const order = ++this.#asked;
    const segment = this.#segment;
    const work = this.#host.request({ kind: 'audio', stream: this.#stream, samples, isFinal });
    const dueMs = this.#clock.nowMs() + (isFinal ? EMBEDDED_LATENCY.finalMs : EMBEDDED_LATENCY.interimMs);
    // Maps positions now: the turn may end before the answer arrives.
    const toSession = this.#audio.places();
    this.#clock.settle(work, dueMs).then(
      (answer) => {
        this.#deliver(answer as Hypothesis, order, segment, isFinal, toSession);
      },
      (error: unknown) => {
        this.fail(error as Error);
      },
    );
  }

  #deliver(
    hypothesis: Hypothesis,
    order: number,
    segment: number,
    isFinal: boolean,
    toSession: (turnSample: number) => number,
  ): void {
    // An interim result may arrive after a final that was requested later.
    if (this.#closed || order < this.#delivered) return;
    this.#delivered = order;
    if (!isFinal && (segment !== this.#segment || hypothesis.text === this.#lastText)) return;
    if (segment === this.#segment) this.#lastText = hypothesis.text;
    const transcript: SttTranscript = {
      segment,
      text: hypothesis.text,
      isFinal,
      understood: hypothesis.understood,
      confidence: hypothesis.confidence,
      words: hypothesis.words.map((word) => ({
        text: word.text,
        startSample: toSession(word.startSample),
        endSample: toSession(word.endSample),
        confidence: word.confidence,
      })),
    };
    this.#events.onTranscript(transcript);
  }
}

/**
 * Recognition latency in virtual time: medians measured by bench/stt.ts (docs/stt.md), so that a virtual run has
 * realistic and reproducible timing.
 */
interface SttLatency {
  /** From the last audio of a hypothesis to the interim transcript. */
  interimMs: number;
  /** From the VAD's end of speech to the final transcript. */
  finalMs: number;
}

const EMBEDDED_LATENCY: SttLatency = { interimMs: 20, finalMs: 9 };
