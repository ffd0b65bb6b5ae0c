import { notInt16 } from '../../audio/frame.js';
import { failureOf } from '../../base/errors.js';
import type { TransportSink } from '../../transports/transport.js';
import type { ClientForms } from './client-forms.js';
import type { Hearing } from '../hearing/hearing.js';
import type { SessionContext } from '../session-context.js';

export interface LineSinkOptions {
  hearing: Hearing;
  forms: ClientForms;
  onClosed: (error: unknown) => void;
}

/** Receives what the user says, presses and types from the line. */
export class LineSink implements TransportSink {
  readonly #emit: SessionContext['emit'];
  readonly #hearing: Hearing;
  readonly #options: LineSinkOptions;

  constructor({ emit }: Pick<SessionContext, 'emit'>, options: LineSinkOptions) {
    this.#emit = emit;
    this.#hearing = options.hearing;
    this.#options = options;
  }

  audio(samples: Int16Array): void {
    try {
      if (!(samples instanceof Int16Array)) throw notInt16('audio of the transport', samples);
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
