import { describe, expect, it } from 'vitest';
import { parseDocument } from 'htmlparser2';
import { stripVTControlCharacters } from 'node:util';
import { compared } from '../../../src/eval/compare.js';
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

describe('a comparison', () => {
  it('pairs runs by seed and says what differs', () => {
    expect(SUITE.comparison).toMatchObject({ both: 1, onlyThis: 0, onlyOther: 1, neither: 1, pValue: 1 });
    expect(SUITE.comparison?.cases[0]?.differences).toEqual(['said "<b>": met in 1 of 2 runs, by the other in 2']);
  });
});
