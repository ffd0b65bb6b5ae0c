import type { Clock } from '../../base/clock.js';
import { DigestServer, type DigestServerOptions } from './digest-server.js';
import type { Hop } from './hop.js';
import type { SipRequest } from './message.js';

export interface AuthenticatorOptions extends DigestServerOptions {
  /** Whether this user part or number exists here. The result is not revealed. */
  isOurs: (request: SipRequest) => boolean;
  /** A wrong proof of identity. */
  onWrong?: (from: Hop, why: string) => void;
}

/** Accepted; not answered; or challenged with these values of `WWW-Authenticate`. */
export type AuthDecision = 'in' | 'silence' | readonly string[];

/** Maximum number of remembered addresses of each kind. */
const MOST_ADDRESSES = 10_000;
/** After this many wrong proofs from one address within the time, it is ignored for as long. */
const MOST_WRONG = 10;
const WRONG_MS = 10 * 60_000;
/** Challenges per second in total: a 401 is about as large as its request, and may go to a forged address. */
const MOST_CHALLENGES = 50;
const SECOND_MS = 1000;
/** Requests within a call may come from an address that has authenticated itself within this time. */
const PROVED_MS = 24 * 3_600_000;

/**
 * Authenticates callers without a fixed address: an INVITE to an own number, with digest authentication. Other messages
 * from unknown addresses get no answer, so that scanners find nothing.
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
   * @param isKnown it belongs to an existing transaction or call
   * @returns a challenge may be sent once, and no state is kept
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

/** The latest is last; the oldest is removed when there are too many. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST_ADDRESSES && oldest !== undefined) map.delete(oldest);
}
