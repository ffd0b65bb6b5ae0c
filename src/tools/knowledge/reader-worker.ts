import { readFile } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../base/errors.js';
import { formatOf, type IndexedChunk, readPassages } from './formats.js';

/** A thread that reads one file, so that a broken or slow file affects nothing else. */
export interface ReaderJob {
  name: string;
  fileType: string | null;
  /** The file, or its bytes. */
  source: string | Uint8Array;
}

/** `chunks` any number of times, each acknowledged by any message; then one of the others. */
export type ReaderMessage =
  { kind: 'chunks'; chunks: IndexedChunk[] } | { kind: 'done' } | { kind: 'failed'; reason: string };

/** Passages per message: the receiver takes some 10 ms for them and can answer searches in between. */
const BATCH = 25;

const port = parentPort;
if (port === null) throw new Error('This file runs as a worker thread');
const send = (message: ReaderMessage): void => port.postMessage(message);
const hand = (chunks: IndexedChunk[]): Promise<unknown> => {
  const taken = new Promise((resolve) => port.once('message', resolve));
  send({ kind: 'chunks', chunks });
  return taken;
};

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
    await hand(chunks);
    chunks = [];
  }
  await hand(chunks);
  send({ kind: 'done' });
} catch (error) {
  send({ kind: 'failed', reason: reasonOf(error) });
}
