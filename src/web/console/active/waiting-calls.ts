import { el } from '../../shared/elements.js';
import { actionButton } from '../actions.js';
import type { AgentNames } from '../agent-names.js';
import type { ConsoleApi } from '../api.js';
import { clock } from '../words.js';

/** Of `GET /queues`. */
interface Queue {
  id: string;
  waiting: number;
}

/** Of `GET /queues/{queue_id}`: seconds, and minutes of priority. */
interface QueuedCall {
  session_id: string;
  kind: 'call' | 'callback';
  from: string;
  position: number;
  priority: number;
  waited: number;
  estimated_wait: number | null;
}

/** How often places and times are asked for while calls wait. */
const REFRESH_MS = 2_000;
/** By so many minutes a call that is to be next is ahead of the one before it. */
const AHEAD_MIN = 0.1;

/** The calls that wait in the queues of the node that answers, in the order of their turns. Hidden while none waits. */
export class WaitingCalls {
  readonly element: HTMLElement;
  readonly #api: ConsoleApi;
  readonly #names: AgentNames;
  readonly #rows = new Map<string, Row>();
  readonly #body = el('tbody', {});
  #timer = 0;
  #isAsking = false;
  #isClosed = false;

  constructor(api: ConsoleApi, names: AgentNames) {
    this.#api = api;
    this.#names = names;
    const heads = ['Place', 'Caller', 'Queue', 'Waited', 'To go', 'Actions'].map((text) =>
      el('th', { scope: 'col' }, text),
    );
    this.element = el(
      'section',
      { class: 'card', 'aria-labelledby': 'waiting-calls', hidden: '' },
      el('h2', { id: 'waiting-calls' }, 'Waiting calls'),
      el('div', { class: 'scroll-x' }, el('table', {}, el('thead', {}, el('tr', {}, ...heads)), this.#body)),
    );
  }

  /** A running call waits: asks for all that wait, until none does. */
  watch(): void {
    if (this.#timer === 0 && !this.#isAsking) void this.#refresh();
  }

  /** May be called twice. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #refresh(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#isAsking = true;
    try {
      const queues = (await this.#api.get<Queue[]>('/queues')).filter(({ waiting }) => waiting > 0);
      const details = await Promise.all(
        queues.map(({ id }) => this.#api.get<{ id: string; calls: QueuedCall[] }>(`/queues/${encodeURIComponent(id)}`)),
      );
      if (!this.#isClosed) this.#draw(details);
    } catch {
      // The mark beside the heading says that the daemon does not answer. A queue may also have emptied meanwhile.
    }
    this.#isAsking = false;
    if (!this.#isClosed && !this.element.hidden) this.#timer = setTimeout(() => void this.#refresh(), REFRESH_MS);
  }

  #draw(queues: readonly { id: string; calls: readonly QueuedCall[] }[]): void {
    const shown = new Set<string>();
    let last: Element | null = null;
    for (const { id, calls } of queues) {
      for (const call of calls) {
        shown.add(call.session_id);
        const row = this.#rowOf(call.session_id);
        row.show(call, this.#names.of(id), nextPriority(call, calls));
        const next: Element | null = last === null ? this.#body.firstElementChild : last.nextElementSibling;
        if (next !== row.element) this.#body.insertBefore(row.element, next);
        last = row.element;
      }
    }
    for (const [id, row] of this.#rows) {
      if (shown.has(id)) continue;
      row.element.remove();
      this.#rows.delete(id);
    }
    this.element.hidden = shown.size === 0;
  }

  #rowOf(id: string): Row {
    let row = this.#rows.get(id);
    if (row === undefined) {
      const path = `/queued_calls/${encodeURIComponent(id)}`;
      const change = async (method: 'POST' | 'DELETE', below: string, body?: unknown): Promise<void> => {
        await this.#api.send(method, path + below, body);
        await this.#refresh();
      };
      row = new Row({
        next: (priority) => change('POST', '/priority', { priority }),
        remove: () => change('DELETE', ''),
      });
      this.#rows.set(id, row);
    }
    return row;
  }
}

/** A waiting call. Its buttons stay while its figures change. */
class Row {
  readonly element: HTMLElement;
  readonly #cells = Array.from({ length: 5 }, () => el('td', {}));
  readonly #next: HTMLElement;
  #priority = 0;

  constructor(actions: { next: (priority: number) => Promise<void>; remove: () => Promise<void> }) {
    this.#next = actionButton('Next', () => actions.next(this.#priority));
    const remove = actionButton('Remove', actions.remove, { confirm: 'Really end its wait?' });
    this.element = el('tr', {}, ...this.#cells, el('td', {}, this.#next, ' ', remove));
  }

  /** @param priority that makes it the next of its queue */
  show(call: QueuedCall, queue: string, priority: number): void {
    this.#priority = priority;
    this.#next.hidden = call.position === 1;
    const toGo = call.estimated_wait === null ? 'unknown' : `about ${clock(call.estimated_wait)}`;
    const caller = call.kind === 'callback' ? `${call.from}, to be called back` : call.from || 'browser';
    const texts = [String(call.position), caller, queue, clock(call.waited), toGo];
    for (const [at, cell] of this.#cells.entries()) cell.textContent = texts[at] ?? '';
    for (const button of this.element.querySelectorAll('button')) {
      button.setAttribute('aria-description', `call of ${call.from}`);
    }
  }
}

/** A point of priority counts as a minute of waiting. */
function nextPriority({ session_id: id, waited }: QueuedCall, calls: readonly QueuedCall[]): number {
  const others = calls.filter((call) => call.session_id !== id);
  const most = Math.max(0, ...others.map((call) => call.priority + call.waited / 60));
  return Math.min(1440, most - waited / 60 + AHEAD_MIN);
}
