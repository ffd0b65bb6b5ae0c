import type { Clock } from '../../../base/clock.js';
import { parseAddress } from '../address.js';
import { type Hop, sameHop } from '../hop.js';
import type { SipResponse } from '../message.js';
import type { Outgoing } from '../outgoing.js';
import { numberOf } from '../scan.js';
import { Timers } from '../timers.js';
import type { UserAgent } from '../user-agent.js';

export type RegistrationState =
  | { state: 'registering' }
  | { state: 'registered'; /** Validity in seconds. */ seconds: number }
  /** Will be retried. */
  | { state: 'failed'; reason: string }
  /** Another process registers. */
  | { state: 'standby' }
  | { state: 'ended' };

export interface RegistrationOptions {
  clock: Clock;
  agent: UserAgent;
  /** Request-URI, such as `sip:example.com`. */
  registrar: string;
  /** The registered address, such as `<sip:parley@example.com>`. */
  address: string;
  token: () => string;
  chance: () => number;
  hops: () => readonly Hop[];
  /** Requested validity in seconds. Default 600. */
  expiresS?: number | undefined;
  onState: (state: RegistrationState) => void;
}

const EXPIRES_S = 600;
const MOST_EXPIRES_S = 86_400;
/** Delays between failed attempts: doubled each time. */
const FIRST_RETRY_MS = 5000;
const LONGEST_RETRY_MS = 300_000;

/** Keeps the registration at a registrar (RFC 3261, 10). */
export class TrunkRegistration {
  readonly #options: RegistrationOptions;
  readonly #timers: Timers<'next'>;
  readonly #callId: string;
  #sequence = 1;
  #expiresS: number;
  #failures = 0;
  #outgoing: Outgoing | null = null;
  /** The registered hop; null = not registered. */
  #place: Hop | null = null;
  #serviceRoute: readonly string[] = [];
  #isOn = false;

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#timers = new Timers(options.clock);
    this.#callId = options.token();
    this.#expiresS = options.expiresS ?? EXPIRES_S;
  }

  /**
   * The routes of calls from the registered address, as the registrar wants them (RFC 3608), and the hop they were
   * learned from; null without a registration.
   */
  get serviceRoute(): { routes: readonly string[]; hop: Hop } | null {
    return this.#place === null ? null : { routes: this.#serviceRoute, hop: this.#place };
  }

  start(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#register();
  }

  /** A lost connection: renews a registration over it. */
  connectionLost(hop: Hop): void {
    const known = this.#place;
    if (known === null || hop.protocol === 'UDP' || !sameHop(known, hop) || !this.#isOn) return;
    this.#place = null;
    this.#next(FIRST_RETRY_MS * this.#options.chance());
  }

  /** Unregisters. `start` registers again. @param state why */
  stop(state: 'standby' | 'ended'): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.#timers.clearAll();
    this.#outgoing?.close();
    if (this.#place !== null) this.#send(0, () => undefined);
    this.#place = null;
    this.#options.onState({ state });
  }

  #register(): void {
    this.#options.onState({ state: 'registering' });
    this.#send(this.#expiresS, (response, hop) => {
      if (this.#isOn) this.#answered(response, hop);
    });
  }

  #send(expiresS: number, onFinal: (response: SipResponse | null, hop: Hop | null) => void): void {
    const { agent, registrar, address, hops } = this.#options;
    // Reserves as many CSeq numbers as one request may need with authentication.
    const sequence = this.#sequence;
    this.#sequence += 8;
    this.#outgoing = agent.request({
      method: 'REGISTER',
      uri: registrar,
      from: address,
      to: address,
      callId: this.#callId,
      sequence,
      hops: hops(),
      headers: [
        ['expires', String(expiresS)],
        // Proxies on the way may ask the registrar to route calls through them (RFC 3327, 5.1).
        ['supported', 'path'],
      ],
      onFinal,
    });
  }

  #answered(response: SipResponse | null, hop: Hop | null): void {
    if (response !== null && response.status < 300) return this.#registered(response, hop);
    const least = response === null ? null : numberOf(response.headers.get('min-expires') ?? '', MOST_EXPIRES_S);
    if (response?.status === 423 && least !== null && least > this.#expiresS) {
      this.#expiresS = least;
      return this.#register();
    }
    this.#place = null;
    const reason = response === null ? 'no answer' : `${String(response.status)} ${response.reason}`;
    this.#options.onState({ state: 'failed', reason });
    const waitMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LONGEST_RETRY_MS);
    // Randomised, for servers that return with many clients waiting (RFC 5626, 4.5).
    this.#next(waitMs * (0.5 + 0.5 * this.#options.chance()));
  }

  #registered(response: SipResponse, hop: Hop | null): void {
    this.#failures = 0;
    this.#place = hop;
    this.#serviceRoute = response.headers.values('service-route') ?? [];
    const seconds = this.#grantedS(response);
    this.#options.onState({ state: 'registered', seconds });
    this.#next(seconds * 1000 * (0.75 + 0.1 * this.#options.chance()));
  }

  /** For the own contact if the registrar reports it, otherwise for all. */
  #grantedS({ headers }: SipResponse): number {
    const contacts = (headers.values('contact') ?? []).map(parseAddress);
    const own = contacts.find((contact) => contact?.sip?.user != null && contact.parameters.has('expires'));
    const text = own?.parameters.get('expires') ?? headers.get('expires') ?? '';
    return Math.max(10, numberOf(text, MOST_EXPIRES_S) ?? this.#expiresS);
  }

  #next(waitMs: number): void {
    this.#timers.set('next', waitMs, () => this.#register());
  }
}
