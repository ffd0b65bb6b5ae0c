import { type SipRequest, type SipResponse, messageBytes, cseqOf, NO_BODY } from '../message.js';
import { GIVE_UP_MS, T1_MS, T2_MS, T4_MS, Timers } from '../timers.js';
import type { ClientFailure, ClientOptions, ClientTransaction } from './transaction.js';
import { Headers } from '../headers.js';

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

  /** After a provisional response, every `T2_MS`. */
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

/** How long repeated final responses are absorbed on an unreliable transport: more than 32 s. */
const TIMER_D_MS = 33_000;
/** How long repeated 2xx, and those of other branches, are accepted (RFC 6026, 8.4). */
const TIMER_M_MS = GIVE_UP_MS;

/**
 * The client's side of an INVITE (RFC 3261, 17.1.1, as RFC 6026 has it):
 *
 *     calling ──1xx──▶ proceeding ──300..699──▶ completed ──D──▶ terminated
 *        └──────────────────┴───────2xx───────▶ accepted ──M──▶ terminated
 *
 * It sends ACK to what is no 2xx by itself. While `proceeding` it waits for as long as its user does.
 */
export class InviteClientTransaction implements ClientTransaction {
  readonly request: SipRequest;
  readonly #options: ClientOptions;
  readonly #timers: Timers<'A' | 'B' | 'D' | 'M'>;
  readonly #bytes: Uint8Array;
  #state: 'calling' | 'proceeding' | 'completed' | 'accepted' | 'terminated' = 'calling';
  #ack: Uint8Array | null = null;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.request = options.request;
    this.#timers = new Timers(options.clock);
    this.#bytes = messageBytes(options.request);
    this.#timers.set('B', GIVE_UP_MS, () => this.#failed('timeout'));
    if (!options.reliable) this.#again(T1_MS);
    options.send(this.#bytes);
  }

  get isAnswered(): boolean {
    return this.#state !== 'calling' && this.#state !== 'proceeding';
  }

  receive(response: SipResponse): void {
    const { user } = this.#options;
    const { status } = response;
    if (this.#state === 'calling' || this.#state === 'proceeding') {
      this.#timers.clear('A');
      this.#timers.clear('B');
      if (status < 200) this.#state = 'proceeding';
      else if (status < 300) this.#accepted();
      else this.#completed(response);
      user.onResponse(response);
    } else if (this.#state === 'completed' && status >= 300) {
      if (this.#ack !== null) this.#options.send(this.#ack);
    } else if (this.#state === 'accepted' && status >= 200 && status < 300) {
      user.onResponse(response);
    }
  }

  transportFailed(): void {
    if (this.#state === 'calling' || this.#state === 'proceeding') this.#failed('transport');
    else if (this.#state === 'completed') this.#terminate();
  }

  close(): void {
    if (this.#state !== 'terminated') this.#terminate();
  }

  #again(intervalMs: number): void {
    this.#timers.set('A', intervalMs, () => {
      this.#again(intervalMs * 2);
      this.#options.send(this.#bytes);
    });
  }

  #accepted(): void {
    this.#state = 'accepted';
    this.#timers.set('M', TIMER_M_MS, () => this.#terminate());
  }

  #completed(response: SipResponse): void {
    this.#state = 'completed';
    this.#ack = messageBytes(ackOf(this.request, response));
    this.#timers.set('D', this.#options.reliable ? 0 : TIMER_D_MS, () => this.#terminate());
    this.#options.send(this.#ack);
  }

  #failed(failure: 'timeout' | 'transport'): void {
    this.#terminate();
    this.#options.user.onFailure(failure);
  }

  #terminate(): void {
    this.#state = 'terminated';
    this.#timers.clearAll();
    this.#options.onTerminated();
  }
}

/** The ACK of a final response other than 2xx: the request's own branch, the response's `To` (17.1.1.3). */
function ackOf(request: SipRequest, response: SipResponse): SipRequest {
  const { headers, uri } = request;
  const ack = new Headers();
  const [via = ''] = headers.lines('via');
  ack.add('via', via).add('max-forwards', '70');
  for (const route of headers.lines('route')) ack.add('route', route);
  ack.add('from', headers.get('from') ?? '').add('to', response.headers.get('to') ?? headers.get('to') ?? '');
  ack.add('call-id', headers.get('call-id') ?? '');
  ack.add('cseq', `${String(cseqOf(request)?.sequence ?? 0)} ACK`);
  return { kind: 'request', method: 'ACK', uri, headers: ack, body: NO_BODY };
}

/** The CANCEL of a request: its branch, its headers, no body (9.1). */
export function cancelOf(request: SipRequest): SipRequest {
  const { headers, uri } = request;
  const cancel = new Headers();
  const [via = ''] = headers.lines('via');
  cancel.add('via', via).add('max-forwards', '70');
  for (const route of headers.lines('route')) cancel.add('route', route);
  for (const name of ['from', 'to', 'call-id']) cancel.add(name, headers.get(name) ?? '');
  cancel.add('cseq', `${String(cseqOf(request)?.sequence ?? 0)} CANCEL`);
  return { kind: 'request', method: 'CANCEL', uri, headers: cancel, body: NO_BODY };
}
