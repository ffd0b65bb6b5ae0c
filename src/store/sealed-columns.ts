import { ParleyError } from '../base/errors.js';
import type { SecretBox } from './secret-box.js';
import type { SqlDatabase, SqlValue, Statement, Transaction } from './sql/statement.js';

/** A column with encrypted texts. `table.column` is their purpose. */
export interface SealedColumn {
  table: string;
  column: string;
  /** The columns that identify a row. */
  key: readonly string[];
}

/** All encrypted columns. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: 'agent_versions', column: 'config', key: ['agent_id', 'version'] },
  { table: 'agent_versions', column: 'extensions', key: ['agent_id', 'version'] },
  { table: 'eval_runs', column: 'webhook', key: ['seq'] },
  { table: 'phones', column: 'agent_config_override', key: ['number'] },
  { table: 'webhook_deliveries', column: 'url', key: ['seq'] },
  { table: 'webhook_deliveries', column: 'headers', key: ['seq'] },
  { table: 'unfinished_sessions', column: 'record', key: ['session_id'] },
  { table: 'after_call_runs', column: 'run', key: ['session_id', 'tool'] },
  { table: 'registered_calls', column: 'registration', key: ['call_id'] },
  { table: 'mcp_authorizations', column: 'record', key: ['server'] },
];

/** Rows of a page that is read into memory. */
const PAGE = 500;
/** The last one finds nothing. Others have to come after rows that were written meanwhile. */
const MAX_PASSES = 5;

/** A part of a column's rows, in the order of their keys. */
export interface ResealedPage {
  /** Texts that were encrypted anew. */
  count: number;
  /** The key of the last row; null = there are no more rows. */
  last: readonly SqlValue[] | null;
}

/**
 * Encrypts with the box's current key the texts of a page of rows that another key, or none, has encrypted. What others
 * change meanwhile stays.
 * @param after the key of the last row of the page before; null = the first page
 * @throws ParleyError SECRETS_UNREADABLE
 */
export function* resealPage(
  sealed: SealedColumn,
  box: SecretBox,
  after: readonly SqlValue[] | null,
  size: number,
): Transaction<ResealedPage> {
  const { table, column, key } = sealed;
  const { rows } = yield pageOf(sealed, box, after, size);
  let count = 0;
  let last: readonly SqlValue[] | null = null;
  for (const row of rows as readonly Record<string, SqlValue>[]) {
    last = key.map((name) => row[name] ?? null);
    const text = row['other'] ?? null;
    if (typeof text !== 'string') continue;
    const purpose = `${table}.${column}`;
    const own = key.map((name) => `${name} = ?`).join(' AND ');
    const values = [box.seal(box.open(text, purpose), purpose), ...last, text];
    const { changes } = yield { text: `UPDATE ${table} SET ${column} = ? WHERE ${own} AND ${column} = ?`, values };
    count += changes;
  }
  return { count, last };
}

/** Encrypts everything with the box's current key, in one transaction. @throws ParleyError SECRETS_UNREADABLE */
export function* resealAll(box: SecretBox): Transaction<void> {
  for (const sealed of SEALED_COLUMNS) {
    let page: ResealedPage = yield* resealPage(sealed, box, null, PAGE);
    while (page.last !== null) page = yield* resealPage(sealed, box, page.last, PAGE);
  }
}

export interface ReencryptOptions {
  /** Its abort ends the work between two pages. Called again, it goes on with what is left. */
  signal: AbortSignal;
  /** Called after each page, with the column and the number of texts that were encrypted until then. */
  onProgress: (column: SealedColumn, count: number) => void;
}

/**
 * Encrypts everything with the box's current key, page by page, while others use the database. Returns the number of
 * texts that were encrypted anew.
 * @throws ParleyError SECRETS_UNREADABLE, SECRETS_DIFFER if others go on to encrypt with another key
 */
export async function reencrypt(
  database: SqlDatabase,
  box: SecretBox,
  { signal, onProgress }: ReencryptOptions,
): Promise<number> {
  let count = 0;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const before = count;
    for (const sealed of SEALED_COLUMNS) {
      let page: ResealedPage = { count: 0, last: [] };
      while (page.last !== null) {
        signal.throwIfAborted();
        const after = page.last.length === 0 ? null : page.last;
        page = await database.transaction(() => resealPage(sealed, box, after, PAGE));
        count += page.count;
        onProgress(sealed, count);
      }
    }
    if (count === before) return count;
  }
  throw new ParleyError('SECRETS_DIFFER', {
    what: 'The key of a running node',
    reason: 'while everything was encrypted with the current key, a node went on to encrypt with another one',
  });
}

/** Whether the database holds encrypted texts, which a new key could not open. */
export function* isAnythingSealed(): Transaction<boolean> {
  for (const { table, column } of SEALED_COLUMNS) {
    const text = `SELECT 1 AS found FROM ${table} WHERE ${column} LIKE 'v_.________.%' LIMIT 1`;
    const { rows } = yield { text, values: [] };
    if (rows.length > 0) return true;
  }
  return false;
}

function pageOf(
  { table, column, key }: SealedColumn,
  box: SecretBox,
  after: readonly SqlValue[] | null,
  size: number,
): Statement {
  const keys = key.join(', ');
  const other = `CASE WHEN substr(${column}, 1, ${String(box.prefix.length)}) <> ? THEN ${column} END AS other`;
  const later = after === null ? '' : `AND (${keys}) > (${key.map(() => '?').join(', ')})`;
  return {
    text: `SELECT ${keys}, ${other} FROM ${table} WHERE ${column} IS NOT NULL ${later} ORDER BY ${keys} LIMIT ?`,
    values: [box.prefix, ...(after ?? []), size],
  };
}
