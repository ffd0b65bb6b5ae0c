import type { Clock } from '../../../base/clock.js';
import type { CallIntake } from '../../sip/call-intake.js';
import type { DigestAlgorithm } from '../../sip/digest-server.js';
import { Authenticator } from '../../sip/authenticator.js';
import type { SipTransport } from '../../sip/transport/transport.js';
import { SharedTransport } from '../../sip/transport/shared.js';
import { userOf, userPart } from '../../sip/uri.js';
import { type SipCounts, type SipRefusal, UserAgent } from '../../sip/user-agent.js';
import { SipCarrier, type SipCarrierOptions } from './carrier.js';

export interface SipTrunksOptions {
  clock: Clock;
  token: () => string;
  chance: () => number;
  /** At least one; the first provides the addresses of registered calls. */
  trunks: readonly Omit<SipCarrierOptions, 'openTransport'>[];
  /** Opens the shared sockets. */
  openTransport: Parameters<typeof SharedTransport.open>[0];
  /** Passwords by user name of callers from any address. Empty = none. */
  callers: ReadonlyMap<string, string>;
  /** Accepted digest algorithms, in order of preference. */
  algorithms: readonly DigestAlgorithm[];
  /** The authentication realm. */
  realm: string;
  /** Limits inbound calls over all trunks. Default: unlimited. */
  intake?: CallIntake | undefined;
  /** A caller with a password is refused. */
  onRefused?: ((refusal: SipRefusal) => void) | undefined;
  /** All calls have ended, and no socket is open. */
  onClosed?: () => void;
}

/** All SIP trunks of a process: they share the ports, and the authentication of callers without a fixed address. */
export class SipTrunks {
  readonly carriers: readonly SipCarrier[];
  readonly #shared: SharedTransport;
  readonly #intake: CallIntake | undefined;
  readonly #onClosed: () => void;
  readonly #callerAgent: { agent: UserAgent; transport: SipTransport } | null;

  private constructor(options: SipTrunksOptions, carriers: readonly SipCarrier[], shared: SharedTransport) {
    this.carriers = carriers;
    this.#shared = shared;
    this.#intake = options.intake;
    this.#onClosed = options.onClosed ?? (() => undefined);
    this.#callerAgent = options.callers.size === 0 ? null : this.#openCallerAgent(options);
  }

  /** @throws ParleyError SIP_CANNOT_LISTEN */
  static async open(options: SipTrunksOptions): Promise<SipTrunks> {
    const shared = await SharedTransport.open(options.openTransport);
    const openTransport: SipCarrierOptions['openTransport'] = (user) => Promise.resolve(shared.join(user));
    const common = { openTransport, intake: options.intake };
    const carriers: SipCarrier[] = [];
    try {
      for (const trunk of options.trunks) carriers.push(await SipCarrier.open({ ...trunk, ...common }));
    } catch (error) {
      await Promise.all(carriers.map((carrier) => carrier.close()));
      await shared.close();
      throw error;
    }
    return new SipTrunks(options, carriers, shared);
  }

  /** The address of a user part of ours, for callers. */
  addressOf(user: string): string {
    return this.carriers[0]?.addressOf(user) ?? '';
  }

  /** Statistics of messages from unknown addresses. */
  get callerCounts(): SipCounts {
    return this.#callerAgent?.agent.counts ?? {};
  }

  /** Ends all calls. May be called twice. */
  async close(): Promise<void> {
    this.#intake?.close();
    await Promise.all(this.carriers.map((carrier) => carrier.close()));
    this.#callerAgent?.agent.close();
    await this.#callerAgent?.transport.close();
    await this.#shared.close();
    this.#onClosed();
  }

  #openCallerAgent({ clock, token, chance, callers, algorithms, realm, trunks, onRefused }: SipTrunksOptions): {
    agent: UserAgent;
    transport: SipTransport;
  } {
    const carrierOf = (user: string): SipCarrier | undefined => this.carriers.find((carrier) => carrier.takes(user));
    let agent: UserAgent | null = null;
    const transport = this.#shared.joinLast({
      isTrusted: () => true,
      claims: () => null,
      onMessage: (bytes, from) => agent?.receive(bytes, from),
      onFailed: (hop) => agent?.transportFailed(hop),
      onRefused: () => undefined,
    });
    agent = new UserAgent({
      clock,
      transport,
      token,
      chance,
      digest: null,
      user: userPart(trunks[0]?.user ?? 'parley'),
      // A Contact behind NAT is useless: everything goes to the call's source address.
      isTrusted: () => false,
      intake: this.#intake,
      onCall: (call) => carrierOf(call.to)?.received(call),
      onRefused,
      authenticator: new Authenticator({
        clock,
        token,
        realm,
        algorithms,
        secret: token() + token(),
        passwordOf: (user) => callers.get(user) ?? null,
        onWrong: (from, why) => onRefused?.({ status: 401, why, from }),
        isOurs: ({ uri }) => carrierOf(userOf(uri)) !== undefined,
      }),
    });
    return { agent, transport };
  }
}
