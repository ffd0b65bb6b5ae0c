import type { WebSocket } from 'ws';
import { FRAME_MS, frameSamples, samplesToMs } from '../audio/frame.js';
import type { Cancel, Clock } from '../base/clock.js';
import { gatherTurn } from '../base/gathering.js';
import { ParleyError } from '../base/errors.js';
import { PcmReader, pcmBytes } from './pcm.js';
import { TalkControl, wireMessage } from './talk-control.js';
import type { TalkServerMessage } from './talk-protocol.js';
import type { Transport, TransportMessage, TransportSink } from './transport.js';

/** Sample rate of the talk socket, both ways. */
export const TALK_RATE_HZ = 16_000;

const SILENT_FRAME = Buffer.alloc(frameSamples(TALK_RATE_HZ) * 2);

export interface TalkSocketOptions {
  clock: Clock;
  /** Bytes that may wait for a slow client before it is disconnected. Default 512 kB, 16 s of audio. */
  maxBufferedBytes?: number;
  /** How far the client's audio may be ahead of time; more is dropped. Default 10 s. */
  maxAheadMs?: number;
  /** Interval of keep-alive pings; a client that misses two is gone. Default 20 s. */
  pingIntervalMs?: number;
  /**
   * Silence after speech, so that short pauses between sentences are not gaps in the stream: a client can then tell
   * late audio from silence. Default 240 ms. None with a lead, because the pause after a sentence is sent ahead, too.
   */
  silenceTailMs?: number;
  /** How far ahead of real time audio is sent. Default 0. */
  leadMs?: number;
}

export interface TalkSocketStats {
  receivedBytes: number;
  sentBytes: number;
  /** Audio that arrived faster than it can have been spoken, in milliseconds. */
  droppedMs: number;
  /** Unreadable or meaningless messages. */
  badMessages: number;
}

/** Maximum audio and messages kept between `initiate` and the start of the session. */
const MAX_EARLY_BYTES = 320_000;
/** Deadline for the client to answer the close. */
const CLOSE_TIMEOUT_MS = 2000;

/**
 * A client's side of `/talk` after its `initiate`: binary PCM both ways, JSON text messages for everything else. Input
 * before `start` is kept. docs/talk-socket.md describes the protocol.
 */
export class TalkSocketTransport implements Transport {
  readonly name = 'talk';
  readonly inputRateHz = TALK_RATE_HZ;
  readonly outputRateHz = TALK_RATE_HZ;
  readonly showsForms = true;
  readonly leadMs: number;
  /** Set before the session starts, from the client's `initiate`. */
  playsThroughPauses = false;
  readonly #stats = { receivedBytes: 0, sentBytes: 0, droppedMs: 0 };
  readonly #socket: WebSocket;
  readonly #options: Required<TalkSocketOptions>;
  readonly #pcm = new PcmReader();
  #sink: TransportSink | null = null;
  #startMs: number | null = null;
  #heardMs = 0;
  #unanswered = 0;
  #early: { data: Buffer; isBinary: boolean }[] = [];
  #earlyBytes = 0;
  #control: TalkControl | null = null;
  #silenceFrames = 0;
  #held = false;
  #cancelPing: Cancel = () => undefined;
  #closing: Promise<void> | null = null;

  constructor(socket: WebSocket, options: TalkSocketOptions) {
    this.#socket = socket;
    this.#options = {
      maxBufferedBytes: 512_000,
      maxAheadMs: 10_000,
      pingIntervalMs: 20_000,
      silenceTailMs: 240,
      leadMs: 0,
      ...options,
    };
    this.leadMs = this.#options.leadMs;
    socket.pause();
    socket.on('message', this.#onMessage);
  }

  get stats(): TalkSocketStats {
    return { ...this.#stats, badMessages: this.#control?.badMessages ?? 0 };
  }

  start(sink: TransportSink): void {
    this.#sink = sink;
    this.#startMs = this.#options.clock.nowMs();
    this.#control = new TalkControl({
      clock: this.#options.clock,
      send: (message) => this.#send(message),
      onTooBad: (error) => this.#fail(error),
    });
    const socket = this.#socket;
    socket.on('pong', () => {
      this.#unanswered = 0;
    });
    let error: Error | undefined;
    socket.on('error', (reason: Error) => {
      error = reason;
    });
    socket.on('close', () => {
      this.#gone(error);
    });
    // A client that left before the session was ready sends no more events.
    if (socket.readyState !== socket.OPEN) this.#gone();
    else this.#schedulePing();
    queueMicrotask(() => {
      for (const { data, isBinary } of this.#early.splice(0)) this.#onMessage(data, isBinary);
    });
    socket.resume();
  }

  play(frame: Int16Array | null): void {
    if (frame !== null) {
      this.#silenceFrames = this.#held || this.leadMs > 0 ? 0 : Math.round(this.#options.silenceTailMs / FRAME_MS);
      this.#write(pcmBytes(frame));
    } else if (this.#silenceFrames > 0) {
      this.#silenceFrames--;
      this.#write(SILENT_FRAME);
    }
  }

  send(message: TransportMessage): void {
    if (message.type === 'pause') this.#held = true;
    else if (message.type === 'unpause' || message.type === 'clear') this.#held = false;
    if (message.type === 'pause' || message.type === 'clear') this.#silenceFrames = 0;
    this.#send(wireMessage(message));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The client has moved to another line: this one ends silently. May be called twice. */
  abandon(): void {
    this.#gone();
    this.#socket.terminate();
  }

  #close(): Promise<void> {
    const socket = this.#socket;
    if (socket.readyState === socket.CLOSED) {
      this.#gone();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const { clock } = this.#options;
      const cancel = clock.schedule(clock.nowMs() + CLOSE_TIMEOUT_MS, () => {
        socket.terminate();
      });
      socket.once('close', () => {
        cancel();
        this.#gone();
        resolve();
      });
      socket.close(1000);
    });
  }

  readonly #onMessage = (data: Buffer, isBinary: boolean): void => {
    if (this.#startMs === null) {
      this.#earlyBytes += data.length;
      if (this.#earlyBytes <= MAX_EARLY_BYTES) this.#early.push({ data, isBinary });
      return;
    }
    this.#unanswered = 0;
    if (isBinary) this.#audio(data, this.#startMs);
    else this.#control?.receive(data.toString('utf8'), this.#sink);
  };

  #audio(chunk: Buffer, startMs: number): void {
    this.#stats.receivedBytes += chunk.length;
    const samples = this.#pcm.read(chunk);
    const elapsedMs = this.#options.clock.nowMs() - startMs;
    const lengthMs = samplesToMs(samples.length, TALK_RATE_HZ);
    // Time also passes for a client that pauses: it cannot send the missing audio later.
    this.#heardMs = Math.max(this.#heardMs, elapsedMs - this.#options.maxAheadMs);
    if (this.#heardMs + lengthMs > elapsedMs + this.#options.maxAheadMs) {
      this.#stats.droppedMs += lengthMs;
      return;
    }
    this.#heardMs += lengthMs;
    gatherTurn();
    this.#sink?.audio(samples);
  }

  #schedulePing(): void {
    const { clock, pingIntervalMs } = this.#options;
    this.#cancelPing = clock.schedule(clock.nowMs() + pingIntervalMs, () => {
      if (this.#unanswered >= 2) {
        this.#fail(new ParleyError('TALK_CLIENT_GONE', { silentMs: pingIntervalMs * 2 }));
        return;
      }
      this.#unanswered++;
      if (this.#canSend()) this.#socket.ping();
      this.#schedulePing();
    });
  }

  #canSend(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  #send(message: TalkServerMessage): void {
    this.#write(JSON.stringify(message));
  }

  /** Sends text or audio, and disconnects a client that does not read. */
  #write(data: string | Buffer): void {
    const socket = this.#socket;
    if (!this.#canSend()) return;
    this.#stats.sentBytes += data.length;
    socket.send(data, { binary: typeof data !== 'string' });
    if (socket.bufferedAmount > this.#options.maxBufferedBytes) {
      this.#fail(new ParleyError('TALK_CLIENT_TOO_SLOW', { bytes: socket.bufferedAmount }));
    }
  }

  #fail(error: ParleyError): void {
    this.#gone(error);
    this.#socket.terminate();
  }

  #gone(error?: Error): void {
    this.#cancelPing();
    const sink = this.#sink;
    this.#sink = null;
    sink?.closed(error);
  }
}
