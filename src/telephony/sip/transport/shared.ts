import type { Hop } from '../hop.js';
import type { SipMessage } from '../message.js';
import { parseMessage } from '../parse.js';
import type { Place, SipTransport, TransportEvents } from './transport.js';

/** How strongly a user of a transport claims a message: for one of its calls, or for a call to one of its numbers. */
export type Claim = 'known' | 'called' | null;

/** One of the users of a shared transport. */
export interface TransportUser extends TransportEvents {
  /** Whether it accepts messages from there. */
  isTrusted(hop: Hop): boolean;
  /** Asked if several users trust the same sender. */
  claims(message: SipMessage): Claim;
  /** The expected TLS name of a server. */
  nameOf?(hop: Hop): string | undefined;
}

/**
 * One transport and its ports for several user agents: each gets the messages of senders that it trusts. If several
 * trust a sender (two accounts with one carrier), the one with the call or number gets it; otherwise the first.
 */
export class SharedTransport {
  readonly #users: TransportUser[] = [];
  #others: TransportUser | null = null;
  #transport: SipTransport | null = null;

  /**
   * @param open opens the transport with the given events
   * @throws ParleyError SIP_CANNOT_LISTEN
   */
  static async open(
    open: (
      events: TransportEvents,
      isTrusted: (hop: Hop) => boolean,
      nameOf: (hop: Hop) => string | undefined,
    ) => Promise<SipTransport>,
  ): Promise<SharedTransport> {
    const shared = new SharedTransport();
    const events: TransportEvents = {
      onMessage: (bytes, from) => shared.#userOf(bytes, from)?.onMessage(bytes, from),
      onFailed: (hop) => {
        for (const user of shared.#all) user.onFailed(hop);
      },
      onRefused: (why) => shared.#all[0]?.onRefused(why),
    };
    const isTrusted = (hop: Hop): boolean => shared.#all.some((user) => user.isTrusted(hop));
    const nameOf = (hop: Hop): string | undefined => {
      for (const user of shared.#users) {
        const name = user.nameOf?.(hop);
        if (name !== undefined) return name;
      }
      return undefined;
    };
    shared.#transport = await open(events, isTrusted, nameOf);
    return shared;
  }

  /** One user's view of it; its `close` removes the user. */
  join(user: TransportUser): SipTransport {
    this.#users.push(user);
    return this.#part(() => {
      const at = this.#users.indexOf(user);
      if (at >= 0) this.#users.splice(at, 1);
    });
  }

  /** The view of the user for messages of otherwise untrusted senders. */
  joinLast(user: TransportUser): SipTransport {
    this.#others = user;
    return this.#part(() => {
      if (this.#others === user) this.#others = null;
    });
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await this.#transport?.close();
  }

  get #all(): readonly TransportUser[] {
    return this.#others === null ? this.#users : [...this.#users, this.#others];
  }

  #part(leave: () => void): SipTransport {
    const unknown: Place = { host: '', port: 0, bound: '' };
    return {
      send: (bytes, to) => this.#transport?.send(bytes, to),
      localPlace: (to) => this.#transport?.localPlace(to) ?? unknown,
      isOpen: (hop) => this.#transport?.isOpen(hop) === true,
      close: () => {
        leave();
        return Promise.resolve();
      },
    };
  }

  #userOf(bytes: Uint8Array, from: Hop): TransportUser | null {
    const trusting = this.#users.filter((user) => user.isTrusted(from));
    const [first = this.#others] = trusting;
    if (trusting.length < 2) return first;
    const parsed = parseMessage(bytes, from.protocol === 'UDP');
    if (!parsed.ok) return first;
    const claims = trusting.map((user) => user.claims(parsed.message));
    const at = claims.includes('known') ? claims.indexOf('known') : claims.indexOf('called');
    return trusting[at] ?? first;
  }
}
