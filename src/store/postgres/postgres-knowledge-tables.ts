import { ParleyError } from '../../base/errors.js';
import type { IndexedChunk } from '../../tools/knowledge/formats.js';
import type { KnowledgeFile, Passage } from '../../tools/knowledge/knowledge.js';
import type { Term } from '../../tools/knowledge/query.js';
import { wordsOf } from '../../tools/knowledge/words.js';
import {
  type EmbeddedText,
  embeddedText,
  fileOf,
  type FileRow,
  type KnowledgeTables,
  type NearestQuery,
  passageOf,
  type PassageRow,
  type PassageVector,
  takenId,
} from '../knowledge-tables.js';
import { run, sql, type Statement, type Transaction } from '../sql/statement.js';
import { PostgresDatabase } from './postgres-database.js';

/** Of a thread that serves one node: searches are short. */
const POOL = { poolSize: 2, statementTimeoutMs: 10_000 };
/** One file is added at a time, so that there are never too many. */
const LOCK = 'knowledge_files';
/** A file that has not been read after this time never will be: its node has died. Reading has a limit of two minutes. */
const UNREAD_US = 600_000_000;
/** The passages with the best simple rank are ranked by the rarity of their words. */
const RANKED = 1_000;
/** Weights of words in texts and, the last one, in headings. */
const WEIGHTS = '{0.5, 0.5, 0.5, 1}';
/** PostgreSQL has a limit of 2,046 bytes. */
const MAX_WORD = 200;
/** Bytes before the numbers of an array of one dimension in PostgreSQL's binary format. Each number has its length before it. */
const ARRAY_HEAD = 20;

/** The knowledge base in the daemon's PostgreSQL database. */
export class PostgresKnowledgeTables implements KnowledgeTables {
  readonly #database: PostgresDatabase;
  /** Whether the database has pgvector. */
  readonly #hasVectors: boolean;

  private constructor(database: PostgresDatabase, hasVectors: boolean) {
    this.#database = database;
    this.#hasVectors = hasVectors;
  }

  /** @throws ParleyError DATABASE_UNREACHABLE, DATABASE_UNUSABLE */
  static async open(url: string): Promise<PostgresKnowledgeTables> {
    const database = await PostgresDatabase.open({
      ...POOL,
      url,
      onError: () => undefined, // the next statement gets another connection
    });
    try {
      const found = await database.first<{ has: boolean }>(sql`SELECT to_regtype('vector') IS NOT NULL AS has`);
      return new PostgresKnowledgeTables(database, found?.has === true);
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  async begin(file: Omit<KnowledgeFile, 'passages'>, mostFiles: number): Promise<void> {
    const database = this.#database;
    await database.transaction(function* () {
      const nowUs = yield* database.nowUs();
      yield* run(sql`DELETE FROM knowledge_files WHERE complete = 0 AND begun_us < ${nowUs - UNREAD_US}`);
      const { rows } = yield sql`SELECT id = ${file.id} AS same FROM knowledge_files`;
      if (rows.some((row) => (row as { same: boolean }).same)) throw takenId(file.id);
      if (rows.length >= mostFiles) throw new ParleyError('KNOWLEDGE_FULL', { limit: mostFiles });
      yield sql`INSERT INTO knowledge_files (id, name, description, file_type, size, created_at, complete, begun_us)
        VALUES (${file.id}, ${file.name}, ${file.description}, ${file.fileType}, ${file.size}, ${file.createdAt}, 0,
          ${nowUs})`;
    }, LOCK);
  }

  async append(fileId: string, chunks: readonly IndexedChunk[]): Promise<void> {
    await this.#database.transaction(function* () {
      for (const chunk of chunks) yield passageInsertion(fileId, chunk);
    });
  }

  async complete(fileId: string): Promise<void> {
    const count = await this.#database.run(
      sql`UPDATE knowledge_files SET complete = 1, version = nextval('knowledge_versions'),
            passages = (SELECT COUNT(*) FROM knowledge_passages WHERE file_id = ${fileId})
          WHERE id = ${fileId}`,
    );
    if (count === 0) throw new ParleyError('KNOWLEDGE_FAILED', { reason: 'the file was removed while it was read' });
  }

  async remove(fileId: string): Promise<boolean> {
    return (await this.#database.run(sql`DELETE FROM knowledge_files WHERE id = ${fileId}`)) > 0;
  }

  async files(): Promise<KnowledgeFile[]> {
    const rows = await this.#database.all<FileRow>(
      sql`SELECT id, name, description, file_type, size, passages, created_at FROM knowledge_files WHERE complete = 1
          ORDER BY created_at, name, id`,
    );
    return rows.map(fileOf);
  }

  async known(ids: readonly string[]): Promise<string[]> {
    const rows = await this.#database.all<{ id: string }>(
      sql`SELECT id FROM knowledge_files WHERE complete = 1 AND id = ANY(${each(ids)})`,
    );
    const found = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => found.has(id));
  }

  async setAgentFiles(agentId: string, fileIds: readonly string[]): Promise<void> {
    await this.#database.transaction(function* () {
      // Locked: nobody removes them meanwhile.
      const { rows } = yield sql`SELECT id FROM knowledge_files WHERE complete = 1 AND id = ANY(${each(fileIds)})
        ORDER BY id FOR KEY SHARE`;
      const known = new Set(rows.map((row) => (row as { id: string }).id));
      const unknown = fileIds.find((id) => !known.has(id));
      if (unknown !== undefined) throw new ParleyError('NOT_FOUND', { what: 'knowledge file', id: unknown });
      yield* run(sql`DELETE FROM knowledge_agent_files WHERE agent_id = ${agentId}`);
      for (const id of known) {
        yield* run(
          sql`INSERT INTO knowledge_agent_files (agent_id, file_id) VALUES (${agentId}, ${id}) ON CONFLICT DO NOTHING`,
        );
      }
    });
  }

  async filesOf(agentId: string): Promise<string[]> {
    const rows = await this.#database.all<{ file_id: string }>(
      sql`SELECT file_id FROM knowledge_agent_files WHERE agent_id = ${agentId} ORDER BY file_id`,
    );
    return rows.map(({ file_id: id }) => id);
  }

  /**
   * PostgreSQL's rank of each term counts how often it occurs and how long the passage is. As in BM25, it weighs more the
   * fewer passages have the term.
   */
  async matches(terms: readonly Term[], fileIds: readonly string[], limit: number): Promise<number[]> {
    const queries = terms.map(({ word, isPrefix }) => `'${word.slice(0, MAX_WORD)}'${isPrefix ? ':*' : ''}`);
    const any = queries.join(' | ');
    const rows = await this.#database.all<{ id: number }>(sql`
      WITH wanted AS MATERIALIZED (
        SELECT number, CAST(term AS tsquery) AS query
        FROM json_array_elements_text(CAST(${JSON.stringify(queries)} AS json)) WITH ORDINALITY AS terms (term, number)
      ), found AS MATERIALIZED (
        SELECT id, words FROM knowledge_passages
        WHERE file_id = ANY(${each(fileIds)}) AND words @@ CAST(${any} AS tsquery)
        ORDER BY ts_rank(CAST(${WEIGHTS} AS real[]), words, CAST(${any} AS tsquery), 1) DESC, id LIMIT ${RANKED}
      ), hits AS (
        SELECT id, ts_rank(CAST(${WEIGHTS} AS real[]), words, query, 1) AS rank, COUNT(*) OVER (PARTITION BY number) AS passages_with
        FROM found JOIN wanted ON words @@ query
      ), files AS MATERIALIZED (
        SELECT COALESCE(SUM(passages), 0) AS total FROM knowledge_files WHERE id = ANY(${each(fileIds)})
      )
      SELECT id FROM hits, files GROUP BY id
      ORDER BY SUM(rank * ln(1 + (greatest(total - passages_with, 0) + 0.5) / (passages_with + 0.5))) DESC, id LIMIT ${limit}`);
    return rows.map(({ id }) => id);
  }

  async passages(ids: readonly number[]): Promise<Passage[]> {
    const rows = await this.#database.all<PassageRow>(
      sql`SELECT p.id, file_id, name, page, heading, text
          FROM json_array_elements_text(CAST(${JSON.stringify(ids)} AS json)) WITH ORDINALITY AS wanted (id, place)
          JOIN knowledge_passages p ON p.id = CAST(wanted.id AS bigint) JOIN knowledge_files f ON f.id = file_id
          WHERE complete = 1 ORDER BY place`,
    );
    return rows.map(passageOf);
  }

  async withoutVector(model: string, limit: number): Promise<EmbeddedText[]> {
    const rows = await this.#database.all<Omit<PassageRow, 'name' | 'page'>>(
      sql`SELECT p.id, file_id, heading, text FROM knowledge_passages p JOIN knowledge_files f ON f.id = file_id
          WHERE complete = 1 AND NOT EXISTS (
            SELECT 1 FROM knowledge_vectors WHERE passage_id = p.id AND model = ${model})
          ORDER BY p.id LIMIT ${limit}`,
    );
    return rows.map(embeddedText);
  }

  /** Two nodes may store the same vectors at the same time. */
  async putVectors(model: string, vectors: readonly PassageVector[]): Promise<void> {
    const ids = JSON.stringify(vectors.map(({ id }) => id));
    const passages = sql`SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(${ids} AS json)) AS value`;
    await this.#database.transaction(function* (): Transaction<void> {
      for (const { id, vector } of vectors) {
        yield* run(
          sql`INSERT INTO knowledge_vectors (passage_id, model, vector)
              SELECT id, ${model}, CAST(${arrayText(vector)} AS real[]) FROM knowledge_passages WHERE id = ${id}
              ON CONFLICT (passage_id, model) DO UPDATE SET vector = excluded.vector`,
        );
      }
      yield* run(
        sql`UPDATE knowledge_files SET version = nextval('knowledge_versions')
            WHERE id IN (SELECT file_id FROM knowledge_passages WHERE id IN (${passages}))`,
      );
    });
  }

  async versions(fileIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.all<{ id: string; version: number }>(
      sql`SELECT id, version FROM knowledge_files WHERE complete = 1 AND id = ANY(${each(fileIds)})`,
    );
    return new Map(rows.map(({ id, version }) => [id, version]));
  }

  async vectorsOf(fileId: string, model: string): Promise<PassageVector[]> {
    const rows = await this.#database.all<{ id: number; vector: Buffer }>(
      sql`SELECT p.id, array_send(vector) AS vector FROM knowledge_passages p JOIN knowledge_vectors ON passage_id = p.id
          WHERE file_id = ${fileId} AND model = ${model}`,
    );
    return rows.map(({ id, vector }) => ({ id, vector: numbersOf(vector) }));
  }

  async nearest({ model, vector, fileIds, limit }: NearestQuery): Promise<number[] | null> {
    if (!this.#hasVectors) return null;
    const rows = await this.#database.all<{ id: number }>(
      sql`SELECT p.id FROM knowledge_passages p JOIN knowledge_vectors ON passage_id = p.id
          WHERE file_id = ANY(${each(fileIds)}) AND model = ${model} AND cardinality(vector) = ${vector.length}
          ORDER BY CAST(vector AS vector) <=> CAST(CAST(${arrayText(vector)} AS real[]) AS vector), p.id LIMIT ${limit}`,
    );
    return rows.map(({ id }) => id);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

function passageInsertion(fileId: string, { page, heading, text }: IndexedChunk): Statement {
  return sql`INSERT INTO knowledge_passages (file_id, page, heading, text, words)
    VALUES (${fileId}, ${page}, ${heading}, ${text}, CAST(${vectorOfWords(heading, text)} AS tsvector))`;
}

/** A `tsvector` of words as the queries have them. PostgreSQL's own parser depends on the database's locale. */
export function vectorOfWords(heading: string | null, text: string): string {
  const places = new Map<string, string[]>();
  let place = 0;
  const add = (words: readonly string[], weight: string): void => {
    for (const word of words) {
      const key = word.slice(0, MAX_WORD);
      const known = places.get(key) ?? [];
      places.set(key, known);
      known.push(`${String(++place)}${weight}`);
    }
  };
  if (heading !== null) add(wordsOf(heading), 'A');
  add(wordsOf(text), '');
  return Array.from(places, ([word, at]) => `'${word}':${at.join(',')}`).join(' ');
}

/** An array of texts. */
function each(ids: readonly string[]): Statement {
  return sql`ARRAY(SELECT json_array_elements_text(CAST(${JSON.stringify(ids)} AS json)))`;
}

export function arrayText(vector: Float32Array): string {
  return `{${vector.join(',')}}`;
}

/** The numbers of an array in PostgreSQL's binary format: of `array_send`. */
export function numbersOf(bytes: Buffer): Float32Array {
  const length = bytes.length > ARRAY_HEAD ? (bytes.length - ARRAY_HEAD) / 8 : 0;
  return Float32Array.from({ length }, (_, index) => bytes.readFloatBE(ARRAY_HEAD + 8 * index + 4));
}
