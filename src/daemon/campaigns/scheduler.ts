import type { CampaignSchedule } from '../../settings/campaign-schedule.js';
import { nextWithinHours } from './calling-hours.js';
import { zonesOfPlace } from './phone-zones.js';

/** A record that waits for a call. */
export interface WaitingRecord {
  seq: number;
  /** The earliest time of its call, in milliseconds since 1970. */
  dueMs: number;
  /** From `placeOfNumber`. */
  place: string;
}

/** The waiting records. */
export interface WaitingRecords {
  /** Places with waiting records. */
  places: (campaignId: string) => readonly string[];
  /** The record that is due first; null = none waits. */
  first: (campaignId: string, place: string) => WaitingRecord | null;
}

/** The next step. */
export type SchedulerDecision =
  | { type: 'call'; campaignId: string; record: WaitingRecord }
  /** The records of a place never have calling hours. */
  | { type: 'refuse'; campaignId: string; place: string; reason: string }
  /** All records have their final state. */
  | { type: 'finish'; campaignId: string }
  /** Wait until then, or until something changes; null = until something changes. */
  | { type: 'wait'; untilMs: number | null };

/** Why a campaign places no call now, for people. */
const WHY = {
  hours: 'outside the calling hours',
  due: 'no call is due before',
  blocked: "the limits of the operator's settings leave no room for calls",
  pace: 'the pace of the campaign',
  concurrent: 'as many calls are under way as it may have at once',
} as const;

interface Running {
  schedule: CampaignSchedule;
  /** The earliest time of the campaign's next call. */
  slotMs: number;
  /** Grows with each call. The campaign with the smallest value is next. */
  turn: number;
  /** As `nextCallMs`. */
  nextMs: number | null;
  /** As `whyLater`. */
  why: keyof typeof WHY | null;
}

/**
 * Decides which record gets the next call. It keeps the pace, the limit of concurrent calls and the calling hours of
 * each campaign, and the campaigns take turns. It has no clock: callers pass all times in milliseconds since 1970.
 */
export class Scheduler {
  readonly #records: WaitingRecords;
  readonly #running = new Map<string, Running>();
  readonly #calls = new Map<string, number>();
  #blockedMs = 0;
  #turn = 0;

  constructor(records: WaitingRecords) {
    this.#records = records;
  }

  /** @param lastCallMs the time of the campaign's last call; null = never */
  start(campaignId: string, schedule: CampaignSchedule, lastCallMs: number | null): void {
    const slotMs = lastCallMs === null ? 0 : lastCallMs + gapMs(schedule);
    this.#running.set(campaignId, { schedule, slotMs, turn: this.#turn, nextMs: null, why: null });
  }

  /** Places no new calls. Calls in progress continue. */
  stop(campaignId: string): void {
    this.#running.delete(campaignId);
  }

  isRunning(campaignId: string): boolean {
    return this.#running.has(campaignId);
  }

  /** When a campaign places its next call, from the last `next`; null = unknown until something changes. */
  nextCallMs(campaignId: string): number | null {
    return this.#running.get(campaignId)?.nextMs ?? null;
  }

  /** Why a campaign does not place its next call now; null = it does, or no call is left. */
  whyLater(campaignId: string): string | null {
    const why = this.#running.get(campaignId)?.why ?? null;
    return why === null ? null : WHY[why];
  }

  /** The number of a campaign's calls in progress. */
  calls(campaignId: string): number {
    return this.#calls.get(campaignId) ?? 0;
  }

  began(campaignId: string, nowMs: number): void {
    this.#calls.set(campaignId, this.calls(campaignId) + 1);
    const running = this.#running.get(campaignId);
    if (running === undefined) return;
    running.slotMs = nowMs + gapMs(running.schedule);
    running.turn = ++this.#turn;
  }

  ended(campaignId: string): void {
    const left = this.calls(campaignId) - 1;
    if (left > 0) this.#calls.set(campaignId, left);
    else this.#calls.delete(campaignId);
  }

  /** Pauses all campaigns until then. */
  block(untilMs: number): void {
    this.#blockedMs = untilMs;
  }

  next(nowMs: number): SchedulerDecision {
    let untilMs = Number.POSITIVE_INFINITY;
    const inTurn = [...this.#running].sort(([, a], [, b]) => a.turn - b.turn);
    for (const [campaignId, running] of inTurn) {
      const found = this.#look(campaignId, running, nowMs);
      running.nextMs = found.type === 'wait' ? found.untilMs : nowMs;
      if (found.type !== 'wait') return found;
      if (found.untilMs !== null) untilMs = Math.min(untilMs, found.untilMs);
    }
    return { type: 'wait', untilMs: untilMs === Number.POSITIVE_INFINITY ? null : untilMs };
  }

  #look(campaignId: string, running: Running, nowMs: number): SchedulerDecision {
    const { schedule } = running;
    running.why = null;
    const calls = this.calls(campaignId);
    const places = this.#records.places(campaignId);
    if (places.length === 0) return calls === 0 ? { type: 'finish', campaignId } : { type: 'wait', untilMs: null };
    if (calls >= schedule.concurrent) {
      running.why = 'concurrent';
      return { type: 'wait', untilMs: null };
    }
    // A clock that was set back must not delay the campaign.
    running.slotMs = Math.min(running.slotMs, nowMs + gapMs(schedule));
    const freeMs = Math.max(nowMs, running.slotMs, this.#blockedMs);
    let untilMs = Number.POSITIVE_INFINITY;
    let first: WaitingRecord | null = null;
    for (const place of places) {
      const record = this.#records.first(campaignId, place);
      if (record === null) continue;
      const zones = zonesOf(place, schedule);
      const fromMs = Math.max(freeMs, record.dueMs);
      const atMs = nextWithinHours(schedule, zones, fromMs);
      if (atMs === null) return { type: 'refuse', campaignId, place, reason: NEVER };
      if (atMs < untilMs) {
        untilMs = atMs;
        running.why = atMs <= nowMs ? null : atMs > fromMs ? 'hours' : this.#reason(record, running, freeMs);
      }
      if (atMs <= nowMs && isBefore(record, first)) first = record;
    }
    if (first !== null) return { type: 'call', campaignId, record: first };
    return { type: 'wait', untilMs: untilMs === Number.POSITIVE_INFINITY ? null : untilMs };
  }

  /** Why a record waits within the calling hours. */
  #reason({ dueMs }: WaitingRecord, { slotMs }: Running, freeMs: number): Running['why'] {
    if (dueMs > freeMs) return 'due';
    return this.#blockedMs > slotMs ? 'blocked' : 'pace';
  }
}

const NEVER =
  'the number tells of several time zones that have no calling hours in common; name one as "timezone" in its metadata';

function zonesOf(place: string, schedule: CampaignSchedule): readonly string[] {
  const zones = zonesOfPlace(place);
  return zones.length === 0 ? [schedule.timezone] : zones;
}

function isBefore(a: WaitingRecord, b: WaitingRecord | null): boolean {
  return b === null || a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.seq < b.seq);
}

function gapMs({ perMinute }: CampaignSchedule): number {
  return 60_000 / perMinute;
}
