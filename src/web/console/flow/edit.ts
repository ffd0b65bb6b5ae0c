import type { Flow, FlowGlobalStep, FlowTransition } from '../../../agent/flow/steps.js';
import { type AnyStep, startOf, stepsOf, type Way } from './graph.js';

/** Changes of flows. Each returns another flow; the one before does not change. */

/** An id that no step has: the words given, or these with a number. */
export function freshId(flow: Flow, words: string): string {
  const ids = new Set(stepsOf(flow).map(({ step }) => step.id));
  const base = words.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 50);
  if (!ids.has(base)) return base;
  let count = 2;
  while (ids.has(`${base}_${String(count)}`)) count++;
  return `${base}_${String(count)}`;
}

/** A flow with other steps, by `change`. */
function eachStep(flow: Flow, change: <S extends AnyStep>(step: S) => S): Flow {
  const changed: Flow = { ...flow, steps: flow.steps.map(change) };
  if (flow.global != null) changed.global = flow.global.map(change);
  return changed;
}

/** @param step null = deletes it */
export function withStep(flow: Flow, id: string, step: AnyStep | null): Flow {
  if (step !== null) return eachStep(flow, (one) => (one.id === id ? (step as typeof one) : one));
  const left = <S extends AnyStep>(steps: readonly S[]): S[] => steps.filter((one) => one.id !== id);
  const changed: Flow = { ...flow, steps: left(flow.steps) };
  if (flow.global != null) changed.global = left(flow.global);
  if (changed.global?.length === 0) delete changed.global;
  return changed;
}

/** A step that ends the call after another one. */
export function addStep(flow: Flow, after: string | null): { flow: Flow; id: string } {
  const id = freshId(flow, 'step');
  const grown: Flow = { ...flow, steps: [...flow.steps, { id, end: { action: 'hang_up' } }] };
  return { flow: after === null ? grown : connect(grown, after, id), id };
}

/** A step in the middle of a way. */
export function insertStep(flow: Flow, way: Way): { flow: Flow; id: string } {
  const id = freshId(flow, 'step');
  const grown: Flow = { ...flow, steps: [...flow.steps, { id, transitions: [{ to: way.to }] }] };
  return { flow: turnWay(grown, way, id), id };
}

/** A way that leads to another step. */
export function turnWay(flow: Flow, way: Way, to: string): Flow {
  return eachStep(flow, (step) => {
    if (step.id !== way.from) return step;
    const at = way.path[3];
    if (way.isFailure) {
      return { ...step, collect: step.collect?.map((one, index) => (index === at ? { ...one, failed: to } : one)) };
    }
    return { ...step, transitions: step.transitions?.map((one, index) => (index === at ? { ...one, to } : one)) };
  });
}

/** A way removed. */
export function cutWay(flow: Flow, way: Way): Flow {
  return eachStep(flow, (step) => {
    if (step.id !== way.from) return step;
    const at = way.path[3];
    if (way.isFailure) {
      return { ...step, collect: step.collect?.map((one, index) => (index === at ? without(one, 'failed') : one)) };
    }
    return tidied({ ...step, transitions: step.transitions?.filter((_, index) => index !== at) });
  });
}

/** Another transition. A step that ended the call goes on now; one that transfers does so when nobody answers. */
export function connect(flow: Flow, from: string, to: string): Flow {
  return eachStep(flow, (step) => {
    if (step.id !== from) return step;
    const transfers = step.end?.action === 'transfer';
    const way: FlowTransition = transfers ? { to, when: [{ tool: 'transfer_call', ok: false }] } : { to };
    const changed = { ...step, transitions: [...(step.transitions ?? []), way] };
    return transfers ? changed : without(changed, 'end');
  });
}

/** A step with another id, everywhere. */
export function renameStep(flow: Flow, id: string, next: string): Flow {
  const named = (one: string): string => (one === id ? next : one);
  const renamed = eachStep(flow, (step) => {
    const changed = { ...step, id: named(step.id) };
    if (step.transitions != null) changed.transitions = step.transitions.map((way) => ({ ...way, to: named(way.to) }));
    if (step.collect != null) {
      changed.collect = step.collect.map((one) => (one.failed == null ? one : { ...one, failed: named(one.failed) }));
    }
    return changed;
  });
  if (flow.start != null) renamed.start = named(flow.start);
  return renamed;
}

/** Without a step and the ways to it. The last step stays. */
export function removeStep(flow: Flow, id: string): Flow {
  if (flow.steps.length === 1 && flow.steps[0]?.id === id) return flow;
  const left = eachStep(withStep(flow, id, null), (step) => {
    const changed = { ...step };
    if (step.transitions != null) changed.transitions = step.transitions.filter(({ to }) => to !== id);
    if (step.collect != null) {
      changed.collect = step.collect.map((one) => (one.failed === id ? without(one, 'failed') : one));
    }
    return tidied(changed);
  });
  return flow.start === id ? without(left, 'start') : left;
}

/** A step that is reached from every step, or no longer. */
export function withGlobal(flow: Flow, id: string, isGlobal: boolean): Flow {
  const found = stepsOf(flow).find(({ step }) => step.id === id);
  if (found === undefined || found.isGlobal === isGlobal) return flow;
  const left = withStep(flow, id, null);
  if (isGlobal) {
    const title = found.step.title ?? id;
    const step: FlowGlobalStep = { ...found.step, choice: `The caller asks for: ${title}.` };
    return { ...(flow.start === id ? without(left, 'start') : left), global: [...(flow.global ?? []), step] };
  }
  const { choice: _choice, phrases: _phrases, ...step } = found.step as FlowGlobalStep;
  return { ...left, steps: [...flow.steps, step] };
}

/** The step where a flow begins. The first one is the default. */
export function withStart(flow: Flow, id: string): Flow {
  const free = without(flow, 'start');
  return startOf(free) === id ? free : { ...flow, start: id };
}

function without<T extends object>(value: T, name: keyof T): T {
  const copy = { ...value };
  delete copy[name];
  return copy;
}

/** Without an empty list of transitions. */
function tidied<S extends AnyStep>(step: S): S {
  return step.transitions?.length === 0 ? without(step, 'transitions') : step;
}

/** Most changes that can be undone. */
const KEPT = 200;

/** The states of what is edited. Changes of one field in a row are one. */
export class History<T> {
  #now: T;
  #field: string | null = null;
  readonly #past: T[] = [];
  #future: T[] = [];

  constructor(first: T) {
    this.#now = first;
  }

  get now(): T {
    return this.#now;
  }

  get canUndo(): boolean {
    return this.#past.length > 0;
  }

  get canRedo(): boolean {
    return this.#future.length > 0;
  }

  /** @param field what is typed into; null = a change of its own */
  push(next: T, field: string | null = null): void {
    if (field === null || field !== this.#field) {
      this.#past.push(this.#now);
      if (this.#past.length > KEPT) this.#past.shift();
    }
    this.#field = field;
    this.#now = next;
    this.#future = [];
  }

  undo(): boolean {
    return this.#step(this.#past, this.#future);
  }

  redo(): boolean {
    return this.#step(this.#future, this.#past);
  }

  #step(from: T[], to: T[]): boolean {
    if (from.length === 0) return false;
    to.push(this.#now);
    this.#now = from.pop() as T;
    this.#field = null;
    return true;
  }
}
