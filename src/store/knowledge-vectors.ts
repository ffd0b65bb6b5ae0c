import { reasonOf } from '../base/errors.js';
import { EMBEDDING_BATCH, type Embedder } from '../tools/knowledge/embeddings.js';
import type { KnowledgeTables, PassageVector } from './knowledge-tables.js';

export interface KnowledgeVectorsOptions {
  embedder: Embedder;
  tables: KnowledgeTables;
  /** Called when passages or a question get no vectors. The search by words still works. */
  onFault: (reason: string) => void;
}

/** For passages: a background task. */
const PASSAGES_TIMEOUT_MS = 30_000;
/** For questions: a caller waits for the answer. */
const QUESTION_TIMEOUT_MS = 1_000;
/** Limit of the vectors in memory, as a count of numbers of 4 bytes. */
const MAX_CACHED_NUMBERS = 64_000_000;

interface FileVectors {
  /** Of the file, when they were read. */
  version: number;
  ids: readonly number[];
  vectors: readonly Float32Array[];
  numbers: number;
}

/** Search by meaning: finds the passages whose vectors are nearest to that of a question. */
export class KnowledgeVectors {
  readonly #options: KnowledgeVectorsOptions;
  /** By file, least recently used first. */
  readonly #cache = new Map<string, FileVectors>();
  #filling: Promise<void> | null = null;

  constructor(options: KnowledgeVectorsOptions) {
    this.#options = options;
  }

  /** Computes missing vectors in the background. After a failure, the next call tries again. */
  fill(): void {
    const { onFault } = this.#options;
    const before = this.#filling ?? Promise.resolve();
    const filling = before
      .then(() => this.#fill())
      .catch((error: unknown) => onFault(`passages were not embedded: ${reasonOf(error)}`))
      .finally(() => {
        if (this.#filling === filling) this.#filling = null;
      });
    this.#filling = filling;
  }

  async ready(): Promise<void> {
    while (this.#filling !== null) await this.#filling;
  }

  /** Ids of the passages nearest to the question, nearest first; null = the model gave no vector in time. */
  async nearest(question: string, fileIds: readonly string[], limit: number): Promise<number[] | null> {
    const { embedder, tables, onFault } = this.#options;
    let vector: Float32Array | undefined;
    try {
      [vector] = await embedder.embed([question], QUESTION_TIMEOUT_MS);
    } catch (error) {
      onFault(`a question was not embedded: ${reasonOf(error)}`);
    }
    if (vector === undefined) return null;
    const found = await tables.nearest({ model: embedder.route.model, vector, fileIds, limit });
    return found ?? this.#nearest(vector, fileIds, limit);
  }

  async #nearest(target: Float32Array, fileIds: readonly string[], limit: number): Promise<number[]> {
    const scored: { id: number; score: number }[] = [];
    for (const [fileId, version] of await this.#options.tables.versions(fileIds)) {
      const { ids, vectors } = await this.#vectorsOf(fileId, version);
      vectors.forEach((vector, index) => {
        if (vector.length === target.length) scored.push({ id: ids[index] ?? 0, score: dot(vector, target) });
      });
    }
    return scored
      .sort((a, b) => b.score - a.score)
      .slice(0, limit)
      .map(({ id }) => id);
  }

  async #fill(): Promise<void> {
    const { embedder, tables } = this.#options;
    const { model } = embedder.route;
    for (;;) {
      const missing = await tables.withoutVector(model, EMBEDDING_BATCH);
      if (missing.length === 0) return;
      const texts = missing.map(({ text }) => text);
      const vectors = await embedder.embed(texts, PASSAGES_TIMEOUT_MS);
      await tables.putVectors(
        model,
        missing.flatMap(({ id }, index) => {
          const vector = vectors[index];
          return vector === undefined ? [] : [{ id, vector }];
        }),
      );
    }
  }

  async #vectorsOf(fileId: string, version: number): Promise<FileVectors> {
    const { tables, embedder } = this.#options;
    const cached = this.#cache.get(fileId);
    const rows =
      cached?.version === version ? cached : fileVectors(version, await tables.vectorsOf(fileId, embedder.route.model));
    this.#cache.delete(fileId);
    this.#cache.set(fileId, rows);
    let numbers = [...this.#cache.values()].reduce((sum, it) => sum + it.numbers, 0);
    for (const [oldest, { numbers: freed }] of this.#cache) {
      if (numbers <= MAX_CACHED_NUMBERS || oldest === fileId) break;
      this.#cache.delete(oldest);
      numbers -= freed;
    }
    return rows;
  }
}

function fileVectors(version: number, rows: readonly PassageVector[]): FileVectors {
  const vectors = rows.map(({ vector }) => vector);
  return { version, vectors, ids: rows.map(({ id }) => id), numbers: vectors.reduce((sum, it) => sum + it.length, 0) };
}

/** The cosine of the angle between two vectors of length 1. */
function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}
