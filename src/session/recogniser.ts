import { type Cancel, type Clock, delay } from '../clock/clock.js';
import { ParleyError, reasonOf } from '../errors.js';
import type { SpeechHints, SttProvider, SttStream, SttTranscript } from '../providers/stt/stt.js';
import { SttBacklog } from './stt-backlog.js';

export interface RecogniserOptions {
  stt: SttProvider;
  language: string;
  hints: SpeechHints;
  clock: Clock;
  signal: AbortSignal;
  onTranscript: (transcript: SttTranscript) => void;
  /** A stream failed and another is being opened. */
  onRetry: (reason: string) => void;
  /** No stream can be had: nothing will be heard any more. */
  onFailed: (reason: string) => void;
}

/** A stream that does not open within this is given up. */
const OPEN_TIMEOUT_MS = 8000;
/** Waits before opening again after a failure; after the last one the recogniser counts as failed. */
const RETRY_DELAYS_MS = [0, 250, 1000];
/** A stream that has lived this long has proved itself: its failure is the first one again. */
const PROVEN_MS = 30_000;

/** The session's speech recognition, whatever becomes of the streams behind it. */
export class Recogniser {
  readonly #options: RecogniserOptions;
  #stream: SttStream = new SttBacklog();
  /** Segments of a new stream are counted on from those of the old one. */
  #segmentBase = 0;
  #lastSegment = -1;
  #attempt = 0;
  #closed = false;

  constructor(options: RecogniserOptions) {
    this.#options = options;
  }

  /** What to speak to: the open stream, or what keeps the audio until there is one. */
  get stream(): SttStream {
    return this.#stream;
  }

  /** Opens the first stream, and another whenever one fails. Returns at once. */
  open(): void {
    void this.#open();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#stream.close();
  }

  async #open(): Promise<void> {
    const { stt, language, hints, clock, signal, onTranscript } = this.#options;
    const backlog = new SttBacklog();
    this.#stream = backlog;
    this.#segmentBase = this.#lastSegment + 1;
    const base = this.#segmentBase;
    let failed = false;
    let stream: SttStream | null = null;
    const fail = (error: unknown): void => {
      if (failed || this.#closed) return;
      failed = true;
      void stream?.close().catch(() => undefined);
      void this.#retry(reasonOf(error));
    };
    const openedMs = clock.nowMs();
    const timeout = new AbortController();
    let cancel: Cancel = () => undefined;
    const expiry = new Promise<never>((_resolve, reject) => {
      cancel = clock.schedule(openedMs + OPEN_TIMEOUT_MS, () => {
        const error = new ParleyError('PROVIDER_TIMEOUT', { provider: stt.name, timeoutMs: OPEN_TIMEOUT_MS });
        timeout.abort(error);
        reject(error);
      });
    });
    const either = AbortSignal.any([signal, timeout.signal]);
    const opening = stt.open(
      { language, hints, clock, signal: either },
      {
        onTranscript: (transcript) => {
          if (failed || this.#closed) return;
          const segment = base + transcript.segment;
          this.#lastSegment = Math.max(this.#lastSegment, segment);
          if (clock.nowMs() - openedMs > PROVEN_MS) this.#attempt = 0;
          onTranscript({ ...transcript, segment });
        },
        onError: fail,
      },
    );
    try {
      // Virtual time stands still meanwhile: how long the machine takes to load a model decides nothing.
      stream = await Promise.race([clock.settle(opening, openedMs), expiry]);
    } catch (error) {
      void opening.then((late) => late.close()).catch(() => undefined);
      fail(error);
      return;
    } finally {
      cancel();
    }
    if (this.#closed || failed) {
      await stream.close();
      return;
    }
    this.#stream = stream;
    backlog.replayTo(stream);
  }

  async #retry(reason: string): Promise<void> {
    const { clock, signal, onRetry, onFailed } = this.#options;
    const waitMs = RETRY_DELAYS_MS[this.#attempt++];
    if (waitMs === undefined) {
      this.#stream = new SttBacklog();
      onFailed(reason);
      return;
    }
    onRetry(reason);
    try {
      if (waitMs > 0) await delay(clock, waitMs, signal);
    } catch {
      return; // the session is over
    }
    await this.#open();
  }
}
