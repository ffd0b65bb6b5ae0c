import type Database from 'better-sqlite3';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { unixSeconds } from '../base/real-clock.js';

export type KeyKind = 'private' | 'public';

/** The limits of a public key. */
export interface KeyBinding {
  /** Ids of agents; [] = all. */
  agents: readonly string[];
  /** Web origins, `*` = any; [] = those that the operator allows. */
  origins: readonly string[];
}

/** The entry of a key. The store has only the hash of the key. */
export interface StoredKey extends KeyBinding {
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
  source: 'environment' | null;
  created_at: number;
}

/** Environment variables that set a key. */
export const KEY_VARIABLES: Readonly<Record<KeyKind, string>> = {
  private: 'PARLEY_API_KEY',
  public: 'PARLEY_PUBLIC_KEY',
};

const UNBOUND: KeyBinding = { agents: [], origins: [] };

/** The daemon's keys. */
export class KeyStore {
  readonly #insert: Database.Statement<unknown[]>;
  readonly #byHash: Database.Statement<unknown[], Row>;
  readonly #byId: Database.Statement<unknown[], Row>;
  readonly #list: Database.Statement<unknown[], Row>;
  readonly #revoke: Database.Statement<unknown[]>;
  readonly #ofEnvironment: (kind: KeyKind, key: string | null) => void;
  readonly #nowUnixMs: () => number;

  constructor(database: Database.Database, nowUnixMs: () => number) {
    this.#nowUnixMs = nowUnixMs;
    this.#insert = database.prepare(
      `INSERT INTO keys (id, kind, name, hash, hint, agents, origins, source, created_at)
       VALUES (@id, @kind, @name, @hash, @hint, @agents, @origins, @source, @createdAt)`,
    );
    const columns = 'id, kind, name, hint, agents, origins, source, created_at';
    const live = `SELECT ${columns} FROM keys WHERE revoked_at IS NULL`;
    this.#byHash = database.prepare(`${live} AND hash = ?`);
    this.#byId = database.prepare(`${live} AND id = ?`);
    this.#list = database.prepare(`${live} ORDER BY created_at, rowid`);
    this.#revoke = database.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');
    const replace = database.prepare(
      `UPDATE keys SET revoked_at = ? WHERE source = 'environment' AND kind = ? AND hash <> ? AND revoked_at IS NULL`,
    );
    const letGo = database.prepare(`UPDATE keys SET source = NULL WHERE source = 'environment' AND kind = ?`);
    const again = database.prepare(
      `UPDATE keys SET source = 'environment', kind = ?, revoked_at = NULL, agents = '[]', origins = '[]' WHERE hash = ?`,
    );
    this.#ofEnvironment = database.transaction((kind: KeyKind, key: string | null) => {
      if (key !== null) replace.run(unixSeconds(this.#nowUnixMs()), kind, hashOf(key));
      letGo.run(kind);
      if (key !== null && again.run(kind, hashOf(key)).changes === 0)
        this.#add(kind, KEY_VARIABLES[kind], key, UNBOUND, 'environment');
    });
  }

  /** Makes a key of 256 random bits and stores its hash. Only this call returns the key. */
  create(kind: KeyKind, name: string, binding: KeyBinding = UNBOUND): { key: string; stored: StoredKey } {
    const key = `${kind === 'private' ? 'sk' : 'pk'}_${randomBytes(32).toString('base64url')}`;
    return { key, stored: this.#add(kind, name, key, binding, null) };
  }

  /**
   * Takes over the key of the operator's environment. It is valid even if it was revoked before. The previous key of the
   * environment is revoked. Null = the environment sets no key: the previous one stays as an ordinary key.
   */
  ofEnvironment(kind: KeyKind, key: string | null): void {
    this.#ofEnvironment(kind, key);
  }

  /**
   * The entry of a key; null = the key is unknown or revoked. The lookup is by hash, so its duration does not depend on
   * how much of a wrong key is right.
   */
  find(key: string): StoredKey | null {
    return storedOf(this.#byHash.get(hashOf(key)));
  }

  /** Null = the key is unknown or revoked. */
  get(id: string): StoredKey | null {
    return storedOf(this.#byId.get(id));
  }

  /** Valid keys. */
  list(): StoredKey[] {
    return this.#list.all().map(stored);
  }

  /** Returns whether the key existed. */
  revoke(id: string): boolean {
    return this.#revoke.run(unixSeconds(this.#nowUnixMs()), id).changes > 0;
  }

  #add(kind: KeyKind, name: string, key: string, binding: KeyBinding, source: Row['source']): StoredKey {
    const entry = { id: randomUUID(), kind, name, hint: key.slice(-4), createdAt: unixSeconds(this.#nowUnixMs()) };
    const { agents, origins } = binding;
    this.#insert.run({
      ...entry,
      source,
      hash: hashOf(key),
      agents: JSON.stringify(agents),
      origins: JSON.stringify(origins),
    });
    return { ...entry, agents, origins, ofEnvironment: source !== null };
  }
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}

function storedOf(row: Row | undefined): StoredKey | null {
  return row === undefined ? null : stored(row);
}

function stored({ id, kind, name, hint, agents, origins, source, created_at }: Row): StoredKey {
  return {
    id,
    kind,
    name,
    hint,
    ofEnvironment: source !== null,
    createdAt: created_at,
    agents: JSON.parse(agents) as string[],
    origins: JSON.parse(origins) as string[],
  };
}
