import { el } from '../../shared/elements.js';
import { actionButton, actionForm, labelled, select } from '../actions.js';
import { ApiError, messageOf, type ConsoleApi } from '../api.js';
import { card } from '../view.js';
import { wholeTime } from '../words.js';
import { diffLines, shortened } from './diff.js';

/** As `GET /agents/{id}/publishing` answers. */
interface State {
  drafts: boolean;
  published_version: number;
  draft_version: number | null;
  split: { versions: readonly { version: number; weight: number }[] } | null;
  gate: string | null;
}

interface Version {
  version: number;
  name: string;
  config: unknown;
  script: unknown;
  extensions: unknown;
  changed_at: number;
  changed_by: string | null;
  note: string | null;
  published_at: number | null;
}

interface Entry {
  id: string;
  action: 'publish' | 'rollback' | 'split' | 'discard' | 'settings';
  status: 'checking' | 'scheduled' | 'done' | 'refused' | 'canceled';
  version: number | null;
  previous_version: number | null;
  note: string | null;
  publish_at: number | null;
  run_id: string | null;
  reason: string | null;
  failed_cases: readonly { name: string }[];
  is_override: boolean;
  by: { name: string } | null;
  created_at: number;
  finished_at: number | null;
}

interface Suite {
  id: string;
  name: string;
}

interface Share {
  count: number;
  of: number;
  rate: number | null;
  low: number | null;
  high: number | null;
}

interface Average {
  value: number | null;
  low: number | null;
  high: number | null;
}

interface Comparison {
  versions: readonly (Record<string, Share | Average | number> & {
    version: number;
    calls: number;
    conversations: number;
  })[];
  differences: readonly { version: number; figure: string; is_clear: boolean }[];
}

export interface PublishingPanelOptions {
  /** The shown part of a configuration. */
  shown: (config: unknown) => unknown;
  /** The working version is another one now. */
  onChanged: () => void;
}

const SHOWN = 50;
/** How often a publication that is being checked is looked at. */
const LOOK_MS = 1000;

/** Which version of an agent callers have: the draft, its publication, a split, and all versions. */
export class PublishingPanel {
  /** What callers have, and what can be done about it. */
  readonly banner = el('section', { class: 'card publishing', 'aria-label': 'Publishing' });
  readonly element = el('div', { class: 'stack' });
  readonly #api: ConsoleApi;
  readonly #id: string;
  readonly #path: string;
  readonly #options: PublishingPanelOptions;
  readonly #history = el('div', {}, el('p', { class: 'soft' }, 'Loading …'));
  readonly #split = el('div', {});
  readonly #log = el('div', {});
  readonly #status = el('p', { role: 'status', class: 'soft' });
  #timer = 0;
  #isClosed = false;

  constructor(api: ConsoleApi, agentId: string, options: PublishingPanelOptions) {
    this.#api = api;
    this.#id = agentId;
    this.#path = `/agents/${encodeURIComponent(agentId)}`;
    this.#options = options;
    this.element.append(card('Versions', this.#history), card('Split', this.#split), card('Who did what', this.#log));
    void this.load();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Shows what a save has made. */
  saved(): void {
    this.#status.textContent = '';
    void this.load();
  }

  async load(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      const [state, versions, entries, suites] = await Promise.all([
        this.#api.get<State>(`${this.#path}/publishing`),
        this.#api.get<Version[]>(`${this.#path}/versions`, { limit: SHOWN }),
        this.#api.get<Entry[]>(`${this.#path}/publications`, { limit: SHOWN }),
        this.#api.get<Suite[]>('/evals/suites', { agent_id: this.#id }),
      ]);
      if (this.#isClosed) return;
      const open = entries.find(({ finished_at: at }) => at === null) ?? null;
      this.#showBanner(state, entries[0] ?? null, open, suites);
      this.#showVersions(state, versions);
      this.#showSplit(state, versions);
      this.#showLog(entries);
      if (open !== null) this.#follow(open.id);
    } catch (error) {
      this.#history.replaceChildren(el('p', { class: 'fault', role: 'alert' }, messageOf(error)));
    }
  }

  /** Shows the end of an open publication when it comes. */
  #follow(id: string): void {
    this.#timer = setTimeout(() => {
      this.#api.get<Entry>(`${this.#path}/publications/${id}`).then(
        ({ status, finished_at: at }) => {
          if (this.#isClosed) return;
          if (at === null && status === 'checking') this.#follow(id);
          else if (at === null) this.#timer = setTimeout(() => this.#follow(id), LOOK_MS);
          else this.#options.onChanged();
        },
        () => this.#follow(id),
      );
    }, LOOK_MS);
  }

  /** Does something and shows how it stands afterwards. */
  async #do(method: 'POST' | 'PUT' | 'DELETE', path: string, body: unknown, done: string): Promise<void> {
    await this.#api.send(method, `${this.#path}${path}`, body);
    this.#status.textContent = done;
    this.#options.onChanged();
  }

  #showBanner(state: State, last: Entry | null, open: Entry | null, suites: readonly Suite[]): void {
    const { drafts, published_version: live, draft_version: draft, split } = state;
    const words =
      draft !== null
        ? [el('b', {}, `You edit draft ${String(draft)}. `), `Callers have version ${String(live)}.`]
        : drafts
          ? [`Callers have version ${String(live)}. What you save becomes a draft.`]
          : [`Callers have version ${String(live)}, and get each change at once.`];
    if (split !== null) words.push(' New callers are split between versions: see Split.');
    const pieces: HTMLElement[] = [el('p', {}, ...words)];
    if (open !== null) pieces.push(this.#openEntry(open));
    else if (last?.status === 'refused') pieces.push(refusal(last));
    if (draft !== null && open === null) pieces.push(this.#publishForm(draft, state.gate));
    pieces.push(this.#actions(state), this.#settings(state, suites), this.#status);
    this.banner.replaceChildren(...pieces);
  }

  #openEntry({ id, status, version, publish_at: at, run_id: run }: Entry): HTMLElement {
    const what = `Version ${String(version)}`;
    const when = at === null ? '' : ` It is published on ${wholeTime(at)}.`;
    const text = status === 'checking' ? `${what} is being tested.${when}` : `${what} waits.${when}`;
    return el(
      'p',
      { class: 'notice' },
      `${text} `,
      ...(run === null ? [] : [runLink(run), ' ']),
      actionButton('Cancel', () => this.#do('DELETE', `/publications/${id}`, undefined, 'Canceled.'), {
        label: 'Cancel the publication',
      }),
    );
  }

  #publishForm(draft: number, gate: string | null): HTMLElement {
    const note = el('input', { type: 'text', maxlength: '2000', placeholder: 'What changes for callers' });
    const at = el('input', { type: 'datetime-local' });
    const without = el('input', { type: 'text', maxlength: '2000' });
    const fields = [labelled('Note', note), labelled('At (empty = now)', at)];
    if (gate !== null) fields.push(labelled('Without the test, because', without));
    return actionForm('Publish the draft', fields, `Publish draft ${String(draft)}`, async () => {
      const body: Record<string, unknown> = { version: draft };
      if (note.value.trim() !== '') body['note'] = note.value.trim();
      if (at.value !== '') body['publish_at'] = new Date(at.value).getTime() / 1000;
      if (without.value.trim() !== '') body['override'] = without.value.trim();
      const { status } = await this.#api.send<Entry>('POST', `${this.#path}/publish`, body);
      this.#status.textContent =
        status === 'done' ? `Version ${String(draft)} is published.` : `Version ${String(draft)} is ${status}.`;
      this.#options.onChanged();
    });
  }

  #actions({ draft_version: draft, split }: State): HTMLElement {
    const buttons: HTMLElement[] = [];
    if (draft !== null) {
      const href = `#/live/${encodeURIComponent(this.#id)}?version=draft`;
      buttons.push(
        el('a', { href }, 'Talk to the draft'),
        actionButton('Discard the draft', () => this.#do('DELETE', '/draft', undefined, 'The draft is discarded.'), {
          class: 'quiet-button danger',
          confirm: 'Really discard it?',
        }),
      );
    }
    const text = split === null ? 'Roll back' : 'End the split';
    buttons.push(
      actionButton(text, () => this.#do('POST', '/rollback', {}, 'Callers have the version before again.'), {
        confirm: split === null ? 'Really go back to the version before?' : 'Really give all callers one version?',
      }),
    );
    return el('p', { class: 'publishing-actions' }, ...buttons);
  }

  #settings({ drafts, draft_version: draft, gate }: State, suites: readonly Suite[]): HTMLElement {
    const choices = [['', 'none'] as const, ...suites.map(({ id, name }) => [id, name] as const)];
    const suite = select('gate', gate ?? '', choices);
    const uses = el('input', { type: 'checkbox' });
    uses.checked = drafts;
    uses.disabled = draft !== null;
    const fields = [
      el('label', {}, uses, ' Changes become a draft'),
      labelled('Test suite that a version must pass', suite),
    ];
    const body = (): object => ({ drafts: uses.checked, gate: suite.value === '' ? null : suite.value });
    const form = actionForm('How changes are published', fields, 'Set', () =>
      this.#do('PUT', '/publishing', body(), 'Set.'),
    );
    return el('details', {}, el('summary', {}, 'How changes are published'), form);
  }

  #showVersions(state: State, versions: readonly Version[]): void {
    const items = versions.map((version, at) => {
      const isDraft = version.version === state.draft_version;
      // The draft is compared with what callers have.
      const live = versions.find((one) => one.version === state.published_version);
      return this.#item(version, (isDraft ? live : undefined) ?? versions[at + 1] ?? null, state);
    });
    this.#history.replaceChildren(el('ol', { class: 'versions' }, ...items));
  }

  #item(version: Version, before: Version | null, state: State): HTMLElement {
    const { version: number, note } = version;
    const isLive = number === state.published_version;
    const isDraft = number === state.draft_version;
    const summary = el(
      'summary',
      {},
      el('b', { class: 'figure' }, String(number)),
      el('span', {}, ` ${wholeTime(version.changed_at)}`),
      el('span', { class: 'soft' }, ` by ${version.changed_by ?? 'the daemon'}`),
      ...(isLive ? [' ', el('span', { class: 'pill' }, 'now')] : []),
      ...(isDraft ? [' ', el('span', { class: 'pill' }, 'draft')] : []),
      ...(note === null ? [] : [el('span', { class: 'version-note' }, note)]),
    );
    const details = el('details', {}, summary);
    details.addEventListener('toggle', () => details.append(this.#changes(before, version)), { once: true });
    const buttons = el('span', { class: 'version-buttons' });
    const of = `version ${String(number)}`;
    if (!isLive && version.published_at !== null) {
      const back = (): Promise<void> => this.#do('POST', '/rollback', { version: number }, `Callers have ${of} again.`);
      buttons.append(actionButton('Roll back', back, { label: `Roll back to ${of}`, confirm: 'Really?' }));
    }
    if (!(isDraft || (isLive && state.draft_version === null))) {
      const restore = (): Promise<void> =>
        this.#do('POST', `/versions/${String(number)}/restore`, undefined, 'Restored.');
      buttons.append(actionButton('Restore', restore, { label: `Restore ${of}` }));
    }
    return el('li', {}, details, buttons);
  }

  #changes(before: Version | null, version: Version): HTMLElement {
    if (before === null)
      return el('p', { class: 'soft' }, 'The oldest version shown: there is nothing to compare it with.');
    const lines = shortened(diffLines(this.#linesOf(before), this.#linesOf(version)));
    if (lines.every(({ sign }) => sign === ' ')) {
      return el('p', { class: 'soft' }, 'No visible change; a secret may have changed.');
    }
    const rows = lines.map(({ sign, text }) =>
      el('span', { class: sign === '+' ? 'added' : sign === '-' ? 'removed' : 'same' }, `${sign} ${text}\n`),
    );
    return el(
      'div',
      {},
      el('p', { class: 'soft' }, `Against version ${String(before.version)}:`),
      el('pre', { class: 'diff', tabindex: '0', 'aria-label': 'Changes' }, ...rows),
    );
  }

  #linesOf({ name, config, script, extensions }: Version): string[] {
    const whole = { name, config: this.#options.shown(config), script, ...(extensions === null ? {} : { extensions }) };
    return JSON.stringify(whole, null, 2).split('\n');
  }

  #showSplit({ split, published_version: live, draft_version: draft }: State, versions: readonly Version[]): void {
    const others = versions.map(({ version }) => version).filter((version) => version !== live);
    const pieces: HTMLElement[] = [];
    if (split !== null) {
      const all = split.versions.reduce((sum, { weight }) => sum + weight, 0);
      const shares = split.versions.map(
        ({ version, weight }) => `version ${String(version)}: ${percent(weight / all)}`,
      );
      pieces.push(el('p', {}, `New conversations: ${shares.join(', ')}. The same person gets the same version.`));
    } else pieces.push(el('p', { class: 'soft' }, 'All new conversations have one version.'));
    if (others.length > 0) {
      const asked = split?.versions.find(({ version }) => version !== live)?.version ?? draft ?? others[0];
      const which = select(
        'version',
        String(asked),
        others.map((each) => [String(each), String(each)] as const),
      );
      const share = el('input', { type: 'number', min: '1', max: '99', value: '10', required: '' });
      pieces.push(
        actionForm('Split', [labelled('Version', which), labelled('Share of callers, %', share)], 'Split', async () => {
          const weight = Number(share.value);
          const chosen = { version: Number(which.value), weight };
          const body = { versions: [{ version: live, weight: 100 - weight }, chosen] };
          await this.#do('PUT', '/split', body, 'Callers are split from now on.');
        }),
      );
    }
    const table = el('div', {});
    const compare = async (): Promise<void> => {
      table.replaceChildren(comparison(await this.#api.get<Comparison>(`${this.#path}/versions/compare`)));
    };
    pieces.push(actionButton('Compare the versions', compare), table);
    if (split !== null) compare().catch((error: unknown) => table.replaceChildren(fault(error)));
    this.#split.replaceChildren(...pieces);
  }

  #showLog(entries: readonly Entry[]): void {
    if (entries.length === 0) {
      this.#log.replaceChildren(el('p', { class: 'soft' }, 'Nobody has published, rolled back or split anything yet.'));
      return;
    }
    const items = entries.map((entry) =>
      el(
        'li',
        {},
        el('span', { class: 'soft' }, `${wholeTime(entry.created_at)} `),
        `${entry.by?.name ?? 'The daemon'} ${deedOf(entry)}`,
        ...(entry.note === null ? [] : [el('span', { class: 'version-note' }, entry.note)]),
        ...(entry.reason === null ? [] : [el('span', { class: 'version-note' }, entry.reason)]),
      ),
    );
    this.#log.replaceChildren(el('ol', { class: 'deeds' }, ...items));
  }
}

function refusal({ version, reason, failed_cases: failed, run_id: run }: Entry): HTMLElement {
  const names = failed.map(({ name }) => name).join(', ');
  return el(
    'p',
    { class: 'notice failure', role: 'alert' },
    `Version ${String(version)} was not published: ${reason ?? ''} ${names} `,
    ...(run === null ? [] : [runLink(run)]),
  );
}

function runLink(run: string): HTMLElement {
  return el('a', { href: `#/evals/run/${encodeURIComponent(run)}` }, 'See the test run');
}

const ENDS: Readonly<Record<Entry['status'], string>> = {
  checking: ', which is being tested',
  scheduled: ', which waits for its time',
  done: '',
  refused: ', which was refused',
  canceled: ', which was canceled',
};

/** What somebody did, after their name. */
function deedOf({ action, version, previous_version: before, status, is_override: isOverride }: Entry): string {
  const was = before === null || before === version ? '' : ` in place of ${String(before)}`;
  const how = isOverride ? ' without the test' : '';
  switch (action) {
    case 'publish':
      return `published version ${String(version)}${was}${how}${ENDS[status]}.`;
    case 'rollback':
      return `rolled back to version ${String(version)}${was}.`;
    case 'discard':
      return `discarded draft ${String(version)}.`;
    case 'split':
      return `changed the split${how}.`;
    case 'settings':
      return 'changed how changes are published.';
  }
}

type Figure = readonly [name: string, label: string, text: (value: number) => string];

const seconds = (value: number): string => `${value.toFixed(1)} s`;
const milliseconds = (value: number): string => `${value.toFixed(0)} ms`;
const FIGURES: readonly Figure[] = [
  ['completed', 'Completed', percent],
  ['voicemail', 'Voicemail', percent],
  ['transferred', 'Transferred', percent],
  ['tool_errors', 'With a failed function', percent],
  ['interruptions', 'Answers interrupted', percent],
  ['duration', 'Duration', seconds],
  ['response_p50', 'Response time, p50', milliseconds],
  ['response_p95', 'Response time, p95', milliseconds],
  ['cost', 'Cost', (value) => value.toFixed(3)],
];

function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 && share > 0 ? 1 : 0)} %`;
}

/** The figures of each version, with intervals. */
function comparison({ versions, differences }: Comparison): HTMLElement {
  const cell = (figures: Comparison['versions'][number], [name, , text]: Figure): HTMLElement => {
    const found = figures[name] as Share | Average;
    const value = 'rate' in found ? found.rate : found.value;
    if (value === null) return el('td', { class: 'soft' }, '–');
    const interval =
      found.low === null || found.high === null ? 'too few' : `${text(found.low)} to ${text(found.high)}`;
    const isClear = differences.some((one) => one.version === figures.version && one.figure === name && one.is_clear);
    return el(
      'td',
      {},
      text(value),
      ...(isClear ? [' ', el('b', { class: 'pill' }, 'clear')] : []),
      el('span', { class: 'interval' }, interval),
    );
  };
  const row = (label: string, cells: HTMLElement[]): HTMLElement =>
    el('tr', {}, el('th', { scope: 'row' }, label), ...cells);
  const head = versions.map(({ version }) => el('th', { scope: 'col' }, `Version ${String(version)}`));
  const counts = versions.map(({ calls, conversations }) =>
    el('td', {}, String(calls), el('span', { class: 'interval' }, `${String(conversations)} conversations`)),
  );
  const body = FIGURES.map((figure) =>
    row(
      figure[1],
      versions.map((one) => cell(one, figure)),
    ),
  );
  return el(
    'div',
    { class: 'compare', tabindex: '0', role: 'region', 'aria-label': 'Comparison' },
    el(
      'table',
      {},
      el('thead', {}, el('tr', {}, el('td', {}), ...head)),
      el('tbody', {}, row('Calls', counts), ...body),
    ),
    el(
      'p',
      { class: 'soft' },
      'Below each figure: where it lies with a certainty of 95 %. “Clear” marks a difference from the first version that ' +
        'chance would rarely make; all others may be chance.',
    ),
  );
}

function fault(error: unknown): HTMLElement {
  const text = error instanceof ApiError ? error.message : messageOf(error);
  return el('p', { class: 'fault', role: 'alert' }, text);
}
