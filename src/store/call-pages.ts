import { type CallRow, callOf, type SplitRow, type StoredCall } from './calls.js';
import { type PhonePattern, phonePattern, reversed } from './phone-pattern.js';
import { sql, type SqlDatabase, type SqlValue, type Statement, type Transaction } from './sql/statement.js';

/** Which calls a page has. A condition that is left out does not apply. */
export interface CallFilter {
  agentId?: string | undefined;
  /** A version of the agent `agentId`. */
  agentVersion?: number | undefined;
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

const LATEST = Number.MAX_SAFE_INTEGER;

/** The agent's configuration, separate from the rest of the item; null = the database does not read it. */
const SPLIT = {
  sqlite: sql`CASE WHEN json_valid(item) THEN item -> '$.agent_config' END AS agent_config,
    CASE WHEN json_valid(item) THEN json_remove(item, '$.agent_config') END AS rest`,
  // It reads no JSON with the character 0.
  postgres: sql`NULL AS agent_config, NULL AS rest`,
};

/** The index of calls by each column and time. The index by column, status and time has `_status` after its name. */
const KEYS = {
  agent_id: 'calls_of_agent',
  campaign_id: 'calls_of_campaign',
  from_phone: 'calls_from',
  to_phone: 'calls_to',
};
type Key = keyof typeof KEYS;
type Column = Key | 'status' | 'agent_version';

/** The first columns of an index that ends with the time, with the values that they have. */
type Prefix = readonly (readonly [column: Column, value: string | number])[];

interface PageConditions {
  beforeUs: number;
  afterUs: number;
  limit: number;
  /** What every call of the page fulfils beside that, with the columns of each condition. */
  rest: readonly (readonly [columns: readonly Column[], condition: Statement])[];
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
  readonly #database: SqlDatabase;
  readonly #maxNumbers: number;
  readonly #fewCalls: number;

  constructor(database: SqlDatabase, { maxNumbers = 25, fewCalls = 1000 }: CallPagesOptions = {}) {
    this.#database = database;
    this.#maxNumbers = maxNumbers;
    this.#fewCalls = fewCalls;
  }

  /** @param beforeUs `nextUs` of the previous page; null = the first page */
  async page(filter: CallFilter, limit: number, beforeUs: number | null = null): Promise<CallPage> {
    const { calls, nextUs } = await this.#page<CallRow>(sql`*`, filter, limit, beforeUs);
    return { calls: calls.map(callOf), nextUs };
  }

  /** As `page`, but rows of the table. */
  rows(filter: CallFilter, limit: number, beforeUs: number | null = null): Promise<CallPage<SplitRow>> {
    return this.#page<SplitRow>(sql`*, ${SPLIT[this.#database.dialect]}`, filter, limit, beforeUs);
  }

  #page<T extends CallRow>(
    columns: Statement,
    filter: CallFilter,
    limit: number,
    beforeUs: number | null,
  ): Promise<CallPage<T>> {
    const [database, find] = [this.#database, (): Transaction<number[]> => this.#find(filter, limit + 1, beforeUs)];
    // One transaction: no call disappears between the search and the read on SQLite. On PostgreSQL, it is missing then.
    return database.read(function* () {
      if (database.dialect === 'postgres') yield ORDERED_BY_INDEX;
      const found = yield* find();
      const times = found.slice(0, limit);
      const calls = times.length === 0 ? [] : yield* rowsAt<T>(columns, times);
      return { calls, nextUs: found.length > limit ? (times.at(-1) ?? null) : null };
    });
  }

  /** Times of calls, newest first. */
  *#find(filter: CallFilter, limit: number, beforeUs: number | null): Transaction<number[]> {
    const { agentId = null, agentVersion = null, campaignId = null, statuses, phone } = filter;
    const { fromUs = 0, toUs = LATEST - 1 } = filter;
    const numbers = phone === undefined ? null : yield* this.#numbers(phonePattern(phone));
    const isMany = numbers !== null && !Array.isArray(numbers);
    const conditions: PageConditions = {
      beforeUs: Math.min(beforeUs ?? LATEST, toUs + 1),
      afterUs: fromUs,
      limit,
      rest: restOf(filter, numbers),
    };
    const keys = keysOf(agentId, campaignId, isMany ? null : numbers);
    const key = keys.length === 1 && !isMany ? keys[0] : yield* this.#rareOf(keys);
    const prefixes = key?.flatMap((each) => this.#prefixesOf(each, agentVersion, statuses));
    if (prefixes !== undefined) return yield* this.#latestOf(prefixes, conditions);
    if (keys.length > 0 || isMany || statuses === undefined) return yield* this.#times(null, conditions);
    return yield* this.#latestOf(
      statuses.map((status) => [['status', status]]),
      conditions,
    );
  }

  #prefixesOf(key: KeyValue, agentVersion: number | null, statuses: readonly string[] | undefined): Prefix[] {
    const ofVersion = key[0] === 'agent_id' && agentVersion !== null;
    const begin: Prefix = ofVersion ? [key, ['agent_version', agentVersion]] : [key];
    return statuses?.map((status): Prefix => [...begin, ['status', status]]) ?? [begin];
  }

  *#latestOf(prefixes: readonly Prefix[], conditions: PageConditions): Transaction<number[]> {
    const lists: number[][] = [];
    for (const prefix of prefixes) lists.push(yield* this.#times(prefix, conditions));
    return merged(lists, conditions.limit);
  }

  /** @param prefix null = all calls */
  *#times(prefix: Prefix | null, { beforeUs, afterUs, limit, rest }: PageConditions): Transaction<number[]> {
    // A second condition on a column of the index would have PostgreSQL look at more of its entries.
    const others = rest.flatMap(([columns, condition]) =>
      prefix?.some(([column]) => columns.includes(column)) === true ? [] : [sql`AND ${condition}`],
    );
    const { rows } = yield sql`SELECT ts_us FROM ${this.#entries(prefix ?? [], afterUs, beforeUs)}
      ${joined(others, ' ')}
      ORDER BY ${this.#order(prefix ?? [])} LIMIT ${limit}`;
    return (rows as { ts_us: number }[]).map(({ ts_us: ts }) => ts);
  }

  /**
   * Calls in a span of time, by the entries of one index. SQLite is told which one. PostgreSQL is asked for a span of its
   * keys, in its order, so that no other index would do, whatever the statistics of the table are.
   */
  #entries(prefix: Prefix, afterUs: number, beforeUs: number): Statement {
    if (this.#database.dialect === 'sqlite') {
      const equal = prefix.map(([column, value]) => sql`${name(column)} = ${value} AND`);
      return sql`calls INDEXED BY ${name(indexOf(prefix))} WHERE ${joined(equal, ' ')}
        ts_us >= ${afterUs} AND ts_us < ${beforeUs}`;
    }
    if (prefix.length === 0) return sql`calls WHERE ts_us >= ${afterUs} AND ts_us < ${beforeUs}`;
    const columns = joined([...prefix.map(([column]) => name(column)), name('ts_us')], ', ');
    const values = joined(
      prefix.map(([, value]) => sql`${value}`),
      ', ',
    );
    // Some of the indexes have only calls with a value.
    const known = joined(
      prefix.map(([column]) => sql`${name(column)} IS NOT NULL`),
      ' AND ',
    );
    return sql`calls WHERE ${known}
      AND (${columns}) >= (${values}, ${afterUs}) AND (${columns}) < (${values}, ${beforeUs})`;
  }

  #order(prefix: Prefix): Statement {
    const columns = this.#database.dialect === 'sqlite' ? [] : prefix.map(([column]) => name(column));
    return joined(
      [...columns, name('ts_us')].map((column) => sql`${column} DESC`),
      ', ',
    );
  }

  /** The first of several lists of keys whose keys all match few calls. */
  *#rareOf(keys: readonly KeyValue[][]): Transaction<readonly KeyValue[] | undefined> {
    for (const key of keys) if (yield* this.#isRare(key)) return key;
    return undefined;
  }

  *#isRare(key: readonly KeyValue[]): Transaction<boolean> {
    for (const each of key) {
      const entries = this.#entries([each], 0, LATEST);
      const { rows } = yield sql`SELECT COUNT(*) AS count FROM
        (SELECT 1 AS one FROM ${entries} ORDER BY ${this.#order([each])} LIMIT ${this.#fewCalls}) AS few`;
      if ((rows as [{ count: number }])[0].count >= this.#fewCalls) return false;
    }
    return true;
  }

  /** The numbers that match a pattern, or a condition on a number if they are too many. */
  *#numbers(pattern: PhonePattern): Transaction<string[] | NumberCondition> {
    if (pattern.kind === 'whole') return [pattern.number];
    // "~" sorts after every character of a number.
    const spanOf = (column: Statement, start: string): Statement =>
      sql`${column} >= ${start} AND ${column} < ${`${start}~`}`;
    const [span, condition]: [Statement, NumberCondition] =
      pattern.kind === 'begins'
        ? [spanOf(sql`number`, pattern.start), (column) => spanOf(column, pattern.start)]
        : [spanOf(sql`reversed`, reversed(pattern.digits)), (column) => sql`${column} LIKE ${`%${pattern.digits}`}`];
    const { rows } = yield sql`SELECT number FROM call_numbers WHERE ${span} LIMIT ${this.#maxNumbers + 1}`;
    if (rows.length > this.#maxNumbers) return condition;
    return (rows as { number: string }[]).map(({ number }) => number);
  }
}

/** Makes PostgreSQL read calls in the order of an index, however few it expects to find. */
const ORDERED_BY_INDEX = sql`SELECT set_config('enable_sort', 'off', true),
  set_config('enable_incremental_sort', 'off', true)`;

function* rowsAt<T extends CallRow>(columns: Statement, times: readonly number[]): Transaction<T[]> {
  const { rows } = yield sql`SELECT ${columns} FROM calls WHERE ts_us IN (${listOf(times)})`;
  return (rows as T[]).toSorted((a, b) => b.ts_us - a.ts_us);
}

/** A condition on a column with a number. */
type NumberCondition = (column: Statement) => Statement;

/** The conditions of a filter except that on the time. */
function restOf(
  { agentId, agentVersion, campaignId, statuses }: CallFilter,
  numbers: readonly string[] | NumberCondition | null,
): PageConditions['rest'] {
  const isOne = (values: readonly string[]): NumberCondition => {
    return (column) => (values.length === 0 ? sql`1 = 0` : sql`${column} IN (${listOf(values)})`);
  };
  const conditions: (readonly [readonly Column[], Statement])[] = [];
  if (agentId !== undefined) conditions.push([['agent_id'], sql`agent_id = ${agentId}`]);
  if (agentVersion !== undefined) conditions.push([['agent_version'], sql`agent_version = ${agentVersion}`]);
  if (campaignId !== undefined) conditions.push([['campaign_id'], sql`campaign_id = ${campaignId}`]);
  if (statuses !== undefined) conditions.push([['status'], isOne(statuses)(sql`status`)]);
  if (numbers !== null) {
    const matches = typeof numbers === 'function' ? numbers : isOne(numbers);
    const condition = sql`(${matches(sql`from_phone`)} OR ${matches(sql`to_phone`)})`;
    conditions.push([['from_phone', 'to_phone'], condition]);
  }
  return conditions;
}

function indexOf(prefix: Prefix): string {
  const [first, second, third] = prefix;
  if (first === undefined) return 'calls_in_time';
  if (first[0] === 'status' || first[0] === 'agent_version') return 'calls_of_status';
  if (second?.[0] === 'agent_version') return third === undefined ? 'calls_of_version' : 'calls_of_version_status';
  return second === undefined ? KEYS[first[0]] : `${KEYS[first[0]]}_status`;
}

/** A name of the schema as part of a statement. */
function name(text: string): Statement {
  return { text, values: [] };
}

function listOf(values: readonly SqlValue[]): Statement {
  return joined(
    values.map((value) => sql`${value}`),
    ', ',
  );
}

function joined(parts: readonly Statement[], between: string): Statement {
  return { text: parts.map(({ text }) => text).join(between), values: parts.flatMap(({ values }) => values) };
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
