import { describe, expect, it } from 'vitest';
import type { CaseFigures, Run } from '../../../../src/web/console/evals/eval-types.js';
import { matrixOf } from '../../../../src/web/console/evals/matrix.js';

function figures(name: string, passes: number, mode: 'text' | 'voice' = 'text'): CaseFigures {
  return {
    name,
    mode,
    passed: passes === 2,
    runs: 2,
    passes,
    errors: 0,
    pass_rate: { rate: passes / 2, low: 0, high: 1 },
    needed: 1,
    response_ms: 500,
    cost: null,
  };
}

function run(id: string, version: number, cases: readonly CaseFigures[] | null): Run {
  return {
    id,
    suite_id: 's',
    suite_version: 1,
    agent_id: 'baker',
    agent_version: version,
    mode: null,
    runs: null,
    only: null,
    against: null,
    status: cases === null ? 'failed' : 'done',
    reason: null,
    passed: null,
    progress: { done: 0, total: 0, passed: 0, failed: 0 },
    cases,
    created_at: 0,
    started_at: null,
    finished_at: null,
  };
}

describe('the matrix of cases by versions', () => {
  it('has the newest figures of each case, also where a later run had only some of them', () => {
    const runs = [
      run('newest', 2, [figures('b', 2)]),
      run('failed', 3, null),
      run('older', 2, [figures('a', 1), figures('b', 0)]),
      run('first', 1, [figures('a', 2)]),
    ];
    const { columns, rows } = matrixOf(runs, ['a', 'b']);
    expect(columns.map(({ version }) => version)).toEqual([1, 2]);
    expect(
      rows.map(({ name, cells }) => [name, cells.map((cell) => cell && [cell.runId, cell.figures.passes])]),
    ).toEqual([
      [
        'a',
        [
          ['first', 2],
          ['older', 1],
        ],
      ],
      ['b', [null, ['newest', 2]]],
    ]);
  });

  it('keeps the order of the suite, text before voice, and leaves out cases that it has no more', () => {
    const runs = [run('r', 1, [figures('z', 2), figures('b', 2), figures('a', 2, 'voice'), figures('a', 2)])];
    const { rows } = matrixOf(runs, ['b', 'a']);
    expect(rows.map(({ name, mode }) => `${name} ${mode}`)).toEqual(['b text', 'a text', 'a voice']);
  });

  it('shows the six newest versions', () => {
    const runs = Array.from({ length: 9 }, (_, at) => run(String(at), 9 - at, [figures('a', 2)]));
    expect(matrixOf(runs, ['a']).columns.map(({ version }) => version)).toEqual([4, 5, 6, 7, 8, 9]);
  });
});
