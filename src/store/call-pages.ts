import type Database from 'better-sqlite3';
import { type CallRow, callOf, type SplitRow, type StoredCall } from './calls.js';
import { type PhonePattern, phonePattern, reversed } from './phone-pattern.js';

/** Which calls a page has. A condition that is left out does not apply. */
export interface CallFilter {
  agentId?: string | undefined;
  campaignId?: string | undefined;
  /** A call has one of them. */
  statuses?: readonly string[] | undefined;
  /** The number of either party, as `phonePattern` reads it. */
  phone?: string | undefined;
  /** Microseconds since 1970, inclusive. */
  fromUs?: number | undefined;
  toUs?: number | undefined;
}

export interface CallPage<T = StoredCall> {
  /** Newest first. */
  calls: T[];
  /** The time of the last call of this page, where the next page starts; null = this is the last page. */
  nextUs: number | null;
}

export interface CallPagesOptions {
  /** Up to this many numbers that match a pattern, the search looks up each one. Default 25. */
  maxNumbers?: number;
  /** The search uses the index of a number, agent or campaign with fewer calls than this. Default 1000. */
  fewCalls?: number;
}

type PageOf<T> = (filter: CallFilter, limit: number, beforeUs: number | null) => CallPage<T>;

const LATEST = Number.MAX_SAFE_INTEGER;

/** The agent's configuration, separate from the rest of the item; null = the item is nested too deep for SQLite. */
const SPLIT = `CASE WHEN json_valid(item) THEN item -> '$.agent_config' END AS agent_config,
  CASE WHEN json_valid(item) THEN json_remove(item, '$.agent_config') END AS rest`;

/** Conditions that every call of a page fulfils. */
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
  /** A pattern that one of the two numbers matches. */
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
 * Pages of the call log. Every call has a unique time, later than those of all calls before it. So a page that starts
 * after a time neither skips nor repeats a call, whatever is added or deleted in between.
 *
 * Each filter, alone and with a status, has an index ordered by time: a page reads as many entries as it has calls.
 * With several filters, the search uses the index of one that matches few calls. If none does, it scans an index that
 * covers all filters.
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
    // "~" sorts after every character of a number.
    this.#beginning = numbers(`number >= ? AND number < ? || '~'`);
    this.#ending = numbers(`reversed >= ? AND reversed < ? || '~'`);
    this.#page = this.#pageOf(database.prepare('SELECT * FROM calls WHERE ts_us = ?'));
    this.#rows = this.#pageOf(database.prepare(`SELECT *, ${SPLIT} FROM calls WHERE ts_us = ?`));
  }

  /** Reads calls by time. */
  #pageOf<T extends CallRow>(get: Database.Statement<unknown[], T>): PageOf<T> {
    // One transaction: no call disappears between the search and the read.
    return this.#database.transaction((filter: CallFilter, limit: number, beforeUs: number | null): CallPage<T> => {
      const found = this.#find(filter, limit + 1, beforeUs);
      const calls = found.slice(0, limit).flatMap((tsUs) => {
        const row = get.get(tsUs);
        return row === undefined ? [] : [row];
      });
      return { calls, nextUs: found.length > limit ? (calls.at(-1)?.ts_us ?? null) : null };
    });
  }

  /** @param beforeUs `nextUs` of the previous page; null = the first page */
  page(filter: CallFilter, limit: number, beforeUs: number | null = null): CallPage {
    const { calls, nextUs } = this.#page(filter, limit, beforeUs);
    return { calls: calls.map(callOf), nextUs };
  }

  /** As `page`, but rows of the table. */
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

  /** Times of calls, newest first. */
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

  /** The numbers that match a pattern, or the pattern for GLOB if they are too many. */
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

/** Columns with an index. A call matches a list if it has one of its values. */
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

/** The latest entries of several sorted lists. A call may be in two of them. */
function merged(lists: readonly (readonly number[])[], limit: number): number[] {
  return [...new Set(lists.flat())].sort((a, b) => b - a).slice(0, limit);
}
