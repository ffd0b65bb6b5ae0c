import type { SipRequest, SipResponse } from '../message.js';
import { messageBytes } from '../serialise.js';
import { GIVE_UP_MS, Timers } from '../timers.js';
import type { ServerOptions, ServerTransaction } from './transaction.js';

/**
 * The server's side of any request but INVITE and ACK (RFC 3261, 17.2.2):
 *
 *     trying ──1xx──▶ proceeding ──▶ completed ──J──▶ terminated
 */
export class PlainServerTransaction implements ServerTransaction {
  readonly request: SipRequest;
  finalStatus: number | null = null;
  readonly #options: ServerOptions;
  readonly #timers: Timers<'J' | 'unanswered'>;
  #last: Uint8Array | null = null;
  #isOver = false;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.request = options.request;
    this.#timers = new Timers(options.clock);
    // The RFC lets it wait for ever; whoever asked has given up by then.
    this.#timers.set('unanswered', GIVE_UP_MS, () => this.close());
  }

  respond(response: SipResponse): void {
    if (this.finalStatus !== null || this.#isOver) return;
    this.#last = messageBytes(response);
    if (response.status >= 200) {
      this.finalStatus = response.status;
      this.#timers.clear('unanswered');
      this.#timers.set('J', this.#options.reliable ? 0 : GIVE_UP_MS, () => this.close());
    }
    this.#options.send(this.#last);
  }

  receive(): void {
    if (this.#last !== null) this.#options.send(this.#last);
  }

  transportFailed(): void {
    this.close();
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timers.clearAll();
    this.#options.onTerminated();
  }
}
