import type { RunningCall } from '../../../daemon/live/running-call.js';
import { el } from '../../shared/elements.js';
import { labelled, select } from '../actions.js';
import { AgentNames } from '../agent-names.js';
import type { ServerEvent } from '../sse.js';
import { empty, loading, type View, type ViewOptions } from '../view.js';
import {
  type ActiveFilters,
  countWords,
  isShown,
  orderOf,
  STATE_WORDS,
  WARNING_KINDS,
  WARNING_WORDS,
} from './active-call.js';
import { ActiveRow, rowId } from './active-row.js';
import { CallDetail, KEYS } from './call-detail.js';
import { WaitingCalls } from './waiting-calls.js';

/** Rows that are drawn; a button draws as many more. */
const PAGE = 100;
/** Changes within this time are drawn once. */
const PACE_MS = 200;
const TICK_MS = 1000;
const KEY_WORDS: Readonly<Record<(typeof KEYS)[number][1], string>> = {
  listen: 'listen, or stop',
  whisper: 'whisper to the agent, or stop',
  take_over: 'take over, or give back',
  say: 'tell the agent what to say or know',
  transfer: 'transfer',
  call_in: 'call somebody into the call',
  hold: 'hold, or take off hold',
  mute: 'mute the agent, or unmute',
  stop: 'stop what the agent says',
  end: 'end the call (press twice)',
};

/** All running calls, and the chosen one beside them. */
export function activeView(options: ViewOptions): View {
  const page = new ActiveCalls(options);
  return { element: page.element, title: 'Active calls', close: () => page.close() };
}

class ActiveCalls {
  readonly element = el('div', { class: 'stack' });
  readonly #api: ViewOptions['api'];
  readonly #names: AgentNames;
  readonly #abort = new AbortController();
  readonly #live = el('span', { class: 'live-mark', role: 'status' });
  readonly #counts = el('p', { class: 'figures', 'aria-live': 'polite' });
  readonly #list = el('ul', {
    class: 'active-list',
    role: 'listbox',
    tabindex: '0',
    'aria-label': 'Active calls, those that need somebody first',
  });
  readonly #nothing = el('div', {}, loading('Loading calls'));
  readonly #sort = el(
    'button',
    { type: 'button', class: 'quiet-button', 'aria-keyshortcuts': 'o', hidden: '' },
    'Sort',
  );
  readonly #more = el('button', { type: 'button', class: 'quiet-button', hidden: '' });
  readonly #body: HTMLElement;
  readonly #waiting: WaitingCalls;
  readonly #detailBox = el('div', { class: 'active-side' }, empty('Choose a call to follow it.'));
  readonly #help = helpText();
  readonly #filters: ActiveFilters;
  readonly #calls = new Map<string, RunningCall>();
  /** Calls that have ended while the order is kept. */
  readonly #over = new Map<string, RunningCall>();
  readonly #rows = new Map<string, ActiveRow>();
  #order: string[] = [];
  #limit = PAGE;
  #chosen: string;
  #detail: CallDetail | null = null;
  #isPointed = false;
  #isKnown = false;
  #drawTimer = 0;
  readonly #tickTimer: number;

  constructor({ api, path, search }: ViewOptions) {
    this.#api = api;
    this.#chosen = path;
    this.#names = new AgentNames(api);
    this.#waiting = new WaitingCalls(api, this.#names);
    const given = new URLSearchParams(search);
    const value = (name: string): string => given.get(name) ?? '';
    this.#filters = { agent: value('agent'), state: value('state'), warning: value('warning') };
    const ask = el(
      'button',
      { type: 'button', class: 'quiet-button active-keys', 'aria-keyshortcuts': '?' },
      'Keyboard',
    );
    ask.addEventListener('click', () => this.#showHelp());
    this.#body = el(
      'div',
      { class: 'active' },
      el('div', { class: 'active-main' }, this.#sort, this.#nothing, this.#list, this.#more),
      this.#detailBox,
    );
    this.element.append(
      el('div', { class: 'heading' }, el('h1', {}, 'Active calls'), this.#live, this.#counts, ask),
      this.#help,
      this.#waiting.element,
      this.#body,
    );
    this.#listenToPage();
    this.#tickTimer = setInterval(() => this.#tick(), TICK_MS);
    void this.#load();
  }

  close(): void {
    this.#abort.abort();
    clearTimeout(this.#drawTimer);
    clearInterval(this.#tickTimer);
    this.#detail?.close();
    this.#waiting.close();
  }

  #listenToPage(): void {
    const { signal } = this.#abort;
    this.#list.addEventListener('pointerenter', ({ pointerType }) => (this.#isPointed = pointerType === 'mouse'));
    this.#list.addEventListener('pointerleave', () => {
      this.#isPointed = false;
      this.#drawSoon();
    });
    this.#list.addEventListener('blur', () => this.#drawSoon());
    this.#list.addEventListener('click', ({ target }) => {
      const id = (target as Element).closest<HTMLElement>('[data-id]')?.dataset['id'];
      if (id !== undefined) this.#choose(id, true);
    });
    this.#sort.addEventListener('click', () => this.#sortNow());
    this.#more.addEventListener('click', () => {
      this.#limit += PAGE;
      this.#draw();
    });
    document.addEventListener('keydown', (event) => this.#onKey(event), { signal });
  }

  async #load(): Promise<void> {
    const agents = await this.#names.load().catch(() => []);
    if (this.#abort.signal.aborted) return;
    const filters = filterBar(this.#filters, agents, () => {
      this.#keepAddress();
      this.#draw();
    });
    this.#body.before(filters);
    const onBreak = (isBroken: boolean): void => {
      this.#live.textContent = isBroken ? 'not live: the daemon does not answer' : 'live';
      this.#live.classList.toggle('broken', isBroken);
    };
    this.#api.events('/calls/live/events', (event) => this.#take(event), onBreak, this.#abort.signal);
  }

  #take({ event, data }: ServerEvent): void {
    if (event === 'calls') {
      const { calls } = JSON.parse(data) as { calls: RunningCall[] };
      this.#isKnown = true;
      const running = new Set(calls.map(({ session_id: id }) => id));
      for (const id of this.#calls.keys()) if (!running.has(id)) this.#end(id);
      for (const call of calls) this.#calls.set(call.session_id, call);
      if (this.#detail === null && this.#chosen !== '') this.#choose(this.#chosen, true);
    } else if (event === 'call') {
      const call = JSON.parse(data) as RunningCall;
      this.#calls.set(call.session_id, call);
      if (call.session_id === this.#detail?.sessionId) this.#detail.show(call);
    } else if (event === 'ended') this.#end((JSON.parse(data) as { session_id: string }).session_id);
    this.#drawSoon();
  }

  #end(id: string): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#calls.delete(id);
    if (this.#isOrderKept) this.#over.set(id, call);
    if (this.#detail?.sessionId === id) this.#detail.end();
  }

  /** While somebody points at the list, or moves in it by keys, nothing jumps. */
  get #isOrderKept(): boolean {
    return this.#isPointed || document.activeElement === this.#list;
  }

  #drawSoon(): void {
    if (this.#drawTimer !== 0) return;
    this.#drawTimer = setTimeout(() => {
      this.#drawTimer = 0;
      this.#draw();
    }, PACE_MS);
  }

  #sortNow(): void {
    this.#over.clear();
    this.#order = [];
    this.#draw(false);
    this.#list.scrollTop = 0;
  }

  #draw(isKept = this.#isOrderKept): void {
    if (!isKept) this.#over.clear();
    const running = [...this.#calls.values()];
    if (running.some(({ live }) => live?.state === 'waiting')) this.#waiting.watch();
    const shown = [...running, ...this.#over.values()].filter((call) => isShown(call, this.#filters));
    this.#order = orderOf(shown, this.#order, isKept);
    const ideal = isKept ? orderOf(shown, [], false) : this.#order;
    this.#sort.hidden = this.#order.every((id, at) => ideal[at] === id);
    const nowMs = Date.now();
    const drawn = this.#order.slice(0, this.#limit);
    for (const [at, id] of drawn.entries()) {
      const call = this.#calls.get(id) ?? this.#over.get(id);
      if (call === undefined) continue;
      const row = this.#rowOf(id);
      row.show(call, this.#names.of(call.agent_id), !this.#calls.has(id), nowMs);
      if (this.#list.children[at] !== row.element) {
        this.#list.insertBefore(row.element, this.#list.children[at] ?? null);
      }
    }
    this.#removeRows(new Set(drawn));
    const hidden = this.#order.length - drawn.length;
    this.#more.hidden = hidden === 0;
    this.#more.textContent = `Show ${String(Math.min(PAGE, hidden))} more of ${String(hidden)}`;
    this.#list.hidden = drawn.length === 0;
    const counts = this.#isKnown
      ? countWords(running, running.filter((call) => isShown(call, this.#filters)).length)
      : '';
    if (this.#counts.textContent !== counts) this.#counts.textContent = counts;
    this.#showNothing(running.length);
    this.#list.setAttribute('aria-activedescendant', this.#rows.has(this.#chosen) ? rowId(this.#chosen) : '');
  }

  #rowOf(id: string): ActiveRow {
    let row = this.#rows.get(id);
    if (row === undefined) {
      row = new ActiveRow(id);
      row.select(id === this.#chosen);
      this.#rows.set(id, row);
    }
    return row;
  }

  #removeRows(drawn: ReadonlySet<string>): void {
    for (const [id, row] of this.#rows) {
      if (drawn.has(id)) continue;
      row.element.remove();
      this.#rows.delete(id);
    }
  }

  #showNothing(running: number): void {
    if (!this.#isKnown) return;
    this.#nothing.hidden = this.#order.length > 0;
    this.#detailBox.hidden = this.#order.length === 0 && this.#detail === null;
    if (this.#order.length > 0) return;
    this.#nothing.replaceChildren(
      running > 0
        ? empty('No running call matches these filters.')
        : empty(
            'No calls at the moment. ',
            el('a', { href: '#/live' }, 'Talk to an agent'),
            ', and the call appears here.',
          ),
    );
  }

  #tick(): void {
    const nowMs = Date.now();
    for (const row of this.#rows.values()) row.tick(nowMs);
    this.#detail?.tick();
  }

  /** @param opens on a narrow screen, where it takes the place of the list */
  #choose(id: string, opens: boolean): void {
    this.#rows.get(this.#chosen)?.select(false);
    this.#chosen = id;
    this.#rows.get(id)?.select(true);
    this.#list.setAttribute('aria-activedescendant', this.#rows.has(id) ? rowId(id) : '');
    const call = this.#calls.get(id);
    if (call !== undefined && this.#detail?.sessionId !== id) {
      this.#detail?.close();
      this.#detail = new CallDetail(this.#api, call, this.#names.of(call.agent_id), () => this.#back());
      this.#detailBox.replaceChildren(this.#detail.element);
    }
    if (opens && this.#detail?.sessionId === id) this.#body.classList.add('open');
    this.#keepAddress();
  }

  #back(): void {
    this.#body.classList.remove('open');
    this.#list.focus();
  }

  /** The address leads here again, without loading the view anew. */
  #keepAddress(): void {
    const given = new URLSearchParams();
    for (const [name, value] of Object.entries(this.#filters) as [string, string][])
      if (value !== '') given.set(name, value);
    const id = this.#chosen === '' ? '' : `/${encodeURIComponent(this.#chosen)}`;
    history.replaceState(null, '', `#/active${id}${given.size === 0 ? '' : `?${given.toString()}`}`);
  }

  #onKey(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target.matches('input, select, textarea')) {
      if (event.key === 'Escape' && this.#detailBox.contains(target)) this.#list.focus();
      return;
    }
    if (this.#pressed(event.key, target)) event.preventDefault();
  }

  /** Returns whether the key means something here. */
  #pressed(key: string, target: HTMLElement): boolean {
    const isList = target === this.#list;
    if (key === 'j' || (isList && key === 'ArrowDown')) return this.#move(1);
    if (key === 'k' || (isList && key === 'ArrowUp')) return this.#move(-1);
    if (isList && (key === 'Home' || key === 'End')) return this.#move(key === 'Home' ? -Infinity : Infinity);
    if (isList && (key === 'Enter' || key === ' ')) {
      this.#choose(this.#chosen, true);
      return true;
    }
    if (key === '?') this.#showHelp();
    else if (key === 'o') this.#sortNow();
    else return this.#detail?.press(key) === true;
    return true;
  }

  #move(by: number): boolean {
    const drawn = this.#order.slice(0, this.#limit);
    const at = drawn.indexOf(this.#chosen);
    const next = drawn[Math.max(0, Math.min(drawn.length - 1, at === -1 && by < 0 ? 0 : at + by))];
    if (next === undefined) return true;
    this.#choose(next, false);
    this.#rows.get(next)?.element.scrollIntoView({ block: 'nearest' });
    return true;
  }

  #showHelp(): void {
    this.#help.hidden = !this.#help.hidden;
  }
}

function helpText(): HTMLElement {
  const rows: [string, string][] = [
    ['J K ↓ ↑', 'next and previous call'],
    ...KEYS.map(([key, name]): [string, string] => [key.toUpperCase(), KEY_WORDS[name]]),
    ['O', 'sort the list now'],
    ['Esc', 'from a field back to the list'],
    ['?', 'show or hide these keys'],
  ];
  const items = rows.map(([keys, words]) =>
    el('div', {}, el('dt', {}, ...keys.split(' ').flatMap((key) => [el('kbd', {}, key), ' '])), el('dd', {}, words)),
  );
  return el('section', { class: 'card active-help', 'aria-label': 'Keys', hidden: '' }, el('dl', {}, ...items));
}

/** The filters, which `onChange` finds changed. */
function filterBar(
  filters: ActiveFilters,
  agents: readonly { id: string; name: string }[],
  onChange: () => void,
): HTMLElement {
  const agent = select('Agent', filters.agent, [
    ['', 'All agents'],
    ...agents.map(({ id, name }) => [id, name] as const),
  ]);
  const state = select('State', filters.state, [['', 'Any state'], ...Object.entries(STATE_WORDS)]);
  const warning = select('Warning', filters.warning, [
    ['', 'With or without'],
    ['any', 'With warnings'],
    ...WARNING_KINDS.map((kind) => [kind, WARNING_WORDS[kind].label] as const),
  ]);
  const form = el(
    'form',
    { class: 'filters', role: 'search', 'aria-label': 'Filter active calls' },
    labelled('Agent', agent),
    labelled('State', state),
    labelled('Warnings', warning),
  );
  form.addEventListener('change', () => {
    Object.assign(filters, { agent: agent.value, state: state.value, warning: warning.value });
    onChange();
  });
  form.addEventListener('submit', (event) => event.preventDefault());
  return form;
}
