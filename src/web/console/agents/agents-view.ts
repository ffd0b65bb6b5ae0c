import type { AgentConfig } from '../../../agent/agent.js';
import { el } from '../../shared/elements.js';
import type { Fault } from '../fault.js';
import { actionButton, actionForm, labelled } from '../actions.js';
import { card, empty, failure, loading, type View, type ViewOptions } from '../view.js';

interface ListedAgent {
  id: string;
  name: string;
  config: AgentConfig;
  /** Why it cannot answer. */
  warnings: readonly Fault[];
}

/** The configuration of a new agent. */
const FIRST_CONFIG = { first_message: 'Hello, what can I do for you?' };

/** All agents. */
export function agentsView({ api }: ViewOptions): View {
  const body = el('div', {}, loading('Loading agents'));
  const load = async (): Promise<void> => {
    try {
      const agents = await api.get<ListedAgent[]>('/agents');
      body.replaceChildren(
        agents.length === 0
          ? empty('No agents yet. An agent answers calls and chats as its prompt says. Make one below.')
          : el('ol', { class: 'agents' }, ...agents.map((agent) => agentCard(agent, () => duplicate(agent)))),
      );
    } catch (error) {
      body.replaceChildren(failure(error, () => void load()));
    }
  };
  const go = ({ id }: { id: string }): void => {
    location.hash = `#/agents/${encodeURIComponent(id)}`;
  };
  const duplicate = async ({ id }: ListedAgent): Promise<void> =>
    go(await api.send('POST', `/agents/${encodeURIComponent(id)}/duplicate`));
  const name = el('input', { type: 'text', required: '', maxlength: '200' });
  const form = actionForm('Make an agent', [labelled('Name', name)], 'Make', async () =>
    go(await api.send('POST', '/agents', { name: name.value.trim(), config: FIRST_CONFIG })),
  );
  void load();
  const element = el('div', { class: 'stack' }, el('h1', {}, 'Agents'), body, card('Make an agent', form));
  return { element, title: 'Agents', close: () => undefined };
}

function agentCard({ id, name, config, warnings }: ListedAgent, duplicate: () => Promise<void>): HTMLElement {
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
    ...warnings.map(({ msg }) => el('p', { class: 'agent-warnings' }, msg)),
    el('p', { class: 'agent-first' }, config.first_message ?? config.prompt ?? ''),
    el(
      'p',
      { class: 'agent-links' },
      ...(isDisabled ? [] : [el('a', { href: `#/live/${path}` }, 'Talk')]),
      el('a', { href: `#/calls?agent=${path}` }, 'Calls'),
      actionButton('Duplicate', duplicate, { class: 'stamp', label: `Duplicate ${name}` }),
    ),
  );
}
