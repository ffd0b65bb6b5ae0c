import type Database from 'better-sqlite3';
import { type CallRow, callOf, type SplitRow, type StoredCall } from './calls.js';
import { type PhonePattern, phonePattern, reversed } from './phone-pattern.js';

/** What the calls of a page have in common; what is left out does not matter. */
export interface CallFilter {
  agentId?: string | undefined;
  campaignId?: string | undefined;
  /** Any of them. */
  statuses?: readonly string[] | undefined;
  /** Of either end, as `phonePattern` reads it. */
  phone?: string | undefined;
  /** Microseconds since 1970, both included. */
  fromUs?: number | undefined;
  toUs?: number | undefined;
}

export interface CallPage<T = StoredCall> {
  /** Newest first. */
  calls: T[];
  /** Where the next page begins: behind this call; null where there is none. */
  nextUs: number | null;
}

export interface CallPagesOptions {
  /** So many numbers that fit a part of one are looked up one by one. Default 25. */
  maxNumbers?: number;
  /** A number, an agent or a campaign with fewer calls is worth going by, whatever else is asked for. Default 1000. */
  fewCalls?: number;
}

type PageOf<T> = (filter: CallFilter, limit: number, beforeUs: number | null) => CallPage<T>;

const LATEST = Number.MAX_SAFE_INTEGER;

/** The agent's configuration apart from the rest of an item; null where the item is nested deeper than SQLite reads. */
const SPLIT = `CASE WHEN json_valid(item) THEN item -> '$.agent_config' END AS agent_config,
  CASE WHEN json_valid(item) THEN json_remove(item, '$.agent_config') END AS rest`;

/** What every call of a page has to be. */
const CONDITIONS = `ts_us < @before AND ts_us >= @after
  AND (@agentId IS NULL OR agent_id = @agentId) AND (@campaignId IS NULL OR campaign_id = @campaignId)
  AND (@statuses IS NULL OR status IN (SELECT value FROM json_each(@statuses)))
  AND (@numbers IS NULL OR from_phone IN (SELECT value FROM json_each(@numbers))
    OR to_phone IN (SELECT value FROM json_each(@numbers)))
  AND (@glob IS NULL OR from_phone GLOB @glob OR to_phone GLOB @glob)`;

const KEYS = {
  agent_id: 'calls_of_agent',
  campaign_id: 'calls_of_campaign',
  from_phone: 'calls_from',
  to_phone: 'calls_to',
};
type Key = keyof typeof KEYS;

interface PageConditions {
  before: number;
  after: number;
  limit: number;
  agentId: string | null;
  campaignId: string | null;
  /** JSON arrays. */
  statuses: string | null;
  numbers: string | null;
  /** A pattern that one of the two numbers has to fit. */
  glob: string | null;
}

type Times = Database.Statement<unknown[], number>;

/** Calls by one column, newest first. */
interface ByKey {
  all: Times;
  ofStatus: Times;
  isRare: Database.Statement<unknown[], number>;
}

/**
 * The log of calls in pages. Every time in it is unique and later than all before, so a page that begins behind a time
 * neither skips nor repeats a call, whatever is added or deleted meanwhile.
 *
 * Each filter, and each with a status, has an index in the order of time, of which a page reads its own length. Of
 * several filters the one that few calls have is gone by; where none is such, the calls are gone through one by one in
 * an index that holds all that is asked for.
 */
export class CallPages {
  readonly #page: PageOf<CallRow>;
  readonly #rows: PageOf<SplitRow>;
  readonly #database: Database.Database;
  readonly #byKey: Readonly<Record<Key, ByKey>>;
  readonly #maxNumbers: number;
  readonly #byStatus: Times;
  readonly #byTime: Times;
  readonly #beginning: Database.Statement<unknown[], string>;
  readonly #ending: Database.Statement<unknown[], string>;

  constructor(database: Database.Database, { maxNumbers = 25, fewCalls = 1000 }: CallPagesOptions = {}) {
    this.#database = database;
    this.#maxNumbers = maxNumbers;
    const key = (name: Key): ByKey => ({
      all: this.#times(KEYS[name], `${name} = @key AND`),
      ofStatus: this.#times(`${KEYS[name]}_status`, `${name} = @key AND status = @status AND`),
      isRare: database
        .prepare<unknown[], number>(
          `SELECT COUNT(*) < ${String(fewCalls)} FROM
             (SELECT 1 FROM calls INDEXED BY ${KEYS[name]} WHERE ${name} = ? LIMIT ${String(fewCalls)})`,
        )
        .pluck(),
    });
    this.#byKey = {
      agent_id: key('agent_id'),
      campaign_id: key('campaign_id'),
      from_phone: key('from_phone'),
      to_phone: key('to_phone'),
    };
    this.#byStatus = this.#times('calls_of_status', 'status = @status AND');
    this.#byTime = this.#times('calls_in_time');
    const numbers = (condition: string): Database.Statement<unknown[], string> =>
      database
        .prepare<unknown[], string>(
          `SELECT number FROM call_numbers WHERE ${condition} LIMIT ${String(maxNumbers + 1)}`,
        )
        .pluck();
    // Nothing in a number comes behind "~".
    this.#beginning = numbers(`number >= ? AND number < ? || '~'`);
    this.#ending = numbers(`reversed >= ? AND reversed < ? || '~'`);
    this.#page = this.#pageOf(database.prepare('SELECT * FROM calls WHERE ts_us = ?'));
    this.#rows = this.#pageOf(database.prepare(`SELECT *, ${SPLIT} FROM calls WHERE ts_us = ?`));
  }

  /** Reads calls by their times. */
  #pageOf<T extends CallRow>(get: Database.Statement<unknown[], T>): PageOf<T> {
    // One transaction: what is found is still there when it is read.
    return this.#database.transaction((filter: CallFilter, limit: number, beforeUs: number | null): CallPage<T> => {
      const found = this.#find(filter, limit + 1, beforeUs);
      const calls = found.slice(0, limit).flatMap((tsUs) => {
        const row = get.get(tsUs);
        return row === undefined ? [] : [row];
      });
      return { calls, nextUs: found.length > limit ? (calls.at(-1)?.ts_us ?? null) : null };
    });
  }

  /** @param beforeUs `nextUs` of the page before; null = the first page */
  page(filter: CallFilter, limit: number, beforeUs: number | null = null): CallPage {
    const { calls, nextUs } = this.#page(filter, limit, beforeUs);
    return { calls: calls.map(callOf), nextUs };
  }

  /** As `page`, as the table has them. */
  rows(filter: CallFilter, limit: number, beforeUs: number | null = null): CallPage<SplitRow> {
    return this.#rows(filter, limit, beforeUs);
  }

  #times(index: string, key = ''): Times {
    return this.#database
      .prepare<unknown[], number>(
        `SELECT ts_us FROM calls INDEXED BY ${index} WHERE ${key} ${CONDITIONS} ORDER BY ts_us DESC LIMIT @limit`,
      )
      .pluck();
  }

  /** The times of calls, newest first. */
  #find(filter: CallFilter, limit: number, beforeUs: number | null): number[] {
    const { agentId = null, campaignId = null, statuses, phone, fromUs = 0, toUs = LATEST - 1 } = filter;
    const numbers = phone === undefined ? null : this.#numbers(phonePattern(phone));
    const conditions: PageConditions = {
      before: Math.min(beforeUs ?? LATEST, toUs + 1),
      after: fromUs,
      limit,
      agentId,
      campaignId,
      statuses: statuses === undefined ? null : JSON.stringify(statuses),
      numbers: Array.isArray(numbers) ? JSON.stringify(numbers) : null,
      glob: typeof numbers === 'string' ? numbers : null,
    };
    const keys = keysOf(agentId, campaignId, Array.isArray(numbers) ? numbers : null);
    const isOne = keys.length === 1 && conditions.glob === null;
    const key = isOne ? keys[0] : keys.find((each) => this.#isRare(each));
    if (key !== undefined) return merged(this.#listsOf(key, conditions, statuses), limit);
    if (keys.length > 0 || conditions.glob !== null || statuses === undefined) return this.#byTime.all(conditions);
    return merged(
      statuses.map((status) => this.#byStatus.all({ ...conditions, status })),
      limit,
    );
  }

  #listsOf(key: readonly KeyValue[], conditions: PageConditions, statuses: readonly string[] | undefined): number[][] {
    return key.flatMap(([name, value]) => {
      const { all, ofStatus } = this.#byKey[name];
      if (statuses === undefined) return [all.all({ ...conditions, key: value })];
      return statuses.map((status) => ofStatus.all({ ...conditions, key: value, status }));
    });
  }

  #isRare(key: readonly KeyValue[]): boolean {
    return key.every(([name, value]) => this.#byKey[name].isRare.get(value) === 1);
  }

  /** The numbers that a pattern fits; where they are too many, the pattern for GLOB. */
  #numbers(pattern: PhonePattern): string[] | string {
    if (pattern.kind === 'whole') return [pattern.number];
    const [numbers, start, glob] =
      pattern.kind === 'begins'
        ? [this.#beginning, pattern.start, `${pattern.start}*`]
        : [this.#ending, reversed(pattern.digits), `*${pattern.digits}`];
    const found = numbers.all(start, start);
    return found.length > this.#maxNumbers ? glob : found;
  }
}

/** A column and its value. */
type KeyValue = readonly [Key, string];

/** What calls can be gone by: each is a list of which a call has one. */
function keysOf(agentId: string | null, campaignId: string | null, numbers: readonly string[] | null): KeyValue[][] {
  const keys: KeyValue[][] = [];
  if (numbers !== null) {
    const ends = numbers.flatMap((number): KeyValue[] => [
      ['from_phone', number],
      ['to_phone', number],
    ]);
    keys.push(ends);
  }
  if (campaignId !== null) keys.push([['campaign_id', campaignId]]);
  if (agentId !== null) keys.push([['agent_id', agentId]]);
  return keys;
}

/** The latest of some lists that are each in order; a call may be in two of them. */
function merged(lists: readonly (readonly number[])[], limit: number): number[] {
  return [...new Set(lists.flat())].sort((a, b) => b - a).slice(0, limit);
}
