import { basename } from 'node:path';
import type { AgentConfig } from '../../agent/agent.js';
import type { AgentFile } from '../../agent/agent-file.js';
import { embeddingRoute } from '../../settings/models.js';
import type { Settings } from '../../settings/settings.js';
import type { EngineOptions } from '../../engine/options.js';
import { KnowledgeBase } from '../../store/knowledge.js';
import { agentSlug } from './values.js';

/** What an agent's session in the terminal knows and remembers. */
export interface AgentStores {
  /** With the files of the command line. */
  config: AgentConfig;
  /** Its memories are those of the daemon's agent of the same name. */
  agentId: string;
  engine: Pick<EngineOptions, 'knowledge' | 'memories'>;
  close(): Promise<void>;
}

export interface AgentStoresOptions {
  settings: Settings;
  /** Paths of files that the agent can consult; their names are their ids. */
  knowledge: readonly string[];
  /** Nothing is remembered from one run to the next: two runs are to decide alike. */
  virtual: boolean;
  onFault: (reason: string) => void;
}

/**
 * Reads the files that the agent is to consult, and opens what it remembers in the data folder, where it asks for either.
 * @throws ParleyError FILE_NOT_READABLE naming the file, FILE_NOT_WRITABLE for the data folder
 */
export async function openAgentStores(
  { name, config }: AgentFile,
  { settings, knowledge: paths, virtual, onFault }: AgentStoresOptions,
): Promise<AgentStores> {
  const stores: AgentStores = { config, agentId: agentSlug(name), engine: {}, close: async () => undefined };
  const remembers = (config.memory?.user_identifier_key ?? '') !== '' && !virtual;
  const memories = remembers ? (await import('./memory-file.js')).openMemories(settings) : null;
  if (memories !== null) stores.engine.memories = memories.store;
  if (paths.length === 0) return { ...stores, close: async () => memories?.close() };
  const { knowledgeFileBytes: fileBytes, knowledgeFiles: files } = settings.limits;
  const base = new KnowledgeBase({ limits: { fileBytes, files }, embedding: embeddingRoute(settings), onFault });
  const close = async (): Promise<void> => {
    await base.close();
    memories?.close();
  };
  try {
    for (const path of paths) await base.add({ id: basename(path), name: basename(path), source: path });
    await base.vectorsReady();
  } catch (error) {
    await close();
    throw error;
  }
  const ids = [...new Set([...(config.knowledge_base?.files ?? []), ...paths.map((path) => basename(path))])];
  return {
    ...stores,
    config: { ...config, knowledge_base: { ...config.knowledge_base, files: ids } },
    engine: { ...stores.engine, knowledge: base },
    close,
  };
}
