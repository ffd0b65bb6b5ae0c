import type { ErrorCode, ErrorDetails } from '../base/errors.js';
import type { EmbeddingRoute } from '../tools/knowledge/embeddings.js';
import type { KnowledgeLimits } from '../tools/knowledge/knowledge.js';

/** The messages between the knowledge base and its thread. */

export interface KnowledgeSettings {
  /** A PostgreSQL database; null = a file. */
  databaseUrl: string | null;
  /** The file; null = in memory. */
  path: string | null;
  limits: KnowledgeLimits;
  /** Null = search by words only. */
  embedding: EmbeddingRoute | null;
}

/** A file to add. */
export interface NewFile {
  /** Default a random UUID. */
  id?: string;
  /** The extension gives the format if `fileType` does not. */
  name: string;
  description?: string | null;
  /** MIME type or extension. */
  fileType?: string | null;
  /** The file's path, or its bytes. */
  source: string | Uint8Array;
}

/** A call of a method of the knowledge index. */
export interface KnowledgeRequest {
  id: number;
  method: 'add' | 'remove' | 'list' | 'known' | 'filesOf' | 'setAgentFiles' | 'search' | 'vectorsReady';
  args: readonly unknown[];
}

export type KnowledgeAnswer =
  | { id: number; ok: true; value: unknown }
  | { id: number; ok: false; reason: string; code: ErrorCode | null; details: ErrorDetails }
  /** A background task failed. */
  | { id: null; fault: string };
