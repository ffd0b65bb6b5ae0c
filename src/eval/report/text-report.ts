import { styleText } from 'node:util';
import type { EvalLine, CaseResult, CaseRun, ExpectationResult, SuiteResult } from '../result.js';
import { median } from '../statistics.js';
import { costsInWords, costsOf, money, suiteCosts } from './costs.js';

/** A result for the terminal: a line a case, and each failed run with its transcript and the reasons beside the lines. */
export function textReport(result: SuiteResult): string {
  return [
    ...result.cases.map((one) => caseReport(one, result.costUnit)),
    '',
    ...comparison(result),
    summary(result),
  ].join('\n');
}

/** A case in a line, and each failed run with its transcript. @param unit the currency of costs */
export function caseReport(one: CaseResult, unit?: string): string {
  return [caseLine(one, unit), ...one.runs.filter(({ passed }) => !passed).map(failedRun)].join('\n');
}

function caseLine(one: CaseResult, unit: string | undefined): string {
  const mark = one.passed ? styleText('green', '✓') : styleText('red', '✗');
  const count = one.runs.length;
  const { rate, low, high } = one.passRate;
  const share =
    count === 1
      ? ''
      : `  ${String(one.passes)} of ${String(count)} (${percent(rate)}, 95 %: ${percent(low)} to ${percent(high)})`;
  const response = median(one.runs.flatMap(({ metrics }) => metrics.responseMs));
  const time = response === null ? '' : styleText('dim', `  answers after ${String(Math.round(response))} ms`);
  const { cost } = costsOf([one]);
  const price = cost === null ? '' : styleText('dim', `  ${money(cost, unit)}`);
  return `${mark} ${one.name} ${styleText('dim', `[${one.mode}]`)}${share}${time}${price}`;
}

function percent(share: number): string {
  return `${String(Math.round(share * 100))} %`;
}

function failedRun(run: CaseRun): string {
  const lines = [styleText('bold', `    seed ${String(run.seed)}`)];
  if (run.error !== null) lines.push(styleText('red', `    error: ${run.error}`));
  const unmet = run.expectations.filter(({ outcome }) => outcome !== 'pass');
  for (const [index, line] of run.lines.entries()) {
    lines.push(`    ${lineInWords(line)}`);
    for (const one of unmet.filter((it) => it.line === index))
      lines.push(styleText('red', `           ↑ ${reason(one)}`));
  }
  for (const one of unmet.filter(({ line }) => line === null)) lines.push(styleText('red', `    ✗ ${reason(one)}`));
  if (run.recording !== null) lines.push(styleText('dim', `    recording: ${run.recording}`));
  if (run.trace !== null) lines.push(styleText('dim', `    timeline: parley replay ${run.trace}`));
  return lines.join('\n');
}

/** Why an expectation is not met, in words. */
export function reason({ expected, outcome, reason: words, judge }: ExpectationResult): string {
  const by = judge === undefined ? '' : ` (by ${judge.model})`;
  return `${outcome === 'error' ? 'not decided: ' : ''}${expected}${by}: ${words}`;
}

/** One line of a call, as text. */
export function lineInWords(line: EvalLine): string {
  const at = (line.startMs / 1000).toFixed(1).padStart(6);
  switch (line.type) {
    case 'agent':
      return `${at} agent   ${line.text}${line.interrupted ? ' —' : ''}`;
    case 'caller': {
      const isMisheard = line.understood !== null && line.understood.toLowerCase() !== line.text.toLowerCase();
      const understood = isMisheard ? `  [understood: ${line.understood ?? ''}]` : '';
      return `${at} caller  ${line.text}${line.cutOff ? ' [cut off]' : ''}${understood}`;
    }
    case 'keys':
      return `${at} ${line.by.padEnd(7)} presses ${line.keys}`;
    case 'tool': {
      const how = `${line.mocked ? ', mocked' : ''}${line.afterCall ? ', after the call' : ''}`;
      return `${at} tool    ${line.name}(${line.arguments}) → ${line.ok ? '' : 'failed: '}${line.result}${how}`;
    }
    case 'transfer':
      return `${at} line    transfer to ${line.target}: ${line.outcome}`;
    case 'end':
      return `${at} end     ${line.status}, by the ${line.by}`;
  }
}

function comparison({ comparison: found }: SuiteResult): string[] {
  if (found === null) return [];
  const { against, onlyThis, onlyOther, both, neither, pValue } = found;
  const differing = found.cases.filter(
    ({ passes, otherPasses, differences }) => passes !== otherPasses || differences.length > 0,
  );
  return [
    styleText('bold', `Compared with ${against}`),
    ...differing.flatMap(({ name, mode, passes, otherPasses, runs, differences }) => [
      `  ${name} [${mode}]: ${String(passes)} of ${String(runs)} here, ${String(otherPasses)} there`,
      ...differences.map((one) => styleText('dim', `    ${one}`)),
    ]),
    `  both pass ${String(both)}, only this one ${String(onlyThis)}, only the other ${String(onlyOther)}, neither ${String(neither)}`,
    pValue < 0.05
      ? `  The difference is not chance (p = ${pValue.toFixed(3)}).`
      : `  The difference could be chance (p = ${pValue.toFixed(2)}).`,
    '',
  ];
}

function summary(result: SuiteResult): string {
  const { cases, tookMs } = result;
  const failed = cases.filter(({ passed }) => !passed).length;
  const runs = cases.reduce((sum, one) => sum + one.runs.length, 0);
  const seconds = tookMs / 1000;
  const rate = `${String(runs)} ${runs === 1 ? 'call' : 'calls'} in ${seconds.toFixed(1)} s`;
  const text = failed === 0 ? passWords(cases.length) : `${String(failed)} of ${String(cases.length)} cases fail`;
  const costs = costsInWords(suiteCosts(result), result.costUnit);
  const used = costs.length === 0 ? '' : ` Used: ${costs.join(', ')}.`;
  return `${styleText(failed === 0 ? 'green' : 'red', text)}; ${rate}.${used}`;
}

function passWords(cases: number): string {
  return cases === 1 ? 'The case passes' : `All ${String(cases)} cases pass`;
}
