import type { AgentConfig } from '../agent/agent.js';
import type { Param } from '../agent/function.js';
import { appOf } from '../tools/apps/app-tool.js';
import { SEARCH_KNOWLEDGE } from '../tools/knowledge/search-tool.js';

/** An agent as a model reads about it. */
export interface DescribedAgent {
  name: string;
  config: AgentConfig;
}

interface DescribedTool {
  name: string;
  description: string;
  params: readonly Param[];
}

/** A prompt is cut here. */
const MAX_PROMPT_CHARS = 40_000;

/** An agent's prompt, first message and tools, for a model to read. */
export function describeAgent({ name, config }: DescribedAgent): string {
  const { prompt, first_message: first, language, flow } = config;
  const transfers = [flow?.call_transfer?.phone, ...(flow?.call_transfer?.phones ?? []).map(({ phone }) => phone)];
  const numbers = transfers.filter((phone) => phone != null && phone !== '');
  const tools = toolsOf(config).map(toolText);
  return [
    `The agent: ${name}`,
    `Language: ${language == null || language === '' ? 'en-US' : language}`,
    `Prompt:\n${cut(prompt?.trim() ?? '') || '(none)'}`,
    first == null || first === '' ? 'It has no first message.' : `First message: ${first}`,
    tools.length === 0 ? 'It has no tools.' : `Tools:\n${tools.join('\n')}`,
    numbers.length === 0 ? 'It cannot transfer calls.' : `It can transfer calls to: ${numbers.join(', ')}`,
    flow?.agent_terminate_call?.enabled === true ? 'It can end the call.' : 'It cannot end the call.',
  ].join('\n\n');
}

/** The tools that an agent's configuration gives it. */
export function toolNames(config: AgentConfig): ReadonlySet<string> {
  return new Set(toolsOf(config).map(({ name }) => name));
}

function toolsOf(config: AgentConfig): DescribedTool[] {
  const own = [...(config.tools ?? []), ...(config.service_functions ?? [])].map(({ name, description, params }) => {
    return { name, description, params: params ?? [] };
  });
  const apps = (config.app_functions ?? []).map((fn) => {
    const account = { credentials: fn.credentials ?? {}, timezone: config.timezone ?? 'UTC', language: 'en' };
    return { name: fn.name, ...appOf(fn).describe(account) };
  });
  const hasFiles = (config.knowledge_base?.files ?? []).length > 0;
  const search = { name: SEARCH_KNOWLEDGE, description: "Searches the agent's documents.", params: [] };
  return [...own, ...apps, ...(hasFiles ? [search] : [])];
}

function toolText({ name, description, params }: DescribedTool): string {
  const lines = params.map((param) => {
    const { type = 'string', required, description: about } = param;
    return `  - ${param.name} (${type ?? 'string'}${required === true ? ', required' : ''})${about == null || about === '' ? '' : `: ${about}`}`;
  });
  return [`- ${name}: ${description}`, ...lines].join('\n');
}

function cut(text: string): string {
  return text.length > MAX_PROMPT_CHARS ? `${text.slice(0, MAX_PROMPT_CHARS)}…` : text;
}
