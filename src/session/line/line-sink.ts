import { notInt16 } from '../../audio/frame.js';
import { failureOf } from '../../base/errors.js';
import type { TransportSink, TransportMessage } from '../../transports/transport.js';
import type { Hearing } from '../hearing/hearing.js';
import type { LineTaps } from '../tap.js';
import type { SessionContext } from '../session-context.js';
import type { ClientForm, Screen } from '../../tools/tool.js';

export interface LineSinkOptions {
  hearing: Hearing;
  forms: ClientForms;
  onClosed: (error: unknown) => void;
  taps: LineTaps;
}

/** Receives what the user says, presses and types from the line. */
export class LineSink implements TransportSink {
  readonly #emit: SessionContext['emit'];
  readonly #hearing: Hearing;
  readonly #options: LineSinkOptions;
  #received = 0;

  constructor({ emit }: Pick<SessionContext, 'emit'>, options: LineSinkOptions) {
    this.#emit = emit;
    this.#hearing = options.hearing;
    this.#options = options;
  }

  audio(samples: Int16Array): void {
    try {
      if (!(samples instanceof Int16Array)) throw notInt16('audio of the transport', samples);
      const { taps } = this.#options;
      if (taps.isRead) taps.push(samples, this.#received);
      this.#received += samples.length;
      this.#hearing.audio(samples);
    } catch (error) {
      this.#emit({ type: 'ears.failed', ...failureOf(error) });
    }
  }

  digits(digits: string): void {
    this.#hearing.keys(digits);
  }

  text(text: string): void {
    this.#emit({ type: 'text', text });
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
