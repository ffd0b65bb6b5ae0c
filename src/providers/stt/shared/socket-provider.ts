import { baseLanguage } from '../../../base/language.js';
import { raceAbort } from '../../../base/deadlines.js';
import type { SttAbilities, SttEvents, SttOptions, SttProvider, SttStream } from '../stt.js';
import type { SttDialect, DialectEvents, VendorPiece } from './dialect.js';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import type { Cancel, Clock } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import { failed, withoutSecrets } from '../../wire/vendor-error.js';
import { VendorSocket, type VendorSocketEvents } from '../../wire/vendor-socket.js';
import { Segments } from './segments.js';
import { Resampler } from '../../../audio/dsp/resample.js';
import { SampleMap, LeadAudio } from './outgoing-audio.js';

/** Options of every vendor's recogniser. */
export interface VendorSttOptions {
  apiKey: string | null;
  /** http(s) or ws(s), without a trailing slash. Default: the vendor's public URL. */
  baseUrl?: string | null | undefined;
  /** Default model. Default: the vendor's model for the language. */
  model?: string | undefined;
  /** Timeout until a stream is ready, in milliseconds. Default 5000. */
  connectTimeoutMs?: number;
  /**
   * Timeout from the end of speech to the final transcript, in milliseconds; after that the stream has failed. Default
   * 3000.
   */
  finalTimeoutMs?: number;
}

export interface SocketSttParts {
  name: string;
  abilities: SttAbilities;
  /** @throws ParleyError for unsupported options */
  dialect: (options: SttOptions) => SttDialect | Promise<SttDialect>;
}

/** Languages that are written without spaces between words. */
const UNSPACED = new Set(['zh', 'ja', 'th', 'lo', 'my', 'km', 'bo']);

/** A vendor with one WebSocket per session. */
export class SocketSttProvider implements SttProvider {
  readonly name: string;
  readonly virtualTime = false;
  readonly abilities: SttAbilities;
  readonly #parts: SocketSttParts;
  readonly #options: VendorSttOptions;
  readonly #streams = new Set<SttStream>();

  constructor(parts: SocketSttParts, options: VendorSttOptions) {
    this.name = parts.name;
    this.abilities = parts.abilities;
    this.#parts = parts;
    this.#options = options;
  }

  /** Loads the socket library only: each session opens its own connection before anyone speaks. */
  async warmUp(): Promise<void> {
    await import('ws');
  }

  async open(options: SttOptions, events: SttEvents): Promise<SttStream> {
    const { clock, signal, language } = options;
    const { connectTimeoutMs = 5000, finalTimeoutMs = 3000, model } = this.#options;
    signal.throwIfAborted();
    const dialect = await this.#parts.dialect(model === undefined ? options : { model, ...options });
    const stream = new SocketStream(
      {
        provider: this.name,
        dialect,
        secrets: [this.#options.apiKey ?? ''],
        clock,
        signal,
        connectTimeoutMs,
        finalTimeoutMs,
        space: UNSPACED.has(baseLanguage(language)) ? '' : ' ',
      },
      events,
    );
    this.#streams.add(stream);
    signal.addEventListener('abort', () => this.#streams.delete(stream), { once: true });
    await raceAbort(stream.opened, signal);
    return {
      push: (samples, startSample) => stream.push(samples, startSample),
      speechStarted: (sample) => stream.speechStarted(sample),
      speechStopped: (sample) => stream.speechStopped(sample),
      endTurn: () => stream.endTurn(),
      close: () => {
        this.#streams.delete(stream);
        return stream.close();
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#streams].map((stream) => stream.close()));
    this.#streams.clear();
  }
}

/** Splits a session's audio into messages of equal length, at the vendor's rate, and tracks what was sent. */
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

  /** Mono 16 kHz. Returns the complete messages: 16-bit little-endian samples, owned by the caller. */
  push(samples: Int16Array, startSample: number): Buffer[] {
    this.map.sent(startSample, samples.length);
    this.#add(this.#resampler === null ? samples : this.#resampler.process(samples));
    return this.#cut();
  }

  /** The incomplete message; null if empty. */
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
    // The caller reuses the samples.
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
  /** Keys to redact. */
  secrets: readonly string[];
  clock: Clock;
  signal: AbortSignal;
  /** Timeout until the stream is ready. */
  connectTimeoutMs: number;
  /** Timeout from the end of speech to the final transcript. */
  finalTimeoutMs: number;
  /** Separator of the pieces of a turn's text. */
  space: string;
}

/** This many unintelligible messages are ignored; after that the vendor has failed. */
const MAX_STRANGE_MESSAGES = 8;
/** If all words are final and none has followed for this long after `finalize`, the transcript is complete. */
const QUIET_MS = 400;
/** If a vendor returns nothing for speech of this length, it has failed. */
const MUTE_SAMPLES = 1.5 * HEARING_RATE_HZ;
/** A vendor's last word may end this much before the VAD's end of speech. */
const END_TOLERANCE_SAMPLES = 0.15 * HEARING_RATE_HZ;

/** One session's stream to a vendor's socket: turns and endpointing, independent of the vendor's protocol. */
export class SocketStream implements SttStream, DialectEvents {
  readonly #options: SocketStreamOptions;
  readonly #events: SttEvents;
  readonly #socket: Pick<VendorSocket, 'send' | 'close'>;
  readonly #audio: OutgoingAudio;
  readonly #segments: Segments;
  #settleOpening: ((error: ParleyError | null) => void) | null = null;
  /** Resolves when the stream is ready; rejects with a ParleyError. */
  readonly opened: Promise<void>;
  #closed = false;
  #strange = 0;
  /** End of speech whose final transcript has not arrived. */
  #stopSample: number | null = null;
  /** Unanswered requests for a final transcript. */
  #asked = 0;
  /** `finalize` was sent for the last stretch of speech. */
  #requested = false;
  #speaking = false;
  /** The vendor's end-of-turn probability from before our VAD's end of speech. */
  #turnEnds: number | null = null;
  /** Words before this position are final. */
  #finalSample = -1;
  #finalDue: Cancel | null = null;
  #finalizeDue: Cancel | null = null;
  #quietDue: Cancel | null = null;
  #readyDue: Cancel | null = null;
  /** Start of the last stretch of speech, null before the first. */
  #startSample: number | null = null;
  /** The vendor has responded since. */
  #answered = false;
  /** Recent audio, to be sent if it turns out to contain speech. */
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
    this.#socket = dialect.dial?.(heard) ?? new VendorSocket({ ...own, keepAlive }, heard);
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
    // A vendor may detect the end before our VAD, which needs some silence first.
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
      this.failed(failed(provider, 'it keeps sending invalid messages'));
    }
  }

  #send(samples: Int16Array, startSample: number): void {
    for (const chunk of this.#audio.push(samples, startSample)) this.#sendAudio(chunk);
  }

  /** When both sides agree that speech is over. */
  #tellEnd(): void {
    const { clock } = this.#options;
    const probability = this.#turnEnds;
    if (probability === null) return;
    clock.schedule(clock.nowMs(), () => {
      if (this.#turnEnds === probability && !this.#speaking) this.turnEnds(probability);
    });
  }

  /** Sends the incomplete message. */
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

  /** The final transcript of the last stretch of speech is complete. */
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

  /** Some vendors return nothing if nothing was said; a vendor that never responds is stuck. */
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

  /** Redacts keys: vendors often repeat a key that they reject. */
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
