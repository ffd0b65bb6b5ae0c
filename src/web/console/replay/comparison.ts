import type { PlayedDecision, PlayedTurn, WhatIf } from '../../../replay/what-if.js';
import { median } from '../../page/times.js';
import { decision } from '../decisions.js';

/**
 * One side of a turn; milliseconds from the end of the user's speech, otherwise from the decision or, for the opening,
 * from the start of the line.
 */
export interface TurnSide {
  heard: string;
  /** Until the end of the turn; null without speech, as in the opening. */
  endOfTurnMs: number | null;
  /** Until the agent's first audio; null = none. */
  responseMs: number | null;
  /** Why the turn ended at that time; null = unknown. */
  reason: string | null;
  answer: string;
}

/** A decision of only one side. */
export interface DecisionDifference {
  side: 'before' | 'after';
  /** Since the line opened. */
  atMs: number;
  text: string;
}

/** An original and a replayed turn. */
export interface TurnComparison {
  /** Position in the recording, since the line opened. */
  atMs: number;
  /** `later` and `sooner` by the time of the agent's first audio or, if equal, of the end of the turn. */
  change: 'same' | 'later' | 'sooner' | 'otherwise' | 'gone' | 'new';
  /** Replayed minus original time of the agent's first audio; null if one side has none. */
  deltaMs: number | null;
  /** The same for the end of the turn. */
  decidedDeltaMs: number | null;
  before: TurnSide | null;
  after: TurnSide | null;
  decisions: readonly DecisionDifference[];
}

export interface ComparisonSummary {
  /** Number of user turns. */
  turns: number;
  changed: number;
  /** Median response times; null = no answers. */
  before: { responseMs: number | null; interruptions: number };
  after: { responseMs: number | null; interruptions: number };
}

/** Smaller differences are rounding. */
const NOTICED_MS = 1;

export function isNoticed(deltaMs: number | null): boolean {
  return deltaMs !== null && Math.abs(deltaMs) >= NOTICED_MS;
}

/**
 * The effect of the settings, turn by turn.
 * @param zeroMs session time of the opening of the line
 */
export function comparisonOf({ turns }: WhatIf, zeroMs: number): TurnComparison[] {
  return turns.map(({ before, after }) => {
    const [left, right] = [sideOf(before, zeroMs), sideOf(after, zeroMs)];
    const decisions = differences(before?.decisions ?? [], after?.decisions ?? [], zeroMs);
    const turn = before ?? after;
    const atMs = (turn?.speechEndMs ?? turn?.decidedMs ?? zeroMs) - zeroMs;
    const deltaMs = deltaOf(before, after, (side) => side.agent[0]?.fromMs ?? null);
    const decidedDeltaMs = deltaOf(before, after, (side) => side.decidedMs);
    const change = changeOf(left, right, [deltaMs, decidedDeltaMs], decisions.length);
    return { atMs, change, deltaMs, decidedDeltaMs, before: left, after: right, decisions };
  });
}

export function summaryOf({ turns }: WhatIf, rows: readonly TurnComparison[]): ComparisonSummary {
  const side = (which: 'before' | 'after'): ComparisonSummary['before'] => ({
    // The opening is not an answer, and typed text has no end of speech.
    responseMs: median(rows.flatMap((row) => (row[which]?.endOfTurnMs == null ? [] : (row[which].responseMs ?? [])))),
    interruptions: turns.reduce((sum, turn) => sum + countOf(turn[which]), 0),
  });
  const [, ...users] = rows;
  const changed = users.filter(({ change }) => change !== 'same').length;
  return { turns: users.length, changed, before: side('before'), after: side('after') };
}

function countOf(turn: PlayedTurn | null): number {
  return turn?.decisions.filter(({ name }) => name === 'interruption').length ?? 0;
}

function sideOf(turn: PlayedTurn | null, zeroMs: number): TurnSide | null {
  if (turn === null) return null;
  const { speechEndMs, decidedMs, scored, user, agent } = turn;
  const fromMs = speechEndMs ?? decidedMs;
  const first = agent[0]?.fromMs;
  return {
    heard: user,
    endOfTurnMs: decidedMs === null || speechEndMs === null ? null : decidedMs - speechEndMs,
    responseMs: first === undefined ? null : first - (fromMs ?? zeroMs),
    reason: scored === null ? null : decision('turn.scored', scored).text,
    answer: agent.map(({ text, isWhole }) => (isWhole ? text : `${text} [cut]`)).join(' '),
  };
}

/** From the end of speech if both have one, otherwise by the clock. */
function deltaOf(
  before: PlayedTurn | null,
  after: PlayedTurn | null,
  momentOf: (turn: PlayedTurn) => number | null,
): number | null {
  if (before === null || after === null) return null;
  const isSpoken = before.speechEndMs !== null && after.speechEndMs !== null;
  const shift = isSpoken ? (after.speechEndMs ?? 0) - (before.speechEndMs ?? 0) : 0;
  const [one, other] = [momentOf(before), momentOf(after)];
  return one === null || other === null ? null : other - one - shift;
}

function changeOf(
  before: TurnSide | null,
  after: TurnSide | null,
  deltas: readonly (number | null)[],
  decisions: number,
): TurnComparison['change'] {
  if (before === null) return 'new';
  if (after === null) return 'gone';
  const delta = deltas.find(isNoticed) ?? null;
  if (delta !== null) return delta > 0 ? 'later' : 'sooner';
  const isSame = before.heard === after.heard && before.answer === after.answer && decisions === 0;
  return isSame ? 'same' : 'otherwise';
}

/** Speculative answers are not heard unless they are right, so they are not decisions of a turn. */
function counts({ name }: PlayedDecision): boolean {
  return !name.startsWith('speculation.');
}

function differences(
  before: readonly PlayedDecision[],
  after: readonly PlayedDecision[],
  zeroMs: number,
): DecisionDifference[] {
  const words = (decisions: readonly PlayedDecision[]) =>
    decisions.filter(counts).map(({ atMs, name, data }) => ({ atMs: atMs - zeroMs, text: decision(name, data).text }));
  const left = words(before);
  const right = words(after);
  const only = (these: typeof left, others: typeof left, side: DecisionDifference['side']): DecisionDifference[] => {
    const rest = others.map(({ text }) => text);
    return these.flatMap(({ atMs, text }) => {
      const at = rest.indexOf(text);
      if (at < 0) return [{ side, atMs, text }];
      rest.splice(at, 1);
      return [];
    });
  };
  return [...only(left, right, 'before'), ...only(right, left, 'after')].sort((a, b) => a.atMs - b.atMs);
}
