import { el } from '../../docs/elements.js';
import type { AgentName } from '../agents/agent-names.js';
import type { CallFilters } from './filters.js';
import { STATUS_NAMES } from './statuses.js';

/** The filters of the list, as fields. Typing waits for Enter or for leaving the field. */
export function filterBar(
  filters: CallFilters,
  agents: readonly AgentName[],
  onChange: (filters: CallFilters) => void,
): HTMLElement {
  const agent = select('Agent', filters.agent, [
    ['', 'All agents'],
    ...agents.map(({ id, name }): Choice => [id, name]),
  ]);
  const status = select('Status', filters.status, [
    ['', 'Any end'],
    ['COMPLETED', 'Completed'],
    ['FAILED', 'Failed'],
    ...STATUS_NAMES.map((name): Choice => [name, name.replaceAll('_', ' ')]),
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
    clear,
  );
  const read = (): void => {
    onChange({ agent: agent.value, status: status.value, number: number.value, from: from.value, to: to.value });
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    read();
  });
  form.addEventListener('change', read);
  clear.addEventListener('click', () => onChange({ agent: '', status: '', number: '', from: '', to: '' }));
  return form;
}

type Choice = readonly [value: string, text: string];

function select(name: string, value: string, choices: readonly Choice[]): HTMLSelectElement {
  const known = choices.some(([choice]) => choice === value) ? choices : [...choices, [value, value] as const];
  const element = el('select', { name }, ...known.map(([choice, text]) => el('option', { value: choice }, text)));
  element.value = value;
  return element;
}

function labelled(text: string, field: HTMLElement): HTMLElement {
  return el('label', {}, el('span', {}, text), field);
}
