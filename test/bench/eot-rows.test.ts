import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EotRow, readRows, writeRows } from '../../bench/lib/eot/rows.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-eot-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(path: string): Promise<EotRow[]> {
  const rows: EotRow[] = [];
  for await (const row of readRows(path)) rows.push(row);
  return rows;
}

const rowOf = (id: string, bytes: number): EotRow => ({
  id,
  language: 'en',
  audio: { bytes: Uint8Array.from({ length: bytes }, (_, at) => at % 256) },
  silence_spans: [
    { start: 1.25, end: 1.9 },
    { start: 3.5, end: 5 },
  ],
  messages: [{ role: 'assistant', content: 'Wann möchten Sie kommen?' }],
  words: [{ word: 'tomorrow', start: 0.5, end: 1.2 }],
});
/** More than one row group, an empty list and a missing one. */
const ROWS: EotRow[] = [
  ...Array.from({ length: 150 }, (_, at) => rowOf(`row ${String(at)}`, 300 + at)),
  { ...rowOf('without', 10), messages: [], words: null },
];

describe('rows of eot-bench', () => {
  it.each(['rows.jsonl', 'rows.parquet'])('come back from %s as they were written', async (name) => {
    const path = join(folder, name);
    writeRows(path, ROWS);
    expect(await read(path)).toEqual(ROWS);
  });

  it('are read from all files of a folder, and with samples in place of a file', async () => {
    const samples = { ...rowOf('samples', 0), audio: { array: [0, 0.5, -0.5], sampling_rate: 16_000 } };
    writeRows(join(folder, 'some.jsonl'), [samples]);
    const ids = (await read(folder)).map(({ id }) => id);
    expect(ids).toHaveLength(2 * ROWS.length + 1);
    expect((await read(join(folder, 'some.jsonl')))[0]).toEqual(samples);
  });

  it('may have records of lists in place of lists of records', async () => {
    const path = join(folder, 'columns.jsonl');
    const spans = { start: [1.25, 3.5], end: [1.9, 5] };
    await writeFile(path, JSON.stringify({ ...rowOf('columns', 0), audio: { bytes: 'AAEC' }, silence_spans: spans }));
    const [row] = await read(path);
    expect(row?.silence_spans).toEqual(rowOf('', 0).silence_spans);
    expect(row?.audio).toEqual({ bytes: Uint8Array.of(0, 1, 2) });
  });

  it('name the file, the row and the fault where they are none', async () => {
    const path = join(folder, 'broken.jsonl');
    await writeFile(path, `\n${JSON.stringify({ id: 'x', audio: { bytes: '' }, silence_spans: [{ start: 1 }] })}\n`);
    await expect(read(path)).rejects.toThrow(/broken\.jsonl, row 2 is no row of eot-bench:[^]*language/u);
  });
});
