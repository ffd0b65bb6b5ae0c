/** What an agent can look things up in: files that were read, cut into passages and indexed. The daemon's is in SQLite. */
export interface Knowledge {
  /** Those of the ids that are files here. */
  known(ids: readonly string[]): Promise<string[]>;
  /** Ids of the files that an agent was given beside those of its configuration. */
  filesOf(agentId: string): Promise<string[]>;
  /** What the files are about, for the model to know what it can find. Default: it is not told. */
  list?(): Promise<readonly Pick<KnowledgeFile, 'id' | 'name' | 'description'>[]>;
  /** The passages that fit best, best first. Rejects with the signal's reason when it is aborted. */
  search(query: KnowledgeQuery): Promise<Passage[]>;
}

export interface KnowledgeQuery {
  /** What is to be found, as somebody would say it. */
  text: string;
  /** Only these files are searched. */
  fileIds: readonly string[];
  /** What the words are in, such as `en-US` or `multi`: which of them say nothing, and how they are inflected. */
  language: string;
  /** Most passages. */
  limit: number;
  signal: AbortSignal;
}

/** A piece of a file that can stand alone. */
export interface Passage {
  fileId: string;
  fileName: string;
  /** Counted from 1; null where the file has no pages. */
  page: number | null;
  /** The headings above it, outermost first, joined by " › "; null where there are none. */
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
  /** Passages. */
  passages: number;
  /** Unix seconds. */
  createdAt: number;
}

/** What the operator allows. */
export interface KnowledgeLimits {
  /** Largest file in bytes. Default 20 MiB. */
  fileBytes: number;
  /** Most files. Default 1,000. */
  files: number;
}

export const DEFAULT_KNOWLEDGE_LIMITS: KnowledgeLimits = { fileBytes: 20_971_520, files: 1_000 };
