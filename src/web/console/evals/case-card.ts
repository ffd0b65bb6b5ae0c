import { el } from '../../shared/elements.js';
import { duration } from '../../page/times.js';
import { moment } from '../words.js';
import type { ReportUsage, ReportCase, ReportExpectation, ReportLine, ReportRun } from './eval-types.js';
import { costText } from './matrix-table.js';

export interface CaseCardOptions {
  isOpen: boolean;
  /** What can be done with the case. */
  actions: (one: ReportCase) => readonly HTMLElement[];
}

/** A case of a run: how it went, and each call with what the expectations found. */
export function caseCard(one: ReportCase, { isOpen, actions }: CaseCardOptions): HTMLElement {
  const { name, mode, passed, passes, runs, needed, pass_rate: rate } = one;
  const interval =
    runs.length === 1
      ? ''
      : `${String(passes)} of ${String(runs.length)} runs, 95 % between ${percent(rate.low)} and ${percent(rate.high)}, needs ${percent(needed)}`;
  const summary = el(
    'summary',
    {},
    el('span', { class: `pill ${passed ? 'done' : 'failed'}` }, passed ? 'passed' : 'did not pass'),
    el('b', {}, ` ${name}`),
    el('span', { class: 'soft' }, ` ${[mode, interval].filter(Boolean).join(' · ')}`),
  );
  const details = el('details', { class: 'card eval-case' }, summary);
  const fill = (): void => {
    // What did not pass comes first.
    const sorted = runs.toSorted((a, b) => Number(a.passed) - Number(b.passed) || a.run - b.run);
    details.append(
      el('div', { class: 'eval-case-inside' }, ...sorted.map((run) => runPart(run, runs.length > 1)), ...actions(one)),
    );
  };
  if (isOpen) {
    details.open = true;
    fill();
  } else details.addEventListener('toggle', fill, { once: true });
  return details;
}

/** Tokens and cost of models beside the agent, in words. */
function usageText(who: string, used: ReportUsage | null): string[] {
  if (used === null || used.prompt_tokens + used.completion_tokens === 0) return [];
  const tokens = `${who}: ${(used.prompt_tokens + used.completion_tokens).toLocaleString('en')} tokens`;
  return [used.cost === null ? tokens : `${tokens}, ${costText(used.cost)}`];
}

function runPart(run: ReportRun, isNumbered: boolean): HTMLElement {
  const { session_id: sessionId, error, expectations, lines, metrics, seed } = run;
  const failed = expectations.filter(({ outcome }) => outcome !== 'pass');
  const whole = failed.filter(({ line }) => line === null);
  const facts = [
    ...(isNumbered ? [`Run ${String(run.run + 1)}${run.passed ? ', passed' : ''}`] : []),
    moment(metrics.duration_ms),
    `seed ${String(seed)}`,
    ...(metrics.cost === null ? [] : [costText(metrics.cost)]),
    ...usageText('persona', metrics.persona),
    ...usageText('judges', metrics.judges),
  ];
  return el(
    'section',
    { class: 'eval-run' },
    el(
      'p',
      { class: 'facts-line soft figure' },
      facts.join(' · '),
      ...(sessionId === null
        ? []
        : [el('a', { href: `#/calls/${encodeURIComponent(sessionId)}` }, 'Open the call with its timeline')]),
    ),
    ...(error === null ? [] : [el('p', { class: 'eval-reason' }, `The call could not be held: ${error}`)]),
    ...whole.map((expectation) => reasonOf(expectation)),
    el(
      'ol',
      { class: 'eval-lines' },
      ...lines.map((line, at) =>
        lineItem(
          line,
          failed.filter((one) => one.line === at),
        ),
      ),
    ),
    expectationList(expectations),
  );
}

function lineItem(line: ReportLine, failed: readonly ReportExpectation[]): HTMLElement {
  return el(
    'li',
    { class: `eval-line ${line.type}${failed.length === 0 ? '' : ' wrong'}` },
    el('span', { class: 'soft figure' }, moment(line.start_ms)),
    el('span', { class: 'eval-who' }, whoOf(line)),
    el('span', {}, ...wordsOf(line)),
    ...failed.map((expectation) => reasonOf(expectation)),
  );
}

/** Why an expectation did not pass. */
function reasonOf({ expected, outcome, reason, votes }: ReportExpectation): HTMLElement {
  const verdict = outcome === 'error' ? 'Not decided' : 'Failed';
  // A single vote's reason is that of the expectation.
  const quotes = votes.length === 1 ? [] : votes.filter(({ verdict: one }) => one !== 'pass');
  return el(
    'p',
    { class: 'eval-reason' },
    el('b', {}, `${verdict}: ${expected}`),
    ...(reason === '' ? [] : [el('br'), reason]),
    ...quotes.flatMap(({ reason: words, quote }) => [el('br'), `Judge: ${words}${quote === '' ? '' : ` “${quote}”`}`]),
  );
}

function expectationList(expectations: readonly ReportExpectation[]): HTMLElement {
  const items = expectations.map(({ expected, outcome }) =>
    el(
      'li',
      { class: outcome },
      el('span', { 'aria-hidden': 'true' }, outcome === 'pass' ? '✓ ' : '✗ '),
      el('span', { class: 'unseen' }, `${outcome}: `),
      expected,
    ),
  );
  return el('ul', { class: 'eval-expectations', 'aria-label': 'Expectations' }, ...items);
}

function whoOf(line: ReportLine): string {
  switch (line.type) {
    case 'caller':
      return 'Caller';
    case 'agent':
      return 'Agent';
    case 'keys':
      return line.by === 'caller' ? 'Caller' : 'Agent';
    case 'tool':
      return 'Tool';
    case 'transfer':
      return 'Transfer';
    case 'end':
      return 'End';
  }
}

function wordsOf(line: ReportLine): (Node | string)[] {
  switch (line.type) {
    case 'caller': {
      const heard = line.understood !== null && line.understood !== line.text ? line.understood : null;
      const notes = [
        ...(heard === null ? [] : [`understood as “${heard}”`]),
        ...(line.cut_off ? ['the agent cut in'] : []),
        ...(line.response_ms === null ? [] : [`answered after ${duration(line.response_ms)}`]),
      ];
      return [line.text, ...noted(notes)];
    }
    case 'agent':
      return [line.text, ...noted(line.interrupted ? ['interrupted'] : [])];
    case 'keys':
      return [`presses ${line.keys}`];
    case 'tool':
      return [
        el('code', {}, `${line.name}(${line.arguments}) → ${line.result}`),
        ...noted([...(line.ok ? [] : ['failed']), ...(line.mocked ? ['mock'] : [])]),
      ];
    case 'transfer':
      return [`to ${line.target}: ${line.outcome}`];
    case 'end':
      return [line.by === 'limit' ? 'the longest time was reached' : `the ${line.by} hung up`];
  }
}

function noted(notes: readonly string[]): HTMLElement[] {
  return notes.length === 0 ? [] : [el('span', { class: 'soft' }, ` (${notes.join(', ')})`)];
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
