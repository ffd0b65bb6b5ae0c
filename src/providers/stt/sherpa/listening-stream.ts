import { HEARING_RATE_HZ, msToSamples } from '../../../audio/frame.js';
import type { Cancel, Clock } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import type { EngineProcess } from '../../local/engine/engine-process.js';
import type { EngineTranscript } from '../../local/engine/engine-protocol.js';
import type { SttEvents, SttStream } from '../stt.js';
import { SampleMap, LeadAudio } from '../shared/outgoing-audio.js';
import { Segments } from '../shared/segments.js';
import { confidenceOf, readable, wordsOf } from './token-words.js';

export interface ListeningStreamOptions {
  engine: EngineProcess;
  clock: Clock;
  events: SttEvents;
  /** Silence after which the model emits its last words, in milliseconds. */
  tailMs: number;
  /** Timeout for the final transcript, in milliseconds. */
  finalTimeoutMs: number;
  onClose: () => void;
}

/** Audio before the VAD's onset, so that the first sound is not cut off. */
const LEAD_MS = 300;
/** Audio is sent to the process in chunks of this length, to reduce messages; a model processes more at a time. */
const PIECE_SAMPLES = msToSamples(100, HEARING_RATE_HZ);

/**
 * One session's stream to a streaming model. Sends only speech, with a short lead; at a pause, padding with silence
 * makes the model emit its last words at once. Each turn is a new stream of the model.
 */
export class ListeningStream implements SttStream {
  readonly #options: ListeningStreamOptions;
  readonly #segments: Segments;
  readonly #lead = new LeadAudio(LEAD_MS);
  readonly #padSamples: number;
  #map = new SampleMap();
  /** Audio for the next chunk. */
  readonly #piece = new Int16Array(PIECE_SAMPLES);
  #pieceSamples = 0;
  /** Id of the turn's stream in the process; null = the turn has not begun. */
  #id: number | null = null;
  /** Number of the current turn. */
  #turn = 0;
  #speaking = false;
  /** Mark of the last request for a final transcript; 0 = none is pending. */
  #mark = 0;
  #awaited = 0;
  #finalDue: Cancel | null = null;
  #closed = false;

  constructor(options: ListeningStreamOptions) {
    this.#options = options;
    this.#padSamples = msToSamples(options.tailMs, HEARING_RATE_HZ);
    this.#segments = new Segments((transcript) => {
      if (!this.#closed) options.events.onTranscript(transcript);
    });
  }

  push(samples: Int16Array, startSample: number): void {
    if (this.#closed) return;
    if (this.#speaking) this.#send(samples, startSample);
    else this.#lead.push(samples, startSample);
  }

  speechStarted(sample: number): void {
    if (this.#closed || this.#speaking) return;
    this.#speaking = true;
    this.#awaited = 0;
    this.#finalDue?.();
    this.#segments.goesOn();
    for (const { samples, startSample } of this.#lead.take(sample)) this.#send(samples, startSample);
  }

  speechStopped(): void {
    if (this.#closed || !this.#speaking) return;
    this.#speaking = false;
    if (this.#id === null) return;
    const { engine, clock, finalTimeoutMs } = this.#options;
    this.#awaited = ++this.#mark;
    this.#flush(this.#id);
    engine.send({ type: 'finish', id: this.#id, mark: this.#mark, padSamples: this.#padSamples });
    this.#map.padded(this.#padSamples);
    this.#finalDue?.();
    this.#finalDue = clock.schedule(clock.nowMs() + finalTimeoutMs, () => {
      engine.suspect();
      this.#fail(new ParleyError('PROVIDER_TIMEOUT', { provider: 'sherpa', timeoutMs: finalTimeoutMs }));
    });
  }

  endTurn(): void {
    if (this.#closed) return;
    this.#segments.endTurn(this.#map.endSample);
    this.#leave();
    this.#turn++;
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.#leave();
      this.#options.onClose();
    }
    return Promise.resolve();
  }

  #send(samples: Int16Array, startSample: number): void {
    const id = this.#id ?? this.#begin();
    this.#map.sent(startSample, samples.length);
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + PIECE_SAMPLES - this.#pieceSamples);
      this.#piece.set(part, this.#pieceSamples);
      this.#pieceSamples += part.length;
      at += part.length;
      if (this.#pieceSamples === PIECE_SAMPLES) this.#flush(id);
    }
  }

  #flush(id: number): void {
    const samples = this.#piece.subarray(0, this.#pieceSamples);
    this.#pieceSamples = 0;
    if (samples.length > 0) this.#options.engine.send({ type: 'audio', id, samples });
  }

  #begin(): number {
    const { engine } = this.#options;
    const turn = this.#turn;
    const id = engine.join({
      onReply: (reply) => {
        if (turn !== this.#turn || this.#closed) return;
        if (reply.type === 'heard') this.#heard(reply.heard, reply.mark);
        if (reply.type === 'failed') {
          this.#fail(new ParleyError('PROVIDER_FAILED', { provider: 'sherpa', reason: reply.reason }));
        }
      },
      onEnd: (error) => this.#fail(error),
    });
    this.#id = id;
    engine.send({ type: 'open', id });
    return id;
  }

  #leave(): void {
    this.#finalDue?.();
    this.#awaited = 0;
    if (this.#id !== null) this.#options.engine.leave(this.#id);
    this.#id = null;
    this.#pieceSamples = 0;
    this.#map = new SampleMap();
  }

  #heard(heard: EngineTranscript, mark: number | null): void {
    const isFinal = mark !== null && mark === this.#awaited;
    this.#segments.update(this.#turn, {
      text: readable(heard.text),
      isFinal,
      confidence: confidenceOf(heard),
      words: wordsOf(heard).map(({ text, startMs, endMs, confidence }) => ({
        text: readable(text),
        confidence,
        startSample: this.#map.sampleAt(startMs),
        endSample: this.#map.sampleAt(endMs),
      })),
    });
    if (!isFinal) return;
    this.#awaited = 0;
    this.#finalDue?.();
    this.#segments.final();
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    void this.close();
    this.#options.events.onError(error);
  }
}
