import { describe, expect, it } from 'vitest';
import { type Flow, flowSchema } from '../../../../src/agent/flow/steps.js';
import {
  addStep,
  connect,
  cutWay,
  History,
  insertStep,
  removeStep,
  renameStep,
  turnWay,
  withGlobal,
  withStart,
} from '../../../../src/web/console/flow/edit.js';
import {
  conditionWords,
  drawnFigures,
  dropOutWords,
  isDrawable,
  lostBy,
  reachable,
  startOf,
  type Way,
  stepsOf,
  waysOf,
} from '../../../../src/web/console/flow/graph.js';
import { type Box, layOut, pathOf } from '../../../../src/web/console/flow/layout.js';
import { TEMPLATES } from '../../../../src/web/console/flow/templates.js';

const BOOKING: Flow = {
  start: 'details',
  steps: [
    {
      id: 'details',
      title: 'Details',
      collect: [{ name: 'day', type: 'date', failed: 'person' }],
      transitions: [{ to: 'booked', when: [{ data: 'day', known: true }] }, { to: 'details' }],
    },
    { id: 'booked', end: { action: 'hang_up' } },
    { id: 'nobody', end: { action: 'hang_up' } },
  ],
  global: [
    {
      id: 'person',
      choice: 'The caller wants a person.',
      end: { action: 'transfer', phone: '+12025550101' },
      transitions: [{ to: 'nobody', when: [{ tool: 'transfer_call', ok: false }] }],
    },
    { id: 'again', choice: 'The caller wants to hear it again.', end: { action: 'repeat' } },
  ],
};

const ids = (flow: Flow): string[] => stepsOf(flow).map(({ step }) => step.id);
const ends = (flow: Flow): string[] => waysOf(flow).map(({ from, to }) => `${from} ${to}`);
const way = (flow: Flow, from: string, to: string): Way => {
  const found = waysOf(flow).find((one) => one.from === from && one.to === to);
  if (found === undefined) throw new Error(`no way from ${from} to ${to}`);
  return found;
};

describe('a flow that is edited', () => {
  it('has a step renamed wherever it is named, and nothing else', () => {
    const text = JSON.stringify(BOOKING);
    const renamed = renameStep(renameStep(renameStep(BOOKING, 'details', 'd'), 'person', 'p'), 'nobody', 'n');
    expect(renamed.start).toBe('d');
    expect(ids(renamed)).toEqual(['d', 'booked', 'n', 'p', 'again']);
    expect(ends(renamed)).toEqual(['d booked', 'd d', 'd p', 'p n']);
    expect(JSON.stringify(BOOKING)).toBe(text);
    const back = renameStep(renameStep(renameStep(renamed, 'd', 'details'), 'p', 'person'), 'n', 'nobody');
    expect(back).toEqual(BOOKING);
  });

  it('grows by steps that the schema takes: after a step, on a way, after an end and after a transfer', () => {
    const one = addStep(BOOKING, 'booked');
    expect(one.flow.steps[1]).toEqual({ id: 'booked', transitions: [{ to: one.id }] });
    const two = insertStep(one.flow, way(one.flow, 'details', 'person'));
    expect(ends(two.flow)).toContain(`details ${two.id}`);
    expect(ends(two.flow)).toContain(`${two.id} person`);
    const three = connect(two.flow, 'person', 'booked');
    expect(three.global?.[0]).toMatchObject({ end: { action: 'transfer' } });
    expect(three.global?.[0]?.transitions?.[1]).toEqual({ to: 'booked', when: [{ tool: 'transfer_call', ok: false }] });
    expect(one.id).not.toBe(two.id);
    expect(flowSchema.safeParse(three).error?.issues).toBeUndefined();
  });

  it('loses a step with all that names it, and says what nothing leads to then', () => {
    expect(lostBy(BOOKING, 'person')).toEqual(['nobody']);
    expect(lostBy(BOOKING, 'booked')).toEqual([]);
    const left = removeStep(BOOKING, 'person');
    expect(ids(left)).toEqual(['details', 'booked', 'nobody', 'again']);
    expect(left.steps[0]?.collect).toEqual([{ name: 'day', type: 'date' }]);
    expect(reachable(left).has('nobody')).toBe(false);
    const begun = removeStep(BOOKING, 'details');
    expect(begun).not.toHaveProperty('start');
    expect(startOf(begun)).toBe('booked');
    const last: Flow = { steps: [{ id: 'only', end: { action: 'hang_up' } }] };
    expect(removeStep(last, 'only')).toBe(last);
  });

  it('has ways turned and cut, each in its own place', () => {
    expect(ends(turnWay(BOOKING, way(BOOKING, 'details', 'person'), 'nobody'))).toContain('details nobody');
    expect(ends(turnWay(BOOKING, way(BOOKING, 'details', 'details'), 'nobody'))).not.toContain('details details');
    const cut = cutWay(BOOKING, way(BOOKING, 'details', 'person'));
    expect(cut.steps[0]?.collect).toEqual([{ name: 'day', type: 'date' }]);
    expect(cutWay(BOOKING, way(BOOKING, 'person', 'nobody')).global?.[0]).not.toHaveProperty('transitions');
  });

  it('begins elsewhere, and has steps that become global and are so no longer', () => {
    expect(withStart(BOOKING, 'booked').start).toBe('booked');
    expect(withStart({ ...BOOKING, start: 'booked' }, 'details')).not.toHaveProperty('start');
    const all = withGlobal(BOOKING, 'booked', true);
    expect(all.global?.at(-1)).toMatchObject({ id: 'booked', choice: 'The caller asks for: booked.' });
    expect(withGlobal(all, 'booked', false).steps.at(-1)).toEqual(BOOKING.steps[1]);
  });

  it('is undone and done again, with what was typed into one field as one change', () => {
    const history = new History('');
    history.push('a', 'title');
    history.push('ab', 'title');
    history.push('abc', 'id');
    history.push('x');
    expect([history.undo(), history.now]).toEqual([true, 'abc']);
    expect([history.undo(), history.now]).toEqual([true, 'ab']);
    expect([history.redo(), history.now]).toEqual([true, 'abc']);
    history.push('y', 'id');
    expect(history.canRedo).toBe(false);
    expect([history.undo(), history.undo(), history.undo(), history.undo()]).toEqual([true, true, true, false]);
    expect(history.now).toBe('');
  });

  it('is drawn only if it can be', () => {
    expect(isDrawable(BOOKING)).toBe(true);
    for (const bad of [null, 'x', [], {}, { steps: [] }, { steps: [{}] }, { steps: [{ id: 'a', collect: 3 }] }]) {
      expect(isDrawable(bad), JSON.stringify(bad)).toBe(false);
    }
    expect(isDrawable({ steps: [{ id: 'a', transitions: [null] }] })).toBe(false);
    expect(isDrawable({ steps: [{ id: 'a', transitions: [{ to: 'b', when: ['c'] }] }] })).toBe(false);
  });
});

describe('conditions in words', () => {
  it.each([
    [{ choice: 'The caller wants to book.' }, 'The caller wants to book'],
    [{ data: 'day' }, 'day is known'],
    [{ data: 'day', known: false }, 'day is unknown'],
    [{ data: 'right', is: true }, 'right is yes'],
    [{ data: 'people', at_least: 2, at_most: 8 }, 'people is 2 or more and is 8 or less'],
    [{ data: 'size', in: ['small', 'large'] }, 'size is small or large'],
    [{ tool: 'find', ok: true, path: 'order.status', is: 'sent' }, 'find succeeds, with order.status sent'],
  ])('%j', (condition, words) => {
    expect(conditionWords(condition)).toBe(words);
  });
});

describe('the layout of a flow', () => {
  const boxesOf = (flow: Flow): [string, Box][] => [...layOut(stepsOf(flow), waysOf(flow)).boxes];

  it.each([...TEMPLATES.map(({ name, flow }) => [name, flow] as const), ['with a circle', BOOKING] as const])(
    'has no card upon another, and every arrow from card to card: %s',
    (_, flow) => {
      const { boxes, lines, width, height } = layOut(stepsOf(flow), waysOf(flow));
      const all = [...boxes.values()];
      expect(all.length).toBe(ids(flow).length);
      for (const [at, a] of all.entries()) {
        expect(a.x >= 0 && a.x + a.width <= width && a.y >= 0 && a.y + a.height <= height).toBe(true);
        for (const b of all.slice(at + 1)) {
          const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
          expect(apart).toBe(true);
        }
      }
      expect(lines.length).toBe(waysOf(flow).length);
      for (const { points } of lines) expect(pathOf(points)).toMatch(/^M[\d.]+ [\d.]+ L/);
    },
  );

  it('goes from top to bottom, and has global steps that nothing touches beside it', () => {
    const boxes = new Map(boxesOf(BOOKING));
    const y = (id: string): number => boxes.get(id)?.y ?? NaN;
    expect(y('details')).toBeLessThan(y('booked'));
    expect(y('person')).toBeLessThan(y('nobody'));
    const rights = [...boxes].filter(([id]) => id !== 'again').map(([, { x, width }]) => x + width);
    expect(boxes.get('again')?.x).toBeGreaterThan(Math.max(...rights));
  });

  it('lays out a hundred steps, some of which lead back', () => {
    const steps = Array.from({ length: 100 }, (_, at) => ({
      id: `s${String(at)}`,
      transitions: [{ to: `s${String(Math.min(99, at + 1))}` }, { to: `s${String(Math.max(0, at - 3))}` }],
    }));
    expect(boxesOf({ steps }).length).toBe(100);
  });
});

describe('the templates', () => {
  it.each(TEMPLATES.map(({ name, flow }) => [name, flow] as const))('%s has no fault', (_, flow) => {
    expect(flowSchema.safeParse(flow).error?.issues).toBeUndefined();
  });
});

describe('figures', () => {
  const left = (to: string, count: number): { to: string; count: number } => ({ to, count });
  const counts = {
    calls: 100,
    steps: [
      {
        step: 'details',
        entered: 100,
        ended: 20,
        is_end: false,
        seconds: 9,
        left: [left('booked', 70), left('again', 10)],
      },
      { step: 'booked', entered: 70, ended: 70, is_end: true, seconds: 3, left: [] },
      { step: 'again', entered: 10, ended: 10, is_end: false, seconds: 1, left: [] },
    ],
  };

  it('stand at the steps and ways, with what no way is drawn for', () => {
    const { steps, ways } = drawnFigures(BOOKING, counts);
    expect(steps.get('details')).toEqual({ words: '100 in, 20 dropped out (20 %), 10 to again', drops: 20 });
    expect(steps.get('booked')).toEqual({ words: '70 in, 70 ended (100 %)', drops: 0 });
    expect(ways.get(way(BOOKING, 'details', 'booked').key)).toEqual({ words: '70 (70 %)', share: 1 });
    expect(ways.get(way(BOOKING, 'details', 'person').key)).toEqual({ words: '', share: 0 });
  });

  it('say where most callers drop out', () => {
    expect(dropOutWords(BOOKING, counts)).toBe('100 calls. Dropped out in: Details 20 (20 %), again 10 (100 %).');
    expect(dropOutWords(BOOKING, { calls: 0, steps: [] })).toBe('No call has ended in this time.');
  });
});
