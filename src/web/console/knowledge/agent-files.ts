import { el } from '../../docs/elements.js';
import { actionForm, labelled, select } from '../actions.js';
import type { Api } from '../api.js';
import { card } from '../view.js';
import type { AgentWithFiles, KnowledgeFile } from './knowledge-view.js';

/** Gives files to an agent, beside those that its configuration lists. */
export function agentFiles(api: Api, agents: readonly AgentWithFiles[], files: readonly KnowledgeFile[]): HTMLElement {
  const agent = select(
    'agent',
    agents[0]?.id ?? '',
    agents.map(({ id, name }) => [id, name] as const),
  );
  const boxes = el('div', { class: 'boxes', role: 'group', 'aria-label': 'Files' });
  const state = el('p', { role: 'status' });
  const show = (): void => {
    const listed = new Set(agents.find(({ id }) => id === agent.value)?.config.knowledge_base?.files ?? []);
    boxes.replaceChildren(
      ...files.map(({ id, name }) => {
        const isListed = listed.has(id);
        const box = el('input', { type: 'checkbox', value: id, ...(isListed && { checked: '', disabled: '' }) });
        return el(
          'label',
          {},
          box,
          ` ${name}`,
          ...(isListed ? [el('span', { class: 'soft' }, ' by its configuration')] : []),
        );
      }),
    );
    state.textContent = '';
  };
  agent.addEventListener('change', show);
  show();
  const form = actionForm('Files of an agent', [labelled('Agent', agent), boxes], 'Give', async () => {
    const chosen = [...boxes.querySelectorAll<HTMLInputElement>('input:checked:enabled')].map(({ value }) => value);
    await api.send('POST', '/knowledge/set_agent_files', { agent_id: agent.value, file_ids: chosen });
    const count =
      chosen.length === 0 ? 'no files' : chosen.length === 1 ? 'one file' : `${String(chosen.length)} files`;
    state.textContent = `Given: ${count}, from the next session on.`;
  });
  const about =
    'They take the place of those given to it here before, which the daemon does not tell: choose all that it is to have.';
  return card('Files of an agent', el('p', { class: 'soft' }, about), form, state);
}
