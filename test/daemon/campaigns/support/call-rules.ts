import type { CampaignSchedule } from '../../../../src/settings/campaign-schedule.js';
import { isWithinHours } from '../../../../src/daemon/campaigns/calling-hours.js';
import { placeOfNumber, zonesOfPlace } from '../../../../src/daemon/campaigns/phone-zones.js';

/** A call that somebody was called with. */
export interface Placed {
  sessionId: string;
  campaignId: string;
  node: string;
  to: string;
  /** Milliseconds since 1970. */
  atMs: number;
  /** When it ended, or will end. */
  endMs: number;
  status: string;
  /** Whether the log has its end. */
  isOver: boolean;
}

/** Times are stored in whole microseconds. */
const ROUNDING_MS = 0.01;

/**
 * Every rule, of every call of a campaign.
 * @param count of the campaign's records
 * @throws Error that names the call that breaks a rule
 */
export function checkCalls(placed: readonly Placed[], schedule: CampaignSchedule, count: number): void {
  const inOrder = placed.toSorted((a, b) => a.atMs - b.atMs);
  checkPace(inOrder, schedule);
  const byNumber = callsByNumber(inOrder);
  if (byNumber.size !== count) throw new Error(`${String(byNumber.size)} of ${String(count)} people were called`);
  for (const calls of byNumber.values()) checkAttempts(calls, schedule);
}

/** The calls to each number, in their order. */
export function callsByNumber(placed: readonly Placed[]): ReadonlyMap<string, readonly Placed[]> {
  const byNumber = new Map<string, Placed[]>();
  for (const call of placed) {
    const calls = byNumber.get(call.to);
    if (calls === undefined) byNumber.set(call.to, [call]);
    else calls.push(call);
  }
  return byNumber;
}

function checkPace(placed: readonly Placed[], schedule: CampaignSchedule): void {
  const gapMs = 60_000 / schedule.perMinute;
  let running: Placed[] = [];
  for (const [index, call] of placed.entries()) {
    const fail = (rule: string): never => {
      throw new Error(`${rule}: ${JSON.stringify(call)}`);
    };
    const before = placed[index - 1];
    if (before !== undefined && call.atMs - before.atMs < gapMs - ROUNDING_MS) fail('too early after the call before');
    running = [...running.filter(({ endMs }) => endMs > call.atMs), call];
    if (running.length > schedule.concurrent) fail('too many calls at once');
    const zones = zonesOfPlace(placeOfNumber(call.to));
    const isOpen = isWithinHours(schedule, zones.length === 0 ? [schedule.timezone] : zones, call.atMs);
    if (!isOpen) fail('outside the calling hours');
  }
}

/** @param calls to one number */
function checkAttempts(calls: readonly Placed[], schedule: CampaignSchedule): void {
  const waits: Record<string, readonly number[]> = {
    busy: schedule.retryBusyS,
    'no-answer': schedule.retryNoAnswerS,
    'voicemail-hangup': schedule.retryVoicemailS,
    failed: schedule.retryFailedS,
    error: schedule.retryErrorS,
  };
  const used: Record<string, number> = {};
  for (const [index, { status, endMs }] of calls.entries()) {
    const nth = used[status] ?? 0;
    used[status] = nth + 1;
    const waitS = waits[status]?.[nth];
    const next = calls[index + 1];
    const isAgain = waitS !== undefined && index + 1 < schedule.maxAttempts;
    const told = (): string => JSON.stringify(calls);
    if ((next !== undefined) !== isAgain)
      throw new Error(`${isAgain ? 'not called again' : 'called twice'}: ${told()}`);
    if (next !== undefined && next.atMs - endMs < (waitS ?? 0) * 1000 - ROUNDING_MS)
      throw new Error(`called again too early: ${told()}`);
  }
}
