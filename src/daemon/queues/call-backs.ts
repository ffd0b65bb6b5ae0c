import type { QueuePlace } from './waiting-list.js';

/** A call back that a caller was promised. */
export interface NewCallBack {
  queueId: string;
  /** The campaign of the settings; null = the queue's own. */
  campaign: string | null;
  /** The number that was called. */
  from: string;
  to: string;
  metadata: Readonly<Record<string, unknown>>;
}

/** Calls people back, as records of campaigns. */
export interface CallBacks {
  /**
   * The number of a text as E.164, if it may be called back; else null.
   * @param near one of the daemon's numbers, in whose country the text may be a national number
   */
  read(text: string, near: string): Promise<string | null>;
  /**
   * Adds a record. `isDue`: the campaign may call now.
   * @throws ParleyError if the campaign takes none
   */
  add(callBack: NewCallBack): Promise<{ campaignId: string; isDue: boolean }>;
  /** A session is free for a call back. */
  wake(): void;
}

/** How long a free session is kept for a call back. */
const TURN_MS = 60_000;

/** The place of a caller who has hung up and is called back when it is their turn. */
export class PromisedCall implements QueuePlace {
  readonly id: string;
  readonly queueId: string;
  readonly sinceMs: number;
  priority: number;
  readonly number: string;
  readonly campaignId: string;
  #untilMs: number | null = null;

  constructor(place: QueuePlace & { number: string; campaignId: string }) {
    this.id = place.id;
    this.queueId = place.queueId;
    this.sinceMs = place.sinceMs;
    this.priority = place.priority;
    this.number = place.number;
    this.campaignId = place.campaignId;
  }

  /** Whether a session is kept for it. */
  get isTurn(): boolean {
    return this.#untilMs !== null;
  }

  turn(nowMs: number): void {
    this.#untilMs = nowMs + TURN_MS;
  }

  isLate(nowMs: number): boolean {
    return this.#untilMs !== null && nowMs >= this.#untilMs;
  }
}
