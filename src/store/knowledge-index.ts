import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { RealClock, nowUnixMs, unixSeconds } from '../base/real-clock.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { unreadable } from '../tools/knowledge/chunker.js';
import { Embedder } from '../tools/knowledge/embeddings.js';
import { formatOf, mimeTypeOf, READABLE } from '../tools/knowledge/formats.js';
import type { KnowledgeFile, KnowledgeQuery, Passage } from '../tools/knowledge/knowledge.js';
import { fuse, textQuery } from '../tools/knowledge/query.js';
import { readInThread } from '../tools/knowledge/read-in-thread.js';
import type { KnowledgeSettings, NewFile } from './knowledge-protocol.js';
import type { KnowledgeTables } from './knowledge-tables.js';
import { KnowledgeVectors } from './knowledge-vectors.js';

/** Candidates of each ranking. */
const CANDIDATES = 30;

/** The knowledge base inside its thread. It reads one file at a time; searches run in between. */
export class KnowledgeIndex {
  readonly #settings: KnowledgeSettings;
  readonly #clock = new RealClock();
  readonly #tables: KnowledgeTables;
  readonly #vectors: KnowledgeVectors | null;
  /** Settles when no file is being read. */
  #reading: Promise<unknown> = Promise.resolve();

  private constructor(settings: KnowledgeSettings, tables: KnowledgeTables, onFault: (reason: string) => void) {
    this.#settings = settings;
    this.#tables = tables;
    const { embedding } = settings;
    this.#vectors =
      embedding === null
        ? null
        : new KnowledgeVectors({ embedder: new Embedder(embedding, this.#clock), tables, onFault });
    this.#vectors?.fill();
  }

  /** @throws Error if the database cannot be opened */
  static async open(settings: KnowledgeSettings, onFault: (reason: string) => void): Promise<KnowledgeIndex> {
    const { path, databaseUrl } = settings;
    // Each loaded when it is needed.
    const tables =
      databaseUrl === null
        ? new (await import('./sqlite/sqlite-knowledge-tables.js')).SqliteKnowledgeTables(path)
        : await (await import('./postgres/postgres-knowledge-tables.js')).PostgresKnowledgeTables.open(databaseUrl);
    return new KnowledgeIndex(settings, tables, onFault);
  }

  /** @throws ParleyError FILE_NOT_READABLE, KNOWLEDGE_FILE_TOO_LARGE, KNOWLEDGE_FULL, CONFIG_INVALID if the id is taken */
  add(file: NewFile): Promise<KnowledgeFile> {
    const added = this.#reading.then(() => this.#add(file));
    this.#reading = added.catch(() => undefined);
    return added;
  }

  remove(id: string): Promise<boolean> {
    return this.#tables.remove(id);
  }

  list(): Promise<KnowledgeFile[]> {
    return this.#tables.files();
  }

  known(ids: readonly string[]): Promise<string[]> {
    return this.#tables.known(ids);
  }

  filesOf(agentId: string): Promise<string[]> {
    return this.#tables.filesOf(agentId);
  }

  /** @throws ParleyError NOT_FOUND for an unknown file; then nothing changes */
  setAgentFiles(agentId: string, fileIds: readonly string[]): Promise<void> {
    return this.#tables.setAgentFiles(agentId, fileIds);
  }

  async search({ text, fileIds, language, limit }: Omit<KnowledgeQuery, 'signal'>): Promise<Passage[]> {
    const { terms } = textQuery(text, language);
    const [byWords, byMeaning] = await Promise.all([
      terms.length === 0 ? [] : this.#tables.matches(terms, fileIds, CANDIDATES),
      this.#vectors?.nearest(text, fileIds, CANDIDATES) ?? null,
    ]);
    const ids = byMeaning === null ? byWords : fuse([byWords, byMeaning]);
    return this.#tables.passages(ids.slice(0, limit));
  }

  /** Resolves when every passage has its vector, or the last attempt to get them has failed. */
  async vectorsReady(): Promise<void> {
    await this.#vectors?.ready();
  }

  async #add({
    id = randomUUID(),
    name,
    description = null,
    fileType = null,
    source,
  }: NewFile): Promise<KnowledgeFile> {
    const { limits } = this.#settings;
    const format = formatOf(name, fileType);
    if (format === null) throw unreadable(name, `its format is not one of ${READABLE}`);
    const size = typeof source === 'string' ? await sizeOf(source, name) : source.byteLength;
    if (size > limits.fileBytes) throw new ParleyError('KNOWLEDGE_FILE_TOO_LARGE', { name, limit: limits.fileBytes });
    const createdAt = unixSeconds(nowUnixMs());
    const file = { id, name, description, fileType: mimeTypeOf(format), size, createdAt };
    let passages = 0;
    await this.#tables.begin(file, limits.files);
    try {
      const append = async (chunks: Parameters<KnowledgeTables['append']>[1]): Promise<void> => {
        await this.#tables.append(id, chunks);
        passages += chunks.length;
      };
      await readInThread({ name, fileType, source }, append, this.#clock);
      await this.#tables.complete(id);
    } catch (error) {
      await this.#tables.remove(id);
      throw error;
    }
    this.#vectors?.fill();
    return { ...file, passages };
  }
}

async function sizeOf(path: string, name: string): Promise<number> {
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new Error('it is not a file');
    return found.size;
  } catch (error) {
    throw unreadable(name, reasonOf(error));
  }
}
