import { el } from '../../shared/elements.js';
import { actionButton, actionForm, labelled, select } from '../actions.js';
import { type ConsoleApi, messageOf } from '../api.js';
import type { Phone } from '../numbers/numbers-view.js';
import { card, failure, loading, type View, type ViewOptions, empty, Loaded } from '../view.js';
import { wholeTime } from '../words.js';
import {
  type Campaign,
  campaignPath,
  type CampaignProgressReply,
  type CampaignStatusName,
  metadataText,
  pillOf,
  type CampaignRecord,
  CampaignProgressBar,
} from './campaign.js';
import { ScheduleForm } from './schedule-form.js';
import { type CsvRecord, inPieces, readRecords } from './records-file.js';

/** Number of records shown before adding them. */
const SHOWN = 3;

/** Adds people from a file, which the page reads. */
function recordsUpload(api: ConsoleApi, path: string, onAdded: () => void): HTMLElement {
  const file = el('input', { type: 'file', accept: '.csv,.tsv,.txt,.json', required: '' });
  const state = el('div', { role: 'status' });
  let records: CsvRecord[] = [];
  file.addEventListener('change', () => {
    void read(file.files?.[0] ?? null);
  });

  async function read(chosen: File | null): Promise<void> {
    records = [];
    state.replaceChildren();
    file.setCustomValidity('');
    if (chosen === null) return;
    try {
      records = readRecords(await chosen.text());
      state.replaceChildren(...preview(records));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      file.setCustomValidity(message);
      state.replaceChildren(el('p', { class: 'fault' }, `${chosen.name} cannot be read: ${message}`));
    }
  }

  const form = actionForm('Add people', [labelled('CSV or JSON', file)], 'Add', async () => {
    let isWhole = true;
    const pieces = inPieces(records);
    for (const [at, piece] of pieces.entries()) {
      state.replaceChildren(el('p', {}, `Adding, ${String(at + 1)} of ${String(pieces.length)} …`));
      const { success } = await api.send<{ success: boolean }>('POST', `${path}/records`, piece);
      isWhole &&= success;
    }
    const count = records.length;
    form.reset();
    records = [];
    const done = isWhole
      ? `All ${String(count)} are in it.`
      : `Some of the ${String(count)} were refused: they are below, under “rejected”, with the reason.`;
    state.replaceChildren(el('p', {}, done));
    onAdded();
  });
  const about = 'A table with a column “phone”, numbers with their country’s code; the other columns become metadata.';
  return card('Add people', el('p', { class: 'soft' }, about), form, state);
}

function preview(records: readonly CsvRecord[]): HTMLElement[] {
  const items = records
    .slice(0, SHOWN)
    .map(({ phone, metadata }) => el('li', {}, `${phone} ${metadataText(metadata)}`));
  const more = records.length - items.length;
  const rest = more > 0 ? [el('li', { class: 'soft' }, `and ${String(more)} more`)] : [];
  return [el('ul', { class: 'preview' }, ...items, ...rest)];
}

/** One campaign: its people, its progress, start and stop. */
export function campaignView(options: ViewOptions): View {
  const page = new CampaignPage(options);
  return { element: page.element, title: 'Campaign', close: () => page.close() };
}

class CampaignPage {
  readonly element = el('div', { class: 'stack' });
  readonly #api: ViewOptions['api'];
  readonly #path: string;
  readonly #status = el('span', { class: 'pill', role: 'status' });
  readonly #actions = el('p', { class: 'item-actions' });
  readonly #records: RecordsTable;
  readonly #id: string;
  #bar: CampaignProgressBar | null = null;
  #shown: CampaignStatusName | null = null;
  #closed = false;

  constructor({ api, path }: ViewOptions) {
    this.#api = api;
    this.#id = path;
    this.#path = campaignPath(path);
    this.#records = new RecordsTable(api, this.#path);
    void this.#load();
  }

  close(): void {
    this.#closed = true;
    this.#bar?.close();
    this.#records.close();
  }

  async #load(): Promise<void> {
    this.element.replaceChildren(loading('Loading the campaign'));
    try {
      const [campaign, phones] = await Promise.all([
        this.#api.get<Campaign>(`${this.#path}/info`),
        this.#api.get<Phone[]>('/phones'),
      ]);
      if (!this.#closed) this.#show(campaign, phones);
    } catch (error) {
      this.element.replaceChildren(
        back(),
        failure(error, () => void this.#load()),
      );
    }
  }

  #show(campaign: Campaign, phones: readonly Phone[]): void {
    const { name, created_at: at, status } = campaign;
    this.#follow();
    this.#showStatus(status);
    const isOver = status === 'finished';
    this.element.replaceChildren(
      el(
        'header',
        { class: 'call-top' },
        back(),
        el('h1', {}, name),
        el('p', { class: 'facts-line' }, this.#status, el('span', { class: 'soft' }, `made ${wholeTime(at)}`)),
      ),
      card('Progress', this.#bar?.element ?? '', this.#actions),
      el(
        'div',
        { class: 'columns' },
        card('Calls with', this.#caller(campaign, phones)),
        ...(isOver ? [] : [recordsUpload(this.#api, this.#path, () => this.#records.refresh())]),
      ),
      card('Contacts', this.#records.element),
      new ScheduleForm(this.#api, this.#path).element,
    );
  }

  #follow(): void {
    this.#bar?.close();
    this.#bar = new CampaignProgressBar(this.#api, this.#id, (progress) => this.#onProgress(progress));
  }

  #onProgress({ status }: CampaignProgressReply): void {
    if (this.#closed) return;
    this.#showStatus(status);
    this.#records.refresh();
  }

  #showStatus(status: CampaignStatusName): void {
    if (this.#shown === status) return;
    this.#shown = status;
    this.#status.className = `pill ${pillOf(status)}`;
    this.#status.textContent = status;
    const isCalling = status === 'started';
    const act = async (what: 'start' | 'stop'): Promise<void> => {
      const campaign = await this.#api.send<Campaign>('POST', `${this.#path}/${what}`);
      this.#showStatus(campaign.status);
    };
    this.#actions.replaceChildren(
      ...(status === 'finished'
        ? []
        : [
            isCalling
              ? actionButton('Stop', () => act('stop'))
              : actionButton(status === 'idle' ? 'Start' : 'Go on', () => act('start'), { class: 'main-button' }),
          ]),
      el('a', { href: `#/calls?campaign=${encodeURIComponent(this.#id)}` }, 'Its calls'),
      ...(isCalling
        ? []
        : [
            actionButton('Delete', () => this.#delete(), {
              class: 'quiet-button danger',
              confirm: 'Really delete, with its records?',
            }),
          ]),
    );
  }

  async #delete(): Promise<void> {
    await this.#api.send('DELETE', this.#path);
    location.hash = '#/campaigns';
  }

  /** The number, and whether the prompt contains each record's metadata. */
  #caller({ caller, include_metadata_in_prompt: includes, status }: Campaign, phones: readonly Phone[]): HTMLElement {
    const fault = el('p', { class: 'fault', role: 'alert' });
    const sends = (path: string, body: () => object, method: 'POST' | 'PUT') => (): void => {
      fault.textContent = '';
      this.#api.send(method, this.#path + path, body()).catch((error: unknown) => {
        fault.textContent = messageOf(error);
      });
    };
    const number = select('caller', caller ?? '', [
      ['', 'No number yet'],
      ...phones.map(({ id, agent_id: agent }) => [id, agent === null ? `${id}, without an agent` : id] as const),
    ]);
    const metadata = el('input', { type: 'checkbox', checked: includes ? '' : null });
    number.disabled = metadata.disabled = status === 'finished';
    const setCaller = sends('/set_caller', () => ({ phone: number.value }), 'POST');
    number.addEventListener('change', () => number.value !== '' && setCaller());
    metadata.addEventListener(
      'change',
      sends('/info', () => ({ include_metadata_in_prompt: metadata.checked }), 'PUT'),
    );
    return el(
      'div',
      { class: 'filters' },
      labelled('One of our numbers; its agent talks', number),
      el('label', { class: 'check' }, metadata, ' Metadata of each record in the prompt'),
      fault,
      ...(phones.length === 0
        ? [el('p', { class: 'soft' }, 'There are no numbers. ', el('a', { href: '#/numbers' }, 'Buy one'), ' first.')]
        : []),
    );
  }
}

function back(): HTMLElement {
  return el('a', { href: '#/campaigns', class: 'back' }, '← Campaigns');
}

interface RecordPage {
  records: CampaignRecord[];
  next_cursor: number;
}

const PAGE = 100;
/** Changes close together are requested once. */
const REFRESH_MS = 500;
const STATES = ['not_started', 'started', 'finished', 'failed', 'rejected'];

/** A campaign's people, with their progress. */
class RecordsTable {
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

  constructor(api: ConsoleApi, path: string) {
    this.#api = api;
    this.#path = `${path}/records`;
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
