import type Database from 'better-sqlite3';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { unixSeconds } from '../base/real-clock.js';

export type KeyKind = 'private' | 'public';

/** What a public key is for. */
export interface KeyBinding {
  /** Ids of agents; none = all. */
  agents: readonly string[];
  /** Web origins, `*` = any; none = those that the operator allows. */
  origins: readonly string[];
}

/** A key as it is listed; the key itself is not stored, only its hash. */
export interface StoredKey extends KeyBinding {
  id: string;
  kind: KeyKind;
  name: string;
  /** Its last characters, to tell keys apart. */
  hint: string;
  /** The operator's environment names it. */
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

/** Where the operator's environment names a key. */
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

  /** Makes a key of 256 random bits and stores its hash. This is the only time that the key is seen. */
  create(kind: KeyKind, name: string, binding: KeyBinding = UNBOUND): { key: string; stored: StoredKey } {
    const key = `${kind === 'private' ? 'sk' : 'pk'}_${randomBytes(32).toString('base64url')}`;
    return { key, stored: this.#add(kind, name, key, binding, null) };
  }

  /**
   * Takes over what the operator's environment names: it is good, also where it was revoked before, and the one that was
   * named there before is revoked. Null = it names none: the last one stays, as a key like any other.
   */
  ofEnvironment(kind: KeyKind, key: string | null): void {
    this.#ofEnvironment(kind, key);
  }

  /**
   * The key's entry, null for an unknown or revoked one. Looked up by hash: how long it takes tells nothing about how
   * much of a key is right.
   */
  find(key: string): StoredKey | null {
    return storedOf(this.#byHash.get(hashOf(key)));
  }

  /** Null for an unknown or revoked one. */
  get(id: string): StoredKey | null {
    return storedOf(this.#byId.get(id));
  }

  /** Those that were not revoked. */
  list(): StoredKey[] {
    return this.#list.all().map(stored);
  }

  /** Returns whether there was such a key. */
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
