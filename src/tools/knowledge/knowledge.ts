/**
 * An agent's knowledge base: files that have been read, split into passages and indexed. The daemon's implementation
 * uses SQLite.
 */
export interface Knowledge {
  /** The ids that exist. */
  known(ids: readonly string[]): Promise<string[]>;
  /** Ids of files that were added to an agent outside its configuration. */
  filesOf(agentId: string): Promise<string[]>;
  /** Descriptions of the files, which tell the model what it can find. Default: none. */
  list?(): Promise<readonly Pick<KnowledgeFile, 'id' | 'name' | 'description'>[]>;
  /** The best passages, best first. Rejects with the signal's reason when it is aborted. */
  search(query: KnowledgeQuery): Promise<Passage[]>;
}

export interface KnowledgeQuery {
  /** The query in natural language. */
  text: string;
  /** Restricts the search to these files. */
  fileIds: readonly string[];
  /** The query's language, such as `en-US` or `multi`; selects stop words and stemming. */
  language: string;
  /** Maximum number of passages. */
  limit: number;
  signal: AbortSignal;
}

/** A self-contained piece of a file. */
export interface Passage {
  fileId: string;
  fileName: string;
  /** From 1; null if the file has no pages. */
  page: number | null;
  /** The headings above it, outermost first, joined by " › "; null = none. */
  heading: string | null;
  text: string;
}

export interface KnowledgeFile {
  id: string;
  name: string;
  description: string | null;
  /** MIME type. */
  fileType: string;
  /** Bytes. */
  size: number;
  /** Number of passages. */
  passages: number;
  /** Unix seconds. */
  createdAt: number;
}

/** The operator's limits. */
export interface KnowledgeLimits {
  /** Maximum file size in bytes. Default 20 MiB. */
  fileBytes: number;
  /** Maximum number of files. Default 1,000. */
  files: number;
}

export const DEFAULT_KNOWLEDGE_LIMITS: KnowledgeLimits = { fileBytes: 20_971_520, files: 1_000 };
