import type { PlayedDecision, PlayedTurn, WhatIf } from '../../../replay/what-if.js';
import { median } from '../../page/times.js';
import { decision } from '../decisions.js';

/**
 * One side of a turn; milliseconds from the end of the user's speech, else from the decision or, of the opening, from when the
 * line opened.
 */
export interface TurnSide {
  heard: string;
  /** Until the turn counted as over; null where nothing was spoken, as in the opening. */
  endOfTurnMs: number | null;
  /** Until the agent's first sound; null = there was none. */
  responseMs: number | null;
  /** Why the turn ended when it did, in words; null = it was not reckoned. */
  reason: string | null;
  answer: string;
}

/** A decision that one side has and the other has not. */
export interface DecisionDifference {
  side: 'before' | 'after';
  /** Since the line opened. */
  atMs: number;
  text: string;
}

/** A turn as it was and as it would have been. */
export interface TurnComparison {
  /** Since the line opened: where the turn is in the recording. */
  atMs: number;
  /** `later` and `sooner` by when the agent is first heard or, where that is the same, by when the turn ends. */
  change: 'same' | 'later' | 'sooner' | 'otherwise' | 'gone' | 'new';
  /** After less before, of the agent's first sound; null where one side has none. */
  deltaMs: number | null;
  /** The same of the end of the turn. */
  decidedDeltaMs: number | null;
  before: TurnSide | null;
  after: TurnSide | null;
  decisions: readonly DecisionDifference[];
}

export interface ComparisonSummary {
  /** Of the user. */
  turns: number;
  changed: number;
  /** Medians of the response times; null = nothing was answered. */
  before: { responseMs: number | null; interruptions: number };
  after: { responseMs: number | null; interruptions: number };
}

/** What is less is rounding. */
const NOTICED_MS = 1;

export function isNoticed(deltaMs: number | null): boolean {
  return deltaMs !== null && Math.abs(deltaMs) >= NOTICED_MS;
}

/**
 * Turn by turn, what the settings change.
 * @param zeroMs session time at which the line opened
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
    // The opening answers nobody, and what was typed has no end of speech.
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

/** From the end of speech where both have one, else by the clock. */
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

/** Answers that are begun early are heard by nobody unless they are right: they are no decisions of a turn. */
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
