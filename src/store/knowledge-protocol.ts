import type { ErrorCode, ErrorDetails } from '../base/errors.js';
import type { EmbeddingRoute } from '../tools/knowledge/embeddings.js';
import type { KnowledgeLimits } from '../tools/knowledge/knowledge.js';

/** What the knowledge base and its thread say to each other. */

export interface KnowledgeSettings {
  /** The database file; null = in memory. */
  path: string | null;
  limits: KnowledgeLimits;
  /** Null = words alone. */
  embedding: EmbeddingRoute | null;
}

/** A file to be added. */
export interface NewFile {
  /** Default a random UUID. */
  id?: string;
  /** With its ending, which decides how it is read where `fileType` does not. */
  name: string;
  description?: string | null;
  /** MIME type or ending. */
  fileType?: string | null;
  /** The file's path, or its bytes. */
  source: string | Uint8Array;
}

/** One member of the knowledge index, called by its name. */
export interface KnowledgeRequest {
  id: number;
  method: 'add' | 'remove' | 'list' | 'known' | 'filesOf' | 'setAgentFiles' | 'search' | 'vectorsReady';
  args: readonly unknown[];
}

export type KnowledgeAnswer =
  | { id: number; ok: true; value: unknown }
  | { id: number; ok: false; reason: string; code: ErrorCode | null; details: ErrorDetails }
  /** Something that nobody waits for went wrong. */
  | { id: null; fault: string };
