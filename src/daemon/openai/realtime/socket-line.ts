import { ParleyError } from '../../../base/errors.js';
import type { Transport, TransportMessage, TransportSink } from '../../../transports/transport.js';
import { rateOf } from './audio-format.js';
import type { RealtimeConversation } from './conversation.js';
import type { SessionConfig } from './session-config.js';

export interface RealtimeSocketLineOptions {
  conversation: RealtimeConversation;
  config: SessionConfig;
  /** How far ahead of real time audio is sent. */
  leadMs: number;
  /** Closes the connection. Resolves when it is closed. */
  close: () => Promise<void>;
}

/** The line of a session whose audio is in its events. */
export class RealtimeSocketLine implements Transport {
  readonly name = 'realtime';
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  readonly leadMs: number;
  readonly #options: RealtimeSocketLineOptions;

  constructor(options: RealtimeSocketLineOptions) {
    const { config, leadMs } = options;
    this.#options = options;
    this.inputRateHz = rateOf(config.input);
    this.outputRateHz = rateOf(config.output);
    this.leadMs = leadMs;
  }

  start(sink: TransportSink): void {
    this.#options.conversation.input.start(sink);
  }

  play(frame: Int16Array | null, isBackground = false): void {
    if (frame !== null && !isBackground) this.#options.conversation.played(frame);
  }

  send(message: TransportMessage): void {
    this.#options.conversation.told(message);
  }

  unheardMs(): number {
    return this.#options.conversation.unheardMs();
  }

  close(): Promise<void> {
    return this.#options.close();
  }
}

/** The client does not read what it is sent. */
export function tooSlow(bytes: number): ParleyError {
  return new ParleyError('TALK_CLIENT_TOO_SLOW', { bytes });
}
