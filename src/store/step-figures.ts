import type { CallHistoryItem } from '../session/record/call-history.js';
import { run, sql, type SqlDatabase, type Transaction } from './sql/statement.js';

/** How calls have passed the steps of an agent's flow: one count for each day and way, added when a call ends. */

const DAY_US = 86_400_000_000;

/** How often a step was left by one way. */
export interface StepFigures {
  step: string;
  /** The step that followed; null = the calls ended there. */
  next: string | null;
  count: number;
  /** The time that they spent in it. */
  ms: number;
}

/** Adds the steps of a call that ends. Test calls do not count. */
export function* countSteps(
  { agent_id: agentId, steps = [], eval: test }: CallHistoryItem,
  endedUs: number,
): Transaction<void> {
  if (agentId === null || test !== undefined) return;
  const day = Math.floor(endedUs / DAY_US);
  const ways = new Map<string, StepFigures>();
  for (const { step, from, to, next } of steps) {
    const key = JSON.stringify([step, next]);
    const way = ways.get(key) ?? { step, next, count: 0, ms: 0 };
    ways.set(key, { ...way, count: way.count + 1, ms: way.ms + Math.round((to - from) * 1000) });
  }
  // In one order, so that two calls never wait for each other's rows.
  for (const key of [...ways.keys()].toSorted()) {
    const { step, next, count, ms } = ways.get(key) as StepFigures;
    yield* run(
      sql`INSERT INTO step_figures (agent_id, day, step, next, count, ms)
          VALUES (${agentId}, ${day}, ${step}, ${next ?? ''}, ${count}, ${ms})
          ON CONFLICT (agent_id, day, step, next)
          DO UPDATE SET count = step_figures.count + excluded.count, ms = step_figures.ms + excluded.ms`,
    );
  }
}

/** @param fromMs Unix time of the first day; @param toMs of the last one */
export async function stepFigures(
  database: SqlDatabase,
  agentId: string,
  fromMs: number,
  toMs: number,
): Promise<readonly StepFigures[]> {
  const [first, last] = [Math.floor((fromMs * 1000) / DAY_US), Math.floor((toMs * 1000) / DAY_US)];
  const rows = await database.all<{ step: string; next: string; count: number; ms: number }>(
    sql`SELECT step, next, CAST(SUM(count) AS BIGINT) AS count, CAST(SUM(ms) AS BIGINT) AS ms FROM step_figures
        WHERE agent_id = ${agentId} AND day BETWEEN ${first} AND ${last} GROUP BY step, next ORDER BY step, next`,
  );
  return rows.map(({ step, next, count, ms }) => ({ step, next: next === '' ? null : next, count, ms }));
}
