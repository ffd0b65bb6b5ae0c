import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CallHistoryItem, HistoryStep } from '../../src/session/record/call-history.js';
import { countSteps, stepFigures } from '../../src/store/step-figures.js';
import { backends, type TestDatabase } from './support/backends.js';

const DAY_MS = 86_400_000;
const FIRST: HistoryStep[] = [
  { step: 'details', from: 0, to: 2.5, next: 'booked' },
  { step: 'booked', from: 2.5, to: 4, next: null },
];
const SECOND: HistoryStep[] = [{ step: 'details', from: 0, to: 1.5, next: null }];

function item(steps: HistoryStep[], more: Partial<CallHistoryItem> = {}): CallHistoryItem {
  return { agent_id: 'desk', steps, ...more } as CallHistoryItem;
}

describe.each(backends)('the figures of steps in a database of $name', ({ open }) => {
  let opened: TestDatabase;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.remove());

  it('add up over days, way by way, without test calls and temporary agents', async () => {
    const { database } = opened;
    const calls: [CallHistoryItem, number][] = [
      [item(FIRST), 10 * DAY_MS],
      [item(FIRST), 11 * DAY_MS],
      [item(SECOND), 11 * DAY_MS + 5],
      [item(SECOND), 12 * DAY_MS],
      [item(FIRST, { agent_id: 'other' }), 11 * DAY_MS],
      [item(FIRST, { agent_id: null }), 11 * DAY_MS],
      [item(FIRST, { eval: {} as NonNullable<CallHistoryItem['eval']> }), 11 * DAY_MS],
    ];
    for (const [call, endedMs] of calls) await database.transaction(() => countSteps(call, endedMs * 1000));
    expect(await stepFigures(database, 'desk', 10 * DAY_MS, 11 * DAY_MS + 1)).toEqual([
      { step: 'booked', next: null, count: 2, ms: 3000 },
      { step: 'details', next: null, count: 1, ms: 1500 },
      { step: 'details', next: 'booked', count: 2, ms: 5000 },
    ]);
    expect(await stepFigures(database, 'desk', 13 * DAY_MS, 14 * DAY_MS)).toEqual([]);
  });
});
