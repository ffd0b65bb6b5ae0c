import type { EvalRunProgress } from '../../store/eval-runs.js';
import type { StoredVoice } from '../../store/voices.js';
import type { SuiteResult } from '../../eval/result.js';
import type { Prices } from '../../settings/prices.js';
import type { PlainOptions } from '../../threads/wire/protocol.js';
import type { EmbeddingRoute } from '../../tools/knowledge/embeddings.js';
import type { KnowledgeFile, KnowledgeQuery, Passage } from '../../tools/knowledge/knowledge.js';
import type { SuiteJob } from './suite-runner.js';

/** What the process of a run gets. */
export interface ChildJob {
  job: SuiteJob;
  /** For the engine that holds the calls. */
  options: PlainOptions;
  /** The model of `said_like`; null = none is configured. */
  embedding: EmbeddingRoute | null;
  /** The operator's. */
  prices: Prices;
  /** The custom voices. */
  voices: readonly StoredVoice[];
}

/** What the daemon asks the process of a run for. */
export type ChildMethods = {
  run: (job: ChildJob) => Promise<SuiteResult>;
};

/** What the process of a run asks the daemon for, or reports. */
export type DaemonMethods = {
  progress: (progress: EvalRunProgress) => void;
  knownFiles: (ids: readonly string[]) => Promise<string[]>;
  filesOf: (agentId: string) => Promise<string[]>;
  listFiles: (all: null) => Promise<readonly Pick<KnowledgeFile, 'id' | 'name' | 'description'>[]>;
  search: (query: Omit<KnowledgeQuery, 'signal'>, signal: AbortSignal) => Promise<Passage[]>;
};
