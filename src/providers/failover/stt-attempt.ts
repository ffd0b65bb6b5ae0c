import type { Cancel } from '../../base/clock.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import type { SttEvents, SttOptions, SttProvider, SttStream, SttTranscript } from '../stt/stt.js';
import type { Health } from './health.js';
import type { HeardAudio } from './heard-audio.js';

export interface SttEntry {
  provider: SttProvider;
  /** Options to use as a fallback. Default: those of the session. */
  options?: Pick<SttOptions, 'model' | 'multilingual'>;
  health: Health;
}

export interface SttAttemptEvents extends SttEvents {
  onOpen: () => void;
}

/** Timeout for opening a stream. */
const OPEN_TIMEOUT_MS = 6000;

/** One provider's stream for a session: opening, open or closed. */
export class SttAttempt {
  readonly entry: SttEntry;
  readonly startedMs: number;
  readonly #options: SttOptions;
  readonly #events: SttAttemptEvents;
  readonly #abort = new AbortController();
  #stream: SttStream | null = null;
  #over = false;
  #openDue: Cancel = () => undefined;
  /** Index of its first segment in the current turn, and of its last one in earlier turns. */
  #firstOfTurn: number | null = null;
  #lastBefore = -1;
  #lastSeen = -1;

  constructor(entry: SttEntry, options: SttOptions, events: SttAttemptEvents) {
    this.entry = entry;
    this.#options = options;
    this.#events = events;
    this.startedMs = options.clock.nowMs();
  }

  get isOpen(): boolean {
    return this.#stream !== null && !this.#over;
  }

  /** Opens the stream and replays the audio of the turn so far. */
  start(heard: HeardAudio): void {
    const { clock, signal, model: _model, multilingual: _multilingual, ...rest } = this.#options;
    const { provider, health, options } = this.entry;
    const asked = options === undefined ? this.#options : { ...rest, ...options };
    health.breaker.begin(this.startedMs);
    this.#openDue = clock.schedule(this.startedMs + OPEN_TIMEOUT_MS, () => {
      this.#fail(new ParleyError('PROVIDER_TIMEOUT', { provider: provider.name, timeoutMs: OPEN_TIMEOUT_MS }));
    });
    const opening = (async () =>
      provider.open(
        { ...asked, clock, signal: AbortSignal.any([signal, this.#abort.signal]) },
        {
          onTranscript: (transcript) => this.#onTranscript(transcript),
          onTurnEnds: (probability) => {
            if (!this.#over) this.#events.onTurnEnds?.(probability);
          },
          onError: (error) => this.#fail(error),
        },
      ))();
    opening.then(
      (stream) => {
        this.#openDue();
        if (this.#over) {
          void stream.close().catch(() => undefined);
          return;
        }
        this.#stream = stream;
        health.open.add(clock.nowMs() - this.startedMs);
        this.#events.onOpen();
        this.tell((open) => heard.replayTo(open));
      },
      (error: unknown) => this.#fail(errorOf(error)),
    );
  }

  /** Passes a call on to the stream, if it is open. */
  tell(say: (stream: SttStream) => void): void {
    if (this.#stream === null || this.#over) return;
    try {
      say(this.#stream);
    } catch (error) {
      this.#fail(errorOf(error));
    }
  }

  endTurn(): void {
    this.#lastBefore = this.#lastSeen;
    this.#firstOfTurn = null;
    this.tell((stream) => stream.endTurn());
  }

  /** Index of the transcript's segment within the turn, from 0; null = it belongs to an earlier turn. */
  place({ segment }: SttTranscript): number | null {
    if (segment <= this.#lastBefore) return null;
    this.#lastSeen = Math.max(this.#lastSeen, segment);
    this.#firstOfTurn ??= segment;
    return Math.max(0, segment - this.#firstOfTurn);
  }

  async close(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    this.#openDue();
    this.#abort.abort(new DOMException('Another recogniser listens', 'AbortError'));
    await this.#stream?.close();
  }

  #onTranscript(transcript: SttTranscript): void {
    if (!this.#over) this.#events.onTranscript(transcript);
  }

  #fail(error: Error): void {
    if (this.#over || this.#options.signal.aborted) return;
    this.#over = true;
    this.#openDue();
    this.#abort.abort(error);
    void this.#stream?.close().catch(() => undefined);
    this.#events.onError(error);
  }
}
