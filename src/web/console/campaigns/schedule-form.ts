import type { OpenApiDocument } from '../../docs/document.js';
import { el } from '../../shared/elements.js';
import { actionButton } from '../actions.js';
import { ConfigForm } from '../forms/config-form.js';
import { withValue } from '../draft.js';
import { Faults } from '../forms/faults.js';
import { type ConsoleApi, ApiError } from '../api.js';
import { Loaded } from '../view.js';
import { scheduleChange } from './schedule-change.js';

/** A campaign's pace, hours and retries, as a form made from the daemon's schema. */
export class ScheduleForm {
  readonly element: HTMLElement;
  readonly #api: ConsoleApi;
  readonly #path: string;
  readonly #place = el('div', {});
  readonly #open = new Set<string>();
  #loaded: unknown = {};
  #draft: unknown = {};
  /** Only changed values become the campaign's own. */
  readonly #touched = new Set<string>();

  constructor(api: ConsoleApi, campaignPath: string) {
    this.#api = api;
    this.#path = `${campaignPath}/schedule`;
    this.element = el(
      'details',
      { class: 'card schedule' },
      el('summary', {}, 'How it calls: pace, hours and retries'),
    );
    this.element.addEventListener(
      'toggle',
      () => this.element.append(new Loaded('Loading the schedule', () => this.#load()).element),
      { once: true },
    );
  }

  async #load(): Promise<HTMLElement[]> {
    const [schedule, document] = await Promise.all([
      this.#api.get<unknown>(this.#path),
      this.#api.get<OpenApiDocument>('/openapi.json'),
    ]);
    this.#draft = this.#loaded = schedule;
    this.#show(document, new Faults());
    return [this.#place, actionButton('Save', () => this.#save(document), { class: 'main-button' })];
  }

  #show(document: OpenApiDocument, faults: Faults): void {
    const schema = document.components.schemas['CampaignScheduleChange'] ?? {};
    const form = new ConfigForm(schema, {
      document,
      config: this.#draft,
      faults,
      open: this.#open,
      onChange: (path, value, rebuilds) => {
        this.#draft = withValue(this.#draft, path, value) ?? {};
        this.#touched.add(String(path[0]));
        if (rebuilds) this.#show(document, faults);
      },
    });
    this.#place.replaceChildren(form.element);
  }

  async #save(document: OpenApiDocument): Promise<void> {
    const change = scheduleChange(this.#loaded, this.#draft, this.#touched);
    try {
      this.#draft = this.#loaded = await this.#api.send('POST', this.#path, change);
      this.#touched.clear();
      this.#show(document, new Faults());
    } catch (error) {
      if (error instanceof ApiError) this.#show(document, new Faults(error.faults));
      throw error;
    }
  }
}
