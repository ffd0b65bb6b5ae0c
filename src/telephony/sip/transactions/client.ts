import type { SipRequest, SipResponse } from '../message.js';
import { messageBytes } from '../serialise.js';
import { GIVE_UP_MS, T1_MS, T2_MS, T4_MS, Timers } from '../timers.js';
import type { ClientFailure, ClientOptions, ClientTransaction } from './transaction.js';

/**
 * The client's side of any request but INVITE and ACK (RFC 3261, 17.1.2):
 *
 *     trying ──1xx──▶ proceeding ──▶ completed ──K──▶ terminated
 */
export class PlainClientTransaction implements ClientTransaction {
  readonly request: SipRequest;
  readonly #options: ClientOptions;
  readonly #timers: Timers<'E' | 'F' | 'K'>;
  readonly #bytes: Uint8Array;
  #state: 'trying' | 'proceeding' | 'completed' | 'terminated' = 'trying';

  constructor(options: ClientOptions) {
    this.#options = options;
    this.request = options.request;
    this.#timers = new Timers(options.clock);
    this.#bytes = messageBytes(options.request);
    this.#timers.set('F', GIVE_UP_MS, () => this.#failed('timeout'));
    if (!options.reliable) this.#again(T1_MS);
    options.send(this.#bytes);
  }

  get isAnswered(): boolean {
    return this.#state === 'completed' || this.#state === 'terminated';
  }

  receive(response: SipResponse): void {
    if (this.#state !== 'trying' && this.#state !== 'proceeding') return;
    if (response.status < 200) {
      this.#state = 'proceeding';
    } else {
      this.#state = 'completed';
      this.#timers.clearAll();
      this.#timers.set('K', this.#options.reliable ? 0 : T4_MS, () => this.#terminate());
    }
    this.#options.user.onResponse(response);
  }

  transportFailed(): void {
    if (this.#state === 'trying' || this.#state === 'proceeding') this.#failed('transport');
  }

  close(): void {
    if (this.#state !== 'terminated') this.#terminate();
  }

  /** Once something has come, every `T2_MS` alone. */
  #again(intervalMs: number): void {
    this.#timers.set('E', intervalMs, () => {
      this.#again(this.#state === 'proceeding' ? T2_MS : Math.min(intervalMs * 2, T2_MS));
      this.#options.send(this.#bytes);
    });
  }

  #failed(failure: ClientFailure): void {
    this.#terminate();
    this.#options.user.onFailure(failure);
  }

  #terminate(): void {
    this.#state = 'terminated';
    this.#timers.clearAll();
    this.#options.onTerminated();
  }
}
