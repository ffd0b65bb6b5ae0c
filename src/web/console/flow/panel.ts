import type { Flow } from '../../../agent/flow/steps.js';
import type { OpenApiDocument } from '../../docs/document.js';
import { el } from '../../shared/elements.js';
import { actionButton, labelled } from '../actions.js';
import { type Path, pathText, withValue } from '../draft.js';
import type { Fault } from '../fault.js';
import { ConfigForm } from '../forms/config-form.js';
import { Faults } from '../forms/faults.js';
import {
  addStep,
  connect,
  cutWay,
  insertStep,
  removeStep,
  renameStep,
  withGlobal,
  withStart,
  withStep,
} from './edit.js';
import { type AnyStep, lostBy, type PlacedStep, stepsOf, titleOf, type Way, waysOf } from './graph.js';

const ID = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

export interface PanelOptions {
  document: OpenApiDocument;
  /** @param field what was typed into; null = another change. @param chosen the step that is shown then */
  onEdit(flow: Flow, field: string | null, chosen: string | null): void;
  onChoose(id: string): void;
}

/** The chosen step: its fields, and where it leads to. */
export class StepPanel {
  readonly element = el('section', { class: 'flow-panel', 'aria-label': 'The chosen step' });
  readonly #options: PanelOptions;
  readonly #head = el('div', { class: 'stack' });
  readonly #body = el('div', {});
  readonly #open = new Set<string>();
  #form: ConfigForm | null = null;
  #flow: Flow | null = null;
  #id: string | null = null;
  #faults: readonly Fault[] = [];

  constructor(options: PanelOptions) {
    this.#options = options;
    this.element.append(this.#head, this.#body);
  }

  /** @param isTyped the change came from a field of the form, which stays as it is */
  show(flow: Flow, id: string | null, isTyped = false): void {
    if (id !== this.#id) this.#open.clear();
    this.#flow = flow;
    this.#id = id;
    const placed = this.#placed;
    if (placed === undefined) {
      this.#head.replaceChildren(el('p', { class: 'soft' }, 'Choose a step to change it.'));
      this.#body.replaceChildren();
      return;
    }
    const focused = document.activeElement?.id ?? '';
    const at = this.element.contains(document.activeElement) ? focused : '';
    this.#showHead(flow, placed);
    if (!isTyped) this.#showForm(placed);
    if (at !== '' && document.activeElement?.id !== at) document.getElementById(at)?.focus();
  }

  showFaults(faults: readonly Fault[]): void {
    this.#faults = faults;
    this.#form?.showFaults(this.#ownFaults);
    const place = this.#head.querySelector('.flow-id-faults');
    place?.replaceChildren(...this.#ownFaults.at('id').map((text) => el('p', { class: 'fault' }, text)));
  }

  /** Moves the focus to a field, or to the panel's first one. */
  focus(path: Path = ['id']): void {
    for (let length = 1; length <= path.length; length++) {
      const details = this.element.querySelector<HTMLDetailsElement>(
        `#${CSS.escape(`step-${pathText(path.slice(0, length))}-branch`)}`,
      );
      if (details !== null) details.open = true;
    }
    const field = document.getElementById(`step-${pathText(path)}`);
    const branch = document.querySelector<HTMLElement>(`#${CSS.escape(`step-${pathText(path)}-branch`)} > summary`);
    (field ?? branch ?? document.getElementById('step-id'))?.focus();
  }

  get #placed(): PlacedStep | undefined {
    return this.#flow === null ? undefined : stepsOf(this.#flow).find(({ step }) => step.id === this.#id);
  }

  /** Those of the step, with places in it. */
  get #ownFaults(): Faults {
    const path = this.#placed?.path ?? [];
    const own = this.#faults.filter(({ loc }) => path.every((part, at) => loc[at] === part));
    return new Faults(own.map(({ loc, msg }) => ({ loc: loc.slice(path.length), msg })));
  }

  #showHead(flow: Flow, placed: PlacedStep): void {
    const { step, isGlobal, isStart } = placed;
    const onEdit: PanelOptions['onEdit'] = (...edit) => this.#options.onEdit(...edit);
    const lost = lostBy(flow, step.id);
    const isLast = flow.steps.length === 1 && !isGlobal;
    const remove = actionButton(
      'Delete',
      () => {
        const next = removeStep(flow, step.id);
        onEdit(next, null, next.steps[0]?.id ?? null);
        return Promise.resolve();
      },
      { class: 'quiet-button danger', confirm: deleteWords(lost), label: `Delete the step ${titleOf(step)}` },
    );
    const plain = (text: string, run: () => void): HTMLElement => {
      const button = el(
        'button',
        { type: 'button', class: 'quiet-button', id: `step-do-${text.replaceAll(' ', '-')}` },
        text,
      );
      button.addEventListener('click', run);
      return button;
    };
    const after = plain('Add a step after it', () => {
      const grown = addStep(flow, step.id);
      onEdit(grown.flow, null, grown.id);
    });
    const kinds = isStart
      ? []
      : [
          plain(isGlobal ? 'Only by transitions' : 'From every step', () =>
            onEdit(withGlobal(flow, step.id, !isGlobal), null, step.id),
          ),
          ...(isGlobal ? [] : [plain('Begin here', () => onEdit(withStart(flow, step.id), null, step.id))]),
        ];
    this.#head.replaceChildren(
      el('h3', {}, titleOf(step)),
      ...(isLast ? [] : lostNote(lost)),
      el('div', { class: 'flow-acts' }, after, ...kinds, ...(isLast ? [] : [remove])),
      this.#idField(flow, step),
      this.#ways(flow, step),
    );
  }

  #idField(flow: Flow, step: AnyStep): HTMLElement {
    const input = el('input', { type: 'text', id: 'step-id', 'aria-describedby': 'step-id-about', value: step.id });
    const fault = el('div', { class: 'flow-id-faults', role: 'alert' });
    fault.replaceChildren(...this.#ownFaults.at('id').map((text) => el('p', { class: 'fault' }, text)));
    input.addEventListener('change', () => {
      const next = input.value.trim();
      if (next === step.id) return;
      const isTaken = stepsOf(flow).some(({ step: { id } }) => id === next);
      const problem = isTaken
        ? `Another step has the id ${next}.`
        : ID.test(next)
          ? null
          : 'An id is a letter, then letters, digits, _ or -.';
      if (problem === null) this.#options.onEdit(renameStep(flow, step.id, next), null, next);
      else fault.replaceChildren(el('p', { class: 'fault' }, problem));
    });
    return el(
      'div',
      { class: 'config-field' },
      el('label', { for: 'step-id' }, el('code', {}, 'id')),
      input,
      fault,
      el('p', { class: 'about', id: 'step-id-about' }, 'A new one is put wherever the step is named.'),
    );
  }

  /** Where it leads to and what leads to it, without a pointer. */
  #ways(flow: Flow, step: AnyStep): HTMLElement {
    const onEdit: PanelOptions['onEdit'] = (...edit) => this.#options.onEdit(...edit);
    const titles = new Map(stepsOf(flow).map((one) => [one.step.id, titleOf(one.step)]));
    const small = (text: string, label: string | null, run: () => void): HTMLElement => {
      const button = el('button', { type: 'button', class: 'stamp', 'aria-label': label }, text);
      button.addEventListener('click', run);
      return button;
    };
    const goTo = (id: string): HTMLElement => small(titles.get(id) ?? id, null, () => this.#options.onChoose(id));
    const leads = (way: Way): HTMLElement => {
      const insert = small('insert', `Insert a step before ${way.to}`, () => {
        const grown = insertStep(flow, way);
        onEdit(grown.flow, null, grown.id);
      });
      const cut = small('remove', `Remove the way to ${way.to}`, () => onEdit(cutWay(flow, way), null, step.id));
      const words = way.words === '' ? '' : ` when ${way.words}`;
      return el('li', {}, '→ ', goTo(way.to), el('span', { class: 'soft' }, words), ' ', insert, ' ', cut);
    };
    const ways = waysOf(flow);
    const out = ways.filter(({ from }) => from === step.id).map(leads);
    const into = new Set(ways.filter(({ to, from }) => to === step.id && from !== to).map(({ from }) => from));
    const target = el(
      'select',
      { id: 'step-connect' },
      el('option', { value: '' }, 'choose a step'),
      ...[...titles].map(([id, title]) => el('option', { value: id }, title)),
    );
    target.addEventListener('change', () => {
      if (target.value !== '') onEdit(connect(flow, step.id, target.value), null, step.id);
    });
    return el(
      'div',
      { class: 'flow-ways stack' },
      ...(out.length === 0 ? [] : [el('ul', { 'aria-label': 'Leads to' }, ...out)]),
      ...(into.size === 0
        ? []
        : [
            el(
              'p',
              { class: 'soft' },
              'Reached from ',
              ...[...into].flatMap((id, at) => [at === 0 ? '' : ', ', goTo(id)]),
            ),
          ]),
      labelled('Connect to', target),
    );
  }

  #showForm(placed: PlacedStep): void {
    const { document } = this.#options;
    const { id: _id, ...properties } =
      document.components.schemas[placed.isGlobal ? 'FlowGlobalStep' : 'FlowStep']?.properties ?? {};
    const flow = this.#flow;
    const ids = flow === null ? [] : stepsOf(flow).map(({ step }) => step.id);
    const data = flow === null ? [] : stepsOf(flow).flatMap(({ step }) => (step.collect ?? []).map(({ name }) => name));
    const form = new ConfigForm(
      { type: 'object', properties, required: ['choice'] },
      {
        document,
        config: placed.step,
        faults: this.#ownFaults,
        open: this.#open,
        prefix: 'step',
        choices: (path) => {
          const last = path.at(-1);
          if (last === 'to' || last === 'failed') return ids;
          return last === 'data' ? data : null;
        },
        onChange: (path, value, rebuilds) => this.#onField(path, value, rebuilds),
      },
    );
    this.#form = form;
    this.#body.replaceChildren(form.element);
  }

  #onField(path: Path, value: unknown, rebuilds: boolean): void {
    const placed = this.#placed;
    if (placed === undefined || this.#flow === null) return;
    const { id } = placed.step;
    const step = { ...(withValue(placed.step, path, value) as AnyStep), id };
    const flow = withStep(this.#flow, id, step);
    if (rebuilds) this.#options.onEdit(flow, null, id);
    else this.#options.onEdit(flow, `${id}.${pathText(path)}`, id);
  }
}

function deleteWords(lost: readonly string[]): string {
  return lost.length === 0 ? 'Really delete?' : `Really delete? Nothing leads to ${lost.join(', ')} then`;
}

function lostNote(lost: readonly string[]): HTMLElement[] {
  if (lost.length === 0) return [];
  return [el('p', { class: 'soft' }, `Only this step leads to ${lost.join(', ')}.`)];
}
