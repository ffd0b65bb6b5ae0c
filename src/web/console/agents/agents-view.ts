import type { AgentConfig } from '../../../config/agent.js';
import { el } from '../../docs/elements.js';
import { empty, failure, loading, type View, type ViewOptions } from '../view.js';

interface ListedAgent {
  id: string;
  name: string;
  config: AgentConfig;
}

/** All agents. */
export function agentsView({ api }: ViewOptions): View {
  const body = el('div', {}, loading('Loading agents'));
  const load = async (): Promise<void> => {
    try {
      const agents = await api.get<ListedAgent[]>('/agents');
      body.replaceChildren(
        agents.length === 0
          ? empty('No agents. ', el('a', { href: '/docs#post_agents' }, 'POST /agents'), ' makes one.')
          : el('ol', { class: 'agents' }, ...agents.map(agentCard)),
      );
    } catch (error) {
      body.replaceChildren(failure(error, () => void load()));
    }
  };
  void load();
  const element = el('div', { class: 'stack' }, el('h1', {}, 'Agents'), body);
  return { element, title: 'Agents', close: () => undefined };
}

function agentCard({ id, name, config }: ListedAgent): HTMLElement {
  const isDisabled = config.status === 'disabled';
  const path = encodeURIComponent(id);
  const facts = [
    config.language ?? 'en-US',
    config.llm?.model ?? 'the operator’s model',
    ...(isDisabled ? ['disabled'] : []),
  ];
  return el(
    'li',
    { class: 'card' },
    el('h2', {}, el('a', { href: `#/agents/${path}` }, name)),
    el('p', { class: 'soft' }, facts.join(' · ')),
    el('p', { class: 'agent-first' }, config.first_message ?? config.prompt ?? ''),
    el(
      'p',
      { class: 'agent-links' },
      ...(isDisabled ? [] : [el('a', { href: `#/live/${path}` }, 'Talk')]),
      el('a', { href: `#/calls?agent=${path}` }, 'Calls'),
    ),
  );
}
