import { el } from '../../shared/elements.js';
import { type ConsoleApi, messageOf } from '../api.js';
import { card } from '../view.js';
import { wholeTime } from '../words.js';
import { diffLines, shortened } from './diff.js';

interface Version {
  version: number;
  name: string;
  config: unknown;
  script: unknown;
  changed_at: number;
  changed_by: string | null;
}

const SHOWN = 50;

export interface VersionsOptions {
  /** The shown part of a configuration. */
  shown: (config: unknown) => unknown;
  onRestored: () => void;
}

/** An agent's versions: their changes, and restoring them. */
export class Versions {
  readonly element: HTMLElement;
  readonly #api: ConsoleApi;
  readonly #path: string;
  readonly #options: VersionsOptions;
  readonly #body = el('div', {}, el('p', { class: 'soft' }, 'Loading …'));

  constructor(api: ConsoleApi, agentId: string, options: VersionsOptions) {
    this.#api = api;
    this.#path = `/agents/${encodeURIComponent(agentId)}/versions`;
    this.#options = options;
    this.element = card('Versions', this.#body);
    void this.load();
  }

  async load(): Promise<void> {
    try {
      const versions = await this.#api.get<Version[]>(this.#path, { limit: SHOWN });
      const items = versions.map((version, at) => this.#item(version, versions[at + 1] ?? null, at === 0));
      this.#body.replaceChildren(el('ol', { class: 'versions' }, ...items));
    } catch (error) {
      this.#body.replaceChildren(el('p', { class: 'fault', role: 'alert' }, messageOf(error)));
    }
  }

  #item(version: Version, before: Version | null, isLatest: boolean): HTMLElement {
    const by = version.changed_by ?? 'the daemon';
    const summary = el(
      'summary',
      {},
      el('b', { class: 'figure' }, String(version.version)),
      el('span', {}, ` ${wholeTime(version.changed_at)}`),
      el('span', { class: 'soft' }, ` by ${by}`),
      ...(isLatest ? [' ', el('span', { class: 'pill' }, 'now')] : []),
    );
    const details = el('details', {}, summary);
    details.addEventListener('toggle', () => details.append(this.#changes(before, version)), { once: true });
    const restore = el(
      'button',
      { type: 'button', class: 'quiet-button', 'aria-label': `Restore version ${String(version.version)}` },
      'Restore',
    );
    restore.addEventListener('click', () => void this.#restore(version.version, restore));
    return el('li', {}, details, ...(isLatest ? [] : [restore]));
  }

  async #restore(version: number, button: HTMLButtonElement): Promise<void> {
    button.disabled = true;
    try {
      await this.#api.send('POST', `${this.#path}/${String(version)}/restore`);
      this.#options.onRestored();
    } catch (error) {
      button.replaceWith(el('p', { class: 'fault', role: 'alert' }, messageOf(error)));
    }
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
    return el('pre', { class: 'diff', tabindex: '0', 'aria-label': 'Changes' }, ...rows);
  }

  #linesOf({ name, config, script }: Version): string[] {
    return JSON.stringify({ name, config: this.#options.shown(config), script }, null, 2).split('\n');
  }
}
