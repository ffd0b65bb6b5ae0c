import { describe, expect, it } from 'vitest';
import { parseDocument } from 'htmlparser2';
import { stripVTControlCharacters } from 'node:util';
import { compared } from '../../../src/eval/run-suite.js';
import { htmlReport } from '../../../src/eval/report/html-report.js';
import { junitReport } from '../../../src/eval/report/junit-report.js';
import { textReport } from '../../../src/eval/report/text-report.js';
import type { CaseResult, CaseRun, SuiteResult } from '../../../src/eval/result.js';
import { wilson } from '../../../src/eval/statistics.js';
import { BOOKING } from '../call-of.js';

function run(seed: number, outcome: 'pass' | 'fail' | 'error'): CaseRun {
  return {
    run: seed - 1,
    seed,
    mode: 'voice',
    passed: outcome === 'pass',
    error: null,
    expectations: [
      { index: 0, kind: 'said', expected: 'said "<b>"', outcome, reason: outcome === 'pass' ? '' : 'a & b', line: 3 },
    ],
    lines: BOOKING,
    metrics: {
      durationMs: 12_000,
      callerTurns: 1,
      talkRatio: 0.5,
      responseMs: [640],
      cutOffs: 0,
      longestSilenceMs: 0,
      promptTokens: 0,
      completionTokens: 0,
      costUsd: null,
      persona: null,
      judges: null,
    },
    report: null,
    recording: outcome === 'pass' ? null : '/x/a.wav',
    trace: null,
  };
}

function result(name: string, runs: readonly CaseRun[]): CaseResult {
  const passes = runs.filter(({ passed }) => passed).length;
  return {
    name,
    mode: 'voice',
    runs,
    passes,
    passRate: wilson(passes, runs.length),
    needed: 1,
    passed: passes === runs.length,
  };
}

/** A run with costs, whose caller a model plays and which another one judges. */
function priced(seed: number): CaseRun {
  const one = run(seed, 'pass');
  const persona = { promptTokens: 900, completionTokens: 100, costUsd: 0.0004 };
  const judges = { promptTokens: 2000, completionTokens: 0, costUsd: 0.01 };
  return {
    ...one,
    metrics: { ...one.metrics, promptTokens: 500, completionTokens: 50, costUsd: 0.02, persona, judges },
  };
}

const CASES = [result('a "quoted" one', [run(1, 'pass'), run(2, 'fail')]), result('judged', [run(1, 'error')])];
const OTHERS = [result('a "quoted" one', [run(1, 'pass'), run(2, 'pass')]), result('judged', [run(1, 'error')])];
const SUITE: SuiteResult = {
  suite: 'Table & chair',
  agent: 'agent.json',
  startedAt: '2026-06-15T12:00:00.000Z',
  tookMs: 1500,
  cases: CASES,
  passed: false,
  comparison: compared(CASES, OTHERS, 'agent@1'),
};

describe('reports of a suite', () => {
  it('in the terminal have the reason beside the line', () => {
    const lines = stripVTControlCharacters(textReport(SUITE)).split('\n');
    expect(lines[0]).toBe('✗ a "quoted" one [voice]  1 of 2 (50 %, 95 %: 9 % to 91 %)  answers after 640 ms');
    const marked = lines.findIndex((line) => line.includes('↑ said "<b>": a & b'));
    expect(lines[marked - 1]).toMatch(/6\.1 agent {3}It's booked/);
    expect(lines.some((line) => line.includes('not decided: said'))).toBe(true);
    expect(lines.at(-1)).toBe('2 of 2 cases fail; 3 calls in 1.5 s.');
    expect(lines.join('\n')).toContain('only this one 0, only the other 1');
  });

  it('as JUnit XML are well formed and count failures and errors', () => {
    const xml = junitReport(SUITE);
    expect(xml).toContain('<testsuites name="Table &amp; chair" tests="3" failures="1" errors="1" time="1.500">');
    const tests = xml.match(/<testcase /g) ?? [];
    expect(tests).toHaveLength(3);
    expect(xml).toContain('name="a &quot;quoted&quot; one, seed 2"');
    expect(xml).toContain('message="said &quot;&lt;b&gt;&quot;: a &amp; b"');
    expect(parseDocument(xml, { xmlMode: true }).children.length).toBeGreaterThan(0);
  });

  it('as a page escape what was said', () => {
    const page = htmlReport(SUITE);
    expect(page).toContain('Table &amp; chair');
    expect(page).toContain('said &quot;&lt;b&gt;&quot;: a &amp; b');
    expect(page).not.toContain('<b>');
    expect(page).toContain('Compared with agent@1');
  });
});

describe('reports with prices', () => {
  const cases = [result('dear', [priced(1), priced(2)])];
  const suite: SuiteResult = { ...SUITE, cases, passed: true, comparison: null, costUnit: 'USD' };

  it('have costs of cases, and apart from them those of judges and personas', () => {
    const lines = stripVTControlCharacters(textReport(suite)).split('\n');
    expect(lines[0]).toContain('answers after 640 ms  0.040 USD');
    const used = 'agent 0.040 USD (1,100 tokens), personas 0.00080 USD (2,000 tokens), judges 0.020 USD (4,000 tokens)';
    expect(lines.at(-1)).toBe(`The case passes; 2 calls in 1.5 s. Used: ${used}.`);
    expect(htmlReport(suite)).toContain('<th>cost</th>');
    expect(htmlReport(suite)).toContain('<td>0.040 USD</td>');
    expect(htmlReport(suite)).toContain('judges 0.020 USD (4,000 tokens)');
    const xml = junitReport(suite);
    for (const property of [
      'cost" value="0.02"',
      'persona_cost" value="0.0004"',
      'judges_prompt_tokens" value="2000"',
    ]) {
      expect(xml).toContain(`<property name="${property}/>`);
    }
    expect(xml).toContain('<property name="cost_unit" value="USD"/>');
  });

  it('are silent about costs that are not known', () => {
    expect(textReport(SUITE)).not.toContain('Used');
    expect(htmlReport(SUITE)).not.toContain('cost');
    expect(junitReport(SUITE)).not.toContain('cost');
  });
});

describe('a comparison', () => {
  it('pairs runs by seed and says what differs', () => {
    expect(SUITE.comparison).toMatchObject({ both: 1, onlyThis: 0, onlyOther: 1, neither: 1, pValue: 1 });
    expect(SUITE.comparison?.cases[0]?.differences).toEqual(['said "<b>": met in 1 of 2 runs, by the other in 2']);
  });
});
