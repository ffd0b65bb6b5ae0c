import { el } from '../../shared/elements.js';
import { labelled, select } from '../actions.js';
import type { AgentName } from '../agent-names.js';
import { type CallFilters, NO_FILTERS } from './filters.js';
import { STATUS_NAMES, statusWords } from '../statuses.js';

/** The filters of the list. A text applies on Enter or when its field loses the focus. */
export function filterBar(
  filters: CallFilters,
  agents: readonly AgentName[],
  onChange: (filters: CallFilters) => void,
): HTMLElement {
  const agent = select('Agent', filters.agent, [
    ['', 'All agents'],
    ...agents.map(({ id, name }) => [id, name] as const),
  ]);
  const status = select('Status', filters.status, [
    ['', 'Any status'],
    ['COMPLETED', 'Completed'],
    ['FAILED', 'Failed'],
    ...STATUS_NAMES.map((name) => [name, statusWords(name).label] as const),
  ]);
  const number = el('input', {
    type: 'search',
    value: filters.number,
    placeholder: '+1202*, 0103',
    spellcheck: 'false',
  });
  const from = el('input', { type: 'date', value: filters.from });
  const to = el('input', { type: 'date', value: filters.to });
  const clear = el('button', { type: 'button', class: 'quiet-button' }, 'Clear');
  clear.hidden = Object.values(filters).every((value) => value === '');
  const form = el(
    'form',
    { class: 'filters', role: 'search', 'aria-label': 'Filter calls' },
    labelled('Agent', agent),
    labelled('Status', status),
    labelled('Number', number),
    labelled('From', from),
    labelled('To', to),
    ...(filters.campaign === '' ? [] : [el('span', { class: 'pill' }, 'of one campaign')]),
    clear,
  );
  const read = (): void => {
    const { campaign } = filters;
    onChange({
      campaign,
      agent: agent.value,
      status: status.value,
      number: number.value,
      from: from.value,
      to: to.value,
    });
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    read();
  });
  form.addEventListener('change', read);
  clear.addEventListener('click', () => onChange(NO_FILTERS));
  return form;
}
