import { describe, expect, it } from 'vitest';
import { latencies } from '../../src/benchmark/provider-set.js';
import { spread, summarise } from '../../src/benchmark/latency-run.js';
import type { MeasuredTurn } from '../../src/benchmark/measured-turn.js';
import { markdownTable, reportRows } from '../../src/benchmark/report.js';
import { reportPage } from '../../src/benchmark/report-page.js';
import { Random } from '../../src/base/random.js';

const answered = (responseMs: number): MeasuredTurn => ({
  recording: 'a<b>',
  index: 0,
  outcome: 'answered',
  tool: false,
  speculative: true,
  responseMs,
  stages: { endOfTurn: responseMs - 100, sttFinal: null, llm: 50, sentence: 10, tts: 30, playout: 10 },
});
const NO_STAGES = { endOfTurn: null, sttFinal: null, llm: null, sentence: null, tts: null, playout: null };
const cutOff: MeasuredTurn = { ...answered(0), outcome: 'cut off', responseMs: null, stages: NO_STAGES };
const turns = [answered(400), answered(600), cutOff];
const cost = { requests: 6, wastedPromptTokens: 300, wastedAnswerTokens: 30 };
const run = { name: 'own <i>', about: 'a & b', turns, faults: {}, summary: summarise(turns), cost };

describe('the report', () => {
  it('counts and spreads', () => {
    expect(spread([3, 1, 2])).toEqual({ count: 3, p50: 2, p90: 3, p95: 3, p99: 3 });
    expect(run.summary).toMatchObject({ turns: 3, answered: 2, cutOff: 1, unanswered: 0, response: { p50: 400 } });
    expect(markdownTable(reportRows([run])).split('\n')).toEqual([
      '| run     | turns | cut off | unanswered | speculative | response p50 | p90 | p95 | p99 | after the decision | p95 | requests a turn | thrown away a turn: tokens in | out |',
      '|---------|------:|--------:|-----------:|------------:|-------------:|----:|----:|----:|-------------------:|----:|----------------:|------------------------------:|----:|',
      '| own <i> |     3 |  33.3 % |      0.0 % |     100.0 % |          400 | 600 | 600 | 600 |                100 | 100 |               2 |                           100 |  10 |',
    ]);
  });

  it('is one page that loads nothing, in which no name is markup', () => {
    const page = reportPage({
      title: 'T',
      time: 'now',
      machine: 'here',
      runs: [run, { ...run, turns: [], name: 'none' }],
    });
    expect(page).not.toMatch(/NaN|undefined|<i>|<b>a|src=|href=|https?:/);
    expect(page.match(/<svg/g)).toHaveLength(5);
  });
});

describe('latencies', () => {
  it('have the median and the 95th percentile that they were made with', () => {
    const draw = latencies({ p50Ms: 500, p95Ms: 1500 }, new Random(5));
    const drawn = spread(Array.from({ length: 20_000 }, draw));
    expect(drawn?.p50).toBeGreaterThan(485);
    expect(drawn?.p50).toBeLessThan(515);
    expect(drawn?.p95).toBeGreaterThan(1430);
    expect(drawn?.p95).toBeLessThan(1570);
    expect(latencies({ p50Ms: 0, p95Ms: 0 }, new Random(1))()).toBe(0);
  });
});
