import { expect, it } from 'vitest';
import { countTests } from '../../scripts/test-counts.mjs';

function report(...files: [status: string, ...tests: string[]][]): string {
  return JSON.stringify({
    testResults: files.map(([status, ...tests], index) => ({
      name: `${String(index)}.test.ts`,
      status,
      assertionResults: tests.map((result) => ({ status: result, fullName: `is ${result}` })),
    })),
  });
}

it('counts tests over all files and names those left out', () => {
  expect(countTests(report(['passed', 'passed', 'skipped'], ['failed', 'failed', 'passed', 'todo']), false)).toEqual({
    passed: 2,
    failed: 1,
    skipped: 2,
    skippedNames: ['0.test.ts: is skipped', '1.test.ts: is todo'],
  });
});

it('counts a file that fails outside its tests', () => {
  expect(countTests(report(['failed', 'passed'], ['failed']), false)).toMatchObject({ passed: 1, failed: 2 });
});

it.each([
  ['that failed though no test did', report(['passed', 'passed']), false],
  ['that ran nothing', report(), true],
  ['that wrote no report', '', true],
  ['whose report is broken', '{"testResults":', false],
])('a run %s has not passed', (_what, text, succeeded) => {
  expect(countTests(text, succeeded)).toMatchObject({ failed: 1 });
});
