import { msToSamples, notInt16 } from '../../audio/frame.js';
import type { Cancel } from '../../base/clock.js';
import { failureOf } from '../../base/errors.js';
import type { TransportSink, TransportMessage } from '../../transports/transport.js';
import type { Hearing } from '../hearing/hearing.js';
import type { LineEar } from '../tap.js';
import type { SessionContext } from '../session-context.js';
import type { ClientForm, Screen } from '../../tools/tool.js';

export interface LineSinkOptions {
  hearing: Hearing;
  forms: ClientForms;
  onClosed: (error: unknown) => void;
  ear: LineEar;
}

/** A line that brings no audio for this long in or after speech is silent: the pause then counts from its last audio. */
const GAP_MS = 500;
const FILL_MS = 20;
/** Audio up to this late follows the audio before it, so that jitter does not tear it; beyond it there was a gap. */
const LATE_MS = 200;

/**
 * Receives what the user says, presses and types from the line. Lines may stop sending in silence; speech would then
 * never end, so silence fills such a gap while somebody waits for the end of the user's words.
 */
export class LineSink implements TransportSink {
  readonly #context: Pick<SessionContext, 'clock' | 'nowMs' | 'emit' | 'log'>;
  readonly #hearing: Hearing;
  readonly #options: LineSinkOptions;
  /** Position after the last audio, on the line's time, and whether there was any. */
  #end = 0;
  #isFirst = true;
  /** Until when there was audio or silence in its place, on the session's time. */
  #heardMs = 0;
  #isGap = false;
  #stopWatch: Cancel | null = null;

  constructor(context: Pick<SessionContext, 'clock' | 'nowMs' | 'emit' | 'log'>, options: LineSinkOptions) {
    this.#context = context;
    this.#hearing = options.hearing;
    this.#options = options;
  }

  audio(samples: Int16Array): void {
    try {
      if (!(samples instanceof Int16Array)) throw notInt16('audio of the transport', samples);
      const { ear } = this.#options;
      const at = this.#place(samples.length);
      if (ear.isRead) ear.push(samples, at);
      this.#heardMs = this.#context.nowMs();
      this.#isGap = false;
      this.#hearing.audio(samples);
      if (this.#stopWatch === null) this.#watch(GAP_MS);
    } catch (error) {
      this.#context.emit({ type: 'ears.failed', ...failureOf(error) });
    }
  }

  /** Hears nothing more. */
  stop(): void {
    this.#hearing.stop();
    this.#stopWatch?.();
    this.#stopWatch = null;
  }

  /** The position of audio whose last sample was spoken now, unless it follows the audio before it. */
  #place(length: number): number {
    const { sampleRateHz } = this.#options.ear;
    const late = msToSamples(this.#context.nowMs(), sampleRateHz) - (this.#end + length);
    if (late > (this.#isFirst ? 0 : msToSamples(LATE_MS, sampleRateHz))) this.#end += late;
    this.#isFirst = false;
    const at = this.#end;
    this.#end += length;
    return at;
  }

  #watch(inMs: number): void {
    const { clock } = this.#context;
    this.#stopWatch = clock.schedule(clock.nowMs() + inMs, () => {
      this.#stopWatch = null;
      this.#fill();
    });
  }

  /** Silence takes the place of missing audio until the user's words are over. */
  #fill(): void {
    if (!this.#hearing.awaitsSilence) return;
    const missingMs = this.#context.nowMs() - this.#heardMs;
    if (!this.#isGap && missingMs < GAP_MS) {
      this.#watch(Math.max(FILL_MS, GAP_MS - missingMs));
      return;
    }
    if (!this.#isGap) this.#context.log('line.gap', { missingMs });
    this.#isGap = true;
    this.#heardMs += missingMs;
    this.#hearing.audio(new Int16Array(msToSamples(missingMs, this.#options.ear.sampleRateHz)));
    this.#watch(FILL_MS);
  }

  digits(digits: string): void {
    this.#hearing.keys(digits);
  }

  text(text: string): void {
    this.#context.emit({ type: 'text', text });
  }

  formResult(id: string, value: unknown): void {
    this.#options.forms.result(id, value);
  }

  closed(error?: Error): void {
    this.#options.onClosed(error);
  }
}

interface Pending {
  resolve: (value: unknown) => void;
}

/** Sends requests to the user's client, as actions over the line's side channel, and receives the results. */
export class ClientForms implements Screen {
  readonly #tell: (message: TransportMessage) => void;
  readonly #pending = new Map<string, Pending>();
  #count = 0;

  constructor(tell: (message: TransportMessage) => void) {
    this.#tell = tell;
  }

  ask({ name, data }: ClientForm, signal: AbortSignal): Promise<unknown> {
    const id = `form-${String(++this.#count)}`;
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const onAbort = (): void => {
        this.#pending.delete(id);
        this.#tell({ type: 'action', id, name, data: { type: data['type'], withdrawn: true } });
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#pending.set(id, {
        resolve: (value) => {
          signal.removeEventListener('abort', onAbort);
          resolve(value);
        },
      });
      this.#tell({ type: 'action', id, name, data });
    });
  }

  /** A client's `form_result`. Unexpected and repeated ones are ignored. */
  result(id: string, value: unknown): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.resolve(value);
  }
}
