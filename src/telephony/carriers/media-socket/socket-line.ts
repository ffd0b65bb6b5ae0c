import { LineInput } from '../../../transports/line-input.js';
import { FRAME_MS } from '../../../audio/frame.js';
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
import type { MediaDialect, MediaMessage } from './dialect.js';
import { encodePayload, type MediaEncoding } from './encodings.js';
import { ReceivedAudio } from './received-audio.js';
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
  /** The agent's side has been closed, and what it said last has been heard. */
  onClosed(): void;
  onTransfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
  onDigits(keys: string, signal: AbortSignal): Promise<void>;
  /** A stream has begun. */
  onStart(start: MediaMessage & { type: 'start' }): void;
  /** The stream is gone: the carrier has ended it (`isStopped`), or its socket has broken off. */
  onGone(isStopped: boolean): void;
  /** A message that cannot be read or is invalid, reported once for each kind. */
  onBad(reason: string): void;
}

/** Counted for each call; none of it takes the call down. */
export interface MediaCounts {
  /** Messages that could not be read, and sound that cannot be. */
  badMessages: number;
  /** Milliseconds of sound that came faster than it can have been spoken. */
  droppedMs: number;
  /** Milliseconds that the carrier left out, by its own clock. */
  missingMs: number;
  /** Frames that were not sent, since the carrier did not read what was sent before. */
  unsentFrames: number;
  /** Streams that the call has had. */
  streams: number;
}

/** A mark is sent this often while the agent speaks, in frames. */
const MARK_FRAMES = 5;
/** Less than this is not taken back when the agent pauses: nobody would hear the difference. */
const TAKE_BACK_MS = 60;
/** Keys in one message. */
const MOST_KEYS = 32;
/** What may wait for a slow reader: 3 s of sound. */
const MAX_BUFFERED_BYTES = 60_000;
/** Sound that comes before the session listens is kept so long: a second of messages. */
const LAST_WORDS_MS = 700;

/**
 * The agent's end of a call whose sound goes over a carrier's media socket. It outlives its sockets: a stream that
 * broke off, or that had to make way for keys or a transfer, is followed by another.
 */
export class SocketLine implements Transport {
  readonly name: string;
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  digitsSent = '';
  digitsReceived = '';
  readonly counts: MediaCounts = { badMessages: 0, droppedMs: 0, missingMs: 0, unsentFrames: 0, streams: 0 };
  readonly #options: SocketLineOptions;
  readonly #told = new Set<string>();
  #socket: MediaSocket | null = null;
  #streamId: string | null = null;
  readonly #input = new LineInput();
  /** The agent hears and says nothing any more. */
  #isOver = false;
  #unheard = new UnplayedAudio();
  /** What was taken back when the agent paused, for when it goes on. */
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

  /** Whether sound can go both ways now. */
  get hasStream(): boolean {
    return this.#streamId !== null;
  }

  /** A socket that the carrier has opened for this call; the one before has had its time. */
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
   * The carrier says elsewhere that a stream is over; of no effect where it is not the one that the line has. Carriers
   * write ids now in small letters, now in capitals.
   */
  stopped(streamId: string): void {
    if (this.#streamId?.toLowerCase() === streamId.toLowerCase()) this.#over(true);
  }

  /** Lets the stream go, without a word to anybody. */
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

  /** How much of what was played has not been heard yet, in milliseconds. */
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

  /** Asks over the media socket for keys to be pressed; false = there is no stream, or it cannot. */
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

  /** Ends the agent's part once its last words have been heard. */
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

  /** The socket is no use any more, whether it is closed or not. */
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
    if (this.#told.size >= 20 || this.#told.has(reason)) return;
    this.#told.add(reason);
    this.#options.events.onBad(reason);
  }
}
