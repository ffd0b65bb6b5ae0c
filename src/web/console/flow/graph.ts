import type { Flow, FlowCondition, FlowGlobalStep, FlowStep } from '../../../agent/flow/steps.js';
import type { Path } from '../draft.js';

/** A flow as it is edited: its parts may be missing or wrong, but it can be drawn. */
export type AnyStep = FlowStep | FlowGlobalStep;

/** A step with its place in the flow. */
export interface PlacedStep {
  step: AnyStep;
  path: Path;
  isGlobal: boolean;
  isStart: boolean;
}

/** How one step leads to another. */
export interface Way {
  /** Differs from that of all other ways. */
  key: string;
  from: string;
  to: string;
  /** Its condition in words; empty = always. */
  words: string;
  /** Of the transition, or of the data with `failed`. */
  path: Path;
  /** Taken when no attempt to learn a value is left. */
  isFailure: boolean;
}

/** Whether a value, such as JSON that somebody writes, has enough of a flow to be drawn. */
export function isDrawable(value: unknown): value is Flow {
  if (!isObject(value) || !Array.isArray(value['steps'])) return false;
  const all = [...(value['steps'] as unknown[]), ...listOf(value['global'])];
  return isListOrNone(value['global']) && all.length > 0 && all.every(isDrawableStep);
}

function isDrawableStep(step: unknown): boolean {
  if (!isObject(step) || typeof step['id'] !== 'string') return false;
  const { collect, transitions, tools, say, call, end } = step;
  return (
    [collect, transitions, tools].every(isListOrNone) &&
    [say, call, end].every((part) => part == null || isObject(part)) &&
    [...listOf(collect), ...listOf(transitions)].every(isObject) &&
    listOf(transitions).every(({ when }: { when?: unknown }) => isListOrNone(when) && listOf(when).every(isObject))
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOrNone(value: unknown): boolean {
  return value == null || Array.isArray(value);
}

function listOf(value: unknown): never[] {
  return Array.isArray(value) ? (value as never[]) : [];
}

/** All steps, global ones last. */
export function stepsOf(flow: Flow): PlacedStep[] {
  const start = startOf(flow);
  return [
    ...flow.steps.map((step, at): PlacedStep => {
      return { step, path: ['steps', at], isGlobal: false, isStart: step.id === start };
    }),
    ...(flow.global ?? []).map((step, at): PlacedStep => {
      return { step, path: ['global', at], isGlobal: true, isStart: false };
    }),
  ];
}

export function startOf({ start, steps }: Flow): string {
  return start ?? steps[0]?.id ?? '';
}

/** What people call a step. */
export function titleOf({ id, title }: AnyStep): string {
  return title == null || title === '' ? id : title;
}

/** The ways of a flow whose both ends exist. */
export function waysOf(flow: Flow): Way[] {
  const steps = stepsOf(flow);
  const ids = new Set(steps.map(({ step }) => step.id));
  return steps.flatMap(({ step, path }) => waysFrom(step, path)).filter(({ to }) => ids.has(to));
}

function waysFrom({ id, transitions, collect }: AnyStep, path: Path): Way[] {
  const taken = (transitions ?? []).map(({ to, when }, at): Way => {
    const words = (when ?? []).map(conditionWords).join(', and ');
    return { key: `${id} ${String(at)}`, from: id, to, words, path: [...path, 'transitions', at], isFailure: false };
  });
  const failed = (collect ?? []).flatMap(({ name, failed: to }, at): Way[] => {
    if (to == null) return [];
    const words = `no attempt for ${name} is left`;
    return [{ key: `${id} ${name}`, from: id, to, words, path: [...path, 'collect', at, 'failed'], isFailure: true }];
  });
  return [...taken, ...failed];
}

/** When a condition holds, in words. */
export function conditionWords(one: FlowCondition): string {
  if ('choice' in one) return one.choice.replace(/\.$/, '');
  if ('tool' in one) {
    const did = one.ok == null ? 'was called' : one.ok ? 'succeeds' : 'fails';
    const is = one.is == null ? '' : `, with ${one.path ?? 'the result'} ${String(one.is)}`;
    return `${one.tool} ${did}${is}`;
  }
  const said = dataWords(one);
  const known = one.known === false ? 'is unknown' : 'is known';
  return `${one.data} ${said.length === 0 ? known : said.join(' and ')}`;
}

function dataWords(one: Extract<FlowCondition, { data: string }>): string[] {
  const words: string[] = [];
  if (one.is != null) words.push(`is ${valueWords(one.is)}`);
  if (one.not != null) words.push(`is not ${valueWords(one.not)}`);
  if (one.in != null) words.push(`is ${one.in.map(valueWords).join(' or ')}`);
  if (one.at_least != null) words.push(`is ${String(one.at_least)} or more`);
  if (one.at_most != null) words.push(`is ${String(one.at_most)} or less`);
  return words;
}

function valueWords(value: unknown): string {
  return value === true ? 'yes' : value === false ? 'no' : String(value);
}

const ENDS = {
  hang_up: 'ends the call',
  transfer: 'transfers to',
  return: 'goes back to the step before',
  repeat: 'goes back and says it again',
} as const;

/** What a step does, line by line. */
export function factsOf({ instruction, say, collect, call, tools, end }: AnyStep): { kind: string; text: string }[] {
  const facts: { kind: string; text: string }[] = [];
  const line = (kind: string, text: string | null | undefined): void => {
    if (text != null && text.trim() !== '') facts.push({ kind, text: text.trim().split('\n', 1)[0] ?? '' });
  };
  line('Say', say?.entry);
  line('Do', instruction);
  line('Ask', (collect ?? []).map(({ name, required }) => (required === false ? `${name}?` : name)).join(', '));
  line('Call', call?.tool);
  line('Tools', (tools ?? []).join(', '));
  line('Exit', say?.exit);
  if (end != null) line('End', [ENDS[end.action], end.phone ?? ''].join(' '));
  return facts;
}

/** The steps that can be reached from the start and from global steps. @param without a step that is not there */
export function reachable(flow: Flow, without: string | null = null): ReadonlySet<string> {
  const ways = waysOf(flow);
  const open = [startOf(flow), ...(flow.global ?? []).map(({ id }) => id)];
  const reached = new Set<string>();
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === without || reached.has(id)) continue;
    reached.add(id);
    for (const { from, to } of ways) if (from === id) open.push(to);
  }
  return reached;
}

/** Steps that nothing leads to any more when one is deleted. */
export function lostBy(flow: Flow, id: string): string[] {
  const after = reachable(flow, id);
  return [...reachable(flow)].filter((one) => one !== id && !after.has(one));
}

/** What `GET /agents/{id}/steps` answers. */
export interface StepCounts {
  calls: number;
  steps: readonly {
    step: string;
    entered: number;
    ended: number;
    is_end: boolean;
    seconds: number;
    left: readonly { to: string; count: number }[];
  }[];
}

/** How many calls went where. */
export interface DrawnFigures {
  steps: ReadonlyMap<string, { words: string; drops: number }>;
  ways: ReadonlyMap<string, { words: string; share: number }>;
}

/** Figures as they are drawn at steps and ways. Calls that ended in a step that does not end calls dropped out there. */
export function drawnFigures(flow: Flow, { steps }: StepCounts): DrawnFigures {
  const titles = new Map(stepsOf(flow).map(({ step }) => [step.id, titleOf(step)]));
  const ways = waysOf(flow);
  const most = Math.max(1, ...steps.flatMap(({ left }) => left.map(({ count }) => count)));
  const drawnSteps = new Map<string, { words: string; drops: number }>();
  const drawnWays = new Map<string, { words: string; share: number }>();
  for (const { step, entered, ended, is_end: isEnd, left } of steps) {
    const words = [`${String(entered)} in`];
    if (ended > 0) words.push(`${String(ended)} ${isEnd ? 'ended' : 'dropped out'} (${percent(ended, entered)})`);
    for (const { to, count } of left) {
      // Several ways to one step are counted together, on the first.
      const way = ways.find((one) => one.from === step && one.to === to);
      if (way === undefined) words.push(`${String(count)} to ${titles.get(to) ?? to}`);
      else drawnWays.set(way.key, { words: `${String(count)} (${percent(count, entered)})`, share: count / most });
    }
    drawnSteps.set(step, { words: words.join(', '), drops: isEnd ? 0 : ended });
  }
  for (const { key } of ways) if (!drawnWays.has(key)) drawnWays.set(key, { words: '', share: 0 });
  return { steps: drawnSteps, ways: drawnWays };
}

/** Where most callers drop out, in words. */
export function dropOutWords(flow: Flow, { calls, steps }: StepCounts): string {
  if (calls === 0) return 'No call has ended in this time.';
  const titles = new Map(stepsOf(flow).map(({ step }) => [step.id, titleOf(step)]));
  const dropped = steps.filter(({ ended, is_end: isEnd }) => !isEnd && ended > 0).toSorted((a, b) => b.ended - a.ended);
  const count = `${String(calls)} ${calls === 1 ? 'call' : 'calls'}`;
  if (dropped.length === 0) return `${count}, none dropped out.`;
  const places = dropped.slice(0, 3).map(({ step, ended, entered }) => {
    return `${titles.get(step) ?? step} ${String(ended)} (${percent(ended, entered)})`;
  });
  return `${count}. Dropped out in: ${places.join(', ')}.`;
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${((part / whole) * 100).toFixed(0)} %`;
}
