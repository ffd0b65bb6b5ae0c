import { el } from '../../shared/elements.js';
import { labelled, select } from '../actions.js';
import { type ConsoleApi, messageOf } from '../api.js';
import type { StepCounts } from './graph.js';

const PERIODS = [
  ['', 'no figures'],
  ['1', 'today'],
  ['7', 'the last 7 days'],
  ['30', 'the last 30 days'],
  ['90', 'the last 90 days'],
] as const;
const DAY_MS = 86_400_000;

/** Chooses the time whose calls are counted. */
export class FigureChooser {
  readonly element: HTMLElement;
  readonly #api: ConsoleApi;
  readonly #agentId: string;
  readonly #period = select('Figures', '', PERIODS);
  readonly #words = el('p', { class: 'soft', role: 'status' });
  readonly #onCounts: (counts: StepCounts | null) => string;

  /** @param onCounts draws them; null = none. Returns them in words */
  constructor(api: ConsoleApi, agentId: string, onCounts: (counts: StepCounts | null) => string) {
    this.#api = api;
    this.#agentId = agentId;
    this.#onCounts = onCounts;
    this.element = el('div', { class: 'flow-bar' }, labelled('Where callers drop out', this.#period), this.#words);
    this.#period.addEventListener('change', () => void this.#load());
  }

  async #load(): Promise<void> {
    const days = Number(this.#period.value);
    this.#words.textContent = '';
    try {
      const counts = days === 0 ? null : await this.#counts(days);
      if (Number(this.#period.value) === days) this.#words.textContent = this.#onCounts(counts);
    } catch (error) {
      this.#words.textContent = messageOf(error);
    }
  }

  #counts(days: number): Promise<StepCounts> {
    const from = new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
    return this.#api.get<StepCounts>(`/agents/${encodeURIComponent(this.#agentId)}/steps`, { from });
  }
}
