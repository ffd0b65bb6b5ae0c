import { basename } from 'node:path';
import type { AgentConfig } from '../../agent/agent.js';
import type { AgentFile } from '../../agent/agent-file.js';
import { embeddingRoute } from '../../settings/models.js';
import type { Settings } from '../../settings/settings.js';
import type { EngineOptions } from '../../engine/options.js';
import { KnowledgeBase } from '../../store/knowledge.js';
import { openMemories } from './data-stores.js';
import { agentSlug } from './values.js';

/** Knowledge base and memory of an agent in the terminal. */
export interface RunStores {
  /** The agent's configuration with the knowledge files of the command line. */
  config: AgentConfig;
  /** Same as the id of the daemon's agent with this name, so that both share memories. */
  agentId: string;
  engine: Pick<EngineOptions, 'knowledge' | 'memories'>;
  close(): Promise<void>;
}

export interface RunStoresOptions {
  settings: Settings;
  /** Paths of knowledge files; the file names are the ids. */
  knowledge: readonly string[];
  /** In virtual time no memories are kept between runs, so that two runs are identical. */
  virtual: boolean;
  onFault: (reason: string) => void;
}

/**
 * Reads the knowledge files, and opens the memories in the data folder if the agent uses them.
 * @throws ParleyError FILE_NOT_READABLE naming the file, FILE_NOT_WRITABLE for the data folder
 */
export async function openAgentStores(
  { name, config }: AgentFile,
  { settings, knowledge: paths, virtual, onFault }: RunStoresOptions,
): Promise<RunStores> {
  const stores: RunStores = { config, agentId: agentSlug(name), engine: {}, close: async () => undefined };
  const remembers = (config.memory?.user_identifier_key ?? '') !== '' && !virtual;
  const memories = remembers ? openMemories(settings) : null;
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
