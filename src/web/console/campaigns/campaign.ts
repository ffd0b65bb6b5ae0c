import { el } from '../../shared/elements.js';
import type { ConsoleApi } from '../api.js';
import { wholeTime } from '../words.js';

export type CampaignStatusName = 'idle' | 'started' | 'paused' | 'finished' | 'failed';

/** A campaign of `/campaigns`. */
export interface Campaign {
  id: string;
  name: string;
  status: CampaignStatusName;
  /** Unix seconds. */
  created_at: number;
  caller: string | null;
  include_metadata_in_prompt: boolean;
}

/** Progress from `GET /campaigns/{id}/progress`. */
export interface CampaignProgressReply {
  status: CampaignStatusName;
  /** The reason of a failure. */
  reason: string | null;
  total: number;
  not_started: number;
  started: number;
  finished: number;
  failed: number;
  rejected: number;
  /** Calls in progress. */
  calls: number;
  /** Unix seconds; null = depends on events. */
  next_call_at: number | null;
  /** Why the next call waits; null = it does not, or there is none. */
  next_call_reason: string | null;
}

/** A person to call, with progress. */
export interface CampaignRecord {
  phone: string;
  metadata: Readonly<Record<string, unknown>>;
  session_id: string | null;
  call_status: 'not_started' | 'started' | 'finished' | 'failed' | 'rejected';
  attempts: number;
  next_call_at: number | null;
  reason: string | null;
}

export function campaignPath(id: string): string {
  return `/campaigns/${encodeURIComponent(id)}`;
}

/** The CSS class of a status. */
export function pillOf(status: CampaignStatusName): string {
  return status === 'started' ? 'running' : status === 'failed' ? 'failed' : '';
}

/** A record's metadata, for people. */
export function metadataText(metadata: CampaignRecord['metadata']): string {
  const values = Object.values(metadata).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return values.filter((value) => value !== '').join(', ');
}

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
