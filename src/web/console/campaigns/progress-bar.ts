import { el } from '../../shared/elements.js';
import type { ConsoleApi } from '../api.js';
import { wholeTime } from '../words.js';
import type { CampaignProgressReply } from './campaign.js';

const PARTS = [
  { name: 'finished', label: 'finished' },
  { name: 'failed', label: 'failed' },
  { name: 'started', label: 'being called, or called again' },
  { name: 'not_started', label: 'not called yet' },
] as const;

/** A campaign's live progress: a bar of all its records, and figures. */
export class CampaignProgressBar {
  readonly element = el('div', { class: 'progress' });
  readonly #bar = el('div', { class: 'progress-bar', role: 'img' });
  readonly #figures = el('p', { class: 'figures soft' });
  readonly #abort = new AbortController();

  /** @param onProgress called with each state */
  constructor(api: ConsoleApi, id: string, onProgress: (progress: CampaignProgressReply) => void = () => undefined) {
    this.element.append(this.#bar, this.#figures);
    api.events(
      `/campaigns/${encodeURIComponent(id)}/progress`,
      ({ event, data }) => {
        if (event !== 'progress') return;
        const progress = JSON.parse(data) as CampaignProgressReply;
        this.#show(progress);
        onProgress(progress);
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

  #show(progress: CampaignProgressReply): void {
    const { total, calls, rejected, next_call_at: nextAt, next_call_reason: why, reason, status } = progress;
    const shown = PARTS.filter(({ name }) => progress[name] > 0);
    this.#bar.replaceChildren(
      ...shown.map(({ name }) => {
        const part = el('span', { class: name });
        part.style.flexGrow = String(progress[name]);
        return part;
      }),
    );
    const words = [
      ...shown.map(({ name, label }) => `${String(progress[name])} ${label}`),
      ...(rejected > 0 ? [`${String(rejected)} refused at the upload`] : []),
      ...(calls > 0 ? [`${String(calls)} on the line now`] : []),
      ...(nextAt !== null && status === 'started'
        ? [`next call ${wholeTime(nextAt)}${why === null ? '' : `: ${why}`}`]
        : []),
    ];
    this.#bar.setAttribute('aria-label', `${String(progress.finished + progress.failed)} of ${String(total)} done`);
    this.#figures.textContent = total === 0 ? 'No contacts yet' : words.join(' · ');
    if (reason !== null) this.#figures.append(' ', el('span', { class: 'fault' }, reason));
  }
}
