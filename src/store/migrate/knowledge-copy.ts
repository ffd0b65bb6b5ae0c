import type Database from 'better-sqlite3';
import { arrayText, numbersOf, vectorOfWords } from '../postgres/postgres-knowledge-tables.js';
import type { SqlValue, Statement } from '../sql/statement.js';
import { copied, type CopiedRow, laterThan, quoted, recordsJson, type TableCopy } from './table-copy.js';

interface KnowledgeTable {
  name: string;
  columns: readonly string[];
  keyLength: number;
  /** In `knowledge.db`: what selects the columns under the same names. Files that were never read to their end are left out. */
  from: string;
  /** What a column becomes. */
  convert?: (row: CopiedRow) => CopiedRow;
  insertion: (rows: readonly CopiedRow[], names: string) => Statement;
  /** The columns as PostgreSQL shows them for the comparison, and what makes them comparable. Default: themselves. */
  shown?: { columns: string; comparable: (row: CopiedRow) => CopiedRow };
}

const COMPLETE = 'SELECT id FROM files WHERE complete = 1';

const TABLES: readonly KnowledgeTable[] = [
  {
    name: 'knowledge_files',
    columns: ['id', 'name', 'description', 'file_type', 'size', 'created_at', 'passages'],
    keyLength: 1,
    from: `SELECT id, name, description, file_type, size, created_at,
      (SELECT COUNT(*) FROM passages WHERE file_id = files.id) AS passages FROM files WHERE complete = 1`,
    insertion: (rows, names) => ({
      text: `INSERT INTO knowledge_files (${names}, complete, begun_us)
        SELECT ${names}, 1, 0 FROM json_populate_recordset(CAST(NULL AS knowledge_files), CAST(? AS json))`,
      values: [recordsJson(['id', 'name', 'description', 'file_type', 'size', 'created_at', 'passages'], rows)],
    }),
  },
  {
    name: 'knowledge_passages',
    columns: ['id', 'file_id', 'page', 'heading', 'text'],
    keyLength: 1,
    from: `SELECT id, file_id, page, heading, text FROM passages WHERE file_id IN (${COMPLETE})`,
    insertion: (rows, names) => ({
      text: `INSERT INTO knowledge_passages (${names}, words) SELECT ${names}, words
        FROM json_populate_recordset(CAST(NULL AS knowledge_passages), CAST(? AS json))`,
      values: [recordsJson(['id', 'file_id', 'page', 'heading', 'text', 'words'], rows.map(withWords))],
    }),
  },
  {
    name: 'knowledge_vectors',
    columns: ['passage_id', 'model', 'vector'],
    keyLength: 2,
    from: `SELECT passage_id, model, vector FROM vectors
      WHERE passage_id IN (SELECT id FROM passages WHERE file_id IN (${COMPLETE}))`,
    convert: ([id = null, model = null, vector = null]) => [id, model, vectorText(vector)],
    insertion: (rows, names) => ({
      text: `INSERT INTO knowledge_vectors (${names}) SELECT ${names}
        FROM json_populate_recordset(CAST(NULL AS knowledge_vectors), CAST(? AS json))`,
      // JSON has arrays of its own.
      values: [recordsJson(['passage_id', 'model', 'vector'], rows)],
    }),
    shown: {
      columns: 'passage_id, model, array_send(vector) AS vector',
      comparable: ([id = null, model = null, vector = null]) => [id, model, vectorText(vector, true)],
    },
  },
  {
    name: 'knowledge_agent_files',
    columns: ['agent_id', 'file_id'],
    keyLength: 2,
    from: `SELECT agent_id, file_id FROM agent_files WHERE file_id IN (${COMPLETE})`,
    insertion: (rows, names) => ({
      text: `INSERT INTO knowledge_agent_files (${names}) SELECT ${names}
        FROM json_populate_recordset(CAST(NULL AS knowledge_agent_files), CAST(? AS json))`,
      values: [recordsJson(['agent_id', 'file_id'], rows)],
    }),
  },
];

/** The tables of `knowledge.db`. @param source null = there is no such file */
export function knowledgeTables(source: Database.Database | null): TableCopy[] {
  return TABLES.map((table) => knowledgeCopy(source, table));
}

function knowledgeCopy(source: Database.Database | null, table: KnowledgeTable): TableCopy {
  const { name, columns, keyLength, from, convert = (row) => row, insertion, shown } = table;
  const names = columns.map(quoted).join(', ');
  const key = columns.slice(0, keyLength);
  const order = key.map(quoted).join(', ');
  return {
    name,
    columns,
    keyLength,
    count: () => source?.prepare<unknown[], number>(`SELECT COUNT(*) FROM (${from})`).pluck().get() ?? 0,
    *rows(after) {
      if (source === null) return;
      const { text, values } = laterThan(key, after);
      const found = source
        .prepare<unknown[], SqlValue[]>(`SELECT ${names} FROM (${from}) WHERE ${text} ORDER BY ${order}`)
        .raw()
        .iterate(...values);
      for (const row of found) yield convert(row.map(copied));
    },
    insertion: (rows) => insertion(rows, names),
    selection: (after, limit) => {
      const { text, values } = laterThan(key, after);
      return {
        text: `SELECT ${shown?.columns ?? names} FROM ${name} WHERE ${text} ORDER BY ${order} LIMIT ?`,
        values: [...values, limit],
      };
    },
    comparable: shown?.comparable ?? ((row) => row),
  };
}

function withWords(row: CopiedRow): CopiedRow {
  const [, , , heading = null, text = null] = row;
  return [...row, vectorOfWords(heading === null ? null : String(heading), String(text))];
}

/** A vector of `knowledge.db`, or in PostgreSQL's binary format, as PostgreSQL reads it. */
function vectorText(value: SqlValue, isSent = false): SqlValue {
  if (!(value instanceof Uint8Array)) return value;
  return arrayText(isSent ? numbersOf(Buffer.from(value)) : new Float32Array(new Uint8Array(value).buffer));
}
