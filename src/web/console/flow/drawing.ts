import type { Flow } from '../../../agent/flow/steps.js';
import { el } from '../../shared/elements.js';
import { type DrawnFigures, factsOf, type PlacedStep, reachable, stepsOf, titleOf, type Way, waysOf } from './graph.js';
import { type FlowLayout, layOut, type Arrow, pathOf, type Point } from './layout.js';

const SVG = 'http://www.w3.org/2000/svg';
const [LEAST_SCALE, MOST_SCALE] = [0.2, 2];
/** A flow that does not fit at this scale is drawn at it, from its start. */
const READABLE_SCALE = 0.5;
const MARGIN = 24;
/** A pointer that moves less than this clicks. */
const CLICK_PX = 5;
const MOST_STROKE = 9;
/** Where there is no room for a graph. */
const NARROW = '(max-width: 46rem)';

/** What the graph itself can change. */
export interface GraphEdits {
  connect(from: string, to: string): void;
  addAfter(from: string): void;
  insert(way: Way): void;
  remove(id: string): void;
}

export interface DrawingOptions {
  label: string;
  /** Null = it is only read. */
  edits: GraphEdits | null;
  onChoose(id: string): void;
  /** Enter on a step. */
  onOpen(id: string): void;
}

let drawings = 0;

/** A flow as a graph that can be moved and zoomed, or as a list: a listbox of its steps. */
export class FlowDrawing {
  readonly element: HTMLElement;
  readonly #options: DrawingOptions;
  readonly #name = `flow-${String(++drawings)}`;
  readonly #svg = document.createElementNS(SVG, 'svg');
  readonly #labels = el('div', { 'aria-hidden': 'true' });
  readonly #list: HTMLElement;
  readonly #world: HTMLElement;
  readonly #stage: HTMLElement;
  readonly #mode = el('button', { type: 'button', class: 'quiet-button' }, 'List');
  readonly #narrow = matchMedia(NARROW);
  readonly #resize: ResizeObserver;
  #flow: Flow | null = null;
  #layout: FlowLayout | null = null;
  /** Of what is laid out. */
  #key = '';
  #chosen: string | null = null;
  #now: string | null = null;
  #figures: DrawnFigures | null = null;
  #faults: ReadonlyMap<string, number> = new Map();
  #isList = false;
  #isMoved = false;
  #scale = 1;
  #at: Point = { x: 0, y: 0 };

  constructor(options: DrawingOptions) {
    this.#options = options;
    this.#svg.setAttribute('aria-hidden', 'true');
    this.#svg.classList.add('flow-lines');
    this.#list = el('ul', { class: 'flow-steps', role: 'listbox', tabindex: '0', 'aria-label': options.label });
    this.#world = el('div', { class: 'flow-world' }, this.#labels, this.#list);
    this.#world.prepend(this.#svg);
    this.#stage = el('div', { class: 'flow-stage' }, this.#world);
    this.element = el('div', { class: 'flow-drawing' }, this.#stage, this.#buttons());
    this.#stage.addEventListener('pointerdown', (event) => this.#onPointer(event));
    this.#stage.addEventListener('wheel', (event) => this.#onWheel(event), { passive: false });
    this.#list.addEventListener('keydown', (event) => this.#onKey(event));
    this.#list.addEventListener('focus', () => {
      if (this.#chosen === null) this.#move(0);
    });
    this.#narrow.addEventListener('change', this.#onNarrow);
    this.#onNarrow();
    this.#resize = new ResizeObserver(() => {
      if (!this.#isMoved) this.#fit();
    });
    this.#resize.observe(this.#stage);
  }

  /** May be called twice. */
  close(): void {
    this.#resize.disconnect();
    this.#narrow.removeEventListener('change', this.#onNarrow);
  }

  /** @param figures null = none */
  show(flow: Flow, figures: DrawnFigures | null = null): void {
    this.#flow = flow;
    this.#figures = figures;
    this.#draw();
  }

  /** Marks a step as the chosen one. */
  choose(id: string | null): void {
    this.#chosen = id;
    for (const item of this.#items) item.setAttribute('aria-selected', String(item.dataset['step'] === id));
    const active = id === null ? undefined : this.#itemOf(id);
    if (active === undefined) this.#list.removeAttribute('aria-activedescendant');
    else this.#list.setAttribute('aria-activedescendant', active.id);
    for (const line of this.#svg.querySelectorAll<SVGElement>('[data-from]')) {
      line.classList.toggle('near', id !== null && [line.dataset['from'], line.dataset['to']].includes(id));
    }
  }

  /** Marks the step in which a call is now; null = none. */
  markNow(id: string | null): void {
    this.#now = id;
    for (const item of this.#items) {
      item.classList.toggle('now', item.dataset['step'] === id);
      if (item.dataset['step'] === id) item.setAttribute('aria-current', 'step');
      else item.removeAttribute('aria-current');
    }
  }

  /** @param faults how many each step has */
  showFaults(faults: ReadonlyMap<string, number>): void {
    this.#faults = faults;
    for (const item of this.#items) {
      const count = faults.get(item.dataset['step'] ?? '') ?? 0;
      item.classList.toggle('faulty', count > 0);
      const words = item.querySelector('.unseen');
      if (words !== null) words.textContent = faultWords(count);
    }
  }

  focus(): void {
    this.#list.focus();
  }

  get #items(): HTMLElement[] {
    return [...this.#list.querySelectorAll<HTMLElement>('[data-step]')];
  }

  #itemOf(id: string): HTMLElement | undefined {
    return this.#items.find((item) => item.dataset['step'] === id);
  }

  #buttons(): HTMLElement {
    const button = (text: string, label: string, run: () => void): HTMLElement => {
      const element = el('button', { type: 'button', class: 'quiet-button', 'aria-label': label }, text);
      element.addEventListener('click', run);
      return element;
    };
    this.#mode.addEventListener('click', () => this.#setList(!this.#isList));
    return el(
      'div',
      { class: 'flow-buttons' },
      button('−', 'Zoom out', () => this.#zoom(1 / 1.3)),
      button('+', 'Zoom in', () => this.#zoom(1.3)),
      button('Fit', 'Fit the whole flow', () => this.#fit()),
      this.#mode,
    );
  }

  readonly #onNarrow = (): void => {
    this.#setList(this.#narrow.matches);
  };

  #setList(isList: boolean): void {
    this.#isList = isList;
    this.#mode.textContent = isList ? 'Graph' : 'List';
    this.element.classList.toggle('as-list', isList);
    this.#list.setAttribute('aria-orientation', isList ? 'vertical' : 'horizontal');
    this.#fit();
  }

  #draw(): void {
    const flow = this.#flow;
    if (flow === null) return;
    const steps = stepsOf(flow);
    const figures = this.#figures;
    const ways = waysOf(flow).map((way): Way => {
      const words = figures?.ways.get(way.key)?.words;
      return words === undefined || words === ''
        ? way
        : { ...way, words: way.words === '' ? words : `${words} · ${way.words}` };
    });
    const layout = this.#laidOut(steps, ways);
    const reached = reachable(flow);
    this.#list.replaceChildren(...steps.map((placed) => this.#card(placed, layout, reached)));
    this.#drawLines(layout);
    this.#world.style.width = `${String(layout.width)}px`;
    this.#world.style.height = `${String(layout.height)}px`;
    this.choose(this.#chosen !== null && layout.boxes.has(this.#chosen) ? this.#chosen : null);
    this.markNow(this.#now);
    if (!this.#isMoved) this.#fit();
  }

  /** Typing changes no place: what is laid out stays. */
  #laidOut(steps: readonly PlacedStep[], ways: readonly Way[]): FlowLayout {
    const more = this.#figures === null ? 0 : 1;
    const sizes = steps.map(({ step, isGlobal }) => [step.id, factsOf(step).length, isGlobal]);
    const key = JSON.stringify([more, sizes, ways]);
    if (this.#layout === null || this.#key !== key) this.#layout = layOut(steps, ways, more);
    this.#key = key;
    return this.#layout;
  }

  #card(placed: PlacedStep, layout: FlowLayout, reached: ReadonlySet<string>): HTMLElement {
    const { step, isGlobal, isStart } = placed;
    const box = layout.boxes.get(step.id);
    const lines = factsOf(step).map(({ kind, text }) =>
      el('span', { class: 'flow-line', title: text }, el('span', { class: 'flow-kind' }, kind), text),
    );
    const marks = [...(isStart ? ['start'] : []), ...(isGlobal ? ['global'] : [])];
    const figures = this.#figures?.steps.get(step.id);
    const drops = (figures?.drops ?? 0) > 0 ? ' drops' : '';
    const item = el(
      'li',
      { class: 'flow-step', role: 'option', id: `${this.#name}-${step.id}`, 'data-step': step.id },
      el(
        'span',
        { class: 'flow-title' },
        el('b', {}, titleOf(step)),
        ...marks.map((mark) => el('span', { class: 'pill' }, mark)),
      ),
      ...lines,
      ...(figures === undefined ? [] : [el('span', { class: `flow-line figure${drops}` }, figures.words)]),
      ...this.#waysAsText(step.id),
      el('span', { class: 'unseen' }, faultWords(this.#faults.get(step.id) ?? 0)),
      ...(this.#options.edits === null
        ? []
        : [
            el('span', {
              class: 'flow-handle',
              'aria-hidden': 'true',
              title: 'Click: a new step after it. Drag: a way to another step.',
            }),
          ]),
    );
    item.classList.toggle('global', isGlobal);
    item.classList.toggle('lost', !reached.has(step.id));
    item.classList.toggle('faulty', this.#faults.has(step.id));
    item.style.left = `${String(box?.x ?? 0)}px`;
    item.style.top = `${String(box?.y ?? 0)}px`;
    item.style.setProperty('--height', `${String(box?.height ?? 0)}px`);
    return item;
  }

  /** Where a step leads to: what the list, and who hears it, has in place of arrows. */
  #waysAsText(id: string): HTMLElement[] {
    const ways = this.#flow === null ? [] : waysOf(this.#flow).filter(({ from }) => from === id);
    return ways.map(({ to, words, key }) => {
      const count = this.#figures?.ways.get(key)?.words ?? '';
      const text = `→ ${this.#titleOf(to)}${words === '' ? '' : `: ${words}`}${count === '' ? '' : ` · ${count}`}`;
      return el('span', { class: 'flow-way' }, text);
    });
  }

  #titleOf(id: string): string {
    const found = this.#flow === null ? undefined : stepsOf(this.#flow).find(({ step }) => step.id === id);
    return found === undefined ? id : titleOf(found.step);
  }

  #drawLines({ lines, globals }: FlowLayout): void {
    const paths = lines.map((line) => this.#path(line));
    const marker = `<marker id="${this.#name}-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z"/></marker>`;
    this.#svg.innerHTML = `<defs>${marker}</defs>`;
    this.#svg.append(...paths);
    const title = el('span', { class: 'flow-aside' }, 'From every step');
    title.style.left = `${String(globals?.x ?? 0)}px`;
    this.#labels.replaceChildren(...lines.map((line) => this.#label(line)), ...(globals === null ? [] : [title]));
  }

  #path({ way, points }: Arrow): SVGElement {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', pathOf(points));
    path.setAttribute('marker-end', `url(#${this.#name}-tip)`);
    path.dataset['from'] = way.from;
    path.dataset['to'] = way.to;
    path.classList.toggle('failure', way.isFailure);
    const share = this.#figures?.ways.get(way.key)?.share;
    if (share !== undefined) path.style.strokeWidth = `${(1 + share * (MOST_STROKE - 1)).toFixed(1)}px`;
    return path;
  }

  #label({ way, text, label }: Arrow): HTMLElement {
    const element = el('span', { class: 'flow-label', title: way.words }, text);
    element.style.left = `${label.x.toFixed(1)}px`;
    element.style.top = `${label.y.toFixed(1)}px`;
    element.dataset['from'] = way.from;
    const { edits } = this.#options;
    if (edits !== null) {
      const plus = el('span', { class: 'flow-plus', title: 'A step on this way' }, '+');
      plus.addEventListener('click', (event) => {
        event.stopPropagation();
        edits.insert(way);
      });
      element.append(plus);
    }
    element.classList.toggle('empty', text === '');
    element.addEventListener('click', () => this.#choose(way.from));
    return element;
  }

  #choose(id: string): void {
    this.choose(id);
    this.#options.onChoose(id);
  }

  #onPointer(event: PointerEvent): void {
    if (event.button !== 0 || this.#isList) return;
    const target = event.target as Element;
    const from = target.closest<HTMLElement>('[data-step]')?.dataset['step'];
    if (target.closest('.flow-label') !== null) return;
    if (target.closest('.flow-handle') !== null && from !== undefined) this.#dragWay(event, from);
    else this.#drag(event, from ?? null);
  }

  /** Moves the graph, or chooses the step that was clicked. */
  #drag(event: PointerEvent, id: string | null): void {
    const { clientX, clientY } = event;
    const from = this.#at;
    let isMoving = false;
    this.#follow(event, {
      move: ({ clientX: x, clientY: y }) => {
        isMoving ||= Math.hypot(x - clientX, y - clientY) >= CLICK_PX;
        if (isMoving) this.#moveTo({ x: from.x + x - clientX, y: from.y + y - clientY });
      },
      up: () => {
        if (!isMoving && id !== null) this.#choose(id);
      },
    });
  }

  /** Draws a way to another step; a click, or a drop on nothing, makes a new one. */
  #dragWay(event: PointerEvent, from: string): void {
    const box = this.#layout?.boxes.get(from);
    if (box === undefined) return;
    event.preventDefault();
    const begin = { x: box.x + box.width / 2, y: box.y + box.height };
    const path = document.createElementNS(SVG, 'path');
    path.classList.add('drawn');
    this.#svg.append(path);
    const under = ({ clientX, clientY }: PointerEvent): string | undefined =>
      document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>('[data-step]')?.dataset['step'];
    this.#follow(event, {
      move: (moved) => {
        path.setAttribute('d', pathOf([begin, this.#pointAt(moved)]));
        for (const item of this.#items) item.classList.toggle('target', item.dataset['step'] === under(moved));
      },
      up: (last) => {
        path.remove();
        for (const item of this.#items) item.classList.remove('target');
        if (last === null) return;
        const isClick = Math.hypot(last.clientX - event.clientX, last.clientY - event.clientY) < CLICK_PX;
        const to = isClick ? undefined : under(last);
        if (to === undefined) this.#options.edits?.addAfter(from);
        else this.#options.edits?.connect(from, to);
      },
    });
  }

  /** @param on.up null = the pointer was taken away */
  #follow(event: PointerEvent, on: { move(event: PointerEvent): void; up(event: PointerEvent | null): void }): void {
    const stop = new AbortController();
    const { signal } = stop;
    const isOurs = (other: PointerEvent): boolean => other.pointerId === event.pointerId;
    const end = (other: PointerEvent, last: PointerEvent | null): void => {
      if (!isOurs(other)) return;
      stop.abort();
      on.up(last);
    };
    addEventListener('pointermove', (moved) => isOurs(moved) && on.move(moved), { signal });
    addEventListener('pointerup', (last) => end(last, last), { signal });
    addEventListener('pointercancel', (last) => end(last, null), { signal });
  }

  #pointAt({ clientX, clientY }: PointerEvent): Point {
    const { left, top } = this.#stage.getBoundingClientRect();
    return { x: (clientX - left - this.#at.x) / this.#scale, y: (clientY - top - this.#at.y) / this.#scale };
  }

  #onWheel(event: WheelEvent): void {
    if (!event.ctrlKey || this.#isList) return;
    event.preventDefault();
    const { left, top } = this.#stage.getBoundingClientRect();
    this.#zoom(Math.exp(-event.deltaY / 300), { x: event.clientX - left, y: event.clientY - top });
  }

  /** @param around of the window; default its middle */
  #zoom(factor: number, around?: Point): void {
    const { clientWidth, clientHeight } = this.#stage;
    const { x, y } = around ?? { x: clientWidth / 2, y: clientHeight / 2 };
    const scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, this.#scale * factor));
    const grown = scale / this.#scale;
    this.#scale = scale;
    this.#moveTo({ x: x - (x - this.#at.x) * grown, y: y - (y - this.#at.y) * grown });
  }

  #moveTo(at: Point): void {
    this.#isMoved = true;
    this.#place(at);
  }

  #place(at: Point): void {
    this.#at = at;
    this.#world.style.transform = `translate(${at.x.toFixed(1)}px, ${at.y.toFixed(1)}px) scale(${this.#scale.toFixed(3)})`;
  }

  #fit(): void {
    const { clientWidth, clientHeight } = this.#stage;
    const layout = this.#layout;
    if (layout === null || clientWidth === 0) return;
    const room = { x: clientWidth - 2 * MARGIN, y: clientHeight - 2 * MARGIN };
    this.#scale = Math.max(READABLE_SCALE, Math.min(1, room.x / layout.width, room.y / layout.height));
    const x = (clientWidth - layout.width * this.#scale) / 2;
    this.#place({ x: Math.max(MARGIN, x), y: MARGIN });
    this.#isMoved = false;
  }

  /** Keeps a step in the window. */
  #reveal(id: string): void {
    if (this.#isList) {
      this.#itemOf(id)?.scrollIntoView({ block: 'nearest' });
      return;
    }
    const box = this.#layout?.boxes.get(id);
    if (box === undefined) return;
    const { clientWidth, clientHeight } = this.#stage;
    const moved = (at: number, from: number, size: number, room: number): number => {
      const low = at + from * this.#scale;
      const high = low + size * this.#scale;
      if (low < MARGIN) return at + MARGIN - low;
      return high > room - MARGIN ? at - (high - room + MARGIN) : at;
    };
    const next = {
      x: moved(this.#at.x, box.x, box.width, clientWidth),
      y: moved(this.#at.y, box.y, box.height, clientHeight),
    };
    if (next.x !== this.#at.x || next.y !== this.#at.y) this.#moveTo(next);
  }

  #onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrows = this.#isList
      ? { along: 'ArrowRight', back: 'ArrowLeft', next: 'ArrowDown', before: 'ArrowUp' }
      : { along: 'ArrowDown', back: 'ArrowUp', next: 'ArrowRight', before: 'ArrowLeft' };
    const chosen = this.#chosen;
    const ways = this.#flow === null ? [] : waysOf(this.#flow);
    const { edits } = this.#options;
    const keys: Readonly<Record<string, () => void>> = {
      [arrows.along]: () => this.#go(ways.find(({ from, to }) => from === chosen && to !== chosen)?.to),
      [arrows.back]: () => this.#go(ways.find(({ from, to }) => to === chosen && from !== chosen)?.from),
      [arrows.next]: () => this.#move(1),
      [arrows.before]: () => this.#move(-1),
      Home: () => this.#move(-Infinity),
      End: () => this.#move(Infinity),
      Enter: () => chosen !== null && this.#options.onOpen(chosen),
      ' ': () => chosen !== null && this.#options.onOpen(chosen),
      Delete: () => chosen !== null && edits?.remove(chosen),
      '+': () => this.#zoom(1.3),
      '-': () => this.#zoom(1 / 1.3),
      '0': () => this.#fit(),
    };
    const run = keys[event.key];
    if (run === undefined) return;
    event.preventDefault();
    run();
  }

  #move(by: number): void {
    const ids = this.#items.map((item) => item.dataset['step'] ?? '');
    const at = ids.indexOf(this.#chosen ?? '');
    this.#go(ids[Math.max(0, Math.min(ids.length - 1, at + by))]);
  }

  #go(id: string | undefined): void {
    if (id === undefined) return;
    this.#choose(id);
    this.#reveal(id);
  }
}

function faultWords(count: number): string {
  return count === 0 ? '' : count === 1 ? 'One fault' : `${String(count)} faults`;
}
