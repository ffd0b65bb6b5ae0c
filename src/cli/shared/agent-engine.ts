import { basename } from 'node:path';
import type { SettingFlags } from '../../settings/load-settings.js';
import type { AgentConfig } from '../../agent/agent.js';
import { type AgentFile, agentSlug } from '../../agent/agent-file.js';
import type { Clock } from '../../base/clock.js';
import { embeddingRoute } from '../../settings/models.js';
import type { Settings } from '../../settings/settings.js';
import { Engine } from '../../engine/engine.js';
import type { EngineOptions } from '../../engine/options.js';
import { KnowledgeBase } from '../../store/knowledge.js';
import type { CommandIo } from './command.js';
import { CallStores, openMemories } from './data-stores.js';
import { atDesk, openDemoDesk, usesDemoDesk } from './demo-desk.js';
import { engineSettings, printWarnings } from './engine-settings.js';

/** An engine for one agent in the terminal, with the stores of the data folder. */
export interface AgentEngine {
  readonly engine: Engine;
  /** The agent's configuration with the knowledge files of the command line. */
  readonly config: AgentConfig;
  /** Same as the id of the daemon's agent with this name, so that both share memories. */
  readonly agentId: string;
  /** Closes the engine and its stores. */
  close(): Promise<void>;
}

export interface AgentEngineOptions {
  /** Values of setting flags, by name without dashes. */
  settings: SettingFlags;
  /** In virtual time no memories are kept between runs, so that two runs are identical. */
  clock: Clock;
  /** Private addresses that the agent may call, in addition to those of the settings. */
  allow: readonly string[];
  /** Paths of knowledge files; the file names are the ids. */
  knowledge: readonly string[];
  /** Folder for recordings. Default: `recordings` in the data folder. */
  recordings: string | undefined;
}

/**
 * Opens an engine for an agent, its knowledge files, its memories in the data folder if it uses them, and the desk of the
 * demo. Prints the agent's warnings.
 * @throws ParleyError FILE_NOT_READABLE naming a knowledge file, FILE_NOT_WRITABLE for the data folder
 */
export async function openAgentEngine(
  file: AgentFile,
  options: AgentEngineOptions,
  io: Pick<CommandIo, 'env' | 'signal' | 'stderr'>,
): Promise<AgentEngine> {
  const { clock, allow } = options;
  const { engine: found, settings } = await engineSettings(io, options.settings);
  const { recordings = found.recordings } = options;
  const onFault = (reason: string): void => void io.stderr.write(`knowledge: ${reason}\n`);
  const knowledge = await openKnowledge(options.knowledge, settings, onFault);
  const remembers = (file.config.memory?.user_identifier_key ?? '') !== '' && !clock.virtual;
  const memories = remembers ? await openMemories(settings) : null;
  const desk = usesDemoDesk(file.config) ? await openDemoDesk() : null;
  const callStores = new CallStores(settings);
  const stores: Pick<EngineOptions, 'knowledge' | 'memories'> = {};
  if (knowledge !== null) stores.knowledge = knowledge;
  if (memories !== null) stores.memories = memories.store;
  const allowUrls = [...found.allowUrls, ...allow, ...(desk === null ? [] : [desk.url])];
  const engine = new Engine({ ...found, ...stores, ...callStores.engine(), clock, allowUrls, recordings });
  printWarnings(file, engine, io);
  return {
    engine,
    config: atDesk(withKnowledge(file.config, options.knowledge), desk),
    agentId: agentSlug(file.name),
    close: async () => {
      await engine.close();
      await desk?.close();
      await knowledge?.close();
      await memories?.close();
      await callStores.close();
    },
  };
}

async function openKnowledge(
  paths: readonly string[],
  settings: Settings,
  onFault: (reason: string) => void,
): Promise<KnowledgeBase | null> {
  if (paths.length === 0) return null;
  const { knowledgeFileBytes: fileBytes, knowledgeFiles: files } = settings.limits;
  const base = new KnowledgeBase({ limits: { fileBytes, files }, embedding: embeddingRoute(settings), onFault });
  try {
    for (const path of paths) await base.add({ id: basename(path), name: basename(path), source: path });
    await base.vectorsReady();
    return base;
  } catch (error) {
    await base.close();
    throw error;
  }
}

function withKnowledge(config: AgentConfig, paths: readonly string[]): AgentConfig {
  if (paths.length === 0) return config;
  const files = [...new Set([...(config.knowledge_base?.files ?? []), ...paths.map((path) => basename(path))])];
  return { ...config, knowledge_base: { ...config.knowledge_base, files } };
}
