import Database from 'better-sqlite3';
import { closeSync, openSync } from 'node:fs';
import type { KnowledgeFile, Passage } from '../tools/knowledge/knowledge.js';
import type { IndexedChunk } from '../tools/knowledge/formats.js';
import { wordsOf } from '../tools/knowledge/words.js';

/** Databases of other versions are refused. */
const VERSION = 1;

/** The index stores only word positions. Marks count as letters, because many scripts write vowels as marks. */
const SCHEMA = `
  CREATE TABLE files (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT,
    file_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    complete INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE passages (
    id INTEGER PRIMARY KEY,
    file_id TEXT NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    page INTEGER,
    heading TEXT,
    text TEXT NOT NULL
  ) STRICT;
  CREATE INDEX passages_of_file ON passages (file_id);
  CREATE VIRTUAL TABLE words USING fts5 (
    heading, text, content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
  );
  CREATE TABLE vectors (
    passage_id INTEGER NOT NULL REFERENCES passages (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (passage_id, model)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE agent_files (
    agent_id TEXT NOT NULL,
    file_id TEXT NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    PRIMARY KEY (agent_id, file_id)
  ) STRICT, WITHOUT ROWID;
`;

/** Weight of a word in a heading, relative to one in the text. */
const HEADING_WEIGHT = 2;

interface FileRow {
  id: string;
  name: string;
  description: string | null;
  file_type: string;
  size: number;
  created_at: number;
  passages: number;
}

interface PassageRow {
  id: number;
  file_id: string;
  name: string;
  page: number | null;
  heading: string | null;
  text: string;
}

/** The database of the knowledge base. Every call blocks, so it runs in its own thread. */
export class KnowledgeTables {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Database.Statement<unknown[]>>();

  /** @param path the database file; null = in memory. @throws Error if it cannot be opened */
  constructor(path: string | null) {
    // SQLite's other files get their mode from this file.
    if (path !== null) closeSync(openSync(path, 'a', 0o600));
    this.#database = new Database(path ?? ':memory:', { timeout: 5_000 });
    this.#database.pragma('journal_mode = WAL');
    this.#database.pragma('synchronous = FULL');
    this.#database.pragma('foreign_keys = ON');
    const version = this.#database.pragma('user_version', { simple: true });
    if (version === 0) {
      this.#database.exec(`BEGIN; ${SCHEMA} PRAGMA user_version = ${String(VERSION)}; COMMIT`);
    } else if (version !== VERSION) {
      this.#database.close();
      throw new Error(`the knowledge base has version ${String(version)}, this parley knows ${String(VERSION)}`);
    }
    // Incomplete files of a process that ended while it read them.
    for (const { id } of this.#all<{ id: string }>('SELECT id FROM files WHERE complete = 0')) this.remove(id);
  }

  /** Adds a file that stays invisible until `complete`. `append` adds its passages. */
  begin(file: Omit<KnowledgeFile, 'passages'>): void {
    const { id, name, description, fileType, size, createdAt } = file;
    this.#run('INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, 0)', id, name, description, fileType, size, createdAt);
  }

  append(fileId: string, chunks: readonly IndexedChunk[]): void {
    this.#database.transaction(() => {
      for (const { page, heading, text, words } of chunks) {
        const { lastInsertRowid: id } = this.#run(
          'INSERT INTO passages (file_id, page, heading, text) VALUES (?, ?, ?, ?)',
          fileId,
          page,
          heading,
          text,
        );
        const above = heading === null ? '' : wordsOf(heading).join(' ');
        this.#run('INSERT INTO words (rowid, heading, text) VALUES (?, ?, ?)', id, above, words ?? text);
      }
    })();
  }

  complete(fileId: string): void {
    this.#run('UPDATE files SET complete = 1 WHERE id = ?', fileId);
  }

  /** Returns whether the file existed. */
  remove(fileId: string): boolean {
    return this.#database.transaction(() => {
      this.#run('DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE file_id = ?)', fileId);
      return this.#run('DELETE FROM files WHERE id = ?', fileId).changes > 0;
    })();
  }

  files(): KnowledgeFile[] {
    const rows = this.#all<FileRow>(
      `SELECT files.*, (SELECT count(*) FROM passages WHERE file_id = files.id) AS passages
       FROM files WHERE complete = 1 ORDER BY created_at, name, id`,
    );
    return rows.map(({ id, name, description, file_type, size, passages, created_at }) => ({
      id,
      name,
      description,
      size,
      passages,
      fileType: file_type,
      createdAt: created_at,
    }));
  }

  /** The ids of this list that are complete files. */
  known(ids: readonly string[]): string[] {
    const sql = 'SELECT id FROM files WHERE complete = 1 AND id IN (SELECT value FROM json_each(?))';
    const found = new Set(this.#all<{ id: string }>(sql, JSON.stringify(ids)).map(({ id }) => id));
    return ids.filter((id) => found.has(id));
  }

  /** Includes files that are being read. */
  has(id: string): boolean {
    return this.#all('SELECT 1 FROM files WHERE id = ?', id).length > 0;
  }

  count(): number {
    return this.#all<{ count: number }>('SELECT count(*) AS count FROM files')[0]?.count ?? 0;
  }

  setAgentFiles(agentId: string, fileIds: readonly string[]): void {
    this.#database.transaction(() => {
      this.#run('DELETE FROM agent_files WHERE agent_id = ?', agentId);
      for (const id of new Set(fileIds)) this.#run('INSERT INTO agent_files VALUES (?, ?)', agentId, id);
    })();
  }

  filesOf(agentId: string): string[] {
    const sql = 'SELECT file_id FROM agent_files WHERE agent_id = ? ORDER BY file_id';
    return this.#all<{ file_id: string }>(sql, agentId).map(({ file_id }) => file_id);
  }

  /** Ids of the passages of these files that match an FTS5 expression, ranked by BM25. */
  matches(match: string, fileIds: readonly string[], limit: number): number[] {
    const sql = `SELECT passages.id FROM words JOIN passages ON passages.id = words.rowid
       WHERE words MATCH ? AND passages.file_id IN (SELECT value FROM json_each(?))
       ORDER BY bm25(words, ${String(HEADING_WEIGHT)}, 1.0), passages.id LIMIT ?`;
    return this.#all<{ id: number }>(sql, match, JSON.stringify(fileIds), limit).map(({ id }) => id);
  }

  /** In the order of the ids. */
  passages(ids: readonly number[]): Passage[] {
    const sql = `SELECT passages.*, files.name FROM passages JOIN files ON files.id = passages.file_id
       WHERE files.complete = 1 AND passages.id IN (SELECT value FROM json_each(?))`;
    const rows = new Map(this.#all<PassageRow>(sql, JSON.stringify(ids)).map((row) => [row.id, row]));
    return ids.flatMap((id) => {
      const row = rows.get(id);
      if (row === undefined) return [];
      return [{ fileId: row.file_id, fileName: row.name, page: row.page, heading: row.heading, text: row.text }];
    });
  }

  /** Passages without a vector of this model. */
  withoutVector(model: string, limit: number): { id: number; fileId: string; text: string }[] {
    const sql = `SELECT passages.id, passages.file_id, passages.heading, passages.text FROM passages
       JOIN files ON files.id = passages.file_id WHERE files.complete = 1
       AND NOT EXISTS (SELECT 1 FROM vectors WHERE passage_id = passages.id AND model = ?) LIMIT ?`;
    return this.#all<Omit<PassageRow, 'name' | 'page'>>(sql, model, limit).map(({ id, file_id, heading, text }) => ({
      id,
      fileId: file_id,
      text: heading === null ? text : `${heading}\n${text}`,
    }));
  }

  /** Skips passages that were deleted in the meantime. */
  putVectors(model: string, vectors: readonly { id: number; vector: Float32Array }[]): void {
    this.#database.transaction(() => {
      for (const { id, vector } of vectors) {
        const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
        this.#run('INSERT OR REPLACE INTO vectors SELECT id, ?, ? FROM passages WHERE id = ?', model, bytes, id);
      }
    })();
  }

  vectorsOf(fileId: string, model: string): { id: number; vector: Float32Array }[] {
    const sql = `SELECT passages.id, vectors.vector FROM passages JOIN vectors ON vectors.passage_id = passages.id
       WHERE passages.file_id = ? AND vectors.model = ?`;
    return this.#all<{ id: number; vector: Buffer }>(sql, fileId, model).map(({ id, vector }) => ({
      id,
      vector: new Float32Array(new Uint8Array(vector).buffer),
    }));
  }

  close(): void {
    this.#database.close();
  }

  #run(sql: string, ...values: unknown[]): Database.RunResult {
    return this.#prepared(sql).run(...values);
  }

  #all<Row>(sql: string, ...values: unknown[]): Row[] {
    return this.#prepared(sql).all(...values) as Row[];
  }

  #prepared(sql: string): Database.Statement<unknown[]> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare<unknown[]>(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
