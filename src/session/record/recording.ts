import { msToSamples } from '../../audio/frame.js';
import { Resampler } from '../../audio/dsp/resample.js';
import type { Clock } from '../../base/clock.js';
import { reasonOf } from '../../base/errors.js';
import type { Transport, TransportMessage, TransportSink } from '../../transports/transport.js';
import { closeInTime } from '../../base/deadlines.js';
import { lineOver } from '../line-over.js';

/** A gap that was filled with silence, and may turn out to be shorter. */
interface Pad {
  at: number;
  length: number;
}

/** Audio up to this late, in seconds, is late; beyond it there was a gap. */
const LATE_S = 0.2;
/** Audio this early, in seconds, shows that the last gap was none: the line had only stalled. */
const EARLY_S = 0.04;
/** Maximum distance of frames in one run, in seconds: five late ticks are caught up at once. */
const RUN_S = 0.12;
/** Audio further ahead of time than this, in seconds, is left out: it cannot be real. */
const AHEAD_S = 15;

/**
 * One side of a recording that is being written: samples at their positions on the session's time, from which the
 * oldest are taken. Positions are in samples from the opening of the line.
 */
export class RecordingTrack {
  readonly #rateHz: number;
  #buffer: Int16Array;
  /** Position of the buffer's first sample. */
  #start = 0;
  /** Position after the last sample. */
  #end = 0;
  #pad: Pad | null = null;
  #inRun = false;
  #isFirst = true;

  constructor(sampleRateHz: number) {
    this.#rateHz = sampleRateHz;
    this.#buffer = new Int16Array(4 * sampleRateHz);
  }

  /** Position after the last sample. */
  get end(): number {
    return this.#end;
  }

  /**
   * Audio heard until now. It continues at the end of the last audio, so that jitter does not tear it; after a real
   * gap, and at first, its last sample is placed at `now`.
   */
  heard(samples: Int16Array, now: number): void {
    const lag = now - (this.#end + samples.length);
    if (lag < -AHEAD_S * this.#rateHz) return;
    if (lag > (this.#isFirst ? 0 : LATE_S * this.#rateHz)) {
      this.#pad = { at: this.#end, length: lag };
      this.#end += lag;
    } else if (lag < -EARLY_S * this.#rateHz) this.#shorten(-lag);
    this.#isFirst = false;
    this.#append(samples);
  }

  /**
   * Audio for the line to play from now on. It is heard at once, or after the audio before it: frames of one run are
   * contiguous, however exact their ticks were.
   */
  given(frame: Int16Array | null, now: number): void {
    const before = this.#inRun;
    this.#inRun = frame !== null;
    if (frame === null) return;
    if (!before || now - this.#end > RUN_S * this.#rateHz) this.#end = Math.max(this.#end, now);
    this.#append(frame);
  }

  /** The line has stopped at `now`: removes and returns audio that will not be heard now. */
  takeBack(now: number): Int16Array {
    const from = Math.max(now, this.#start);
    const count = Math.max(0, this.#end - from);
    const at = from - this.#start;
    const samples = this.#buffer.slice(at, at + count);
    this.#buffer.fill(0, at, at + count);
    this.#end -= count;
    this.#inRun = false;
    return samples;
  }

  /** Takes the oldest samples; missing ones are silence. */
  take(count: number): Int16Array {
    const out = new Int16Array(count);
    const there = Math.max(0, Math.min(count, this.#end - this.#start, this.#buffer.length));
    out.set(this.#buffer.subarray(0, there));
    this.#buffer.copyWithin(0, count);
    this.#buffer.fill(0, Math.max(0, this.#buffer.length - count));
    this.#start += count;
    this.#end = Math.max(this.#end, this.#start);
    if (this.#pad !== null && this.#pad.at < this.#start) {
      this.#pad.length -= this.#start - this.#pad.at;
      this.#pad.at = this.#start;
      if (this.#pad.length <= 0) this.#pad = null;
    }
    return out;
  }

  /** Moves audio after the gap to its real position. */
  #shorten(by: number): void {
    const pad = this.#pad;
    if (pad === null) return;
    const count = Math.min(by, pad.length);
    const at = pad.at - this.#start;
    this.#buffer.copyWithin(at, at + count, this.#end - this.#start);
    this.#buffer.fill(0, this.#end - this.#start - count, this.#end - this.#start);
    this.#end -= count;
    pad.length -= count;
  }

  #append(samples: Int16Array): void {
    const at = this.#end - this.#start;
    const needed = at + samples.length;
    if (needed > this.#buffer.length) {
      const larger = new Int16Array(Math.max(needed, 2 * this.#buffer.length));
      larger.set(this.#buffer);
      this.#buffer = larger;
    }
    this.#buffer.set(samples, at);
    this.#end += samples.length;
  }
}

/** Storage of recordings. `recordingFolder` is one; an embedder may provide another. */
export interface RecordingSink {
  /** Starts a recording; called when the line opens. Rejects if it cannot. */
  open(recording: { readonly sessionId: string; readonly sampleRateHz: number }): Promise<RecordingFile>;
}

/** One recording that is being written. */
export interface RecordingFile {
  /** The path in the session's report. */
  readonly path: string;
  /** A piece of both sides, equally long. Resolves when it is stored; the next pieces wait. */
  write(user: Int16Array, agent: Int16Array): Promise<void>;
  close(): Promise<void>;
}

export interface RecordingOptions {
  sink: RecordingSink;
  sessionId: string;
  transport: Transport;
  clock: Clock;
  /** Nothing more is recorded; the call continues. */
  onFault: (reason: string) => void;
}

/** A piece is written at this age: until then the line's late audio can be placed. */
const SETTLED_MS = 2000;
/** Length of a piece: a whole number of samples at every rate. */
const PIECE_MS = 1000;
/** A disk that is this far behind is given up. Virtual time is faster than any disk and waits for it at the end. */
const MAX_WAITING_MS = 20_000;

/**
 * Records a session as the line hears it: the user left, the agent (with keys and background) right, from the opening
 * of the line to its close. It wraps the transport as `line`; faults of the recording do not reach the call.
 *
 * Both sides are on the session's time: the user's newest sample was spoken on arrival; the agent's frame is heard when
 * it is given, or after the one before. The rate is the higher one of the line's two.
 */
export class Recording {
  /** The transport for the session. */
  readonly line: Transport;
  readonly #options: RecordingOptions;
  readonly #rateHz: number;
  readonly #user: Side;
  readonly #agent: Side;
  /** Completes when everything is written; null = not started. */
  #writing: Promise<RecordingFile> | null = null;
  #file: RecordingFile | null = null;
  #startMs = 0;
  #state: 'new' | 'running' | 'over' = 'new';
  /** What a paused client will continue with. */
  #unheard: Int16Array | null = null;
  #writtenMs = 0;
  #waitingMs = 0;
  #closing: Promise<void> | null = null;
  #isPaused = false;

  constructor(options: RecordingOptions) {
    this.#options = options;
    const { inputRateHz, outputRateHz } = options.transport;
    this.#rateHz = Math.max(inputRateHz, outputRateHz);
    this.#user = new Side(inputRateHz, this.#rateHz);
    this.#agent = new Side(outputRateHz, this.#rateHz);
    this.line = this.#tapped(options.transport);
  }

  /** Null if there is none. */
  get path(): string | null {
    return this.#file?.path ?? null;
  }

  /** Silence takes the place of what happens from now on. */
  pause(): void {
    this.#isPaused = true;
    this.#agent.track.takeBack(this.#position(this.#options.transport.outputRateHz));
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** Writes the rest. Never rejects, has a deadline, may be called twice. */
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
        // Before the line gets it: the same tick may cause the next frame from within.
        if (this.#state === 'running') {
          const heard = this.#isPaused ? null : frame;
          this.#agent.track.given(heard, this.#position(transport.outputRateHz));
        }
        transport.play(frame, isBackground);
        if (this.#state === 'running') this.#writeSettled();
      },
      send: (message) => {
        if (this.#state === 'running' && transport.leadMs !== undefined) this.#followClient(message);
        transport.send(message);
      },
    });
  }

  /** A client that got audio ahead of time pauses, resumes and drops it. */
  #followClient(message: TransportMessage): void {
    if (!('soundGoesOn' in message) && (message.type === 'pause' || message.type === 'clear')) {
      const unheard = this.#agent.track.takeBack(this.#position(this.#options.transport.outputRateHz));
      this.#unheard = message.type === 'pause' ? unheard : null;
    } else if (message.type === 'unpause' && this.#unheard !== null && !this.#isPaused) {
      this.#agent.track.given(this.#unheard, this.#position(this.#options.transport.outputRateHz));
      this.#unheard = null;
    }
  }

  #listening(sink: TransportSink): TransportSink {
    return {
      audio: (samples) => {
        if (this.#state === 'running') {
          const heard = this.#isPaused ? new Int16Array(samples.length) : samples;
          this.#user.track.heard(heard, this.#position(this.#options.transport.inputRateHz));
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
      await this.#writing; // earlier failures have been reported
    } catch (error) {
      this.#fail(reasonOf(error));
    }
    this.#state = 'over';
    await this.#file?.close();
  }
}

/** One channel: takes samples at the line's rate and gives them at the recording's. */
class Side {
  readonly track: RecordingTrack;
  readonly #fromHz: number;
  readonly #toHz: number;
  readonly #resampler: Resampler | null;
  /** Samples of resampler input ahead of the output, to compensate for its delay. */
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
