import { LineInput } from '../../../transports/line-input.js';
import { FRAME_MS, frameSamples, samplesToMs } from '../../../audio/frame.js';
import { gatherTurn } from '../../../base/gathering.js';
import type { Cancel, Clock } from '../../../base/clock.js';
import { reasonOf } from '../../../base/errors.js';
import type {
  LineStats,
  TransferOutcome,
  Transport,
  TransportMessage,
  TransportSink,
} from '../../../transports/transport.js';
import { type MediaDialect, type MediaMessage, encodePayload, type MediaEncoding, decodePayload } from './dialect.js';
import type { MediaSocket } from './media-socket.js';
import { UnplayedAudio } from './unplayed-audio.js';

export interface SocketLineOptions {
  clock: Clock;
  carrier: string;
  dialect: MediaDialect;
  encoding: MediaEncoding;
  /** Both ways. */
  sampleRateHz: number;
  events: SocketLineEvents;
}

export interface SocketLineEvents {
  /** The agent's side has closed, and its last words were heard. */
  onClosed(): void;
  onTransfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
  onDigits(keys: string, signal: AbortSignal): Promise<void>;
  /** A stream has begun. */
  onStart(start: MediaMessage & { type: 'start' }): void;
  /** The stream is gone: the carrier has ended it (`isStopped`), or its socket broke. */
  onGone(isStopped: boolean): void;
  /** An invalid message, reported once for each kind. */
  onBad(reason: string): void;
}

/** Statistics of a call; none of these ends it. */
export interface MediaCounts {
  /** Unreadable messages and audio. */
  badMessages: number;
  /** Milliseconds of audio faster than real time. */
  droppedMs: number;
  /** Milliseconds that the carrier left out, by its own clock. */
  missingMs: number;
  /** Frames that were not sent because the carrier did not read. */
  unsentFrames: number;
  /** Number of streams of the call. */
  streams: number;
}

/** Interval of marks while the agent speaks, in frames. */
const MARK_FRAMES = 5;
/** Less audio than this is not taken back at a pause, because the difference is inaudible. */
const TAKE_BACK_MS = 60;
/** Maximum number of keys in one message. */
const MOST_KEYS = 32;
/** Maximum buffer for a slow reader: 3 s of audio. */
const MAX_BUFFERED_BYTES = 60_000;
/** Time for the last words to be heard after the close. */
const LAST_WORDS_MS = 700;

/**
 * The agent's side of a call with audio over a carrier's media socket. It outlives its sockets: after a break, or after
 * keys or a transfer, another stream follows.
 */
export class SocketLine implements Transport {
  readonly name: string;
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  digitsSent = '';
  digitsReceived = '';
  readonly counts: MediaCounts = { badMessages: 0, droppedMs: 0, missingMs: 0, unsentFrames: 0, streams: 0 };
  readonly #options: SocketLineOptions;
  readonly #reported = new Set<string>();
  #socket: MediaSocket | null = null;
  #streamId: string | null = null;
  readonly #input = new LineInput();
  /** The agent's part is over. */
  #isOver = false;
  #unheard = new UnplayedAudio();
  /** Audio that was taken back at a pause, to resume with. */
  #takenBack: readonly string[] = [];
  #sinceMark = 0;
  #sent = 0;
  readonly #heard: ReceivedAudio;
  #cancelLastWords: Cancel = () => undefined;

  constructor(options: SocketLineOptions) {
    this.#options = options;
    this.name = options.carrier;
    this.inputRateHz = options.sampleRateHz;
    this.outputRateHz = options.sampleRateHz;
    const { clock, encoding, sampleRateHz } = options;
    this.#heard = new ReceivedAudio({
      clock,
      encoding,
      sampleRateHz,
      counts: this.counts,
      onSound: (samples) => this.#input.audio(samples),
      onBad: (reason) => this.#bad(reason),
    });
  }

  /** Whether audio can flow both ways now. */
  get hasStream(): boolean {
    return this.#streamId !== null;
  }

  /** Attaches a socket that the carrier has opened for this call, replacing the previous one. */
  attach(socket: MediaSocket): void {
    if (this.#isOver) {
      socket.close();
      return;
    }
    this.detach();
    this.#socket = socket;
    socket.listen({
      onText: (text) => {
        if (this.#socket !== socket) return;
        gatherTurn();
        this.#receive(text);
      },
      onClosed: () => {
        if (this.#socket === socket) this.#over(false);
      },
    });
  }

  /**
   * The carrier reports the end of a stream by other means; no effect if it is not the current one. Carriers vary the
   * case of ids.
   */
  stopped(streamId: string): void {
    if (this.#streamId?.toLowerCase() === streamId.toLowerCase()) this.#over(true);
  }

  /** Drops the stream silently. */
  detach(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#streamId = null;
    this.#takenBack = [];
    this.#unheard = new UnplayedAudio();
    socket?.close();
  }

  start(sink: TransportSink): void {
    this.#input.start(sink);
  }

  play(frame: Int16Array | null): void {
    const socket = this.#socket;
    const stream = this.#streamId;
    if (socket === null || stream === null || this.#input.isOver) return;
    if (frame === null) {
      if (!this.#unheard.isAllPlayed) this.#mark(socket, stream);
      return;
    }
    if (socket.bufferedBytes > MAX_BUFFERED_BYTES) {
      this.counts.unsentFrames++;
      return;
    }
    this.#write(socket, stream, encodePayload(this.#options.encoding, frame));
  }

  send(message: TransportMessage): void {
    const socket = this.#socket;
    const stream = this.#streamId;
    if (socket === null || stream === null) return;
    if (message.type === 'pause' && this.unheardMs() >= TAKE_BACK_MS) {
      this.#takenBack = this.#unheard.drop(this.#options.clock.nowMs());
      socket.send(this.#options.dialect.clear(stream));
    } else if (message.type === 'unpause') {
      for (const payload of this.#takenBack) this.#write(socket, stream, payload);
      this.#takenBack = [];
    } else if (message.type === 'clear') {
      this.#takenBack = [];
      if (this.#unheard.isAllPlayed) return;
      this.#unheard.drop(this.#options.clock.nowMs());
      socket.send(this.#options.dialect.clear(stream));
    }
  }

  /** Milliseconds of sent audio that were not heard yet. */
  unheardMs(): number {
    return this.#unheard.ms(this.#options.clock.nowMs()) + this.#takenBack.length * FRAME_MS;
  }

  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    if (this.#isOver) return Promise.resolve({ ok: false, reason: 'failed' });
    return this.#options.events.onTransfer(target, signal);
  }

  async sendDigits(keys: string, signal: AbortSignal): Promise<void> {
    if (this.#isOver) throw new Error('the call is over');
    await this.#options.events.onDigits(keys, signal);
    this.digitsSent += keys.replaceAll('w', '');
  }

  /** Requests key presses over the media socket; false = no stream, or not supported. */
  pressKeys(keys: string): boolean {
    const message = this.#options.dialect.keys?.(keys);
    if (message === undefined || this.#socket === null || this.#streamId === null) return false;
    this.#socket.send(message);
    return true;
  }

  lineStats(): LineStats {
    const { received } = this.#heard;
    const lost = Math.round(this.counts.missingMs / FRAME_MS);
    return {
      sent: this.#sent,
      received,
      lost,
      late: 0,
      duplicate: 0,
      reordered: 0,
      jitterMs: 0,
      patienceMs: 0,
      reportedLoss: null,
    };
  }

  /** Ends the agent's part once its last words were heard. */
  close(): Promise<void> {
    if (this.#input.isOver) return Promise.resolve();
    this.#input.end();
    const socket = this.#socket;
    const stream = this.#streamId;
    if (socket === null || stream === null || this.#unheard.isAllPlayed) {
      this.#closed();
      return Promise.resolve();
    }
    this.#mark(socket, stream);
    const { clock } = this.#options;
    const waitMs = this.#unheard.delayMs + LAST_WORDS_MS;
    this.#cancelLastWords = clock.schedule(clock.nowMs() + waitMs, () => this.#closed());
    return Promise.resolve();
  }

  /** The call is over for the agent. May be called twice. */
  gone(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelLastWords();
    this.#input.end(error);
    this.detach();
  }

  #closed(): void {
    this.#cancelLastWords();
    if (this.#isOver) return;
    this.gone();
    this.#options.events.onClosed();
  }

  #write(socket: MediaSocket, stream: string, payload: string): void {
    socket.send(this.#options.dialect.media(stream, payload));
    this.#unheard.sent(payload);
    this.#sent++;
    if (++this.#sinceMark >= MARK_FRAMES) this.#mark(socket, stream);
  }

  #mark(socket: MediaSocket, stream: string): void {
    this.#sinceMark = 0;
    const name = this.#unheard.mark(this.#options.clock.nowMs());
    if (name !== null) socket.send(this.#options.dialect.mark(stream, name));
  }

  #receive(text: string): void {
    let message: MediaMessage | null;
    try {
      message = this.#options.dialect.read(text);
    } catch (error) {
      this.#bad(`a message that cannot be read: ${reasonOf(error)}`);
      return;
    }
    switch (message?.type) {
      case 'start':
        this.#begin(message);
        break;
      case 'media':
        if (this.#streamId === null) this.#bad('sound before the start of the stream');
        else this.#heard.take(message.payload, message.atMs);
        break;
      case 'digits':
        this.#keys(message.digits);
        break;
      case 'mark':
        this.#unheard.played(message.name, this.#options.clock.nowMs());
        if (this.#input.isOver && this.#unheard.isAllPlayed) this.#closed();
        break;
      case 'stop':
        this.#over(true);
        break;
      case undefined:
    }
  }

  #begin(start: MediaMessage & { type: 'start' }): void {
    const { encoding, sampleRateHz, events } = this.#options;
    if (this.#streamId !== null) {
      this.#bad('a second start of the stream');
      return;
    }
    if (start.encoding !== encoding || start.sampleRateHz !== sampleRateHz) {
      this.#bad(`sound of ${start.encoding} at ${String(start.sampleRateHz)} Hz, which was not asked for`);
      return;
    }
    this.#streamId = start.streamId;
    this.#heard.begin();
    this.counts.streams++;
    events.onStart(start);
  }

  /** The socket is unusable, whether it is closed or not. */
  #over(isStopped: boolean): void {
    this.detach();
    this.#options.events.onGone(isStopped);
  }

  #keys(digits: string): void {
    const keys = digits.toUpperCase().replaceAll(/[^0-9*#A-D]/g, '');
    if (keys === '' || keys.length > MOST_KEYS) {
      this.#bad('keys that are none, or too many');
      return;
    }
    this.digitsReceived += keys;
    this.#input.digits(keys);
  }

  #bad(reason: string): void {
    this.counts.badMessages++;
    if (this.#reported.size >= 20 || this.#reported.has(reason)) return;
    this.#reported.add(reason);
    this.#options.events.onBad(reason);
  }
}

interface ReceivedAudioOptions {
  clock: Clock;
  encoding: MediaEncoding;
  sampleRateHz: number;
  /** Its `droppedMs` and `missingMs` are increased here. */
  counts: { droppedMs: number; missingMs: number };
  /** Samples in order. */
  onSound: (samples: Int16Array) => void;
  onBad: (reason: string) => void;
}

/** Audio may be this far ahead of time; more is dropped. */
const MAX_AHEAD_MS = 3_000;
/** Longest audio in one message; real messages have at most 200 ms. */
const MAX_MESSAGE_MS = 1_000;
/** A gap on the carrier's clock is filled with up to this much silence. */
const MAX_GAP_MS = 1_000;
/** A larger jump is a restart or an error of the carrier's clock. */
const MOST_GAP_MS = 60_000;

/** The far end's audio over consecutive streams: not faster than real time, with silence for missing audio. */
class ReceivedAudio {
  /** Number of audio messages. */
  received = 0;
  readonly #options: ReceivedAudioOptions;
  #startedMs = 0;
  #heardMs = 0;
  /** Expected position of the next audio, on the carrier's clock. */
  #nextAtMs: number | null = null;

  constructor(options: ReceivedAudioOptions) {
    this.#options = options;
  }

  /** A stream begins. */
  begin(): void {
    this.#startedMs = this.#options.clock.nowMs();
    this.#heardMs = 0;
    this.#nextAtMs = null;
  }

  /**
   * Handles a message's audio, base64.
   * @param atMs its position on the stream's clock; null = unknown
   */
  take(payload: string, atMs: number | null): void {
    const { clock, encoding, sampleRateHz, counts, onSound, onBad } = this.#options;
    const samples = decodePayload(encoding, payload);
    const lengthMs = samplesToMs(samples.length, sampleRateHz);
    if (samples.length === 0 || lengthMs > MAX_MESSAGE_MS) {
      onBad(`a message with ${lengthMs.toFixed(0)} ms of sound`);
      return;
    }
    this.received++;
    const elapsedMs = clock.nowMs() - this.#startedMs;
    this.#heardMs = Math.max(this.#heardMs, elapsedMs - MAX_AHEAD_MS);
    if (this.#heardMs + lengthMs > elapsedMs + MAX_AHEAD_MS) {
      counts.droppedMs += lengthMs;
      this.#nextAtMs = atMs === null ? null : atMs + lengthMs; // its gap stays empty
      return;
    }
    this.#heardMs += lengthMs;
    if (atMs !== null) {
      this.#fillGap(atMs);
      this.#nextAtMs = atMs + lengthMs;
    }
    onSound(samples);
  }

  /** Fills a gap with silence, so that later audio keeps its time. */
  #fillGap(atMs: number): void {
    const { sampleRateHz, counts, onSound } = this.#options;
    const gapMs = atMs - (this.#nextAtMs ?? atMs);
    if (gapMs < FRAME_MS || gapMs > MOST_GAP_MS) return;
    counts.missingMs += gapMs;
    const frames = Math.floor(Math.min(gapMs, MAX_GAP_MS) / FRAME_MS);
    onSound(new Int16Array(frames * frameSamples(sampleRateHz)));
  }
}
