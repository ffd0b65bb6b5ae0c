import type Database from 'better-sqlite3';
import { createHash, randomBytes, randomUUID } from 'node:crypto';

export type KeyKind = 'private' | 'public';

/** A key as it is listed; the key itself is not stored, only its hash. */
export interface StoredKey {
  id: string;
  kind: KeyKind;
  name: string;
  /** Its last characters, to tell keys apart. */
  hint: string;
  /** Unix seconds. */
  createdAt: number;
}

interface Row {
  id: string;
  kind: KeyKind;
  name: string;
  hint: string;
  created_at: number;
}

/** The daemon's keys. */
export class KeyStore {
  readonly #insert: Database.Statement<unknown[]>;
  readonly #byHash: Database.Statement<unknown[], Row>;
  readonly #list: Database.Statement<unknown[], Row>;
  readonly #revoke: Database.Statement<unknown[]>;
  readonly #nowSeconds: () => number;

  constructor(database: Database.Database, nowSeconds: () => number) {
    this.#nowSeconds = nowSeconds;
    this.#insert = database.prepare(
      'INSERT INTO keys (id, kind, name, hash, hint, created_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING',
    );
    const columns = 'id, kind, name, hint, created_at';
    this.#byHash = database.prepare(`SELECT ${columns} FROM keys WHERE hash = ? AND revoked_at IS NULL`);
    this.#list = database.prepare(`SELECT ${columns} FROM keys WHERE revoked_at IS NULL ORDER BY created_at, id`);
    this.#revoke = database.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');
  }

  /** Makes a key of 256 random bits and stores its hash. This is the only time that the key is seen. */
  create(kind: KeyKind, name: string): { key: string; stored: StoredKey } {
    const key = `${kind === 'private' ? 'sk' : 'pk'}_${randomBytes(32).toString('base64url')}`;
    return { key, stored: this.add(kind, name, key) };
  }

  /** Stores a key that the operator chose. The same key again changes nothing. */
  add(kind: KeyKind, name: string, key: string): StoredKey {
    const id = randomUUID();
    this.#insert.run(id, kind, name, hashOf(key), key.slice(-4), this.#nowSeconds());
    return this.find(key) ?? { id, kind, name, hint: key.slice(-4), createdAt: this.#nowSeconds() };
  }

  /**
   * The key's entry, null for an unknown or revoked one. Looked up by hash: how long it takes tells nothing about how
   * much of a key is right.
   */
  find(key: string): StoredKey | null {
    const row = this.#byHash.get(hashOf(key));
    return row === undefined ? null : stored(row);
  }

  list(): StoredKey[] {
    return this.#list.all().map(stored);
  }

  /** Returns whether there was such a key. */
  revoke(id: string): boolean {
    return this.#revoke.run(this.#nowSeconds(), id).changes > 0;
  }
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}

function stored({ id, kind, name, hint, created_at }: Row): StoredKey {
  return { id, kind, name, hint, createdAt: created_at };
}
