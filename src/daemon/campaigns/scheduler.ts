import type { Clock } from '../../base/clock.js';
import type { CampaignSchedule } from '../../settings/campaign-schedule.js';
import type { CampaignCallStore, RecordClaim, RunningCampaign, WaitingPlace } from '../../store/campaign-calls.js';
import type { StoredCampaign } from '../../store/campaigns.js';
import type { Transaction } from '../../store/sql/statement.js';
import { isWithinHours, nextWithinHours } from './calling-hours.js';
import { zonesOfPlace } from './phone-zones.js';

/** What a campaign may do now. Times are in milliseconds since 1970. */
export type CampaignTurn =
  /** Call the first record of a place. */
  | { type: 'call'; place: string }
  /** The records of a place never have calling hours. */
  | { type: 'refuse'; place: string; reason: string }
  /** All records have their final state. */
  | { type: 'finish' }
  /** Wait until then, or until something changes; null = until something changes. */
  | { type: 'wait'; untilMs: number | null; why: WhyLater | null };

/** Why a campaign places no call now, for people. */
const WHY = {
  hours: 'outside the calling hours',
  due: 'no call is due before',
  blocked: "the limits of the operator's settings leave no room for calls",
  pace: 'the pace of the campaign',
  concurrent: 'as many calls are under way as it may have at once',
} as const;

type WhyLater = keyof typeof WHY;

/** A pace that lies further ahead than this comes from a clock that was set back. */
const SET_BACK_MS = 60_000;

const NEVER =
  'the number tells of several time zones that have no calling hours in common; name one as "timezone" in its metadata';

/** The limits of a campaign and how much of them is used. */
export type CampaignUse = Pick<RunningCampaign, 'calls' | 'claims' | 'claimedUs' | 'claimsEndUs' | 'uploadsEndUs'> & {
  schedule: CampaignSchedule;
  lastCallMs: number | null;
};

/**
 * What a campaign may do: it keeps its pace, its limit of concurrent calls and its calling hours.
 * @param blockedMs no campaign places calls before this time
 */
export function turnOf(
  use: CampaignUse,
  places: readonly WaitingPlace[],
  { nowMs, blockedMs }: { nowMs: number; blockedMs: number },
): CampaignTurn {
  const { schedule, calls, claims } = use;
  if (places.length === 0) {
    const isOver = calls === 0 && use.uploadsEndUs === null;
    return isOver ? { type: 'finish' } : { type: 'wait', untilMs: msOf(use.uploadsEndUs), why: null };
  }
  if (calls + claims >= schedule.concurrent) return { type: 'wait', untilMs: msOf(use.claimsEndUs), why: 'concurrent' };
  const slotMs = Math.max(paceMs(schedule, use.lastCallMs, nowMs), paceMs(schedule, msOf(use.claimedUs), nowMs));
  const freeMs = Math.max(nowMs, slotMs, blockedMs);
  let untilMs = msOf(use.claimsEndUs) ?? Number.POSITIVE_INFINITY;
  let why: WhyLater | null = null;
  let next: WaitingPlace | null = null;
  for (const waiting of places) {
    const { place, first } = waiting;
    if (first === null) continue;
    const fromMs = Math.max(freeMs, first.dueMs);
    const atMs = nextWithinHours(schedule, zonesOf(place, schedule), fromMs);
    if (atMs === null) return { type: 'refuse', place, reason: NEVER };
    if (atMs <= nowMs && isBefore(waiting, next)) next = waiting;
    if (atMs >= untilMs) continue;
    untilMs = atMs;
    why = atMs > fromMs ? 'hours' : first.dueMs > freeMs ? 'due' : blockedMs > slotMs ? 'blocked' : 'pace';
  }
  if (next !== null) return { type: 'call', place: next.place };
  return { type: 'wait', untilMs: untilMs === Number.POSITIVE_INFINITY ? null : untilMs, why };
}

/** Whether the pace and the calling hours allow a call to a place now. */
export function mayCall(schedule: CampaignSchedule, lastCallMs: number | null, place: string, nowMs: number): boolean {
  return paceMs(schedule, lastCallMs, nowMs) <= nowMs && isWithinHours(schedule, zonesOf(place, schedule), nowMs);
}

/** The earliest time of a call after that of `lastMs`. */
function paceMs({ perMinute }: CampaignSchedule, lastMs: number | null, nowMs: number): number {
  const gapMs = 60_000 / perMinute;
  // A clock that was set back must not hold up the campaign.
  return lastMs === null || lastMs > nowMs + Math.max(gapMs, SET_BACK_MS) ? 0 : lastMs + gapMs;
}

function zonesOf(place: string, schedule: CampaignSchedule): readonly string[] {
  const zones = zonesOfPlace(place);
  return zones.length === 0 ? [schedule.timezone] : zones;
}

function isBefore({ first: a }: WaitingPlace, b: WaitingPlace | null): boolean {
  if (a === null || b?.first == null) return true;
  return a.dueMs < b.first.dueMs || (a.dueMs === b.first.dueMs && a.seq < b.first.seq);
}

function msOf(us: number | null): number | null {
  return us === null ? null : us / 1000;
}

/** The next step of this node. */
export type SchedulerDecision =
  | { type: 'call'; campaign: StoredCampaign; claim: RecordClaim }
  /** The waiting records of a place have been refused. */
  | { type: 'refused'; campaignId: string }
  | { type: 'finish'; campaignId: string }
  /** Another node was faster: decide again. */
  | { type: 'again' }
  /** Wait this long, or until something changes; null = until something changes. */
  | { type: 'wait'; forMs: number | null };

interface Outlook {
  /** Milliseconds since 1970; null = unknown. */
  nextMs: number | null;
  why: WhyLater | null;
}

export interface SchedulerOptions {
  clock: Clock;
  calls: CampaignCallStore;
  scheduleOf: (campaign: StoredCampaign) => CampaignSchedule;
}

/**
 * Decides which record this node calls next, and claims it. All that counts is in the database, so all nodes decide by
 * the same: the campaigns take turns, and each keeps its limits whoever calls for it.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  /** What the last decision found out about campaigns, for people. */
  readonly #outlooks = new Map<string, Outlook>();
  /** On the clock. */
  #blockedUntilMs = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** This node places no calls for a while. */
  block(forMs: number): void {
    this.#blockedUntilMs = this.#options.clock.nowMs() + forMs;
  }

  /** When a campaign places its next call, from the last `next`; null = unknown until something changes. */
  nextCallMs(campaignId: string): number | null {
    return this.#outlooks.get(campaignId)?.nextMs ?? null;
  }

  /** Why a campaign does not place its next call now; null = it does, or no call is left. */
  whyLater(campaignId: string): string | null {
    const why = this.#outlooks.get(campaignId)?.why ?? null;
    return why === null ? null : WHY[why];
  }

  /** Forgets what was found out about a campaign that no longer runs. */
  forget(campaignId: string): void {
    this.#outlooks.delete(campaignId);
  }

  async next(): Promise<SchedulerDecision> {
    const { clock, calls } = this.#options;
    const blockedForMs = Math.max(0, this.#blockedUntilMs - clock.nowMs());
    const { decision, outlooks } = await calls.decide(() => this.#decide(blockedForMs));
    for (const [campaignId, outlook] of outlooks) this.#outlooks.set(campaignId, outlook);
    return decision;
  }

  *#decide(blockedForMs: number): Transaction<{ decision: SchedulerDecision; outlooks: Map<string, Outlook> }> {
    const { calls, scheduleOf } = this.#options;
    const nowUs = yield* calls.nowUs();
    const nowMs = nowUs / 1000;
    const outlooks = new Map<string, Outlook>();
    let untilMs = Number.POSITIVE_INFINITY;
    for (const running of yield* calls.running(nowUs)) {
      const { campaign } = running;
      const places = yield* calls.waiting(campaign.id, nowUs);
      const use = { ...running, schedule: scheduleOf(campaign), lastCallMs: campaign.lastCallMs };
      const turn = turnOf(use, places, { nowMs, blockedMs: nowMs + blockedForMs });
      if (turn.type !== 'wait') {
        outlooks.set(campaign.id, { nextMs: nowMs, why: null });
        return { decision: yield* this.#taken(running, turn, nowUs), outlooks };
      }
      outlooks.set(campaign.id, { nextMs: turn.untilMs, why: turn.why });
      if (turn.untilMs !== null) untilMs = Math.min(untilMs, turn.untilMs);
    }
    const forMs = untilMs === Number.POSITIVE_INFINITY ? null : Math.max(1, untilMs - nowMs);
    return { decision: { type: 'wait', forMs }, outlooks };
  }

  *#taken(
    running: RunningCampaign,
    turn: Exclude<CampaignTurn, { type: 'wait' }>,
    nowUs: number,
  ): Transaction<SchedulerDecision> {
    const { calls } = this.#options;
    const { campaign } = running;
    switch (turn.type) {
      case 'call': {
        const claim = yield* calls.claim(running, turn.place, nowUs);
        return claim === null ? { type: 'again' } : { type: 'call', campaign, claim };
      }
      case 'refuse':
        yield* calls.refusePlace(campaign.id, turn.place, turn.reason);
        return { type: 'refused', campaignId: campaign.id };
      case 'finish':
        return { type: 'finish', campaignId: campaign.id };
    }
  }
}
