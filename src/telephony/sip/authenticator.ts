import type { Clock } from '../../base/clock.js';
import { DigestServer, type DigestServerOptions } from './digest-server.js';
import type { Hop } from './hop.js';
import type { SipRequest } from './message.js';

export interface AuthenticatorOptions extends DigestServerOptions {
  /** Whether there is anybody with this user part, or number. Nobody learns of others. */
  isOurs: (request: SipRequest) => boolean;
  /** Somebody has proved nothing. */
  onWrong?: (from: Hop, why: string) => void;
}

/** Let in; not answered at all; or asked for a proof, with these values of `WWW-Authenticate`. */
export type AuthDecision = 'in' | 'silence' | readonly string[];

/** Addresses that are kept in mind, each way. */
const MOST_ADDRESSES = 10_000;
/** So many wrong proofs from one address within the time, and it gets no answer for as long. */
const MOST_WRONG = 10;
const WRONG_MS = 10 * 60_000;
/** Challenges in a second, to all together: a 401 is about as large as what it answers, and may go to a forged address. */
const MOST_CHALLENGES = 50;
const SECOND_MS = 1000;
/** Requests within a call come from an address that has proved itself since. */
const PROVED_MS = 24 * 3_600_000;

/**
 * Where those come in who have no fixed address: an INVITE to one of our numbers, with a proof. Whatever else comes from
 * strangers gets no answer, so that a scanner finds nothing here.
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #digest: DigestServer;
  readonly #clock: Clock;
  readonly #wrong = new Map<string, { count: number; untilMs: number }>();
  readonly #proved = new Map<string, number>();
  #challenges = { sinceMs: -Infinity, count: 0 };

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#digest = new DigestServer(options);
  }

  /**
   * @param isKnown it belongs to a transaction or a call of ours
   * @returns a challenge may be sent once, and nothing be kept of it
   */
  admit(request: SipRequest, from: Hop, isKnown: boolean): AuthDecision {
    const nowMs = this.#clock.nowMs();
    const { address } = from;
    if (isKnown) return nowMs - (this.#proved.get(address) ?? -Infinity) <= PROVED_MS ? 'in' : 'silence';
    if (request.method !== 'INVITE' || !this.#options.isOurs(request)) return 'silence';
    const wrong = this.#wrong.get(address);
    if (wrong !== undefined && wrong.untilMs <= nowMs) this.#wrong.delete(address);
    else if (wrong !== undefined && wrong.count >= MOST_WRONG) return 'silence';
    const verdict = this.#digest.verify(request, address);
    if (verdict.kind === 'proved') {
      this.#wrong.delete(address);
      keep(this.#proved, address, nowMs);
      return 'in';
    }
    if (verdict.kind === 'wrong' || verdict.kind === 'replayed') {
      this.#options.onWrong?.(from, verdict.kind === 'wrong' ? 'unknown user or wrong password' : 'replayed proof');
      keep(this.#wrong, address, { count: (this.#wrong.get(address)?.count ?? 0) + 1, untilMs: nowMs + WRONG_MS });
    }
    return this.#mayChallenge(nowMs) ? this.#digest.challenges(address, verdict.kind === 'stale') : 'silence';
  }

  #mayChallenge(nowMs: number): boolean {
    if (nowMs - this.#challenges.sinceMs >= SECOND_MS) this.#challenges = { sinceMs: nowMs, count: 0 };
    return ++this.#challenges.count <= MOST_CHALLENGES;
  }
}

/** The latest last; the oldest goes where there are too many. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST_ADDRESSES && oldest !== undefined) map.delete(oldest);
}
