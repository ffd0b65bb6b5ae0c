import { ParleyError } from '../base/errors.js';
import { unixSeconds } from '../base/real-clock.js';
import { sql, type SqlDatabase, type Transaction } from './sql/statement.js';

/** What keys are for: the encryption of columns, or signatures. */
export type KeyPurpose = 'secret' | 'signing';

/** Ids of a node's keys. */
export interface NodeKeys {
  current: string;
  /** Of earlier keys, or of the next one. */
  known: readonly string[];
}

interface Row {
  id: string;
  retired_at: number | null;
}

const LOCK = 'secret keys';
const VARIABLES: Readonly<Record<KeyPurpose, readonly [current: string, old: string]>> = {
  secret: ['PARLEY_SECRET_KEY', 'PARLEY_OLD_SECRET_KEYS'],
  signing: ['PARLEY_SIGNING_KEY', 'PARLEY_OLD_SIGNING_KEYS'],
};

/**
 * Notes in a PostgreSQL database that a node uses its current key. All nodes must know each key in use.
 * @throws ParleyError SECRETS_DIFFER if the node does not know one, or its own was replaced
 */
export async function useKeys(
  database: SqlDatabase,
  purpose: KeyPurpose,
  { current, known }: NodeKeys,
  unixMs: number,
): Promise<void> {
  const [variable, oldVariable] = VARIABLES[purpose];
  const differ = (reason: string): ParleyError => new ParleyError('SECRETS_DIFFER', { what: variable, reason });
  await database.transaction(function* () {
    const rows = yield* keysOf(purpose);
    const unknown = rows.find(({ id, retired_at: at }) => at === null && id !== current && !known.includes(id));
    if (unknown !== undefined) {
      throw differ(
        `its key has the id ${current}, other nodes use ${unknown.id}; set that one, or add it to ${oldVariable}`,
      );
    }
    const own = rows.find(({ id }) => id === current);
    if (own !== undefined && own.retired_at !== null) {
      throw differ(`the key with the id ${current} was replaced, \`parley keys rotate\` has retired it`);
    }
    if (own !== undefined) return;
    yield sql`INSERT INTO secret_keys (purpose, id, used_at) VALUES (${purpose}, ${current}, ${unixSeconds(unixMs)})`;
  }, LOCK);
}

/** Retires all keys but one: nodes need not know them any more, and may not use them. Returns their ids. */
export async function retireKeys(
  database: SqlDatabase,
  purpose: KeyPurpose,
  current: string,
  unixMs: number,
): Promise<readonly string[]> {
  return database.transaction(function* () {
    const old = (yield* keysOf(purpose)).filter(({ id, retired_at: at }) => id !== current && at === null);
    for (const { id } of old) {
      yield sql`UPDATE secret_keys SET retired_at = ${unixSeconds(unixMs)} WHERE purpose = ${purpose} AND id = ${id}`;
    }
    return old.map(({ id }) => id);
  }, LOCK);
}

function* keysOf(purpose: KeyPurpose): Transaction<readonly Row[]> {
  return (yield sql`SELECT id, retired_at FROM secret_keys WHERE purpose = ${purpose} ORDER BY used_at, id`)
    .rows as readonly Row[];
}
