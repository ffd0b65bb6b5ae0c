import { nearestRank } from '../session/record/session-metrics.js';
import { type MeasuredTurn, type LatencyStage, STAGES } from './measured-turn.js';

/** Percentiles in milliseconds, by nearest rank: each is a measured value. */
export interface Spread {
  count: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
}

export interface BenchSummary {
  turns: number;
  answered: number;
  /** The agent spoke before the user had finished. */
  cutOff: number;
  unanswered: number;
  /** Answers that started before the decision that the turn is over. */
  speculative: number;
  response: Spread | null;
  /** First turns of recordings, later turns, and turns with a tool call. */
  byKind: { first: Spread | null; later: Spread | null; tool: Spread | null };
  stages: Readonly<Record<LatencyStage, Spread | null>>;
  /** From the decision that the turn is over to the first frame at the far end. */
  afterDecision: Spread | null;
}

export function summarise(turns: readonly MeasuredTurn[]): BenchSummary {
  const of = (outcome: MeasuredTurn['outcome']): number => turns.filter((turn) => turn.outcome === outcome).length;
  const response = (among: readonly MeasuredTurn[]): Spread | null =>
    spread(among.flatMap((turn) => turn.responseMs ?? []));
  const plain = turns.filter(({ tool }) => !tool);
  return {
    turns: turns.length,
    answered: of('answered'),
    cutOff: of('cut off'),
    unanswered: of('unanswered'),
    speculative: turns.filter(({ speculative, outcome }) => speculative && outcome === 'answered').length,
    response: response(turns),
    byKind: {
      first: response(plain.filter(({ index }) => index === 0)),
      later: response(plain.filter(({ index }) => index > 0)),
      tool: response(turns.filter(({ tool }) => tool)),
    },
    stages: Object.fromEntries(
      STAGES.map((stage) => [stage, spread(turns.flatMap((turn) => turn.stages[stage] ?? []))]),
    ) as BenchSummary['stages'],
    afterDecision: spread(
      turns.flatMap(({ responseMs, stages: { endOfTurn } }) =>
        responseMs === null || endOfTurn === null ? [] : responseMs - endOfTurn,
      ),
    ),
  };
}

export function spread(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const at = nearestRank(values);
  return { count: values.length, p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) };
}
