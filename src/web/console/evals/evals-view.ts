import { el } from '../../shared/elements.js';
import { actionForm, labelled, select } from '../actions.js';
import { AgentNames } from '../agent-names.js';
import { card, empty, Loaded, type View, type ViewOptions } from '../view.js';
import { wholeTime } from '../words.js';
import { type Run, runLink, runPill, type SuiteItem, runWord } from './eval-types.js';
import { runView } from './run-view.js';
import { suiteView } from './suite-view.js';

export { testCaseCard } from './test-case-card.js';

/** What a new suite begins with. */
function firstText(name: string): string {
  return `name: ${JSON.stringify(name)}
cases:
  - name: the agent greets the caller
    caller:
      script:
        - say: Hello?
        - wait_ms: 3000
        - hang_up: true
    expect:
      - turns: { min: 1 }
      - response_time: { max_ms: 3000 }
`;
}

/** A suite, or a run: `run/ID`. */
export function evalView(options: ViewOptions): View {
  const [kind, ...rest] = options.path.split('/');
  return kind === 'run' ? runView({ ...options, path: rest.join('/') }) : suiteView(options);
}

/** All test suites, each with its latest run. */
export function evalsView({ api }: ViewOptions): View {
  const names = new AgentNames(api);
  const agents = names.load();
  const list = new Loaded('Loading suites', async () => {
    await agents;
    const [suites, { runs }] = await Promise.all([
      api.get<SuiteItem[]>('/evals/suites'),
      api.get<{ runs: Run[] }>('/evals/runs', { limit: 100 }),
    ]);
    if (suites.length === 0) {
      return [empty('No test suites yet. Make one below, or make a test case from a call on the call’s page.')];
    }
    const items = suites.map((suite) =>
      suiteEntry(suite, runs.find(({ suite_id: id }) => id === suite.id) ?? null, names),
    );
    return [el('ol', { class: 'calls' }, ...items)];
  });
  const formPlace = el('div', {});
  void agents
    .then((all) => {
      const name = el('input', { type: 'text', required: '', maxlength: '120' });
      const agent = select('agent', all[0]?.id ?? '', [
        ...all.map(({ id, name: text }) => [id, text] as const),
        ['', 'Any agent'],
      ]);
      formPlace.replaceChildren(
        actionForm('Make a suite', [labelled('Name', name), labelled('Tests', agent)], 'Make', async () => {
          const suite = firstText(name.value.trim());
          const agentId = agent.value === '' ? null : agent.value;
          const { id } = await api.send<SuiteItem>('POST', '/evals/suites', { suite, agent_id: agentId });
          location.hash = `#/evals/${encodeURIComponent(id)}`;
        }),
      );
    })
    .catch(() => undefined); // the list says it
  const element = el(
    'div',
    { class: 'stack' },
    el('h1', {}, 'Evals'),
    el(
      'p',
      { class: 'soft' },
      'A suite holds test calls with simulated callers, and checks what the agent says and does. No phone rings.',
    ),
    list.element,
    card('Make a suite', formPlace),
  );
  return { element, title: 'Evals', close: () => undefined };
}

function suiteEntry(suite: SuiteItem, latest: Run | null, names: AgentNames): HTMLElement {
  const { id, name, agent_id: agentId, cases, changed_at: at } = suite;
  const tested = agentId === null ? 'any agent' : names.of(agentId);
  return el(
    'li',
    { class: 'item' },
    el('div', {}, el('a', { href: `#/evals/${encodeURIComponent(id)}` }, el('b', {}, name))),
    latest === null ? el('span', { class: 'pill' }, 'never run') : runPillLink(latest),
    el('p', { class: 'soft' }, `${tested} · ${caseCount(cases)} · saved ${wholeTime(at)}`),
  );
}

function runPillLink(run: Run): HTMLElement {
  return el('a', { href: runLink(run.id), class: `pill ${runPill(run)}` }, runWord(run));
}

function caseCount(count: number): string {
  return count === 1 ? '1 case' : `${String(count)} cases`;
}
