import { el } from '../../shared/elements.js';
import { actionButton, labelled, select } from '../actions.js';
import type { ConsoleApi } from '../api.js';
import { empty, Loaded } from '../view.js';
import { wholeTime } from '../words.js';
import { type CampaignRecord, metadataText } from './campaign.js';

interface RecordPage {
  records: CampaignRecord[];
  next_cursor: number;
}

const PAGE = 100;
/** Changes close together are requested once. */
const REFRESH_MS = 500;
const STATES = ['not_started', 'started', 'finished', 'failed', 'rejected'];

/** A campaign's people, with their progress. */
export class RecordsTable {
  readonly element: HTMLElement;
  readonly #api: ConsoleApi;
  readonly #path: string;
  readonly #list: Loaded;
  readonly #status = select('status', '', [
    ['', 'All that were taken'],
    ...STATES.map((state) => [state, state.replace('_', ' ')] as const),
  ]);
  #pages = 1;
  #timer = 0;

  constructor(api: ConsoleApi, campaignPath: string) {
    this.#api = api;
    this.#path = `${campaignPath}/records`;
    this.#list = new Loaded('Loading records', () => this.#rows());
    this.#status.addEventListener('change', () => {
      this.#pages = 1;
      void this.#list.refresh();
    });
    this.element = el(
      'div',
      { class: 'stack' },
      el('div', { class: 'filters' }, labelled('Status', this.#status)),
      this.#list.element,
    );
  }

  refresh(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#list.refresh(), REFRESH_MS);
  }

  /** May be called twice. */
  close(): void {
    clearTimeout(this.#timer);
  }

  async #rows(): Promise<HTMLElement[]> {
    const records: CampaignRecord[] = [];
    let after = 0;
    for (let page = 0; page < this.#pages; page++) {
      const query = {
        limit: PAGE,
        start_after: after,
        status: this.#status.value === '' ? undefined : this.#status.value,
      };
      const found = await this.#api.get<RecordPage>(this.#path, query);
      records.push(...found.records);
      after = found.next_cursor;
      if (after === 0) break;
    }
    if (records.length === 0)
      return [empty(this.#status.value === '' ? 'No contacts yet: add them from a file.' : 'None.')];
    const more = el('button', { type: 'button', class: 'quiet-button older' }, 'More');
    more.addEventListener('click', () => {
      this.#pages++;
      void this.#list.refresh();
    });
    return [
      el('ol', { class: 'calls' }, ...records.map((record) => this.#item(record))),
      ...(after === 0 ? [] : [more]),
    ];
  }

  #item(record: CampaignRecord): HTMLElement {
    const {
      phone,
      metadata,
      call_status: status,
      attempts,
      reason,
      next_call_at: nextAt,
      session_id: session,
    } = record;
    const isOpen = status === 'started' || status === 'not_started';
    const notes = [
      ...(attempts === 0 ? [] : [`${String(attempts)} ${attempts === 1 ? 'call' : 'calls'}`]),
      ...(reason === null ? [] : [reason]),
      ...(isOpen && attempts > 0 && nextAt !== null ? [`again ${wholeTime(nextAt)}`] : []),
    ];
    const remove = async (): Promise<void> => {
      await this.#api.send('DELETE', `${this.#path}/${encodeURIComponent(phone)}`);
      await this.#list.refresh();
    };
    return el(
      'li',
      { class: 'item' },
      el('div', {}, el('b', { class: 'figure' }, phone), ' ', metadataText(metadata)),
      el('span', { class: `pill ${PILLS[status] ?? ''}` }, status.replace('_', ' ')),
      el(
        'p',
        { class: 'soft' },
        notes.join(' · '),
        ...(session === null
          ? []
          : [' ', el('a', { href: `#/calls/${encodeURIComponent(session)}` }, 'The latest call')]),
      ),
      ...(status === 'not_started' ? [actionButton('Take out', remove, { label: `Take out ${phone}` })] : []),
    );
  }
}

const PILLS: Readonly<Partial<Record<CampaignRecord['call_status'], string>>> = {
  started: 'running',
  failed: 'failed',
  rejected: 'failed',
};
