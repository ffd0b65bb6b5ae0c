import type { RestReply } from '../../../src/telephony/carriers/media-socket/rest.js';

/** What goes wrong at a carrier, each for the next requests and webhooks that it fits. */
export interface CarrierFaults {
  /** Requests are done, and never answered. */
  swallowedAnswers: number;
  /** Requests are lost: not done, never answered. */
  lostRequests: number;
  /** 429, and nothing is done. */
  tooMany: number;
  /**
   * Answers in place of the right ones, the first one first, for requests that are not done; null = the right one,
   * `swallowed` = it is done, and not answered.
   */
  answers: (RestReply | 'swallowed' | null)[];
  /** Webhooks come twice, the second time so much later; null = once. */
  againAfterMs: number | null;
  /** Webhooks of a kind (as the carrier calls it) come so much later, and so behind later ones. */
  lateMs: Record<string, number>;
}

export function noFaults(): CarrierFaults {
  return { swallowedAnswers: 0, lostRequests: 0, tooMany: 0, answers: [], againAfterMs: null, lateMs: {} };
}

/**
 * Does a request, unless it is lost, refused or never answered.
 * @param tooMany the carrier's refusal because of too many requests
 */
export async function faulty(
  faults: CarrierFaults,
  { tooMany, signal }: { tooMany: RestReply; signal: AbortSignal },
  does: () => RestReply,
): Promise<RestReply> {
  if (faults.lostRequests > 0) {
    faults.lostRequests--;
    await never(signal);
  }
  if (faults.tooMany > 0) {
    faults.tooMany--;
    return tooMany;
  }
  const instead = faults.answers.shift() ?? null;
  if (instead !== null && instead !== 'swallowed') return instead;
  const reply = does();
  if (instead === 'swallowed') await never(signal);
  if (faults.swallowedAnswers > 0) {
    faults.swallowedAnswers--;
    await never(signal);
  }
  return reply;
}

function never(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}
