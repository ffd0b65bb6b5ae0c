import type { Clock } from '../../../base/clock.js';
import { type Hop, hopText } from '../hop.js';
import type { Outgoing } from '../outgoing.js';
import { Timers } from '../timers.js';
import type { UserAgent } from '../user-agent.js';
import type { Servers } from './servers.js';

export interface KeepAliveOptions {
  clock: Clock;
  agent: UserAgent;
  servers: Servers;
  /** Of `From`, such as `<sip:parley@example.com>`. */
  address: string;
  /** Request-URI, such as `sip:example.com`. */
  target: string;
  intervalMs: number;
}

/**
 * Sends OPTIONS to each server: any response means that it is alive. Calls go to live servers, and NAT bindings stay
 * open.
 */
export class KeepAlive {
  readonly #options: KeepAliveOptions;
  readonly #timers: Timers<'next'>;
  readonly #asking = new Map<string, Outgoing>();

  constructor(options: KeepAliveOptions) {
    this.#options = options;
    this.#timers = new Timers(options.clock);
  }

  /** Call it once. */
  start(): void {
    for (const hop of this.#options.servers.hops) this.#ask(hop);
    this.#timers.set('next', this.#options.intervalMs, () => this.start());
  }

  /** May be called twice. */
  close(): void {
    this.#timers.clearAll();
    for (const outgoing of this.#asking.values()) outgoing.close();
    this.#asking.clear();
  }

  #ask(hop: Hop): void {
    const { agent, servers, address, target } = this.#options;
    const key = hopText(hop);
    if (this.#asking.has(key)) return; // the last one is unanswered
    let isAnswered = false;
    const outgoing = agent.request({
      method: 'OPTIONS',
      uri: target,
      from: address,
      to: `<${target}>`,
      hops: [hop],
      headers: [['accept', 'application/sdp']],
      onFinal: (response) => {
        isAnswered = true;
        this.#asking.delete(key);
        servers.note(hop, response?.status ?? null);
      },
    });
    if (!isAnswered) this.#asking.set(key, outgoing);
  }
}
