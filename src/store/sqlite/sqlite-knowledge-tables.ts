import Database from 'better-sqlite3';
import { closeSync, openSync } from 'node:fs';
import { ParleyError } from '../../base/errors.js';
import type { KnowledgeFile, Passage } from '../../tools/knowledge/knowledge.js';
import type { IndexedChunk } from '../../tools/knowledge/formats.js';
import type { Term } from '../../tools/knowledge/query.js';
import { wordsOf } from '../../tools/knowledge/words.js';
import {
  type EmbeddedText,
  embeddedText,
  fileOf,
  type FileRow,
  type KnowledgeTables,
  passageOf,
  type PassageRow,
  type PassageVector,
  takenId,
} from '../knowledge-tables.js';

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

/** The knowledge base in a file of its own, or in memory. Every call blocks, so it runs in its own thread. */
export class SqliteKnowledgeTables implements KnowledgeTables {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Database.Statement<unknown[]>>();
  /** Only this process changes the file. */
  readonly #versions = new Map<string, number>();
  #version = 0;

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
    for (const { id } of this.#all<{ id: string }>('SELECT id FROM files WHERE complete = 0')) this.#remove(id);
  }

  async begin(file: Omit<KnowledgeFile, 'passages'>, mostFiles: number): Promise<void> {
    const { id, name, description, fileType, size, createdAt } = file;
    if (this.#all('SELECT 1 FROM files WHERE id = ?', id).length > 0) throw takenId(id);
    const [{ count } = { count: 0 }] = this.#all<{ count: number }>('SELECT count(*) AS count FROM files');
    if (count >= mostFiles) throw new ParleyError('KNOWLEDGE_FULL', { limit: mostFiles });
    this.#run('INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, 0)', id, name, description, fileType, size, createdAt);
  }

  async append(fileId: string, chunks: readonly IndexedChunk[]): Promise<void> {
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

  async complete(fileId: string): Promise<void> {
    this.#run('UPDATE files SET complete = 1 WHERE id = ?', fileId);
    this.#change(fileId);
  }

  async remove(fileId: string): Promise<boolean> {
    this.#change(fileId);
    return this.#remove(fileId);
  }

  async files(): Promise<KnowledgeFile[]> {
    const rows = this.#all<FileRow>(
      `SELECT files.*, (SELECT count(*) FROM passages WHERE file_id = files.id) AS passages
       FROM files WHERE complete = 1 ORDER BY created_at, name, id`,
    );
    return rows.map(fileOf);
  }

  async known(ids: readonly string[]): Promise<string[]> {
    const sql = 'SELECT id FROM files WHERE complete = 1 AND id IN (SELECT value FROM json_each(?))';
    const found = new Set(this.#all<{ id: string }>(sql, JSON.stringify(ids)).map(({ id }) => id));
    return ids.filter((id) => found.has(id));
  }

  async setAgentFiles(agentId: string, fileIds: readonly string[]): Promise<void> {
    const known = new Set(await this.known(fileIds));
    const unknown = fileIds.find((id) => !known.has(id));
    if (unknown !== undefined) throw new ParleyError('NOT_FOUND', { what: 'knowledge file', id: unknown });
    this.#database.transaction(() => {
      this.#run('DELETE FROM agent_files WHERE agent_id = ?', agentId);
      for (const id of known) this.#run('INSERT INTO agent_files VALUES (?, ?)', agentId, id);
    })();
  }

  async filesOf(agentId: string): Promise<string[]> {
    const sql = 'SELECT file_id FROM agent_files WHERE agent_id = ? ORDER BY file_id';
    return this.#all<{ file_id: string }>(sql, agentId).map(({ file_id }) => file_id);
  }

  /** Ranked by BM25. */
  async matches(terms: readonly Term[], fileIds: readonly string[], limit: number): Promise<number[]> {
    const match = terms.map(({ word, isPrefix }) => `"${word}"${isPrefix ? '*' : ''}`).join(' OR ');
    const sql = `SELECT passages.id FROM words JOIN passages ON passages.id = words.rowid
       WHERE words MATCH ? AND passages.file_id IN (SELECT value FROM json_each(?))
       ORDER BY bm25(words, ${String(HEADING_WEIGHT)}, 1.0), passages.id LIMIT ?`;
    return this.#all<{ id: number }>(sql, match, JSON.stringify(fileIds), limit).map(({ id }) => id);
  }

  async passages(ids: readonly number[]): Promise<Passage[]> {
    const sql = `SELECT passages.*, files.name FROM passages JOIN files ON files.id = passages.file_id
       WHERE files.complete = 1 AND passages.id IN (SELECT value FROM json_each(?))`;
    const rows = new Map(this.#all<PassageRow>(sql, JSON.stringify(ids)).map((row) => [row.id, row]));
    return ids.flatMap((id) => {
      const row = rows.get(id);
      return row === undefined ? [] : [passageOf(row)];
    });
  }

  async withoutVector(model: string, limit: number): Promise<EmbeddedText[]> {
    const sql = `SELECT passages.id, passages.file_id, passages.heading, passages.text FROM passages
       JOIN files ON files.id = passages.file_id WHERE files.complete = 1
       AND NOT EXISTS (SELECT 1 FROM vectors WHERE passage_id = passages.id AND model = ?) LIMIT ?`;
    return this.#all<Omit<PassageRow, 'name' | 'page'>>(sql, model, limit).map(embeddedText);
  }

  async putVectors(model: string, vectors: readonly PassageVector[]): Promise<void> {
    this.#database.transaction(() => {
      for (const { id, vector } of vectors) {
        const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
        this.#run('INSERT OR REPLACE INTO vectors SELECT id, ?, ? FROM passages WHERE id = ?', model, bytes, id);
      }
    })();
    const sql = 'SELECT DISTINCT file_id FROM passages WHERE id IN (SELECT value FROM json_each(?))';
    const ids = JSON.stringify(vectors.map(({ id }) => id));
    for (const { file_id: fileId } of this.#all<{ file_id: string }>(sql, ids)) this.#change(fileId);
  }

  async versions(fileIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return new Map((await this.known(fileIds)).map((id) => [id, this.#versions.get(id) ?? 0]));
  }

  async vectorsOf(fileId: string, model: string): Promise<PassageVector[]> {
    const sql = `SELECT passages.id, vectors.vector FROM passages JOIN vectors ON vectors.passage_id = passages.id
       WHERE passages.file_id = ? AND vectors.model = ?`;
    return this.#all<{ id: number; vector: Buffer }>(sql, fileId, model).map(({ id, vector }) => ({
      id,
      vector: new Float32Array(new Uint8Array(vector).buffer),
    }));
  }

  async nearest(): Promise<null> {
    return null;
  }

  async close(): Promise<void> {
    this.#database.close();
  }

  #remove(fileId: string): boolean {
    return this.#database.transaction(() => {
      this.#run('DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE file_id = ?)', fileId);
      return this.#run('DELETE FROM files WHERE id = ?', fileId).changes > 0;
    })();
  }

  #change(fileId: string): void {
    this.#versions.set(fileId, ++this.#version);
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
