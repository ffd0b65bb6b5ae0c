import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ParleyError, reasonOf } from '../base/errors.js';
import { workerFile } from '../package-files.js';
import {
  DEFAULT_KNOWLEDGE_LIMITS,
  type Knowledge,
  type KnowledgeFile,
  type KnowledgeLimits,
  type KnowledgeQuery,
  type Passage,
} from '../tools/knowledge/knowledge.js';
import type { EmbeddingRoute } from '../tools/knowledge/embeddings.js';
import type { KnowledgeAnswer, KnowledgeRequest, KnowledgeSettings, NewFile } from './knowledge-protocol.js';

export interface KnowledgeBaseOptions {
  /** The database file, created if missing. Default: in memory, lost when the process ends. */
  path?: string;
  /** A PostgreSQL database in place of the file: `postgres://…`. Default: none. */
  databaseUrl?: string | null;
  limits?: Partial<KnowledgeLimits>;
  /** The model whose vectors allow a search by meaning. Default: search by words only. */
  embedding?: EmbeddingRoute | null;
  /** Called when a background task fails. The search by words still works. */
  onFault?: (reason: string) => void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * Files that agents can consult, in SQLite or PostgreSQL. A thread does all work. The first request starts the thread, which keeps
 * the process alive only while a request is open.
 */
export class KnowledgeBase implements Knowledge {
  readonly #settings: KnowledgeSettings;
  readonly #onFault: (reason: string) => void;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #nextId = 1;
  #closed = false;

  constructor(options: KnowledgeBaseOptions = {}) {
    const { path = null, databaseUrl = null, limits, embedding = null, onFault = () => undefined } = options;
    this.#settings = { path, databaseUrl, limits: { ...DEFAULT_KNOWLEDGE_LIMITS, ...limits }, embedding };
    this.#onFault = onFault;
  }

  /**
   * Reads a file and makes it searchable. A background task adds its vectors if there is an embedding model.
   * @throws ParleyError FILE_NOT_READABLE naming the file, KNOWLEDGE_FILE_TOO_LARGE, KNOWLEDGE_FULL, CONFIG_INVALID if
   *   the id is taken
   */
  add(file: NewFile): Promise<KnowledgeFile> {
    return this.#request('add', file) as Promise<KnowledgeFile>;
  }

  /** Resolves with whether the file existed. */
  remove(id: string): Promise<boolean> {
    return this.#request('remove', id) as Promise<boolean>;
  }

  list(): Promise<KnowledgeFile[]> {
    return this.#isNew ? none() : (this.#request('list') as Promise<KnowledgeFile[]>);
  }

  known(ids: readonly string[]): Promise<string[]> {
    return this.#isNew ? none() : (this.#request('known', ids) as Promise<string[]>);
  }

  filesOf(agentId: string): Promise<string[]> {
    return this.#isNew ? none() : (this.#request('filesOf', agentId) as Promise<string[]>);
  }

  /** Replaces the files of an agent. @throws ParleyError NOT_FOUND */
  async setAgentFiles(agentId: string, fileIds: readonly string[]): Promise<void> {
    await this.#request('setAgentFiles', agentId, fileIds);
  }

  async search({ signal, ...query }: KnowledgeQuery): Promise<Passage[]> {
    signal.throwIfAborted();
    const passages = (await this.#request('search', query)) as Passage[];
    signal.throwIfAborted();
    return passages;
  }

  /** Resolves when every passage has its vector, or the last attempt has failed. */
  async vectorsReady(): Promise<void> {
    await this.#request('vectorsReady');
  }

  /** Rejects open requests and ends the thread. */
  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#worker = undefined;
    this.#rejectAll(closedError());
    await worker?.terminate();
  }

  /** Nothing has ever been added. Such a knowledge base needs no thread, which takes about 20 MB. */
  get #isNew(): boolean {
    const { path, databaseUrl } = this.#settings;
    const isFile = path !== null && databaseUrl === null;
    return !this.#closed && this.#worker === undefined && isFile && !existsSync(path) && existsSync(dirname(path));
  }

  #request(method: KnowledgeRequest['method'], ...args: readonly unknown[]): Promise<unknown> {
    if (this.#closed) return Promise.reject(closedError());
    const worker = (this.#worker ??= this.#start());
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) worker.ref();
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ id, method, args } satisfies KnowledgeRequest);
    });
  }

  #start(): Worker {
    const worker = new Worker(workerFile('store/knowledge-worker'), { workerData: this.#settings, execArgv: [] });
    worker.unref();
    let reason = 'its thread ended';
    worker.on('error', (error) => (reason = reasonOf(error)));
    worker.on('exit', () => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#rejectAll(new ParleyError('KNOWLEDGE_FAILED', { reason }));
    });
    worker.on('message', (answer: KnowledgeAnswer) => {
      if (this.#worker === worker) this.#onAnswer(worker, answer);
    });
    return worker;
  }

  #onAnswer(worker: Worker, answer: KnowledgeAnswer): void {
    if (answer.id === null) {
      this.#onFault(answer.fault);
      return;
    }
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) worker.unref();
    if (answer.ok) waiting?.resolve(answer.value);
    else if (answer.code !== null) waiting?.reject(new ParleyError(answer.code, answer.details));
    else waiting?.reject(new ParleyError('KNOWLEDGE_FAILED', { reason: answer.reason }));
  }

  #rejectAll(error: Error): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of waiting) one.reject(error);
  }
}

async function none(): Promise<never[]> {
  return [];
}

function closedError(): ParleyError {
  return new ParleyError('KNOWLEDGE_FAILED', { reason: 'it has been closed' });
}
