import { el } from '../../shared/elements.js';
import { duration } from '../../page/times.js';
import { actionButton } from '../actions.js';
import { AgentNames } from '../agent-names.js';
import type { ConsoleApi } from '../api.js';
import { card, empty, failure, loading, type View, type ViewOptions } from '../view.js';
import { moment, wholeTime } from '../words.js';
import { caseEditor } from './test-case-card.js';
import {
  type Report,
  type ReportCase,
  type Run,
  runLink,
  runPath,
  runPill,
  runWord,
  type Suite,
  suitePath,
  type ReportUsage,
  type ReportExpectation,
  type ReportLine,
  type ReportRun,
} from './eval-types.js';
import { RunProgress } from './run-progress.js';
import { costText } from './matrix-table.js';

/** Formats of a report, by the end of its address. */
const DOWNLOADS = [
  { text: 'JSON', end: '', file: 'report.json' },
  { text: 'JUnit', end: '.xml', file: 'report.xml' },
  { text: 'HTML', end: '.html', file: 'report.html' },
] as const;

/** One run: how far it is; then each case with its calls. */
export function runView(options: ViewOptions): View {
  const page = new RunPage(options);
  return { element: page.element, title: 'Run', close: () => page.close() };
}

class RunPage {
  readonly element = el('div', { class: 'stack' });
  readonly #api: ConsoleApi;
  readonly #path: string;
  readonly #names: AgentNames;
  /** The case that is open; null = those that did not pass. */
  readonly #caseName: string | null;
  #bar: RunProgress | null = null;
  #closed = false;

  constructor({ api, path, search }: ViewOptions) {
    this.#api = api;
    this.#path = runPath(path);
    this.#names = new AgentNames(api);
    this.#caseName = new URLSearchParams(search).get('case');
    void this.#load();
  }

  close(): void {
    this.#closed = true;
    this.#bar?.close();
  }

  async #load(): Promise<void> {
    this.element.replaceChildren(loading('Loading the run'));
    try {
      const [run] = await Promise.all([this.#api.get<Run>(this.#path), this.#names.load()]);
      const suite = await this.#api.get<Suite>(suitePath(run.suite_id));
      const report = run.status === 'done' ? await this.#api.get<Report>(`${this.#path}/report`) : null;
      if (!this.#closed) this.#show(run, suite, report);
    } catch (error) {
      if (this.#closed) return;
      this.element.replaceChildren(
        el('a', { href: '#/evals', class: 'back' }, '← Evals'),
        failure(error, () => void this.#load()),
      );
    }
  }

  #show(run: Run, suite: Suite, report: Report | null): void {
    const head = this.#head(run, suite, report);
    if (report !== null) {
      this.element.replaceChildren(head, ...comparisonCard(report), ...this.#cases(run, report));
      return;
    }
    if (run.status === 'queued' || run.status === 'running') {
      this.#bar?.close();
      this.#bar = new RunProgress(this.#api, run.id, () => {
        if (!this.#closed) void this.#load();
      });
      this.element.replaceChildren(head, card('Progress', this.#bar.element));
      return;
    }
    const why =
      run.status === 'canceled' ? 'The run was canceled: it has no result.' : `The run failed: ${run.reason ?? ''}`;
    this.element.replaceChildren(head, empty(why));
  }

  #head(run: Run, suite: Suite, report: Report | null): HTMLElement {
    const { agent_id: agentId, agent_version: version, suite_version: saved, mode, created_at: at } = run;
    const old = saved === suite.version ? '' : ` · version ${String(saved)} of the suite`;
    const about = `${mode ?? 'text and voice'} · ${wholeTime(at)}${old}`;
    return el(
      'header',
      { class: 'call-top' },
      el('a', { href: `#/evals/${encodeURIComponent(suite.id)}`, class: 'back' }, `← ${suite.name}`),
      el('h1', {}, this.#names.of(agentId), el('span', { class: 'soft' }, ` version ${String(version)}`)),
      el(
        'p',
        { class: 'facts-line' },
        el('span', { class: `pill ${runPill(run)}` }, runWord(run)),
        el('span', { class: 'soft' }, about),
        ...(report === null ? [] : [el('span', { class: 'soft figure' }, `took ${moment(report.took_ms)}`)]),
      ),
      el('p', { class: 'item-actions' }, ...(report === null ? [] : this.#downloads()), this.#remove(run)),
    );
  }

  #downloads(): HTMLElement[] {
    return DOWNLOADS.map(({ text, end, file }) =>
      actionButton(
        text,
        async () => {
          const response = await this.#api.request('GET', `${this.#path}/report${end}`);
          const url = URL.createObjectURL(await response.blob());
          el('a', { href: url, download: file }).click();
          URL.revokeObjectURL(url);
        },
        { label: `Download the report as ${text}` },
      ),
    );
  }

  #remove({ id, suite_id: suiteId, status }: Run): HTMLElement {
    const isOver = status !== 'queued' && status !== 'running';
    const remove = async (): Promise<void> => {
      await this.#api.send('DELETE', runPath(id));
      location.hash = `#/evals/${encodeURIComponent(suiteId)}`;
    };
    return isOver
      ? actionButton('Delete', remove, { class: 'quiet-button danger', confirm: 'Really delete, with its calls?' })
      : el('span', {});
  }

  #cases(run: Run, { cases }: Report): HTMLElement[] {
    const sorted = cases.toSorted((a, b) => Number(a.passed) - Number(b.passed));
    const passed = cases.filter((one) => one.passed).length;
    const isOpen = (one: ReportCase): boolean => (this.#caseName === null ? !one.passed : one.name === this.#caseName);
    const cards = sorted.map((one) => caseCard(one, { isOpen: isOpen(one), actions: () => this.#actions(run, one) }));
    queueMicrotask(() => {
      if (this.#caseName !== null) cards.find((each) => (each as HTMLDetailsElement).open)?.scrollIntoView();
    });
    const heading = el('h2', {}, `${String(passed)} of ${String(cases.length)} cases passed`);
    return [heading, el('div', { class: 'eval-cases' }, ...cards)];
  }

  /** Edit and rerun one case. */
  #actions(run: Run, { name, mode }: ReportCase): HTMLElement[] {
    const rerun = (caseName: string): Promise<Run> =>
      this.#api.send<Run>('POST', '/evals/runs', {
        suite_id: run.suite_id,
        agent_id: run.agent_id,
        mode,
        only: [caseName],
        runs: run.runs ?? undefined,
      });
    const onStarted = ({ id }: Run): void => {
      location.hash = runLink(id);
    };
    const place = el('div', {});
    const edit = actionButton(
      'Edit this case',
      () => {
        place.replaceChildren(caseEditor({ api: this.#api, suiteId: run.suite_id, caseName: name, rerun, onStarted }));
        return Promise.resolve();
      },
      { label: `Edit this case: ${name}` },
    );
    const again = actionButton('Run it again', async () => onStarted(await rerun(name)), {
      label: `Run it again, with the agent as it is now: ${name}`,
    });
    return [el('p', { class: 'item-actions' }, edit, again), place];
  }
}

/** What differs between the two agents of a run, and whether it could be chance. */
function comparisonCard({ comparison, agent }: Report): HTMLElement[] {
  if (comparison === null) return [];
  const { against, only_this: mine, only_other: other, both, neither, p_value: chance, cases } = comparison;
  const verdict =
    mine === other
      ? 'Neither passes more runs than the other.'
      : `${mine > other ? agent : against} passes more runs. By chance alone, a difference like this or a larger one has a probability of ${chance.toPrecision(2)}.`;
  const different = cases.filter((one) => one.passes !== one.other_passes || one.differences.length > 0);
  const rows = different.map((one) =>
    el(
      'tr',
      {},
      el('th', { scope: 'row' }, one.name, el('span', { class: 'soft' }, ` ${one.mode}`)),
      el('td', { class: 'figure' }, `${String(one.passes)} of ${String(one.runs)}`),
      el('td', { class: 'figure' }, `${String(one.other_passes)} of ${String(one.runs)}`),
      el('td', { class: 'figure' }, times(one.response_ms)),
      el('td', { class: 'figure' }, times(one.other_response_ms)),
      el('td', { class: 'soft' }, one.differences.join('; ')),
    ),
  );
  const heads = ['Case', agent, against, 'response', 'response', 'differs in'].map((text) =>
    el('th', { scope: 'col' }, text),
  );
  return [
    card(
      `Compared with ${against}`,
      el('p', {}, verdict),
      el(
        'p',
        { class: 'soft figure' },
        `Runs that both pass: ${String(both)}, neither: ${String(neither)}, only ${agent}: ${String(mine)}, only ${against}: ${String(other)}`,
      ),
      different.length === 0
        ? el('p', { class: 'soft' }, 'Every case has the same outcome with both.')
        : el(
            'div',
            { class: 'scroll-x', tabindex: '0', role: 'group', 'aria-label': 'Cases that differ' },
            el('table', { class: 'matrix' }, el('thead', {}, el('tr', {}, ...heads)), el('tbody', {}, ...rows)),
          ),
    ),
  ];
}

function times(ms: number | null): string {
  return ms === null ? '–' : duration(ms);
}

interface CaseCardOptions {
  isOpen: boolean;
  /** What can be done with the case. */
  actions: (one: ReportCase) => readonly HTMLElement[];
}

/** A case of a run: how it went, and each call with what the expectations found. */
function caseCard(one: ReportCase, { isOpen, actions }: CaseCardOptions): HTMLElement {
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
