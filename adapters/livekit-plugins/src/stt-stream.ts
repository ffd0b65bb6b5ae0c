import { stt } from '@livekit/agents';
import { AudioFrame } from '@livekit/rtc-node';
import { type Cancel, type Clock, ParleyError, type SttEvents, type SttStream } from '@parley-voice/parley';
import { failed, Segments } from '@parley-voice/parley/providers';
import { connectOptions, parleyError } from './errors.js';

export interface PluginSttStreamOptions {
  provider: string;
  recogniser: stt.STT;
  secrets: readonly string[];
  clock: Clock;
  signal: AbortSignal;
  language: string;
  connectTimeoutMs: number;
  finalTimeoutMs: number;
  /** Called once. */
  onClosed: () => void;
}

const RATE_HZ = 16_000;
/** Where all words are final and no more come for so long after the final ones were asked for, there are no more. */
const QUIET_MS = 400;
/** A recogniser that says nothing at all of speech of this length does not listen. */
const MUTE_SAMPLES = 1.5 * RATE_HZ;
/** Languages that are written without spaces between words. */
const UNSPACED = new Set(['zh', 'ja', 'th', 'lo', 'my', 'km', 'bo']);

/**
 * A plug-in's stream as a session's: its interim and final transcripts are pieces of the turn, and the end of speech is
 * its `flush`. The times of words are left out: plug-ins may drop silence, after which theirs are not the session's.
 */
export class PluginSttStream implements SttStream {
  readonly #options: PluginSttStreamOptions;
  readonly #events: SttEvents;
  readonly #stream: stt.SpeechStream;
  readonly #segments: Segments;
  /** The piece that is being recognised. */
  #key = 0;
  #endSample = 0;
  #startSample = 0;
  /** Where speech ended whose final words have not come. */
  #stopSample: number | null = null;
  /** It has said something since speech began. */
  #answered = false;
  #closed = false;
  #finalDue: Cancel | null = null;
  #quietDue: Cancel | null = null;

  constructor(options: PluginSttStreamOptions, events: SttEvents) {
    this.#options = options;
    this.#events = events;
    const { recogniser, signal, language, connectTimeoutMs } = options;
    this.#segments = new Segments(
      (transcript) => {
        if (!this.#closed) events.onTranscript(transcript);
      },
      UNSPACED.has(language.split('-')[0] ?? language) ? '' : ' ',
    );
    // Stays: an error that nobody listens to would be thrown, also one that comes when all is over.
    recogniser.on('error', ({ error, recoverable }) => {
      if (!recoverable) this.#fail(error);
    });
    this.#stream = recogniser.stream({ connOptions: connectOptions(connectTimeoutMs) });
    signal.addEventListener('abort', this.#onAbort, { once: true });
    void this.#listen();
  }

  push(samples: Int16Array, startSample: number): void {
    if (this.#closed) return;
    this.#endSample = startSample + samples.length;
    // Some plug-ins send the whole buffer behind a frame: it has to be the frame's own.
    this.#act(() => this.#stream.pushFrame(new AudioFrame(samples.slice(), RATE_HZ, 1, samples.length)));
  }

  speechStarted(sample: number): void {
    if (this.#closed) return;
    this.#startSample = sample;
    this.#answered = false;
    this.#segments.goesOn();
    this.#settled();
  }

  speechStopped(sample: number): void {
    if (this.#closed) return;
    const { clock, finalTimeoutMs } = this.#options;
    this.#stopSample = sample;
    this.#finalDue?.();
    this.#finalDue = clock.schedule(clock.nowMs() + finalTimeoutMs, () => this.#finalIsLate());
    this.#act(() => this.#stream.flush());
    this.#awaitQuiet();
  }

  endTurn(): void {
    if (this.#closed) return;
    // A piece that is still open is the turn's, whatever it becomes; one that has not begun may be the next turn's.
    const isOwed = this.#stopSample !== null && !this.#segments.isSettled;
    this.#segments.endTurn(this.#endSample, isOwed ? 1 : 0);
    this.#settled();
  }

  /** May be called twice. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#settled();
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#stream.close();
    this.#options.onClosed();
    await this.#options.recogniser.close();
  }

  readonly #onAbort = (): void => {
    void this.close();
  };

  async #listen(): Promise<void> {
    try {
      for await (const event of this.#stream) this.#onEvent(event);
      this.#fail(failed(this.#options.provider, 'the stream has ended'));
    } catch (error) {
      this.#fail(error);
    }
  }

  #onEvent({ type, alternatives }: stt.SpeechEvent): void {
    if (this.#closed) return;
    const best = alternatives?.[0];
    const isFinal = type === stt.SpeechEventType.FINAL_TRANSCRIPT;
    if (isFinal || type === stt.SpeechEventType.INTERIM_TRANSCRIPT) {
      this.#answered = true;
      const { text = '', confidence = 0 } = best ?? {};
      // Plug-ins say 0 where their vendor gives none.
      const sure = confidence > 0 ? Math.min(1, confidence) : null;
      this.#segments.update(this.#key, { text, isFinal, confidence: sure, words: [] });
      if (isFinal) this.#key++;
      if (isFinal && this.#stopSample !== null && this.#segments.isSettled) this.#settle();
      else this.#awaitQuiet();
    }
  }

  /** Some vendors answer nothing where all words were final before. */
  #awaitQuiet(): void {
    const { clock } = this.#options;
    this.#quietDue?.();
    if (this.#stopSample === null) return;
    this.#quietDue = clock.schedule(clock.nowMs() + QUIET_MS, () => {
      if (!this.#segments.isEmpty && this.#segments.isSettled) this.#settle();
    });
  }

  /** The final words of the last stretch of speech are there. */
  #settle(): void {
    this.#settled();
    this.#segments.final();
  }

  #settled(): void {
    this.#stopSample = null;
    this.#finalDue?.();
    this.#quietDue?.();
  }

  /** Some vendors say nothing where there was nothing to say; one that is silent altogether is stuck. */
  #finalIsLate(): void {
    const { provider, finalTimeoutMs } = this.#options;
    const isShort = (this.#stopSample ?? 0) - this.#startSample < MUTE_SAMPLES;
    if ((this.#answered || isShort) && this.#segments.isSettled) this.#settle();
    else this.#fail(new ParleyError('PROVIDER_TIMEOUT', { provider, timeoutMs: finalTimeoutMs }));
  }

  /** A plug-in whose stream has ended throws at what it is told. */
  #act(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#closed) return;
    const { provider, secrets } = this.#options;
    void this.close();
    this.#events.onError(parleyError(provider, error, secrets));
  }
}
