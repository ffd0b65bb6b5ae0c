import { el } from '../../shared/elements.js';
import { actionButton } from '../actions.js';
import type { ConsoleApi } from '../api.js';
import { type ProgressOfRun, runPath } from './eval-types.js';

const PARTS = [
  { name: 'passed', look: 'finished' },
  { name: 'failed', look: 'failed' },
] as const;

/** How far a run is, as it changes. */
export class RunProgress {
  readonly element = el('div', { class: 'progress' });
  readonly #bar = el('div', { class: 'progress-bar', role: 'img' });
  readonly #figures = el('p', { class: 'figures soft', role: 'status' }, 'Starting …');
  readonly #abort = new AbortController();

  /** @param onOver is called once, when the run is over */
  constructor(api: ConsoleApi, runId: string, onOver: () => void) {
    const cancel = actionButton('Cancel', async () => void (await api.send('POST', `${runPath(runId)}/cancel`)));
    this.element.append(this.#bar, el('div', { class: 'row' }, this.#figures, cancel));
    api.events(
      `${runPath(runId)}/progress`,
      ({ event, data }) => {
        if (event !== 'progress') return;
        const progress = JSON.parse(data) as ProgressOfRun;
        this.#show(progress);
        if (progress.status === 'queued' || progress.status === 'running') return;
        this.close();
        onOver();
      },
      (isBroken) => {
        if (isBroken) this.#figures.textContent = 'The daemon does not answer; trying again …';
      },
      this.#abort.signal,
    );
  }

  /** May be called twice. */
  close(): void {
    this.#abort.abort();
  }

  #show({ status, done, total, passed, failed }: ProgressOfRun): void {
    const counts = { passed, failed };
    const parts = [
      ...PARTS.map(({ name, look }) => ({ look, count: counts[name] })),
      { look: 'not_started', count: Math.max(0, total - done) },
    ];
    this.#bar.replaceChildren(
      ...parts
        .filter(({ count }) => count > 0)
        .map(({ look, count }) => {
          const part = el('span', { class: look });
          part.style.flexGrow = String(count);
          return part;
        }),
    );
    const count = total === 0 ? 'The first call is on' : `${String(done)} of ${String(total)} calls`;
    const words = status === 'queued' ? 'Waits for other runs' : count;
    this.#bar.setAttribute('aria-label', words);
    this.#figures.textContent = failed === 0 ? words : `${words} · ${String(failed)} did not pass`;
  }
}
