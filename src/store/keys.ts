import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { unixSeconds } from '../base/real-clock.js';
import type { LiveTable, LiveTables, TableView } from './sql/live-table.js';
import { run, sql, type SqlDatabase, type SqlValue, type Statement, type Transaction } from './sql/statement.js';

export type KeyKind = 'private' | 'public';

/** What a private key allows; `scopeOf` of src/daemon/http says which one each endpoint needs. */
export const KEY_SCOPES = ['read', 'write', 'publish', 'calls', 'evals', 'admin'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** The limits of a public key. */
export interface KeyBinding {
  /** Ids of agents; [] = all. */
  agents: readonly string[];
  /** Web origins, `*` = any; [] = those that the operator allows. */
  origins: readonly string[];
}

/** The limits of a key. */
export interface KeyLimits extends KeyBinding {
  /** Of a private key; a public key has none. */
  scopes: readonly KeyScope[];
}

/** The entry of a key. The store has only the hash of the key. */
export interface StoredKey extends KeyLimits {
  id: string;
  kind: KeyKind;
  name: string;
  /** The last characters of the key, to recognise it. */
  hint: string;
  /** Whether the operator's environment sets the key. */
  ofEnvironment: boolean;
  /** Unix seconds. */
  createdAt: number;
}

interface Row {
  id: string;
  kind: KeyKind;
  name: string;
  hint: string;
  agents: string;
  origins: string;
  /** Null = everything, also what later releases add. */
  scopes: string | null;
  source: 'environment' | null;
  created_at: number;
}

/** Environment variables that set a key. */
export const KEY_VARIABLES: Readonly<Record<KeyKind, string>> = {
  private: 'PARLEY_API_KEY',
  public: 'PARLEY_PUBLIC_KEY',
};

/** The condition for private keys that can make others. */
const MANAGES_KEYS = sql`kind = 'private' AND revoked_at IS NULL AND (scopes IS NULL OR scopes LIKE '%"admin"%')`;
/** Changes that depend on which keys there are run one at a time. */
const LOCK = 'keys';

const VIEW: TableView<Row, StoredKey> = {
  table: 'keys',
  from: 'keys',
  columns: 'id, kind, name, hash, hint, agents, origins, scopes, source, created_at, rowid',
  where: 'revoked_at IS NULL',
  order: 'created_at, rowid',
  key: ['id'],
  stamp: null,
  isCostly: false,
  decode: stored,
};

/** The daemon's keys. */
export class KeyStore {
  readonly #database: SqlDatabase;
  readonly #live: LiveTable<StoredKey>;
  readonly #byHash: (hash: SqlValue) => StoredKey | null;
  readonly #nowUnixMs: () => number;

  private constructor(database: SqlDatabase, live: LiveTable<StoredKey>, nowUnixMs: () => number) {
    this.#database = database;
    this.#live = live;
    this.#byHash = live.by('hash');
    this.#nowUnixMs = nowUnixMs;
  }

  static async open(database: SqlDatabase, tables: LiveTables, nowUnixMs: () => number): Promise<KeyStore> {
    return new KeyStore(database, await tables.open(VIEW), nowUnixMs);
  }

  /**
   * Makes a key of 256 random bits and stores its hash. Only this call returns the key.
   * @param limits default none
   */
  async create(
    kind: KeyKind,
    name: string,
    limits: Partial<KeyLimits> = {},
  ): Promise<{ key: string; stored: StoredKey }> {
    const key = newKey(kind);
    const entry = this.#entry(kind, name, key, limits, null);
    await this.#database.run(insertion(entry, key));
    await this.#live.refresh(entry.id);
    return { key, stored: entry };
  }

  /** Creates a private key if there is none that can make others. Returns the new key, else null. */
  async createFirst(name: string): Promise<string | null> {
    const key = newKey('private');
    const entry = this.#entry('private', name, key, {}, null);
    const isNew = await this.#database.transaction(function* () {
      const { rows } = yield sql`SELECT id FROM keys WHERE ${MANAGES_KEYS} LIMIT 1`;
      if (rows.length > 0) return false;
      yield insertion(entry, key);
      return true;
    }, LOCK);
    if (isNew) await this.#live.refresh(entry.id);
    return isNew ? key : null;
  }

  /**
   * Takes over the key of the operator's environment. It is valid even if it was revoked before. The previous key of the
   * environment is revoked. Null = the environment sets no key: the previous one stays as an ordinary key.
   */
  async ofEnvironment(kind: KeyKind, key: string | null): Promise<void> {
    const now = unixSeconds(this.#nowUnixMs());
    const entry = key === null ? null : this.#entry(kind, KEY_VARIABLES[kind], key, {}, 'environment');
    const changed = await this.#database.transaction(() => takeOver(kind, key, entry, now), LOCK);
    for (const id of changed) await this.#live.refresh(id);
  }

  /**
   * The entry of a key; null = the key is unknown or revoked. The lookup is by hash, so its duration does not depend on
   * how much of a wrong key is right.
   */
  find(key: string): StoredKey | null {
    return this.#byHash(hashOf(key));
  }

  /** Null = the key is unknown or revoked. */
  get(id: string): StoredKey | null {
    return this.#live.get(id);
  }

  /** As `get`, but also finds a key that another node has just made. */
  async latest(id: string): Promise<StoredKey | null> {
    if (this.get(id) === null) await this.#live.refresh(id);
    return this.get(id);
  }

  /** Valid keys. */
  list(): readonly StoredKey[] {
    return this.#live.all();
  }

  /** Returns whether the key existed. */
  async revoke(id: string): Promise<boolean> {
    const now = unixSeconds(this.#nowUnixMs());
    const count = await this.#database.run(
      sql`UPDATE keys SET revoked_at = ${now} WHERE id = ${id} AND revoked_at IS NULL`,
    );
    await this.#live.refresh(id);
    return count > 0;
  }

  /** Revokes a key unless it is the last one that can make others. Returns what it did. */
  async revokeUnlessLast(id: string): Promise<'revoked' | 'unknown' | 'last'> {
    const now = unixSeconds(this.#nowUnixMs());
    const outcome = await this.#database.transaction(() => revocation(id, now), LOCK);
    await this.#live.refresh(id);
    return outcome;
  }

  #entry(
    kind: KeyKind,
    name: string,
    key: string,
    { agents = [], origins = [], scopes = scopesOf(kind, null) }: Partial<KeyLimits>,
    source: Row['source'],
  ): StoredKey {
    const createdAt = unixSeconds(this.#nowUnixMs());
    return {
      id: randomUUID(),
      kind,
      name,
      hint: key.slice(-4),
      createdAt,
      agents,
      origins,
      scopes,
      ofEnvironment: source !== null,
    };
  }
}

/** Returns the ids of changed keys. */
function* takeOver(
  kind: KeyKind,
  key: string | null,
  entry: StoredKey | null,
  now: number,
): Transaction<readonly string[]> {
  const { rows } = yield sql`SELECT id FROM keys WHERE source = 'environment' AND kind = ${kind}`;
  const ids = rows.map((row) => (row as Pick<Row, 'id'>).id);
  if (key === null || entry === null) {
    yield sql`UPDATE keys SET source = NULL WHERE source = 'environment' AND kind = ${kind}`;
    return ids;
  }
  const hash = hashOf(key);
  yield sql`UPDATE keys SET revoked_at = ${now}
    WHERE source = 'environment' AND kind = ${kind} AND hash <> ${hash} AND revoked_at IS NULL`;
  yield sql`UPDATE keys SET source = NULL WHERE source = 'environment' AND kind = ${kind}`;
  const again = yield sql`UPDATE keys
    SET source = 'environment', kind = ${kind}, revoked_at = NULL, agents = '[]', origins = '[]',
      scopes = NULL
    WHERE hash = ${hash} RETURNING id`;
  const [known] = again.rows as readonly Pick<Row, 'id'>[];
  if (known !== undefined) return [...ids, known.id];
  yield insertion(entry, key);
  return [...ids, entry.id];
}

function* revocation(id: string, now: number): Transaction<'revoked' | 'unknown' | 'last'> {
  const found = yield sql`SELECT id FROM keys WHERE revoked_at IS NULL AND id = ${id}`;
  if (found.rows.length === 0) return 'unknown';
  const { rows } = yield sql`SELECT id FROM keys WHERE ${MANAGES_KEYS} LIMIT 2`;
  const [manager, ...others] = rows as readonly Pick<Row, 'id'>[];
  if (manager?.id === id && others.length === 0) return 'last';
  yield* run(sql`UPDATE keys SET revoked_at = ${now} WHERE id = ${id}`);
  return 'revoked';
}

function insertion(entry: StoredKey, key: string): Statement {
  const source = entry.ofEnvironment ? 'environment' : null;
  const [agents, origins] = [JSON.stringify(entry.agents), JSON.stringify(entry.origins)];
  const isLimited = entry.kind === 'private' && entry.scopes !== KEY_SCOPES;
  const scopes = isLimited ? JSON.stringify(entry.scopes) : null;
  return sql`INSERT INTO keys (id, kind, name, hash, hint, agents, origins, scopes, source, created_at)
    VALUES (${entry.id}, ${entry.kind}, ${entry.name}, ${hashOf(key)}, ${entry.hint}, ${agents}, ${origins}, ${scopes},
      ${source}, ${entry.createdAt})`;
}

function newKey(kind: KeyKind): string {
  return `${kind === 'private' ? 'sk' : 'pk'}_${randomBytes(32).toString('base64url')}`;
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}

function scopesOf(kind: KeyKind, text: string | null): readonly KeyScope[] {
  if (kind === 'public') return [];
  return text === null ? KEY_SCOPES : (JSON.parse(text) as KeyScope[]);
}

function stored({ id, kind, name, hint, agents, origins, scopes, source, created_at }: Row): StoredKey {
  return {
    id,
    kind,
    name,
    hint,
    ofEnvironment: source !== null,
    createdAt: created_at,
    agents: JSON.parse(agents) as string[],
    origins: JSON.parse(origins) as string[],
    scopes: scopesOf(kind, scopes),
  };
}
