import { beforeAll, describe, expect, it } from 'vitest';
import { type EventLog, readLog } from '../../../../src/replay/read-log.js';
import { type PlayedTurn, whatIf } from '../../../../src/replay/what-if.js';
import { mergeConfig } from '../../../../src/agent/flow/conversation-config.js';
import { valueAt } from '../../../../src/web/console/draft.js';
import { lineOpenedMs } from '../../../../src/web/console/calls/timeline.js';
import { turnStories } from '../../../../src/web/console/calls/turns.js';
import { comparisonOf, summaryOf, type TurnComparison } from '../../../../src/web/console/replay/comparison.js';
import { replaySettings } from '../../../../src/web/console/replay/replay-settings.js';
import { recordedSession } from '../calls/recorded-session.js';

/** The re-enacted voice begins on ticks of 20 ms. */
const TICK_MS = 20;

describe('a replay of a recorded session', () => {
  let log: EventLog;
  let zeroMs: number;

  beforeAll(async () => {
    log = readLog((await recordedSession()).text);
    zeroMs = lineOpenedMs(log.entries);
  }, 60_000);

  const played = (changes: Parameters<typeof whatIf>[1]): TurnComparison[] =>
    comparisonOf(whatIf(log, changes), zeroMs);

  it('with its own settings has the response times of the call, and no difference', () => {
    const rows = played({});
    expect(rows.every(({ change, decisions }) => change === 'same' && decisions.length === 0)).toBe(true);
    const stories = turnStories(log.entries).filter(({ endOfTurnMs }) => endOfTurnMs !== null);
    const sides = rows.flatMap(({ before }) => (before?.endOfTurnMs == null ? [] : [before]));
    expect(sides).toHaveLength(stories.length);
    for (const [at, { endOfTurnMs, responseMs }] of stories.entries()) {
      expect(Math.abs((sides[at]?.endOfTurnMs ?? 0) - (endOfTurnMs ?? 0))).toBeLessThanOrEqual(TICK_MS);
      expect(Math.abs((sides[at]?.responseMs ?? 0) - (responseMs ?? 0))).toBeLessThanOrEqual(TICK_MS);
    }
  });

  it('with a delay tells turn by turn how much later the agent is heard, and why', () => {
    const result = whatIf(log, { endpointing: { responseDelayMs: 1500 } });
    const rows = comparisonOf(result, zeroMs);
    const [, first] = rows;
    expect(first?.change).toBe('later');
    expect(first?.after?.endOfTurnMs).toBeGreaterThanOrEqual(1500);
    expect(first?.deltaMs).toBeCloseTo((first?.after?.responseMs ?? 0) - (first?.before?.responseMs ?? 0), 6);
    expect(first?.after?.reason).toContain('ends after 1500 ms of silence');
    const { changed, turns, before, after } = summaryOf(result, rows);
    expect(changed).toBeGreaterThan(0);
    expect(changed).toBeLessThanOrEqual(turns);
    expect(after.responseMs).toBeGreaterThan((before.responseMs ?? 0) + 500);
  });

  it('with less silence is heard sooner: the voice had been ready, and waited for the end of the turn', () => {
    const rows = played({ endpointing: { minSilenceMs: 60, maxSilenceMs: 600 } });
    const sooner = rows.filter(({ change }) => change === 'sooner');
    expect(sooner.length).toBeGreaterThan(0);
    expect(Math.min(...sooner.map(({ deltaMs }) => deltaMs ?? 0))).toBeLessThan(-40);
  });

  it('tells turns that come together, and decisions that are made no more', () => {
    const rows = played({ limits: { maxDurationMs: 9000 } });
    expect(rows.some(({ change }) => change === 'gone')).toBe(true);
    const decisions = rows.flatMap((row) => row.decisions);
    expect(decisions.some(({ side, text }) => side === 'after' && text.startsWith('A limit is reached'))).toBe(true);
  });

  it('offers settings that the conversation has', () => {
    const config = mergeConfig({ ...log.start.config, filler: { afterMs: 800, messages: [] } });
    for (const { path, kind } of replaySettings(config)) {
      expect(typeof valueAt(config, path), path.join('.')).toBe(kind === 'ms' ? 'number' : 'boolean');
    }
  });
});

describe('the settings of a replay', () => {
  it('include numbers and switches that have no description yet', () => {
    const config = mergeConfig({ endpointing: { breathMs: 3 } as object });
    expect(replaySettings(config).at(-1)).toMatchObject({
      path: ['endpointing', 'breathMs'],
      label: 'Breath',
      kind: 'ms',
    });
    expect(replaySettings(mergeConfig({})).every(({ label, about }) => label !== '' && about.includes(' '))).toBe(true);
  });
});

describe('a turn', () => {
  const turn = (speechEndMs: number | null, decidedMs: number, fromMs: number): PlayedTurn => ({
    speechEndMs,
    decidedMs,
    scored: null,
    user: 'hello',
    decisions: [],
    agent: [{ fromMs, text: 'Hello.', isWhole: true }],
  });
  const compared = (before: PlayedTurn, after: PlayedTurn) =>
    comparisonOf({ turns: [{ before, after, isSame: false }], before: null, after: null }, 0)[0];

  it('that was spoken is compared from the end of speech, which may be another', () => {
    const row = compared(turn(1000, 1300, 1400), turn(2000, 2900, 3000));
    expect(row).toMatchObject({ change: 'later', deltaMs: 600, before: { endOfTurnMs: 300, responseMs: 400 } });
  });

  it('may be over sooner though the answer is not', () => {
    const row = compared(turn(1000, 1400, 1500), turn(1000, 1280, 1500));
    expect(row).toMatchObject({ change: 'sooner', deltaMs: 0, decidedDeltaMs: -120 });
  });

  it('that was typed is compared by the clock', () => {
    const row = compared(turn(null, 1300, 1400), turn(null, 1500, 1610));
    expect(row).toMatchObject({ change: 'later', deltaMs: 210, before: { endOfTurnMs: null, responseMs: 100 } });
  });
});
