import type { CaseResult, ComparedCase, Comparison } from './result.js';
import { mcNemar, median } from './statistics.js';

/**
 * Two agents over the same cases, paired by case, mode and seed.
 * @param name the other agent's
 */
export function compared(own: readonly CaseResult[], other: readonly CaseResult[], name: string): Comparison {
  const counts = { onlyThis: 0, onlyOther: 0, both: 0, neither: 0 };
  const cases = own.flatMap((one): ComparedCase[] => {
    const pair = other.find((it) => it.name === one.name && it.mode === one.mode);
    if (pair === undefined) return [];
    for (const [index, run] of one.runs.entries()) {
      const passes = [run.passed, pair.runs[index]?.passed === true] as const;
      if (passes[0] && passes[1]) counts.both++;
      else if (passes[0]) counts.onlyThis++;
      else if (passes[1]) counts.onlyOther++;
      else counts.neither++;
    }
    return [comparedCase(one, pair)];
  });
  return { against: name, cases, ...counts, pValue: mcNemar(counts.onlyThis, counts.onlyOther) };
}

function comparedCase(own: CaseResult, other: CaseResult): ComparedCase {
  const times = ({ runs }: CaseResult): number | null => median(runs.flatMap(({ metrics }) => metrics.responseMs));
  return {
    name: own.name,
    mode: own.mode,
    passes: own.passes,
    otherPasses: other.passes,
    runs: own.runs.length,
    responseMs: times(own),
    otherResponseMs: times(other),
    differences: differences(own, other),
    other,
  };
}

/** The expectations that one of the two meets more often. */
function differences(own: CaseResult, other: CaseResult): string[] {
  const met = ({ runs }: CaseResult): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const { expectations } of runs) {
      for (const { expected, outcome } of expectations) {
        counts.set(expected, (counts.get(expected) ?? 0) + (outcome === 'pass' ? 1 : 0));
      }
    }
    return counts;
  };
  const [mine, theirs] = [met(own), met(other)];
  const count = own.runs.length;
  return [...new Set([...mine.keys(), ...theirs.keys()])].flatMap((expected) => {
    const [here, there] = [mine.get(expected) ?? 0, theirs.get(expected) ?? 0];
    return here === there
      ? []
      : [`${expected}: met in ${String(here)} of ${String(count)} runs, by the other in ${String(there)}`];
  });
}
