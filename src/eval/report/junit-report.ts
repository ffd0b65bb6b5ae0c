import type { CaseResult, CaseRun, SuiteResult } from '../result.js';
import { lineInWords, reason } from './text-report.js';

/** A result as JUnit XML, which CI systems read: one test a run. */
export function junitReport(result: SuiteResult): string {
  const tests = result.cases.flatMap((one) => one.runs.map((run) => testCase(result, one, run)));
  const runs = result.cases.flatMap(({ runs: list }) => list);
  const errors = runs.filter(isError).length;
  const failures = runs.filter((run) => !run.passed && !isError(run)).length;
  const counts = `tests="${String(runs.length)}" failures="${String(failures)}" errors="${String(errors)}"`;
  const head = `name="${attribute(result.suite)}" ${counts} time="${(result.tookMs / 1000).toFixed(3)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${head}>`,
    `<testsuite ${head} timestamp="${result.startedAt}">`,
    ...tests,
    '</testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

/** The run could not be decided. */
function isError({ error, expectations }: CaseRun): boolean {
  return error !== null || expectations.some(({ outcome }) => outcome === 'error');
}

function testCase({ suite, agent, costUnit }: SuiteResult, { name, runs }: CaseResult, run: CaseRun): string {
  const seed = runs.length === 1 ? '' : `, seed ${String(run.seed)}`;
  const head = `<testcase classname="${attribute(`${suite}.${run.mode}`)}" name="${attribute(`${name}${seed}`)}" time="${(run.metrics.durationMs / 1000).toFixed(3)}">`;
  const properties = `<properties>${propertiesOf(agent, run, costUnit).join('')}</properties>`;
  if (run.passed) return `${head}${properties}</testcase>`;
  const unmet = run.expectations.filter(({ outcome }) => outcome !== 'pass').map(reason);
  const words = [...(run.error === null ? [] : [run.error]), ...unmet];
  const kind = isError(run) ? 'error' : 'failure';
  const text = [...words, '', ...run.lines.map(lineInWords)].join('\n');
  return `${head}${properties}<${kind} message="${attribute(words[0] ?? '')}">${content(text)}</${kind}></testcase>`;
}

function propertiesOf(agent: string, { metrics }: CaseRun, costUnit: string | undefined): string[] {
  const { promptTokens, completionTokens, costUsd, persona, judges } = metrics;
  const values: Record<string, string | number | null | undefined> = {
    agent,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    cost: costUsd,
    persona_prompt_tokens: persona?.promptTokens,
    persona_completion_tokens: persona?.completionTokens,
    persona_cost: persona?.costUsd,
    judges_prompt_tokens: judges?.promptTokens,
    judges_completion_tokens: judges?.completionTokens,
    judges_cost: judges?.costUsd,
    cost_unit: costUsd === null ? null : costUnit,
  };
  return Object.entries(values).flatMap(([name, value]) =>
    value == null ? [] : [`<property name="${name}" value="${attribute(String(value))}"/>`],
  );
}

/** XML 1.0 has no form for most control characters. */
function content(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\u{FFFD}')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

function attribute(text: string): string {
  return content(text).replaceAll('"', '&quot;').replaceAll('\n', '&#10;');
}
