import { type SipRequest, type SipResponse, messageBytes } from '../message.js';
import { GIVE_UP_MS, T1_MS, T2_MS, T4_MS, Timers } from '../timers.js';
import type { ServerOptions, ServerTransaction } from './transaction.js';

/**
 * The server's side of an INVITE (RFC 3261, 17.2.1, as RFC 6026 has it):
 *
 *     proceeding ──300..699──▶ completed ──ACK──▶ confirmed ──I──▶ terminated
 *         │                        └──────H────────────────────────▶
 *         └─────────2xx─────────▶ accepted ──L──▶ terminated
 *
 * Who sends a 2xx repeats it by itself until its ACK comes.
 */
export class InviteServerTransaction implements ServerTransaction {
  readonly request: SipRequest;
  finalStatus: number | null = null;
  readonly #options: ServerOptions;
  readonly #timers: Timers<'G' | 'H' | 'I' | 'L'>;
  #state: 'proceeding' | 'completed' | 'accepted' | 'confirmed' | 'terminated' = 'proceeding';
  #last: Uint8Array | null = null;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.request = options.request;
    this.#timers = new Timers(options.clock);
  }

  respond(response: SipResponse): void {
    const { status } = response;
    if (this.#state === 'accepted' && status >= 200 && status < 300) {
      this.#options.send(messageBytes(response));
      return;
    }
    if (this.#state !== 'proceeding') return;
    this.#last = messageBytes(response);
    if (status >= 300) this.#completed();
    else if (status >= 200) this.#accepted();
    if (status >= 200) this.finalStatus = status;
    this.#options.send(this.#last);
  }

  receive({ method }: SipRequest): void {
    if (method === 'ACK') {
      if (this.#state !== 'completed') return;
      this.#state = 'confirmed';
      this.#timers.clearAll();
      this.#timers.set('I', this.#options.reliable ? 0 : T4_MS, () => this.#terminate());
    } else if ((this.#state === 'proceeding' || this.#state === 'completed') && this.#last !== null) {
      this.#options.send(this.#last);
    }
  }

  transportFailed(): void {
    // Timer H or L ends it: the client may ask again.
  }

  close(): void {
    if (this.#state !== 'terminated') this.#terminate();
  }

  #completed(): void {
    this.#state = 'completed';
    this.#timers.set('H', GIVE_UP_MS, () => this.#terminate());
    if (!this.#options.reliable) this.#again(T1_MS);
  }

  #accepted(): void {
    this.#state = 'accepted';
    this.#timers.set('L', GIVE_UP_MS, () => this.#terminate());
  }

  #again(intervalMs: number): void {
    this.#timers.set('G', intervalMs, () => {
      this.#again(Math.min(intervalMs * 2, T2_MS));
      if (this.#last !== null) this.#options.send(this.#last);
    });
  }

  #terminate(): void {
    this.#state = 'terminated';
    this.#timers.clearAll();
    this.#options.onTerminated();
  }
}
