import type { Cancel, Clock } from '../../clock/clock.js';
import { bodyText, contentTypeOf, type SipRequest } from '../message.js';

/** What became of a REFER (RFC 3515). */
export type ReferOutcome =
  /** The other side has reached the target. */
  | { kind: 'done' }
  /** It could not; the target's final status, null where it does not tell. */
  | { kind: 'failed'; status: number | null }
  /** The other side does not do such things. */
  | { kind: 'refused'; status: number }
  /** Nothing was heard of it. */
  | { kind: 'silent' };

/** Whether a NOTIFY is about a referral. */
export function isReferNotify({ headers }: SipRequest): boolean {
  return (headers.get('event') ?? '').split(';', 1)[0]?.trim().toLowerCase() === 'refer';
}

/** A REFER of ours, until it is known what became of it. */
export class Referral {
  /** Never rejects. */
  readonly outcome: Promise<ReferOutcome>;
  #resolve!: (outcome: ReferOutcome) => void;
  readonly #cancel: Cancel;

  /** @param timeoutMs for all of it; what takes longer, or is aborted, is `silent` */
  constructor(clock: Clock, signal: AbortSignal, timeoutMs: number) {
    this.outcome = new Promise((resolve) => (this.#resolve = resolve));
    const onAbort = (): void => this.end({ kind: 'silent' });
    const stop = clock.schedule(clock.nowMs() + timeoutMs, onAbort);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#cancel = () => {
      stop();
      signal.removeEventListener('abort', onAbort);
    };
  }

  /** A NOTIFY has come: it says how far the other side is (RFC 3515, 2.4.4; `message/sipfrag`, RFC 3420). */
  notified(notify: SipRequest): void {
    const isFragment = contentTypeOf(notify) === 'message/sipfrag';
    const line = isFragment ? /^SIP\/2\.0[ \t]+(\d{3})\b/i.exec(bodyText(notify)) : null;
    const status = line === null ? null : Number(line[1]);
    const state = notify.headers.get('subscription-state')?.trim().toLowerCase() ?? '';
    if (status !== null && status >= 200) this.end(status < 300 ? { kind: 'done' } : { kind: 'failed', status });
    else if (state.startsWith('terminated')) this.end({ kind: 'failed', status: null });
  }

  /** The first end counts. */
  end(outcome: ReferOutcome): void {
    this.#cancel();
    this.#resolve(outcome);
  }
}
