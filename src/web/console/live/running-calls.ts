import type { CallHistoryItem } from '../../../session/call-history.js';
import { el } from '../../docs/elements.js';
import { AgentNames } from '../agents/agent-names.js';
import { type Api, messageOf } from '../api.js';
import { callRow } from '../calls/call-rows.js';
import { statusWords } from '../calls/statuses.js';
import { card } from '../view.js';

const REFRESH_MS = 400;
/** How far back calls that go on are looked for. */
const LOOKED_THROUGH = 100;

/** The calls that go on, each leading to its page, which watches it. */
export class RunningCalls {
  readonly element: HTMLElement;
  readonly #api: Api;
  readonly #names: AgentNames;
  readonly #body = el('div', {}, el('p', { class: 'soft' }, 'Looking …'));
  readonly #abort = new AbortController();
  #timer = 0;

  constructor(api: Api) {
    this.#api = api;
    this.#names = new AgentNames(api);
    this.element = card('Calls in progress', this.#body);
    const onBreak = (isBroken: boolean): void => {
      if (!isBroken) this.refresh();
      else this.#body.replaceChildren(el('p', { class: 'fault' }, 'The daemon does not answer; trying again …'));
    };
    api.events('/events', ({ event }) => void (event === 'status' && this.refresh()), onBreak, this.#abort.signal);
  }

  refresh(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#load(), REFRESH_MS);
  }

  close(): void {
    this.#abort.abort();
    clearTimeout(this.#timer);
  }

  async #load(): Promise<void> {
    try {
      await this.#names.load();
      const { histories } = await this.#api.get<{ histories: CallHistoryItem[] }>('/call-logs', {
        limit: LOOKED_THROUGH,
      });
      if (this.#abort.signal.aborted) return;
      const running = histories.filter(({ call_status: status }) => statusWords(status).group === 'running');
      const rows = running.map((call) => callRow(call, this.#names.of(call.agent_id), Date.now()));
      this.#body.replaceChildren(
        rows.length === 0
          ? el('p', { class: 'soft' }, 'None. One that begins appears here; open it to watch it.')
          : el('ol', { class: 'calls narrow' }, ...rows),
      );
    } catch (error) {
      this.#body.replaceChildren(el('p', { class: 'fault', role: 'alert' }, messageOf(error)));
    }
  }
}
