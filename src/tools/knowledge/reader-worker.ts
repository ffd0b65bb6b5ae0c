import { readFile } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../errors.js';
import { formatOf } from './formats.js';
import { type IndexedChunk, readPassages } from './reading.js';

/** A thread that reads one file: what is wrong with it, or how long it takes, is nobody else's trouble. */
export interface ReaderJob {
  name: string;
  fileType: string | null;
  /** The file, or its bytes. */
  source: string | Uint8Array;
}

/** `chunks` any number of times, then one of the others. */
export type ReaderMessage =
  { kind: 'chunks'; chunks: IndexedChunk[] } | { kind: 'done' } | { kind: 'failed'; reason: string };

/** Passages that are sent at once. */
const BATCH = 200;

const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');
const send = (message: ReaderMessage): void => port.postMessage(message);

try {
  const { name, fileType, source } = workerData as ReaderJob;
  const format = formatOf(name, fileType);
  if (format === null) throw new Error('its kind is not known');
  const reader = await format.load();
  const bytes = typeof source === 'string' ? new Uint8Array(await readFile(source)) : source;
  let chunks: IndexedChunk[] = [];
  for await (const chunk of readPassages(reader, bytes)) {
    chunks.push(chunk);
    if (chunks.length < BATCH) continue;
    send({ kind: 'chunks', chunks });
    chunks = [];
  }
  send({ kind: 'chunks', chunks });
  send({ kind: 'done' });
} catch (error) {
  send({ kind: 'failed', reason: reasonOf(error) });
}
