import { HEARING_RATE_HZ, msToSamples } from '../../../audio/frame.js';
import type { Cancel, Clock } from '../../../base/clock.js';
import { errorOf, ParleyError } from '../../../base/errors.js';
import type { SttEvents, SttStream } from '../stt.js';
import { LeadAudio } from './outgoing-audio.js';
import { Segments } from './segments.js';
import type { VendorWord } from './dialect.js';

/** What a server has understood of a piece of speech. */
export interface Transcription {
  text: string;
  confidence: number | null;
  /** Empty where the server gives no times. */
  words: readonly VendorWord[];
}

export interface WhisperStreamOptions {
  clock: Clock;
  events: SttEvents;
  /** 0 = no interim transcripts. */
  interimMs: number;
  /** Rejects with a ParleyError, or the signal's reason. */
  transcribe: (samples: Int16Array, signal: AbortSignal) => Promise<Transcription>;
  onClose: () => void;
}

/** Audio before the VAD's onset, so that the first sound is not cut off. */
const LEAD_MS = 300;
/** Whisper processes 30 s at once. */
const MAX_SAMPLES = 28 * HEARING_RATE_HZ;
/** After this length, a pause is a good place to split. */
const LONG_SAMPLES = 15 * HEARING_RATE_HZ;

/**
 * Speech segmented by our VAD, for a server that accepts whole files. The turn's audio is sent repeatedly while the
 * user speaks, and at each pause, so that the text is ready when the turn ends. If the user resumes after a pause, the
 * segment is transcribed again with what follows. Long turns are split, at a pause if possible.
 */
export class WhisperStream implements SttStream {
  readonly #options: WhisperStreamOptions;
  readonly #segments: Segments;
  readonly #lead = new LeadAudio(LEAD_MS);
  #audio = new Int16Array(MAX_SAMPLES);
  #length = 0;
  #startSample = 0;
  /** Pieces of the session, counted. */
  #key = 0;
  #speaking = false;
  /** The turn has begun. */
  #inTurn = false;
  /** Final words are waited for. */
  #stopped = false;
  readonly #running = new Map<number, { abort: AbortController; isFinal: boolean }>();
  #interimDue: Cancel | null = null;
  #closed = false;

  constructor(options: WhisperStreamOptions) {
    this.#options = options;
    this.#segments = new Segments((transcript) => {
      if (!this.#closed) options.events.onTranscript(transcript);
    });
  }

  push(samples: Int16Array, startSample: number): void {
    if (this.#closed) return;
    if (this.#inTurn) this.#keep(samples, startSample);
    else this.#lead.push(samples, startSample);
  }

  speechStarted(sample: number): void {
    if (this.#closed || this.#speaking) return;
    this.#speaking = true;
    this.#stopped = false;
    this.#segments.goesOn();
    if (!this.#inTurn) {
      this.#inTurn = true;
      for (const { samples, startSample } of this.#lead.take(sample)) this.#keep(samples, startSample);
    }
    this.#armInterim();
  }

  speechStopped(): void {
    if (this.#closed || !this.#speaking) return;
    this.#speaking = false;
    this.#stopped = true;
    this.#interimDue?.();
    this.#ask(true);
    if (this.#length > LONG_SAMPLES) this.#nextPiece();
  }

  endTurn(): void {
    if (this.#closed) return;
    for (const { abort } of this.#running.values()) abort.abort();
    this.#running.clear();
    this.#segments.endTurn(this.#startSample + this.#length);
    this.#nextPiece();
    this.#stopped = false;
    this.#inTurn = this.#speaking;
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.#interimDue?.();
      for (const { abort } of this.#running.values()) abort.abort();
      this.#running.clear();
      this.#options.onClose();
    }
    return Promise.resolve();
  }

  #keep(samples: Int16Array, startSample: number): void {
    if (this.#length + samples.length > MAX_SAMPLES) {
      this.#ask(true);
      this.#nextPiece();
    }
    if (this.#length === 0) this.#startSample = startSample;
    this.#audio.set(samples, this.#length);
    this.#length += samples.length;
  }

  #nextPiece(): void {
    this.#key++;
    this.#startSample += this.#length;
    this.#length = 0;
  }

  #armInterim(): void {
    const { clock, interimMs } = this.#options;
    this.#interimDue?.();
    if (interimMs === 0) return;
    this.#interimDue = clock.schedule(clock.nowMs() + interimMs, () => {
      // Limits the rate for slow servers.
      if (!this.#running.has(this.#key)) this.#ask(false);
      this.#armInterim();
    });
  }

  #ask(isFinal: boolean): void {
    if (this.#length === 0) {
      if (isFinal) this.#settle();
      return;
    }
    const key = this.#key;
    const startSample = this.#startSample;
    const abort = new AbortController();
    this.#running.get(key)?.abort.abort();
    this.#running.set(key, { abort, isFinal });
    void this.#options.transcribe(this.#audio.slice(0, this.#length), abort.signal).then(
      (heard) => {
        if (abort.signal.aborted) return;
        this.#running.delete(key);
        this.#heard(key, startSample, heard, isFinal);
      },
      (error: unknown) => {
        if (abort.signal.aborted || this.#closed) return;
        this.#running.delete(key);
        // A failed interim transcript is ignored, unless the error is permanent.
        const retryable = error instanceof ParleyError && error.retryable;
        if (isFinal || !retryable) this.#fail(errorOf(error));
      },
    );
  }

  #heard(key: number, startSample: number, { text, confidence, words }: Transcription, isFinal: boolean): void {
    if (this.#closed) return;
    this.#segments.update(key, {
      text,
      isFinal,
      confidence,
      words: words.map((word) => ({
        text: word.text,
        startSample: startSample + msToSamples(word.startMs, HEARING_RATE_HZ),
        endSample: startSample + msToSamples(word.endMs, HEARING_RATE_HZ),
        confidence: word.confidence,
      })),
    });
    this.#settle();
  }

  #settle(): void {
    if (!this.#stopped || [...this.#running.values()].some((one) => one.isFinal)) return;
    this.#stopped = false;
    this.#segments.final();
  }

  #fail(error: Error): void {
    void this.close();
    this.#options.events.onError(error);
  }
}
