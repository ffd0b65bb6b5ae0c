import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import type { Cancel, Clock } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import { failed, withoutSecrets } from '../../wire/vendor-error.js';
import { VendorSocket, type VendorSocketEvents } from '../../wire/vendor-socket.js';
import type { SttEvents, SttStream } from '../stt.js';
import type { DialectEvents, SttDialect, VendorPiece } from './dialect.js';
import { LeadAudio } from './lead-audio.js';
import { Segments } from './segments.js';
import { Resampler } from '../../../audio/dsp/resample.js';
import { SampleMap } from './sample-map.js';

/** Cuts a session's audio into messages of one length, at the vendor's rate, and remembers what was sent. */
export class OutgoingAudio {
  readonly map = new SampleMap();
  readonly #resampler: Resampler | null;
  readonly #chunkSamples: number;
  readonly #minSamples: number;
  #waiting: Buffer[] = [];
  /** At the vendor's rate. */
  #waitingSamples = 0;
  readonly #rateHz: number;

  constructor(options: { sampleRateHz: number; chunkMs: number; minChunkMs?: number | undefined }) {
    const { sampleRateHz, chunkMs, minChunkMs = 0 } = options;
    this.#rateHz = sampleRateHz;
    this.#resampler = sampleRateHz === HEARING_RATE_HZ ? null : new Resampler(HEARING_RATE_HZ, sampleRateHz);
    this.#chunkSamples = Math.round((chunkMs * sampleRateHz) / 1000);
    this.#minSamples = Math.round((minChunkMs * sampleRateHz) / 1000);
  }

  /** Mono 16 kHz. Returns the messages that are full: 16-bit little-endian samples, the receiver's to keep. */
  push(samples: Int16Array, startSample: number): Buffer[] {
    this.map.sent(startSample, samples.length);
    this.#add(this.#resampler === null ? samples : this.#resampler.process(samples));
    return this.#cut();
  }

  /** What waits for its message to be full, null where that is nothing. */
  flush(): Buffer | null {
    if (this.#waitingSamples === 0) return null;
    const missing = this.#minSamples - this.#waitingSamples;
    if (missing > 0) {
      this.#add(new Int16Array(missing));
      this.map.padded(Math.round((missing * HEARING_RATE_HZ) / this.#rateHz));
    }
    const message = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingSamples = 0;
    return message;
  }

  #add(samples: Int16Array): void {
    // The samples are somebody else's, and change.
    this.#waiting.push(Buffer.from(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)));
    this.#waitingSamples += samples.length;
  }

  #cut(): Buffer[] {
    if (this.#waitingSamples < this.#chunkSamples) return [];
    const all = Buffer.concat(this.#waiting);
    const bytes = this.#chunkSamples * 2;
    const whole = Math.floor(all.length / bytes);
    const rest = all.subarray(whole * bytes);
    this.#waiting = rest.length === 0 ? [] : [rest];
    this.#waitingSamples = rest.length / 2;
    return Array.from({ length: whole }, (_, at) => all.subarray(at * bytes, (at + 1) * bytes));
  }
}

export interface SocketStreamOptions {
  provider: string;
  dialect: SttDialect;
  /** Keys that must not be shown. */
  secrets: readonly string[];
  clock: Clock;
  signal: AbortSignal;
  /** Until the stream can be used. */
  connectTimeoutMs: number;
  /** From the end of speech to its final words. */
  finalTimeoutMs: number;
  /** Between the pieces of a turn's text. */
  space: string;
}

/** So many messages without a meaning are overlooked; a vendor that goes on so has failed. */
const MAX_STRANGE_MESSAGES = 8;
/** Where all words are final and no more come for so long after the final ones were asked for, there are no more. */
const QUIET_MS = 400;
/** A vendor that says nothing at all of speech of this length does not listen. */
const MUTE_SAMPLES = 1.5 * HEARING_RATE_HZ;
/** A vendor's last word may end so much before the VAD's end of speech. */
const END_TOLERANCE_SAMPLES = 0.15 * HEARING_RATE_HZ;

/** One session's stream of a vendor's socket: the turns and their ends, whatever the vendor's protocol calls them. */
export class SocketStream implements SttStream, DialectEvents {
  readonly #options: SocketStreamOptions;
  readonly #events: SttEvents;
  readonly #socket: Pick<VendorSocket, 'send' | 'close'>;
  readonly #audio: OutgoingAudio;
  readonly #segments: Segments;
  #settleOpening: ((error: ParleyError | null) => void) | null = null;
  /** Resolves when the stream can be used; rejects with a ParleyError. */
  readonly opened: Promise<void>;
  #closed = false;
  #strange = 0;
  /** Where speech ended whose final words have not come. */
  #stopSample: number | null = null;
  /** Requests for final words that have not been answered. */
  #asked = 0;
  /** The final words of the last stretch of speech have been asked for. */
  #requested = false;
  #speaking = false;
  /** What the vendor thought of the turn's end while our VAD still heard speech. */
  #turnEnds: number | null = null;
  /** No word before this will change. */
  #finalSample = -1;
  #finalDue: Cancel | null = null;
  #finalizeDue: Cancel | null = null;
  #quietDue: Cancel | null = null;
  #readyDue: Cancel | null = null;
  /** Where the last stretch of speech began, null before the first. */
  #startSample: number | null = null;
  /** The vendor has said something since. */
  #answered = false;
  /** What may have to be sent once speech is found in it. */
  readonly #lead: LeadAudio | null;

  constructor(options: SocketStreamOptions, events: SttEvents) {
    this.#options = options;
    this.#events = events;
    const { dialect, provider, secrets, clock, signal, connectTimeoutMs } = options;
    this.#audio = new OutgoingAudio(dialect);
    this.#lead = dialect.leadMs === undefined ? null : new LeadAudio(dialect.leadMs);
    this.#segments = new Segments((transcript) => {
      if (!this.#closed) events.onTranscript(transcript);
    }, options.space);
    this.opened = new Promise((resolve, reject) => {
      this.#settleOpening = (error) => (error === null ? resolve() : reject(error));
    });
    this.opened.catch(() => undefined);
    this.#readyDue = clock.schedule(clock.nowMs() + connectTimeoutMs, () => {
      this.failed(new ParleyError('PROVIDER_TIMEOUT', { provider, timeoutMs: connectTimeoutMs }));
    });
    const { keepAlive } = dialect;
    const heard: VendorSocketEvents = {
      onOpen: (socket) => {
        for (const message of dialect.greeting?.() ?? []) socket.send(message);
        if (dialect.waitsForReady !== true) this.ready();
      },
      onText: (text) => this.#onText(text),
      onClosed: (error, code) => this.failed(this.#closedBy(error, code)),
    };
    const own = { ...dialect.address, provider, secrets, clock, signal, connectTimeoutMs };
    this.#socket =
      dialect.dial?.(heard) ?? new VendorSocket({ ...own, ...(keepAlive !== undefined && { keepAlive }) }, heard);
  }

  push(samples: Int16Array, startSample: number): void {
    if (this.#closed) return;
    if (this.#lead !== null && !this.#speaking) this.#lead.push(samples, startSample);
    else this.#send(samples, startSample);
  }

  speechStarted(sample: number): void {
    if (this.#closed) return;
    this.#speaking = true;
    this.#turnEnds = null;
    this.#startSample = sample;
    this.#answered = false;
    this.#segments.goesOn();
    this.#settled();
    for (const { samples, startSample } of this.#lead?.take(sample) ?? []) this.#send(samples, startSample);
  }

  speechStopped(sample: number): void {
    if (this.#closed) return;
    const { clock, dialect, finalTimeoutMs } = this.#options;
    this.#speaking = false;
    this.#tellEnd();
    this.#stopSample = sample;
    this.#finalDue?.();
    this.#finalDue = clock.schedule(clock.nowMs() + finalTimeoutMs, () => this.#finalIsLate());
    this.#flush();
    if (this.#isCovered()) {
      this.#settle();
      return;
    }
    const { finalizeAfterMs = 0 } = dialect;
    this.#finalizeDue?.();
    if (finalizeAfterMs === 0) this.#finalize();
    else this.#finalizeDue = clock.schedule(clock.nowMs() + finalizeAfterMs, () => this.#finalize());
  }

  endTurn(): void {
    if (this.#closed) return;
    this.#segments.endTurn(this.#audio.map.endSample, this.#options.dialect.onePieceEach === true ? this.#asked : 0);
    this.#settled();
  }

  async close(): Promise<void> {
    this.#end();
    await this.#socket.close(this.#options.dialect.farewell?.());
  }

  ready(): void {
    this.#readyDue?.();
    this.#settleOpening?.(null);
    this.#settleOpening = null;
  }

  piece(key: number, piece: VendorPiece): void {
    const { text, isFinal, confidence = null, words = [] } = piece;
    this.#segments.update(key, {
      text,
      isFinal,
      confidence,
      words: words.map((word) => ({
        text: word.text,
        startSample: this.#audio.map.sampleAt(word.startMs),
        endSample: this.#audio.map.sampleAt(word.endMs),
        confidence: word.confidence,
      })),
    });
    if (this.#requested) this.#awaitQuiet();
  }

  finalized(upToMs?: number): void {
    if (upToMs === undefined) {
      this.#asked = Math.max(0, this.#asked - 1);
      if (this.#asked === 0) this.#settle();
      return;
    }
    this.#finalSample = Math.max(this.#finalSample, this.#audio.map.sampleAt(upToMs));
    if (this.#isCovered()) this.#settle();
  }

  reopened(): void {
    this.#turnEnds = null;
    this.#finalSample = -1;
  }

  turnEnds(probability: number): void {
    // A vendor may be quicker than our VAD, which has to hear some silence first.
    if (this.#speaking) this.#turnEnds = probability;
    else if (!this.#closed) this.#events.onTurnEnds?.(probability);
  }

  failed(error: ParleyError): void {
    if (this.#closed) return;
    const opening = this.#settleOpening;
    this.#end();
    void this.#socket.close();
    const shown = this.#withoutSecrets(error);
    if (opening !== null) opening(shown);
    else this.#events.onError(shown);
  }

  #onText(text: string): void {
    if (this.#closed) return;
    const { dialect, provider } = this.#options;
    if (dialect.read(text, this)) {
      this.#answered = true;
      return;
    }
    if (++this.#strange > MAX_STRANGE_MESSAGES) {
      this.failed(failed(provider, 'it keeps sending messages that have no meaning'));
    }
  }

  #send(samples: Int16Array, startSample: number): void {
    for (const chunk of this.#audio.push(samples, startSample)) this.#sendAudio(chunk);
  }

  /** Once everybody knows that the speech is over. */
  #tellEnd(): void {
    const { clock } = this.#options;
    const probability = this.#turnEnds;
    if (probability === null) return;
    clock.schedule(clock.nowMs(), () => {
      if (this.#turnEnds === probability && !this.#speaking) this.turnEnds(probability);
    });
  }

  /** What is being gathered goes out, although it is short. */
  #flush(): void {
    const rest = this.#audio.flush();
    if (rest !== null) this.#sendAudio(rest);
  }

  #sendAudio(pcm: Buffer): void {
    const messages = this.#options.dialect.audio(pcm);
    if (typeof messages === 'string' || messages instanceof Uint8Array) this.#socket.send(messages);
    else for (const message of messages) this.#socket.send(message);
  }

  #finalize(): void {
    this.#flush();
    const { endSample } = this.#audio.map;
    const silentSamples = Math.max(0, endSample - (this.#stopSample ?? endSample));
    const messages = this.#options.dialect.finalize((silentSamples * 1000) / HEARING_RATE_HZ);
    if (messages.length > 0) this.#asked++;
    for (const message of messages) this.#socket.send(message);
    this.#requested = true;
    this.#awaitQuiet();
  }

  #awaitQuiet(): void {
    const { clock, dialect } = this.#options;
    this.#quietDue?.();
    if (this.#stopSample === null) return;
    this.#quietDue = clock.schedule(clock.nowMs() + (dialect.quietMs ?? QUIET_MS), () => {
      const mayBeOpen = dialect.quietMs !== undefined;
      if (this.#segments.isEmpty || (!mayBeOpen && !this.#segments.isSettled)) return;
      this.#asked = 0;
      this.#settle();
    });
  }

  #isCovered(): boolean {
    return (
      this.#stopSample !== null &&
      this.#segments.isSettled &&
      this.#finalSample >= this.#stopSample - END_TOLERANCE_SAMPLES
    );
  }

  /** The final words of the last stretch of speech are there. */
  #settle(): void {
    if (this.#stopSample === null) return;
    this.#settled();
    this.#segments.final();
  }

  #settled(): void {
    this.#stopSample = null;
    this.#requested = false;
    this.#finalDue?.();
    this.#finalizeDue?.();
    this.#quietDue?.();
  }

  /** Some vendors say nothing where there was nothing to say; one that is silent altogether is stuck. */
  #finalIsLate(): void {
    const { provider, finalTimeoutMs } = this.#options;
    this.#asked = 0;
    const isShort = (this.#stopSample ?? 0) - (this.#startSample ?? 0) < MUTE_SAMPLES;
    if ((this.#answered || isShort) && this.#segments.isSettled) this.#settle();
    else this.failed(new ParleyError('PROVIDER_TIMEOUT', { provider, timeoutMs: finalTimeoutMs }));
  }

  #closedBy(error: ParleyError, code: number | null): ParleyError {
    const { refusingCodes } = this.#options.dialect;
    if (code === null || refusingCodes?.has(code) !== true || error.code === 'PROVIDER_REFUSED') return error;
    return new ParleyError('PROVIDER_REFUSED', error.details);
  }

  /** Vendors like to repeat the key that they do not know. */
  #withoutSecrets(error: ParleyError): ParleyError {
    const reason = error.details['reason'];
    if (typeof reason !== 'string') return error;
    return new ParleyError(error.code, {
      ...error.details,
      reason: withoutSecrets(reason, this.#options.secrets),
    });
  }

  #end(): void {
    this.#closed = true;
    this.#settleOpening = null;
    this.#settled();
    this.#readyDue?.();
  }
}
