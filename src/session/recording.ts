import { msToSamples } from '../audio/frame.js';
import { Resampler } from '../audio/resample.js';
import type { Clock } from '../clock/clock.js';
import { reasonOf } from '../errors.js';
import type { Transport, TransportMessage, TransportSink } from '../transports/transport.js';
import { closeInTime } from './closing.js';
import { lineOver } from './line-over.js';
import { RecordingTrack } from './recording-track.js';

/** Where recordings go. `recordingFolder` is one; an embedder may bring another. */
export interface RecordingSink {
  /** Begins a recording; called when the line opens. Rejects where it cannot. */
  open(recording: { readonly sessionId: string; readonly sampleRateHz: number }): Promise<RecordingFile>;
}

/** One recording that is being written. */
export interface RecordingFile {
  /** What the session's report names. */
  readonly path: string;
  /** A piece of both sides, equally long. Resolves when it is safe; what comes meanwhile waits. */
  write(user: Int16Array, agent: Int16Array): Promise<void>;
  close(): Promise<void>;
}

export interface RecordingOptions {
  sink: RecordingSink;
  sessionId: string;
  transport: Transport;
  clock: Clock;
  /** Nothing more is recorded; the call goes on. */
  onFault: (reason: string) => void;
}

/** A piece is written once it is so old: until then the line's late sound still finds its place. */
const SETTLED_MS = 2000;
/** Length of a piece: whole samples at every rate. */
const PIECE_MS = 1000;
/** A disk that is so far behind is given up. Virtual time, which outruns every disk, waits for it in the end. */
const MAX_WAITING_MS = 20_000;

/**
 * Records a session as the line hears it: the user left, the agent (with keys and background) right, from the opening
 * of the line to its close. Listens to `line`, which passes everything on; nothing that happens to the recording
 * reaches the call.
 *
 * Both sides lie on the session's time: the user's newest sample was spoken when it came, the agent's frame is heard
 * from when it is given, or behind the one before. The rate is the higher of the line's two.
 */
export class Recording {
  /** The transport to run the session on. */
  readonly line: Transport;
  readonly #options: RecordingOptions;
  readonly #rateHz: number;
  readonly #user: Side;
  readonly #agent: Side;
  /** The end of what is to be written; null = it was never begun. */
  #writing: Promise<RecordingFile> | null = null;
  #file: RecordingFile | null = null;
  #startMs = 0;
  #state: 'new' | 'running' | 'over' = 'new';
  /** What a client that has been paused will go on with. */
  #unheard: Int16Array | null = null;
  #writtenMs = 0;
  #waitingMs = 0;
  #closing: Promise<void> | null = null;

  constructor(options: RecordingOptions) {
    this.#options = options;
    const { inputRateHz, outputRateHz } = options.transport;
    this.#rateHz = Math.max(inputRateHz, outputRateHz);
    this.#user = new Side(inputRateHz, this.#rateHz);
    this.#agent = new Side(outputRateHz, this.#rateHz);
    this.line = this.#tapped(options.transport);
  }

  /** Null where there is none. */
  get path(): string | null {
    return this.#file?.path ?? null;
  }

  /** Writes what is left. Never rejects, never takes for ever, may be called twice. */
  close(): Promise<void> {
    const { clock, onFault } = this.#options;
    // Virtual time stands still until the disk is done.
    this.#closing ??= closeInTime(clock, () => clock.settle(this.#finish(), clock.nowMs()), onFault);
    return this.#closing;
  }

  #tapped(transport: Transport): Transport {
    return lineOver(transport, {
      start: (sink) => {
        this.#start();
        transport.start(this.#listening(sink));
      },
      play: (frame, isBackground) => {
        // Before the line has it: what comes of the same tick may bring the next frame from within.
        if (this.#state === 'running') this.#agent.track.given(frame, this.#position(transport.outputRateHz));
        transport.play(frame, isBackground);
        if (this.#state === 'running') this.#writeSettled();
      },
      send: (message) => {
        if (this.#state === 'running' && transport.leadMs !== undefined) this.#followClient(message);
        transport.send(message);
      },
    });
  }

  /** A client that was given sound before its time stops, goes on, and drops it. */
  #followClient(message: TransportMessage): void {
    if (!('soundGoesOn' in message) && (message.type === 'pause' || message.type === 'clear')) {
      const unheard = this.#agent.track.takeBack(this.#position(this.#options.transport.outputRateHz));
      this.#unheard = message.type === 'pause' ? unheard : null;
    } else if (message.type === 'unpause' && this.#unheard !== null) {
      this.#agent.track.given(this.#unheard, this.#position(this.#options.transport.outputRateHz));
      this.#unheard = null;
    }
  }

  #listening(sink: TransportSink): TransportSink {
    return {
      audio: (samples) => {
        if (this.#state === 'running') {
          this.#user.track.heard(samples, this.#position(this.#options.transport.inputRateHz));
        }
        sink.audio(samples);
      },
      digits: (digits) => sink.digits(digits),
      text: (text) => sink.text(text),
      formResult: (id, value) => sink.formResult(id, value),
      closed: (error) => sink.closed(error),
    };
  }

  #start(): void {
    const { sink, sessionId, clock } = this.#options;
    this.#state = 'running';
    this.#startMs = clock.nowMs();
    const open = async (): Promise<RecordingFile> => {
      this.#file = await sink.open({ sessionId, sampleRateHz: this.#rateHz });
      return this.#file;
    };
    this.#then(open());
  }

  get #nowMs(): number {
    return this.#options.clock.nowMs() - this.#startMs;
  }

  #position(rateHz: number): number {
    return msToSamples(this.#nowMs, rateHz);
  }

  #writeSettled(): void {
    while (this.#nowMs - this.#writtenMs >= PIECE_MS + SETTLED_MS) {
      this.#writtenMs += PIECE_MS;
      this.#write(this.#rateHz, PIECE_MS);
    }
    if (this.#waitingMs > MAX_WAITING_MS && !this.#options.clock.virtual) this.#fail('the disk is too slow');
  }

  #write(samples: number, lengthMs: number): void {
    const [user, agent] = [this.#user.next(samples), this.#agent.next(samples)];
    const writing = this.#writing;
    if (writing === null) return;
    this.#waitingMs += lengthMs;
    const write = async (): Promise<RecordingFile> => {
      const file = await writing;
      await file.write(user, agent);
      this.#waitingMs -= lengthMs;
      return file;
    };
    this.#then(write());
  }

  #then(writing: Promise<RecordingFile>): void {
    this.#writing = writing;
    writing.catch((error: unknown) => this.#fail(reasonOf(error)));
  }

  #fail(reason: string): void {
    if (this.#state !== 'running') return;
    this.#state = 'over';
    this.#options.onFault(reason);
  }

  async #finish(): Promise<void> {
    const samples = Math.max(this.#user.left, this.#agent.left);
    if (this.#state === 'running' && samples > 0) this.#write(samples, 0);
    try {
      await this.#writing; // what failed before has been told
    } catch (error) {
      this.#fail(reasonOf(error));
    }
    this.#state = 'over';
    await this.#file?.close();
  }
}

/** One channel: its samples at the line's rate, given out at the recording's. */
class Side {
  readonly track: RecordingTrack;
  readonly #fromHz: number;
  readonly #toHz: number;
  readonly #resampler: Resampler | null;
  /** Samples that the resampler has to be ahead for its delay to vanish. */
  readonly #lookahead: number;
  #taken = 0;

  constructor(fromHz: number, toHz: number) {
    this.track = new RecordingTrack(fromHz);
    this.#fromHz = fromHz;
    this.#toHz = toHz;
    this.#resampler = fromHz === toHz ? null : new Resampler(fromHz, toHz);
    this.#lookahead = Math.round(((this.#resampler?.delaySamples ?? 0) * fromHz) / toHz);
  }

  /** Samples of the recording that are not written yet. */
  get left(): number {
    return Math.max(0, Math.ceil((this.track.end * this.#toHz) / this.#fromHz) - this.#taken);
  }

  next(count: number): Int16Array {
    const resampler = this.#resampler;
    if (resampler === null) {
      this.#taken += count;
      return this.track.take(count);
    }
    if (this.#taken === 0) resampler.process(this.track.take(this.#lookahead));
    this.#taken += count;
    const out = new Int16Array(count);
    const resampled = resampler.process(this.track.take(Math.round((count * this.#fromHz) / this.#toHz)));
    out.set(resampled.subarray(0, count));
    return out;
  }
}
