import type { CallHistoryItem } from '../../../session/record/call-history.js';
import { el } from '../../shared/elements.js';
import { duration } from '../../page/times.js';
import { AgentNames, type AgentName } from '../agent-names.js';
import { empty, failure, loading, type View, type ViewOptions } from '../view.js';
import { callRow } from './call-rows.js';
import { type CallFilters, filtersOf, queryOf, searchOf, NO_FILTERS, mergedCalls } from './filters.js';
import { listTimes } from './list-times.js';
import { labelled, select } from '../actions.js';
import { STATUS_NAMES, statusWords } from '../statuses.js';

interface CallPage {
  histories: CallHistoryItem[];
  next_cursor: number;
}

const PAGE = 50;
/** Calls that start or end together are requested once. */
const REFRESH_MS = 400;

/** The list of calls. */
export function callsView(options: ViewOptions): View {
  const list = new CallList(options);
  return { element: list.element, title: 'Calls', close: () => list.close() };
}

class CallList {
  readonly element = el('div', { class: 'stack' });
  readonly #api: ViewOptions['api'];
  readonly #filters: CallFilters;
  readonly #names: AgentNames;
  readonly #abort = new AbortController();
  readonly #body = el('div', {}, loading('Loading calls'));
  readonly #figures = el('p', { class: 'figures', 'aria-live': 'polite' });
  readonly #live = el('span', { class: 'live-mark', role: 'status' });
  #calls: readonly CallHistoryItem[] = [];
  #cursor = 0;
  #timer = 0;

  constructor({ api, search }: ViewOptions) {
    this.#api = api;
    this.#names = new AgentNames(api);
    this.#filters = filtersOf(search);
    this.element.append(el('div', { class: 'heading' }, el('h1', {}, 'Calls'), this.#live, this.#figures), this.#body);
    void this.#load();
  }

  close(): void {
    this.#abort.abort();
    clearTimeout(this.#timer);
  }

  async #load(): Promise<void> {
    this.#body.replaceChildren(loading('Loading calls'));
    try {
      const agents = await this.#names.load();
      const page = await this.#page(0);
      this.element.querySelector('.filters')?.remove();
      this.#body.before(filterBar(this.#filters, agents, (filters) => this.#filter(filters)));
      this.#calls = page.histories;
      this.#cursor = page.next_cursor;
      this.#show();
      this.#follow();
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#body.replaceChildren(failure(error, () => void this.#load()));
    }
  }

  #filter(filters: CallFilters): void {
    const search = searchOf(filters);
    location.hash = search === '' ? '#/calls' : `#/calls?${search}`;
  }

  #page(after: number): Promise<CallPage> {
    const query = { ...queryOf(this.#filters), limit: PAGE, start_after_ts: after === 0 ? undefined : after };
    return this.#api.get<CallPage>('/call-logs', query);
  }

  /** Follows calls that start and end while the list is open. */
  #follow(): void {
    const onEvent = ({ event }: { event: string }): void => {
      if (event !== 'status' && event !== 'gap') return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#refresh(), REFRESH_MS);
    };
    const onBreak = (isBroken: boolean): void => {
      this.#live.textContent = isBroken ? 'not live: the daemon does not answer' : 'live';
      this.#live.classList.toggle('broken', isBroken);
      if (!isBroken) void this.#refresh();
    };
    this.#api.events('/events', onEvent, onBreak, this.#abort.signal);
  }

  async #refresh(): Promise<void> {
    try {
      const { histories } = await this.#page(0);
      if (this.#abort.signal.aborted) return;
      this.#calls = mergedCalls(this.#calls, histories);
      this.#show();
    } catch {
      // The next event retries; the loss of the daemon is shown already.
    }
  }

  async #more(button: HTMLButtonElement): Promise<void> {
    button.disabled = true;
    try {
      const page = await this.#page(this.#cursor);
      this.#cursor = page.next_cursor;
      this.#calls = mergedCalls(this.#calls, page.histories);
      this.#show();
    } catch (error) {
      button.replaceWith(failure(error, () => this.#show()));
    }
  }

  #show(): void {
    this.#showFigures();
    if (this.#calls.length === 0) {
      const isFiltered = searchOf(this.#filters) !== '';
      this.#body.replaceChildren(
        isFiltered
          ? empty('No calls match these filters.')
          : empty('No calls yet. ', el('a', { href: '#/live' }, 'Talk to an agent'), ', and it appears here.'),
      );
      return;
    }
    const focused = (document.activeElement as HTMLElement | null)?.dataset['id'];
    const nowMs = Date.now();
    const rows = this.#calls.map((call) => callRow(call, this.#names.of(call.agent_id), nowMs));
    const head = ['Began', 'Agent', 'With', 'Duration', 'p50 / p95', 'Status'].map((text) => el('span', {}, text));
    const list = el('ol', { class: 'calls' }, ...rows);
    this.#body.replaceChildren(
      el('div', { class: 'call-head', 'aria-hidden': 'true' }, ...head),
      list,
      ...this.#older(),
    );
    if (focused !== undefined) list.querySelector<HTMLElement>(`[data-id="${CSS.escape(focused)}"]`)?.focus();
  }

  #older(): HTMLElement[] {
    if (this.#cursor === 0) return [];
    const button = el('button', { type: 'button', class: 'quiet-button older' }, 'Older calls');
    button.addEventListener('click', () => void this.#more(button));
    return [button];
  }

  #showFigures(): void {
    const times = listTimes(this.#calls);
    if (times === null) {
      this.#figures.replaceChildren();
      return;
    }
    const { p50, p95, answers, calls } = times;
    const about = 'Of the medians and of the 95th percentiles of the calls in the list, each counted once per turn';
    this.#figures.replaceChildren(
      el(
        'span',
        { title: about },
        'Response time p50 ',
        el('b', {}, duration(p50)),
        ' · p95 ',
        el('b', {}, duration(p95)),
      ),
      el('span', { class: 'soft' }, ` ${String(answers)} turns in ${String(calls)} calls`),
    );
  }
}

/** The filters of the list. A text applies on Enter or when its field loses the focus. */
function filterBar(
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
