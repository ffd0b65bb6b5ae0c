import type { Cancel, Clock } from '../../base/clock.js';
import type { Hop } from './hop.js';

export interface CallIntakeOptions {
  clock: Clock;
  /** Maximum number of concurrent calls over all channels. */
  mostCalls: number;
  /** Calls were refused: reported at most once in ten seconds. */
  onRefused: (refused: RefusedCalls) => void;
}

export interface RefusedCalls {
  /** Within this time. */
  seconds: number;
  count: number;
  /** The address of most of them, and their number. */
  address: string;
  most: number;
}

/** `refused`: with a 503; `ignored`: without an answer, because many have just been refused. */
export type IntakeDecision = 'admitted' | 'refused' | 'ignored';

/** An inbound call that is not confirmed: the ACK of its 2xx has not come yet. */
export interface Unconfirmed {
  /** The 2xx was sent. @param release ends the call if no ACK comes */
  answered(release: () => void): void;
  /** The ACK has come. May be called twice. */
  confirmed(): void;
  /** The call is over. May be called twice, and after `confirmed`. */
  ended(): void;
}

interface Source {
  /** Number of new calls that it may start now. */
  tokens: number;
  atMs: number;
  unconfirmed: number;
  /** Its answered calls with an overdue ACK. */
  overdue: Set<() => void>;
  /** Time of its last acknowledgement of a call. */
  provedMs: number;
  suspectUntilMs: number;
  refused: number;
}

/** Calls per second from one address: a minimum, and a share of the capacity; and the burst in seconds. */
const LEAST_PER_SECOND = 10;
const SHARE_PER_SECOND = 0.25;
const BURST_S = 2;
/** Share of the capacity that may be unconfirmed: the rest is for other channels. */
const UNCONFIRMED_SHARE = 0.75;
/** The share for an address that has never acknowledged a call: it may be forged. */
const UNPROVED_SHARE = 0.1;
const LEAST_UNPROVED = 4;
const PROVED_MS = 24 * 3_600_000;
/** An ACK takes a round trip, and twice that again for each loss. */
const OVERDUE_MS = 4000;
/** With this many overdue ACKs, or this share of the capacity, an address is refused for a while. */
const LEAST_OVERDUE = 4;
const OVERDUE_SHARE = 0.1;
const SUSPECT_MS = 30_000;
/** Refusals sent per second in total. */
const MOST_ANSWERS = 50;
const REPORT_MS = 10_000;
const MOST_SOURCES = 10_000;

/**
 * Limits inbound calls and their sources. A call costs resources before its caller is proven to exist: media, a
 * session, a greeting. Source addresses over UDP are easily forged, but an attacker who forges one does not see the 2xx
 * and cannot acknowledge it. So an address may have few calls until it has acknowledged one, none for a while after
 * missing acknowledgements, and a limited rate of calls; and there is always capacity for other channels.
 */
export class CallIntake {
  readonly #options: CallIntakeOptions;
  readonly #perSecond: number;
  readonly #mostOverdue: number;
  readonly #sources = new Map<string, Source>();
  #unconfirmed = 0;
  #answers = { sinceMs: -Infinity, count: 0 };
  #cancelReport: Cancel | null = null;

  constructor(options: CallIntakeOptions) {
    this.#options = options;
    this.#perSecond = Math.max(LEAST_PER_SECOND, options.mostCalls * SHARE_PER_SECOND);
    this.#mostOverdue = Math.max(LEAST_OVERDUE, options.mostCalls * OVERDUE_SHARE);
  }

  /** Whether a call from there may begin. `begin` must follow for an admitted call. */
  admit(hop: Hop): IntakeDecision {
    const nowMs = this.#options.clock.nowMs();
    const source = this.#source(hop.address, nowMs);
    if (nowMs >= source.suspectUntilMs && source.tokens >= 1 && this.#hasRoom(source, hop, nowMs)) {
      source.tokens--;
      return 'admitted';
    }
    source.refused++;
    this.#cancelReport ??= this.#options.clock.schedule(nowMs + REPORT_MS, () => this.#report());
    return this.mayRefuse() ? 'refused' : 'ignored';
  }

  /** Whether to send a refusal for a message that leaves no state: sending is most of its cost. */
  mayRefuse(): boolean {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - this.#answers.sinceMs >= 1000) this.#answers = { sinceMs: nowMs, count: 0 };
    return ++this.#answers.count <= MOST_ANSWERS;
  }

  /** An admitted call begins. */
  begin({ address }: Hop): Unconfirmed {
    const { clock } = this.#options;
    const source = this.#source(address, clock.nowMs());
    source.unconfirmed++;
    this.#unconfirmed++;
    let isOpen = true;
    let stop: () => void = () => undefined;
    const ended = (): void => {
      if (!isOpen) return;
      isOpen = false;
      source.unconfirmed--;
      this.#unconfirmed--;
      stop();
    };
    return {
      answered: (release) => {
        if (!isOpen) return;
        const cancel = clock.schedule(clock.nowMs() + OVERDUE_MS, () => this.#overdue(source, release));
        stop = () => {
          cancel();
          source.overdue.delete(release);
        };
      },
      confirmed: () => {
        if (isOpen) source.provedMs = clock.nowMs();
        ended();
      },
      ended,
    };
  }

  /** May be called twice. */
  close(): void {
    this.#cancelReport?.();
    this.#cancelReport = null;
  }

  #hasRoom(source: Source, { protocol }: Hop, nowMs: number): boolean {
    const { mostCalls } = this.#options;
    if (this.#unconfirmed >= Math.max(1, mostCalls * UNCONFIRMED_SHARE)) return false;
    // A connection proves that the peer exists.
    if (protocol !== 'UDP' || nowMs - source.provedMs <= PROVED_MS) return true;
    return source.unconfirmed < Math.max(LEAST_UNPROVED, mostCalls * UNPROVED_SHARE);
  }

  /** A single ACK may be lost repeatedly; several missing ones were never sent. */
  #overdue(source: Source, release: () => void): void {
    const nowMs = this.#options.clock.nowMs();
    source.overdue.add(release);
    if (source.overdue.size < this.#mostOverdue && nowMs >= source.suspectUntilMs) return;
    source.suspectUntilMs = nowMs + SUSPECT_MS;
    source.provedMs = -Infinity;
    for (const each of Array.from(source.overdue)) each();
    source.overdue.clear();
  }

  #report(): void {
    this.#cancelReport = null;
    let count = 0;
    let [address, most] = ['', 0];
    for (const [name, source] of this.#sources) {
      count += source.refused;
      if (source.refused > most) [address, most] = [name, source.refused];
      source.refused = 0;
    }
    this.#options.onRefused({ seconds: REPORT_MS / 1000, count, address, most });
  }

  #source(address: string, nowMs: number): Source {
    const burst = this.#perSecond * BURST_S;
    const known = this.#sources.get(address);
    const source: Source = known ?? {
      tokens: burst,
      atMs: nowMs,
      unconfirmed: 0,
      overdue: new Set(),
      provedMs: -Infinity,
      suspectUntilMs: -Infinity,
      refused: 0,
    };
    source.tokens = Math.min(burst, source.tokens + ((nowMs - source.atMs) * this.#perSecond) / 1000);
    source.atMs = nowMs;
    // The latest are last; the first are removed when there are too many, unless they have calls.
    this.#sources.delete(address);
    this.#sources.set(address, source);
    if (known === undefined && this.#sources.size > MOST_SOURCES) this.#forget();
    return source;
  }

  #forget(): void {
    for (const [address, { unconfirmed, refused }] of this.#sources) {
      if (unconfirmed > 0 || refused > 0) continue;
      this.#sources.delete(address);
      return;
    }
  }
}
