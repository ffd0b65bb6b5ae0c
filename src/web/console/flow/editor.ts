import type { Flow } from '../../../agent/flow/steps.js';
import type { OpenApiDocument } from '../../docs/document.js';
import { el } from '../../shared/elements.js';
import { actionButton } from '../actions.js';
import { ApiError, type ConsoleApi, messageOf } from '../api.js';
import { withoutUnset } from '../draft.js';
import type { Fault } from '../fault.js';
import { addStep, connect, History, insertStep, removeStep } from './edit.js';
import { FlowDrawing } from './drawing.js';
import { FigureChooser } from './figures.js';
import { drawnFigures, dropOutWords, isDrawable, lostBy, type StepCounts, stepsOf, titleOf } from './graph.js';
import { StepPanel } from './panel.js';
import { TEMPLATES } from './templates.js';

/** Typing is checked when it pauses. */
const PAUSE_MS = 350;

export interface FlowEditorOptions {
  api: ConsoleApi;
  agentId: string;
  document: OpenApiDocument;
  flow: unknown;
  /** The whole agent, as it would be stored with a flow. */
  agentWith(flow: unknown): Readonly<Record<string, unknown>>;
  /** Null = the agent has none. */
  onChange(flow: unknown): void;
}

/** The steps of an agent: as a graph, as fields and as JSON, each of which follows the others. */
export class FlowEditor {
  readonly element = el('div', { class: 'stack flow-editor' });
  readonly #options: FlowEditorOptions;
  readonly #drawing: FlowDrawing;
  readonly #panel: StepPanel;
  readonly #undo = button('Undo', 'Control+Z');
  readonly #redo = button('Redo', 'Control+Shift+Z');
  readonly #state = el('p', { class: 'soft', role: 'status' });
  readonly #figures: FigureChooser;
  readonly #faultList = el('ul', { class: 'flow-faults', 'aria-label': 'Faults' });
  readonly #json = el('textarea', { class: 'code config-json', spellcheck: 'false', 'aria-label': 'Steps as JSON' });
  /** JSON that is no flow stands in the text only. */
  #history: History<unknown>;
  #chosen: string | null = null;
  #counts: StepCounts | null = null;
  #typing: EventTarget | null = null;
  #isDrawn: boolean | null = null;
  #timer = 0;
  #check = new AbortController();

  constructor(options: FlowEditorOptions) {
    this.#options = options;
    this.#history = new History(this.#cleaned(options.flow));
    this.#drawing = new FlowDrawing({
      label: 'Steps; arrow keys follow the ways, Enter opens a step',
      edits: {
        connect: (from, to) => this.#edit(connect(this.#flow, from, to), null, from),
        addAfter: (from) => this.#grown(addStep(this.#flow, from)),
        insert: (way) => this.#grown(insertStep(this.#flow, way)),
        remove: (id) => this.#removed(id),
      },
      onChoose: (id) => this.#choose(id),
      onOpen: (id) => {
        this.#choose(id);
        this.#panel.focus();
      },
    });
    this.#panel = new StepPanel({
      document: options.document,
      onEdit: (flow, field, chosen) => this.#edit(flow, field, chosen),
      onChoose: (id) => {
        this.#choose(id);
        this.#panel.focus();
      },
    });
    this.#figures = new FigureChooser(options.api, options.agentId, (counts) => this.#showCounts(counts));
    this.#undo.addEventListener('click', () => this.#step('undo'));
    this.#redo.addEventListener('click', () => this.#step('redo'));
    this.#json.addEventListener('input', () => this.#onJson());
    this.element.addEventListener('keydown', (event) => this.#onKey(event));
    this.element.addEventListener('input', ({ target }) => (this.#typing = target));
    this.element.addEventListener('focusin', () => (this.#typing = null));
    this.#showAll();
  }

  /** What is stored now. */
  show(flow: unknown): void {
    const stored = this.#cleaned(flow);
    if (JSON.stringify(stored) === JSON.stringify(this.#history.now)) return;
    this.#history = new History(stored);
    this.#showAll();
  }

  /** May be called twice. */
  close(): void {
    clearTimeout(this.#timer);
    this.#check.abort();
    this.#drawing.close();
  }

  get #flow(): Flow {
    return this.#history.now as Flow;
  }

  /** Without members that are not set. */
  #cleaned(flow: unknown): unknown {
    const { document } = this.#options;
    return flow == null ? null : withoutUnset(flow, document.components.schemas['FlowSteps'] ?? {}, document);
  }

  #grown({ flow, id }: { flow: Flow; id: string }): void {
    this.#edit(flow, null, id);
    this.#panel.focus();
  }

  #removed(id: string): void {
    const lost = lostBy(this.#flow, id);
    const next = removeStep(this.#flow, id);
    if (next === this.#flow) {
      this.#say('The last step stays.');
      return;
    }
    this.#edit(next, null, next.steps[0]?.id ?? null);
    this.#say(
      `${id} is deleted.${lost.length === 0 ? '' : ` Nothing leads to ${lost.join(', ')} now.`} Undo brings it back.`,
    );
  }

  #say(words: string): void {
    this.#state.textContent = words;
  }

  /** @param field what is typed into: it stays as it is */
  #edit(flow: unknown, field: string | null, chosen: string | null): void {
    this.#history.push(flow, field);
    this.#chosen = chosen;
    this.#changed();
    if (!isDrawable(flow) || this.#isDrawn !== true) this.#showAll();
    else this.#draw(flow, field !== null);
    this.#showJson();
  }

  #changed(): void {
    this.#options.onChange(this.#history.now);
    this.#checkSoon();
  }

  #showCounts(counts: StepCounts | null): string {
    this.#counts = counts;
    if (!isDrawable(this.#history.now)) return '';
    this.#drawing.show(this.#flow, counts === null ? null : drawnFigures(this.#flow, counts));
    return counts === null ? '' : dropOutWords(this.#flow, counts);
  }

  #step(way: 'undo' | 'redo'): void {
    if (!this.#history[way]()) return;
    this.#showAll();
    this.#changed();
    this.#say(way === 'undo' ? 'Undone.' : 'Done again.');
  }

  #choose(id: string): void {
    this.#chosen = id;
    this.#drawing.choose(id);
    this.#panel.show(this.#flow, id);
  }

  #onKey(event: KeyboardEvent): void {
    const key = event.key.toLowerCase();
    if (!(event.ctrlKey || event.metaKey) || event.altKey || (key !== 'z' && key !== 'y')) return;
    // What was just typed into a field is the browser's to undo.
    if (event.target === this.#typing) return;
    event.preventDefault();
    this.#step(key === 'y' || event.shiftKey ? 'redo' : 'undo');
  }

  #onJson(): void {
    try {
      const text = this.#json.value.trim();
      const flow: unknown = text === '' ? null : JSON.parse(text);
      if (flow !== null && !isDrawable(flow))
        throw new Error('Each step is an object with an id, in a list named steps.');
      this.#json.setCustomValidity('');
      this.#history.push(flow, 'json');
      this.#changed();
      if (flow !== null) this.#draw(flow, false);
    } catch (error) {
      this.#json.setCustomValidity(messageOf(error));
      this.#say(`The JSON cannot be drawn: ${messageOf(error)}`);
    }
  }

  #showAll(): void {
    const flow = this.#history.now;
    const isFlow = isDrawable(flow);
    // What has the focus stays in its place.
    if (isFlow !== this.#isDrawn) this.element.replaceChildren(...(isFlow ? this.#parts() : [this.#templates()]));
    this.#isDrawn = isFlow;
    if (!isFlow) return;
    this.#showJson();
    this.#draw(flow, false);
    this.#checkSoon();
  }

  #parts(): HTMLElement[] {
    const remove = actionButton('Remove all steps', () => Promise.resolve(this.#edit(null, null, null)), {
      class: 'quiet-button danger',
      confirm: 'Really? The prompt alone leads then',
    });
    const add = el('button', { type: 'button', class: 'quiet-button' }, 'Add a step');
    add.addEventListener('click', () => this.#grown(addStep(this.#flow, null)));
    return [
      el('div', { class: 'flow-bar' }, this.#undo, this.#redo, add, remove, this.#state),
      this.#figures.element,
      this.#faultList,
      el('div', { class: 'flow-halves' }, this.#drawing.element, this.#panel.element),
      el('details', {}, el('summary', {}, 'As JSON'), this.#json),
    ];
  }

  #templates(): HTMLElement {
    const choices = TEMPLATES.map(({ name, about, flow }) => {
      const use = el('button', { type: 'button', class: 'quiet-button' }, name);
      use.addEventListener('click', () => {
        this.#edit(structuredClone(flow), null, flow.steps[0]?.id ?? null);
        this.#drawing.focus();
      });
      return el('li', {}, use, el('p', { class: 'soft' }, about));
    });
    return el(
      'div',
      { class: 'stack' },
      el('p', { class: 'soft' }, 'The prompt alone leads the conversation. With steps it follows a graph. Begin with:'),
      el('ul', { class: 'flow-templates' }, ...choices),
    );
  }

  #draw(flow: Flow, isTyped: boolean): void {
    const ids = stepsOf(flow).map(({ step }) => step.id);
    if (this.#chosen !== null && !ids.includes(this.#chosen)) this.#chosen = ids[0] ?? null;
    this.#drawing.show(flow, this.#counts === null ? null : drawnFigures(flow, this.#counts));
    this.#drawing.choose(this.#chosen);
    this.#panel.show(flow, this.#chosen, isTyped);
    this.#undo.setAttribute('aria-disabled', String(!this.#history.canUndo));
    this.#redo.setAttribute('aria-disabled', String(!this.#history.canRedo));
  }

  #showJson(): void {
    this.#json.setCustomValidity('');
    this.#json.value = JSON.stringify(this.#history.now, null, 2);
  }

  #checkSoon(): void {
    clearTimeout(this.#timer);
    this.#check.abort();
    this.#timer = setTimeout(() => void this.#checkNow(), PAUSE_MS);
  }

  /** The daemon knows what is wrong, tools and patterns included. */
  async #checkNow(): Promise<void> {
    const check = new AbortController();
    this.#check = check;
    let faults: readonly Fault[] = [];
    try {
      await this.#options.api.send('POST', '/agents/check', this.#options.agentWith(this.#history.now), check.signal);
    } catch (error) {
      if (check.signal.aborted) return;
      if (!(error instanceof ApiError) || error.status !== 422) {
        this.#say(`Not checked: ${messageOf(error)}`);
        return;
      }
      faults = error.faults.flatMap(({ loc, msg }) => {
        const isOurs = loc[0] === 'body' && loc[1] === 'extensions' && loc[2] === 'flow';
        return isOurs ? [{ loc: loc.slice(3), msg }] : [];
      });
    }
    if (!check.signal.aborted) this.#showFaults(faults);
  }

  #showFaults(faults: readonly Fault[]): void {
    const flow = this.#history.now;
    const steps = isDrawable(flow) ? stepsOf(flow) : [];
    const stepOf = ({ loc }: Fault): (typeof steps)[number] | undefined =>
      steps.find(({ path }) => path.every((part, at) => loc[at] === part));
    const counts = new Map<string, number>();
    const items = faults.map((fault) => {
      const placed = stepOf(fault);
      if (placed === undefined) return el('li', {}, fault.msg);
      const { id } = placed.step;
      counts.set(id, (counts.get(id) ?? 0) + 1);
      const go = el('button', { type: 'button', class: 'stamp' }, `${titleOf(placed.step)}: ${fault.msg}`);
      go.addEventListener('click', () => {
        this.#choose(id);
        this.#panel.focus(fault.loc.slice(placed.path.length));
      });
      return el('li', {}, go);
    });
    this.#faultList.replaceChildren(...items);
    this.#drawing.showFaults(counts);
    this.#panel.showFaults(faults);
    this.#say(
      faults.length === 0 ? 'No faults' : faults.length === 1 ? 'One fault' : `${String(faults.length)} faults`,
    );
  }
}

function button(text: string, keys: string): HTMLButtonElement {
  return el(
    'button',
    { type: 'button', class: 'quiet-button', 'aria-keyshortcuts': keys, 'aria-disabled': 'true' },
    text,
  );
}
