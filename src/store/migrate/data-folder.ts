import Database from 'better-sqlite3';
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { databaseFile, openDatabase, SCHEMA_VERSION } from '../database.js';
import { FolderLock } from '../folder-lock.js';

/** What the databases are called when all of their data were moved. */
const MOVED = '.moved';
/** A folder in the data folder, for a copy of a database with an older schema. */
const COPY_PREFIX = '.migrate-';

/** The node of what releases before nodes have left open: the first node that starts ends it, as that of a dead node. */
const NO_NODE = 'earlier-release';
const OPEN_ROWS = [
  ['calls', 'ended_us IS NULL'],
  ['dials', 'ended_us IS NULL'],
  ['unfinished_sessions', 'TRUE'],
  ['campaign_records', 'calling = 1'],
] as const;

/** A data folder that no daemon uses, to copy its databases. It stays as it is until `moved`. */
export class DataFolder {
  readonly path: string;
  /** `parley.db`, with this release's schema. */
  readonly database: Database.Database;
  /** Null = the folder has no knowledge base. */
  readonly knowledge: Database.Database | null;
  readonly #lock: FolderLock;
  #isOpen = true;

  private constructor(path: string, lock: FolderLock, database: Database.Database) {
    this.path = path;
    this.#lock = lock;
    this.database = database;
    this.knowledge = openKnowledge(path);
  }

  /**
   * @throws ParleyError DATA_FOLDER_IN_USE while a daemon runs on it, FILE_NOT_READABLE if it has no data, DATABASE_…
   */
  static async open(path: string): Promise<DataFolder> {
    if (!existsSync(databaseFile(path))) {
      const isMoved = existsSync(`${databaseFile(path)}${MOVED}`);
      const reason = isMoved ? 'its data have been copied already' : 'it holds no data of a daemon';
      throw new ParleyError('FILE_NOT_READABLE', { path, reason });
    }
    const lock = new FolderLock(path);
    try {
      // An earlier run may have been killed.
      removeCopies(path);
      return new DataFolder(path, lock, await openCurrent(path));
    } catch (error) {
      removeCopies(path);
      lock.release();
      throw error;
    }
  }

  /** Identifies the folder's data, wherever the folder is: its first key is never deleted. */
  get id(): string {
    const first = this.database.prepare<unknown[], string>('SELECT id FROM keys ORDER BY rowid LIMIT 1').pluck().get();
    return first ?? this.path;
  }

  /** Gives the databases other names, so that no daemon uses both these and the copy. Returns the new names. */
  moved(): string[] {
    this.#closeDatabases();
    // `parley.db` is last: without it, there is nothing to continue.
    return ['knowledge.db', 'parley.db'].flatMap((name) => {
      const file = join(this.path, name);
      if (!existsSync(file)) return [];
      renameSync(file, `${file}${MOVED}`);
      return [`${name}${MOVED}`];
    });
  }

  /** May be called twice. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#closeDatabases();
    removeCopies(this.path);
    this.#lock.release();
  }

  #closeDatabases(): void {
    // The last connection also removes the write-ahead log.
    this.database.close();
    this.knowledge?.close();
  }
}

/** Opens `parley.db`, or a copy of it if it has an older schema: an earlier release can still use the folder. */
async function openCurrent(path: string): Promise<Database.Database> {
  const file = databaseFile(path);
  const original = new Database(file, { fileMustExist: true });
  try {
    const version = original.pragma('user_version', { simple: true }) as number;
    if (version >= SCHEMA_VERSION) return openDatabase(path);
    const folder = mkdtempSync(join(path, COPY_PREFIX));
    await original.backup(databaseFile(folder));
    const database = openDatabase(folder);
    for (const [table, isOpen] of OPEN_ROWS) {
      database.prepare(`UPDATE ${table} SET node_id = ? WHERE node_id IS NULL AND ${isOpen}`).run(NO_NODE);
    }
    return database;
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    throw new ParleyError('DATABASE_UNUSABLE', { path: file, reason: reasonOf(error) }, { cause: error });
  } finally {
    original.close();
  }
}

function openKnowledge(path: string): Database.Database | null {
  const file = join(path, 'knowledge.db');
  // A run that was killed while it gave names.
  const found = [file, `${file}${MOVED}`].find((name) => existsSync(name));
  return found === undefined ? null : new Database(found, { fileMustExist: true });
}

function removeCopies(path: string): void {
  for (const name of readdirSync(path)) {
    if (name.startsWith(COPY_PREFIX)) rmSync(join(path, name), { recursive: true, force: true });
  }
}
