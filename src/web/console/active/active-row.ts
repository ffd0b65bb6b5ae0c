import type { RunningCall } from '../../../daemon/live/running-call.js';
import { duration } from '../../page/times.js';
import { el } from '../../shared/elements.js';
import { clock } from '../words.js';
import { callerWords, stateWords, WARNING_WORDS } from './active-call.js';

/** A call in the list, an option of its listbox. */
export class ActiveRow {
  readonly element: HTMLElement;
  readonly #agent = el('span', { class: 'active-agent' });
  readonly #age = el('span', { class: 'figure active-age' });
  readonly #who = el('span', { class: 'active-who' });
  readonly #state = el('span', { class: 'active-state' });
  readonly #said = el('p', { class: 'active-said' });
  readonly #warnings = el('p', { class: 'active-warnings' });
  readonly #figures = el('span', { class: 'figure active-figures' });
  #call: RunningCall | null = null;

  constructor(sessionId: string) {
    this.element = el(
      'li',
      { class: 'active-row', role: 'option', id: rowId(sessionId), 'data-id': sessionId, 'aria-selected': 'false' },
      el('p', { class: 'active-line' }, this.#agent, this.#age),
      el('p', { class: 'active-line' }, this.#state, this.#who),
      this.#said,
      this.#warnings,
      this.#figures,
    );
  }

  /** @param isOver it has ended, and the order is kept */
  show(call: RunningCall, agent: string, isOver: boolean, nowMs: number): void {
    if (call === this.#call && this.element.classList.contains('over') === isOver) return;
    this.#call = call;
    const { live } = call;
    set(this.#agent, agent);
    set(this.#who, callerWords(call));
    const state = isOver ? 'ended' : stateWords(call);
    set(this.#state, state);
    this.#state.dataset['state'] = isOver ? 'over' : (live?.state ?? 'unknown');
    const said = live?.user_said ?? live?.agent_said ?? '';
    set(this.#said, said === '' ? '' : `${live?.user_said == null ? 'Agent' : 'Caller'}: ${said}`);
    const warnings = isOver ? [] : (live?.warnings ?? []);
    const marks = warnings.map(({ kind, detail }) => {
      const { label, why } = WARNING_WORDS[kind];
      return el('span', { class: 'warning', title: why }, detail === null ? label : `${label}: ${detail}`);
    });
    this.#warnings.replaceChildren(...marks);
    this.#figures.replaceChildren(...figures(call));
    this.element.classList.toggle('over', isOver);
    this.element.classList.toggle('warned', warnings.length > 0);
    this.tick(nowMs);
  }

  /** Shows how long the call goes on. */
  tick(nowMs: number): void {
    if (this.#call !== null && !this.element.classList.contains('over')) {
      set(this.#age, clock(nowMs / 1000 - this.#call.ts));
    }
  }

  select(isSelected: boolean): void {
    this.element.setAttribute('aria-selected', String(isSelected));
  }
}

export function rowId(sessionId: string): string {
  return `active-${sessionId}`;
}

/** Response time, mood and subject. */
function figures({ live }: RunningCall): (Node | string)[] {
  if (live === null) return [];
  const about = live.topic.words ?? [];
  const parts = [
    ...(live.response_ms === null ? [] : [duration(live.response_ms)]),
    ...(live.sentiment === null || live.sentiment.label === 'neutral'
      ? []
      : [el('span', { class: `mood ${live.sentiment.label}` }, live.sentiment.label)]),
    ...(about.length > 0 ? [about.join(', ')] : live.topic.tool === null ? [] : [live.topic.tool]),
  ];
  return parts.flatMap((part, at) => (at === 0 ? [part] : [' · ', part]));
}

/** Changes a text only if it is another one: 200 rows are updated at once. */
function set(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
