import { sql, type SqlDatabase, type Statement } from '../../../src/store/sql/statement.js';

const BATCH = 20_000;

/**
 * Fills the call log with ended calls, by SQL alone: 10 agents, 5 campaigns, 100,000 numbers, and an agent with one call
 * in 10,000. Then the database has its statistics, as after a while in use.
 */
export async function manyCalls(database: SqlDatabase, count: number): Promise<void> {
  const isSqlite = database.dialect === 'sqlite';
  const rowsOf = (from: number, to: number): Statement =>
    isSqlite
      ? sql`WITH RECURSIVE n (i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to})`
      : sql`WITH n (i) AS (SELECT generate_series(${from}::bigint, ${to}::bigint))`;
  const item = `{"agent_config":{"prompt":"${'Be kind. '.repeat(100)}"},"metadata":{},"chat":"[]","function_calls":[]}`;
  const number = isSqlite
    ? (of: string) => ({ text: `printf('+1202555%05d', ${of})`, values: [] })
    : (of: string) => ({ text: `'+1202555' || lpad((${of})::text, 5, '0')`, values: [] });
  // A statement may not take long.
  for (let from = 1; from <= count; from += BATCH) {
    await database.run(
      sql`${rowsOf(from, Math.min(count, from + BATCH - 1))} INSERT INTO calls (ts_us, session_id, call_id, channel, direction, agent_id, campaign_id, from_phone,
          to_phone, status, ended_us, recording, item)
        SELECT 1700000000000000 + i * 1000000, 's' || i, 'c' || i, 'phone', 'outbound',
          CASE WHEN i % 10000 = 0 THEN 'agent-rare' ELSE 'agent-' || (i % 10) END,
          CASE WHEN i % 2 = 0 THEN 'campaign-' || (i % 5) END,
          ${number('i % 7')}, ${number('(i * 7919) % 100000')},
          CASE i % 5 WHEN 0 THEN 'busy' WHEN 1 THEN 'no-answer' WHEN 2 THEN 'failed' ELSE 'user-ended' END,
          1700000000000000 + i * 1000000 + 30000000, NULL, ${item} FROM n`,
    );
  }
  // Not reversed: nobody searches for the end of one here.
  await database.run(
    sql`INSERT INTO call_numbers (number, reversed)
        SELECT from_phone, from_phone FROM calls UNION SELECT to_phone, to_phone FROM calls`,
  );
  await database.run({ text: isSqlite ? 'ANALYZE' : 'VACUUM ANALYZE', values: [] });
}
