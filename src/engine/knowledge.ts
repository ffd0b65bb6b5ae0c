import type { Clock } from '../base/clock.js';
import type { ResolvedAgent } from '../agent/resolve.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import type { Knowledge } from '../tools/knowledge/knowledge.js';
import { SearchTool } from '../tools/knowledge/search-tool.js';
import type { Tool } from '../tools/tool.js';
import { withTimeout } from '../base/deadlines.js';

export interface KnowledgeToolsOptions {
  /** Null = the engine has none. */
  knowledge: Knowledge | null;
  agentId: string | null;
  /** The session's. */
  clock: Clock;
  /** A real-time clock, even if the conversation's is virtual. */
  networkClock: Clock;
  /** The files cannot be listed: the agent uses only those of its configuration. */
  onFault: (reason: string) => void;
}

/** Deadline for the list of files, while a caller waits. */
const FILES_TIMEOUT_MS = 3_000;

/**
 * An agent's documents: the files of its configuration, and those assigned in addition.
 * @throws ParleyError NOT_FOUND for a missing file of the configuration
 */
export async function knowledgeTools(agent: ResolvedAgent, options: KnowledgeToolsOptions): Promise<Tool[]> {
  const { knowledge, clock } = options;
  const { fileIds: configured, messages } = agent.knowledge;
  const fileIds = new Set(configured);
  if (knowledge === null) {
    refuseUnknown(configured, []);
    return [];
  }
  const files = await filesThere(knowledge, configured, options);
  if (files !== null) {
    refuseUnknown(configured, files.known);
    for (const id of files.given) fileIds.add(id);
  }
  if (fileIds.size === 0) return [];
  const descriptions = (files?.listed ?? []).flatMap(({ id, name, description }) =>
    description !== null && description !== '' && fileIds.has(id) ? [{ name, description }] : [],
  );
  return [
    new SearchTool({ knowledge, fileIds: [...fileIds], descriptions, language: agent.language, messages, clock }),
  ];
}

type Listed = Awaited<ReturnType<NonNullable<Knowledge['list']>>>;

/** Null if the lookup is late or fails: the call starts without the additional files. */
async function filesThere(
  knowledge: Knowledge,
  configured: readonly string[],
  { agentId, networkClock, onFault }: KnowledgeToolsOptions,
): Promise<{ known: readonly string[]; given: readonly string[]; listed: Listed } | null> {
  try {
    const asked = Promise.all([
      configured.length === 0 ? [] : knowledge.known(configured),
      agentId === null ? [] : knowledge.filesOf(agentId),
    ]).then(async ([known, given]) => {
      const listed = known.length + given.length === 0 ? [] : ((await knowledge.list?.()) ?? []);
      return { known, given, listed };
    });
    return await withTimeout(networkClock, FILES_TIMEOUT_MS, () => asked);
  } catch (error) {
    onFault(reasonOf(error));
    return null;
  }
}

function refuseUnknown(wanted: readonly string[], known: readonly string[]): void {
  const unknown = wanted.find((id) => !known.includes(id));
  if (unknown !== undefined) throw new ParleyError('NOT_FOUND', { what: 'knowledge file', id: unknown });
}
