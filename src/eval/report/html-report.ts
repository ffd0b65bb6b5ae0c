import type { CaseResult, CaseRun, Comparison, EvalLine, SuiteResult } from '../result.js';
import { median } from '../statistics.js';
import { costsInWords, costsOf, money, suiteCosts } from './costs.js';
import { lineInWords, reason } from './text-report.js';

/** A result as a self-contained page: a table of the cases, and each run with its transcript. */
export function htmlReport(result: SuiteResult): string {
  const { suite, agent, startedAt, cases, tookMs, comparison, passed, costUnit } = result;
  const hasCosts = costsOf(cases).cost !== null;
  const costs = costsInWords(suiteCosts(result), costUnit);
  const runs = cases.reduce((sum, one) => sum + one.runs.length, 0);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(suite)}</title><style>${STYLE}</style></head><body>
<h1>${escaped(suite)} <span class="${passed ? 'pass' : 'fail'}">${passed ? 'passes' : 'fails'}</span></h1>
<p class="note">${escaped(agent)} · ${escaped(startedAt)} · ${String(runs)} calls in ${(tookMs / 1000).toFixed(1)} s${costs.map((one) => ` · ${escaped(one)}`).join('')}</p>
<table><thead><tr><th>case</th><th>mode</th><th>passes</th><th>95 % interval</th><th>median answer</th><th>turns</th><th>length</th>${hasCosts ? '<th>cost</th>' : ''}</tr></thead>
<tbody>${cases.map((one, index) => row(one, index, costUnit, hasCosts)).join('\n')}</tbody></table>
${comparison === null ? '' : comparisonPart(comparison)}
${cases.map(casePart).join('\n')}
</body></html>
`;
}

function row(one: CaseResult, index: number, costUnit: string | undefined, hasCosts: boolean): string {
  const { low, high } = one.passRate;
  const response = median(one.runs.flatMap(({ metrics }) => metrics.responseMs));
  const turns = median(one.runs.map(({ metrics }) => metrics.callerTurns));
  const length = median(one.runs.map(({ metrics }) => metrics.durationMs));
  const cells = [
    `<a href="#case-${String(index)}">${escaped(one.name)}</a>`,
    one.mode,
    `${String(one.passes)} of ${String(one.runs.length)}`,
    `${percent(low)} to ${percent(high)}`,
    response === null ? '' : `${String(Math.round(response))} ms`,
    turns === null ? '' : String(turns),
    length === null ? '' : `${(length / 1000).toFixed(1)} s`,
  ];
  const { cost } = costsOf([one]);
  if (hasCosts) cells.push(cost === null ? '' : escaped(money(cost, costUnit)));
  return `<tr class="${one.passed ? 'pass' : 'fail'}">${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
}

function percent(share: number): string {
  return `${String(Math.round(share * 100))} %`;
}

function comparisonPart({ against, cases, onlyThis, onlyOther, both, neither, pValue }: Comparison): string {
  const differing = cases.filter(({ differences }) => differences.length > 0);
  const chance = pValue < 0.05 ? 'is not chance' : 'could be chance';
  return `<h2>Compared with ${escaped(against)}</h2>
<p>Both pass ${String(both)} runs, only this agent ${String(onlyThis)}, only the other ${String(onlyOther)}, neither ${String(neither)}.
The difference ${chance} (exact McNemar test, p = ${pValue.toFixed(3)}).</p>
<ul>${differing.map(({ name, mode, differences }) => `<li>${escaped(name)} [${mode}]<ul>${differences.map((one) => `<li>${escaped(one)}</li>`).join('')}</ul></li>`).join('')}</ul>`;
}

function casePart(one: CaseResult, index: number): string {
  const runs = one.runs.map((run) => runPart(run, !run.passed)).join('\n');
  return `<h2 id="case-${String(index)}">${escaped(one.name)} <small>${one.mode}</small></h2>${runs}`;
}

function runPart(run: CaseRun, isOpen: boolean): string {
  const unmet = run.expectations.filter(({ outcome }) => outcome !== 'pass');
  const whole = unmet.filter(({ line }) => line === null);
  const votes = run.expectations.flatMap(({ votes: list = [] }) => list);
  return `<details${isOpen ? ' open' : ''}><summary class="${run.passed ? 'pass' : 'fail'}">seed ${String(run.seed)}: ${run.passed ? 'passes' : 'fails'}</summary>
${run.error === null ? '' : `<p class="fail">${escaped(run.error)}</p>`}
<ol>${run.lines.map((line, index) => linePart(line, unmet.filter((one) => one.line === index).map(reason))).join('\n')}</ol>
${whole.map((one) => `<p class="fail">${escaped(reason(one))}</p>`).join('')}
${votes.map(({ verdict, reason: words, quote }) => `<p class="note">judge: ${verdict}. ${escaped(words)}${quote === '' ? '' : ` “${escaped(quote)}”`}</p>`).join('')}
${[run.recording, run.trace]
  .filter((path) => path !== null)
  .map((path) => `<p class="note">${escaped(path)}</p>`)
  .join('')}
</details>`;
}

function linePart(line: EvalLine, reasons: readonly string[]): string {
  const marks = reasons.map((one) => `<div class="fail">↑ ${escaped(one)}</div>`).join('');
  return `<li class="${line.type}"><span>${escaped(lineInWords(line))}</span>${marks}</li>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

const STYLE = `:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #8884}
.pass{color:light-dark(#1a6b3c,#6fd19a)}.fail{color:light-dark(#b3261e,#ff9c93)}.note{opacity:.75}tr a{color:inherit}
ol{list-style:none;padding:0}li{white-space:pre-wrap;font:13px/1.5 ui-monospace,monospace}li{padding-left:17ch;text-indent:-17ch}li>.fail{text-indent:0}.tool>span,.keys>span,.transfer>span,.end>span{opacity:.75}
details{margin:.5rem 0 1rem}summary{cursor:pointer}h2 small{opacity:.6}`;
