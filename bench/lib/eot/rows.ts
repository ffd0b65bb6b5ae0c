/**
 * Rows of eot-bench's form, as Parquet or as JSON lines: one user's turn each. Times are in seconds. The audio is a file's
 * bytes (in JSON: base64), or samples with their rate.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, type SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { z } from 'zod';

const stretch = z.object({ start: z.number(), end: z.number() });
const encoded = z.object({
  bytes: z.union([
    z.instanceof(Uint8Array),
    z.base64().transform((text) => new Uint8Array(Buffer.from(text, 'base64'))),
  ]),
});
const decoded = z.object({ array: z.array(z.number()), sampling_rate: z.number() });
const rowSchema = z.object({
  id: z.union([z.string(), z.number(), z.bigint()]).transform(String),
  language: z.string().min(1),
  audio: z.union([encoded, decoded]),
  silence_spans: z.preprocess(asList, z.array(stretch)),
  messages: z.preprocess(asList, z.array(z.object({ role: z.string(), content: z.string() })).default([])),
  /** Null = the row has no transcript. */
  words: z.preprocess(
    asList,
    z
      .array(stretch.extend({ word: z.string() }))
      .nullable()
      .default(null),
  ),
});

export type EotRow = z.infer<typeof rowSchema>;

/** The rows of a file or of all `.parquet` and `.jsonl` files below a folder. */
export async function* readRows(path: string): AsyncGenerator<EotRow> {
  for (const file of filesOf(path)) {
    const name = (at: number): string => `${file}, row ${String(at + 1)}`;
    if (extname(file) === '.parquet') {
      const buffer = await asyncBufferFromFile(file);
      const metadata = await parquetMetadataAsync(buffer);
      let rowStart = 0;
      // A group at a time: a data set with sound does not fit into memory.
      for (const group of metadata.row_groups) {
        const rowEnd = rowStart + Number(group.num_rows);
        const rows = await parquetReadObjects({ file: buffer, metadata, rowStart, rowEnd, utf8: false });
        for (const [at, row] of rows.entries()) yield parseRow(row, name(rowStart + at));
        rowStart = rowEnd;
      }
    } else {
      const lines = readFileSync(file, 'utf8').split('\n');
      for (const [at, line] of lines.entries()) if (line.trim() !== '') yield parseRow(JSON.parse(line), name(at));
    }
  }
}

/** Writes rows as `.jsonl` or `.parquet`. */
export function writeRows(path: string, rows: readonly EotRow[]): void {
  if (extname(path) !== '.parquet') {
    const line = ({ audio, ...row }: EotRow): string =>
      JSON.stringify({
        ...row,
        audio: 'bytes' in audio ? { bytes: Buffer.from(audio.bytes).toString('base64') } : audio,
      });
    writeFileSync(path, `${rows.map(line).join('\n')}\n`);
    return;
  }
  const bytes = rows.map(({ audio }) => {
    if ('bytes' in audio) return { bytes: audio.bytes };
    throw new Error('only rows whose audio is a file are written as Parquet');
  });
  const columnData = [
    { name: 'id', data: rows.map(({ id }) => id) },
    { name: 'language', data: rows.map(({ language }) => language) },
    { name: 'audio', data: bytes },
    { name: 'silence_spans', data: rows.map((row) => row.silence_spans) },
    { name: 'messages', data: rows.map((row) => row.messages) },
    { name: 'words', data: rows.map((row) => row.words) },
  ];
  writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData, schema: PARQUET, rowGroupSize: 100 })));
}

/** A score as eot-bench's `predictions.parquet` has it; times in seconds. */
export interface Prediction {
  id: string;
  language: string;
  span_index: number;
  timestamp: number;
  silence_dur: number;
  p_eot: number;
  label: string;
}

/** Writes scores for the published harness: `eot-harness compute-metrics --predictions FILE`. */
export function writePredictions(path: string, predictions: readonly Prediction[]): void {
  const column = <K extends keyof Prediction>(name: K, type: 'STRING' | 'INT32' | 'DOUBLE') => {
    return { name, type, data: predictions.map((prediction) => prediction[name]), nullable: false };
  };
  const columnData = [
    column('id', 'STRING'),
    column('language', 'STRING'),
    column('span_index', 'INT32'),
    column('timestamp', 'DOUBLE'),
    column('silence_dur', 'DOUBLE'),
    column('p_eot', 'DOUBLE'),
    column('label', 'STRING'),
  ];
  writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData })));
}

function parseRow(value: unknown, name: string): EotRow {
  const parsed = rowSchema.safeParse(value);
  if (!parsed.success) throw new Error(`${name} is no row of eot-bench: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((file) => ['.parquet', '.jsonl'].includes(extname(file)))
    .sort();
  if (files.length === 0) throw new Error(`there is no .parquet or .jsonl file below ${path}`);
  return files.map((file) => join(path, file));
}

/** Arrow's sequences of records may be one record of lists: { start: [0, 2], end: [1, 3] }. */
function asList(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  const columns = Object.entries(value);
  const [first] = columns;
  if (first === undefined || !Array.isArray(first[1])) return value;
  return first[1].map((_, at) => Object.fromEntries(columns.map(([name, list]) => [name, (list as unknown[])[at]])));
}

const text = (name: string): SchemaElement => ({
  name,
  type: 'BYTE_ARRAY',
  converted_type: 'UTF8',
  repetition_type: 'OPTIONAL',
});
const double = (name: string): SchemaElement => ({ name, type: 'DOUBLE', repetition_type: 'OPTIONAL' });
/** A list of records, in the three levels of the format. */
const list = (name: string, ...members: SchemaElement[]): SchemaElement[] => [
  { name, converted_type: 'LIST', repetition_type: 'OPTIONAL', num_children: 1 },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', repetition_type: 'OPTIONAL', num_children: members.length },
  ...members,
];
const PARQUET: SchemaElement[] = [
  { name: 'root', num_children: 6 },
  text('id'),
  text('language'),
  { name: 'audio', repetition_type: 'OPTIONAL', num_children: 1 },
  { name: 'bytes', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
  ...list('silence_spans', double('start'), double('end')),
  ...list('messages', text('role'), text('content')),
  ...list('words', text('word'), double('start'), double('end')),
];
