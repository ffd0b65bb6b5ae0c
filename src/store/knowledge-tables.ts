import { ParleyError } from '../base/errors.js';
import type { IndexedChunk } from '../tools/knowledge/formats.js';
import type { KnowledgeFile, Passage } from '../tools/knowledge/knowledge.js';
import type { Term } from '../tools/knowledge/query.js';

/** A passage for the embedding model. */
export interface EmbeddedText {
  id: number;
  fileId: string;
  /** With its heading. */
  text: string;
}

export interface PassageVector {
  /** Of the passage. */
  id: number;
  vector: Float32Array;
}

/** Where the knowledge base is stored. Used by one thread. */
export interface KnowledgeTables {
  /**
   * Adds a file that stays invisible until `complete`. `append` adds its passages.
   * @throws ParleyError KNOWLEDGE_FULL, CONFIG_INVALID if the id is taken
   */
  begin: (file: Omit<KnowledgeFile, 'passages'>, mostFiles: number) => Promise<void>;
  append: (fileId: string, chunks: readonly IndexedChunk[]) => Promise<void>;
  /** @throws ParleyError KNOWLEDGE_FAILED if the file is gone */
  complete: (fileId: string) => Promise<void>;
  /** Returns whether the file existed. */
  remove: (fileId: string) => Promise<boolean>;
  files: () => Promise<KnowledgeFile[]>;
  /** The ids of this list that are complete files. */
  known: (ids: readonly string[]) => Promise<string[]>;
  /** @throws ParleyError NOT_FOUND for an unknown file; then nothing changes */
  setAgentFiles: (agentId: string, fileIds: readonly string[]) => Promise<void>;
  filesOf: (agentId: string) => Promise<string[]>;
  /** Ids of the passages of these files with any of the terms, those with more and rarer ones first. */
  matches: (terms: readonly Term[], fileIds: readonly string[], limit: number) => Promise<number[]>;
  /** In the order of the ids. */
  passages: (ids: readonly number[]) => Promise<Passage[]>;
  /** Passages without a vector of this model. */
  withoutVector: (model: string, limit: number) => Promise<EmbeddedText[]>;
  /** Skips passages that were deleted in the meantime. */
  putVectors: (model: string, vectors: readonly PassageVector[]) => Promise<void>;
  /** A number for each file that exists. It is another one after a change of its vectors. */
  versions: (fileIds: readonly string[]) => Promise<ReadonlyMap<string, number>>;
  vectorsOf: (fileId: string, model: string) => Promise<PassageVector[]>;
  /** Ids of the passages with the nearest vectors, nearest first; null = the database cannot compare vectors. */
  nearest: (of: NearestQuery) => Promise<number[] | null>;
  /** May be called twice. */
  close: () => Promise<void>;
}

export interface NearestQuery {
  model: string;
  /** Of length 1. */
  vector: Float32Array;
  fileIds: readonly string[];
  limit: number;
}

/** A complete file, as both databases have it. */
export interface FileRow {
  id: string;
  name: string;
  description: string | null;
  file_type: string;
  size: number;
  created_at: number;
  passages: number;
}

export function fileOf({ id, name, description, file_type, size, created_at, passages }: FileRow): KnowledgeFile {
  return { id, name, description, size, passages, fileType: file_type, createdAt: created_at };
}

/** A passage of a file, as both databases have it. */
export interface PassageRow {
  id: number;
  file_id: string;
  /** Of the file. */
  name: string;
  page: number | null;
  heading: string | null;
  text: string;
}

export function passageOf({ file_id: fileId, name: fileName, page, heading, text }: PassageRow): Passage {
  return { fileId, fileName, page, heading, text };
}

export function embeddedText({ id, file_id: fileId, heading, text }: Omit<PassageRow, 'name' | 'page'>): EmbeddedText {
  return { id, fileId, text: heading === null ? text : `${heading}\n${text}` };
}

/** The error for a file with the id of another one. */
export function takenId(id: string): ParleyError {
  return new ParleyError('CONFIG_INVALID', { reason: `two knowledge files are called ${id}` });
}
