import { el } from '../../shared/elements.js';
import { actionButton, select, actionForm, labelled } from '../actions.js';
import { AgentNames, type AgentName } from '../agent-names.js';
import { ApiError, type ConsoleApi, messageOf } from '../api.js';
import { card, empty, failure, loading, type View, type ViewOptions } from '../view.js';
import { wholeTime } from '../words.js';
import { type Run, runLink, runPill, runWord, type Suite, suitePath, type ListedVersion } from './eval-types.js';
import { matrixOf } from './matrix.js';
import { matrixTable } from './matrix-table.js';
import { RunProgress } from './run-progress.js';
import { TextEditor } from './text-editor.js';

/** Runs from which the matrix is made. */
const SHOWN_RUNS = 50;

/** One suite: its runs, what they found, and its text. */
export function suiteView(options: ViewOptions): View {
  const page = new SuitePage(options);
  return { element: page.element, title: 'Suite', close: () => page.close(), isUnsaved: () => page.isChanged };
}

class SuitePage {
  readonly element = el('div', { class: 'stack' });
  isChanged = false;
  readonly #api: ConsoleApi;
  readonly #path: string;
  readonly #id: string;
  readonly #names: AgentNames;
  readonly #state = el('span', { class: 'soft', role: 'status' });
  readonly #title = el('h1', {});
  readonly #results = el('div', { class: 'stack' });
  readonly #progress = el('div', { class: 'eval-progress' });
  #editor: TextEditor | null = null;
  #suite: Suite | null = null;
  #bar: RunProgress | null = null;
  #closed = false;

  constructor({ api, path }: ViewOptions) {
    this.#api = api;
    this.#id = path;
    this.#path = suitePath(path);
    this.#names = new AgentNames(api);
    void this.#load();
  }

  close(): void {
    this.#closed = true;
    this.#bar?.close();
  }

  async #load(): Promise<void> {
    this.element.replaceChildren(loading('Loading the suite'));
    try {
      const [suite, agents] = await Promise.all([this.#api.get<Suite>(this.#path), this.#names.load()]);
      if (!this.#closed) this.#show(suite, agents);
    } catch (error) {
      this.element.replaceChildren(
        backToEvals(),
        failure(error, () => void this.#load()),
      );
    }
  }

  #show(suite: Suite, agents: readonly AgentName[]): void {
    this.#editor = new TextEditor('The suite as YAML or JSON', suite.text, () => this.#changed());
    this.#take(suite);
    const tested = select('tests', suite.agent_id ?? '', [
      ...agents.map(({ id, name }) => [id, name] as const),
      ['', 'Any agent'],
    ]);
    tested.addEventListener('change', () => void this.#assign(tested.value));
    const save = actionButton('Save', () => this.#save(), { class: 'main-button' });
    const form = runForm({
      api: this.#api,
      suiteId: this.#id,
      agentId: suite.agent_id,
      agents,
      save: async () => {
        if (this.isChanged) await this.#save();
      },
      onStarted: (run) => this.#follow(run),
    });
    this.element.replaceChildren(
      el('header', { class: 'call-top' }, backToEvals(), this.#title),
      card('Run', form, this.#progress),
      this.#results,
      card(
        'Cases',
        el(
          'div',
          { class: 'save-bar on-card' },
          save,
          el('label', { class: 'soft' }, 'Tests ', tested),
          this.#remove(),
          this.#state,
        ),
        this.#editor.element,
      ),
    );
    void this.#showResults();
  }

  #take(suite: Suite): void {
    this.#suite = suite;
    this.isChanged = false;
    this.#title.textContent = suite.name;
    const by = suite.changed_by === null || suite.changed_by === '' ? '' : ` by ${suite.changed_by}`;
    this.#state.textContent = `Version ${String(suite.version)}, saved ${wholeTime(suite.changed_at)}${by}`;
  }

  #changed(): void {
    this.isChanged = true;
    this.#state.textContent = 'Not saved';
  }

  /** @throws ApiError; faults are at their lines */
  async #save(): Promise<void> {
    const editor = this.#editor;
    if (editor === null) return;
    try {
      this.#take(await this.#api.send<Suite>('PUT', this.#path, { suite: editor.text }));
      editor.showFaults([]);
    } catch (error) {
      const faults = error instanceof ApiError ? error.faults : [];
      if (faults.length === 0) throw error;
      editor.showFaults(faults);
      throw new Error(
        `The suite is not saved: ${faults.length === 1 ? 'it has a fault' : `it has ${String(faults.length)} faults`}.`,
        {
          cause: error,
        },
      );
    }
  }

  async #assign(agentId: string): Promise<void> {
    try {
      const suite = await this.#api.send<Suite>('PUT', this.#path, { agent_id: agentId === '' ? null : agentId });
      const isChanged = this.isChanged;
      this.#take(suite);
      if (isChanged) this.#changed();
    } catch (error) {
      this.#state.textContent = messageOf(error);
    }
  }

  #remove(): HTMLElement {
    const remove = async (): Promise<void> => {
      await this.#api.send('DELETE', this.#path);
      this.isChanged = false;
      location.hash = '#/evals';
    };
    return actionButton('Delete', remove, { class: 'quiet-button danger', confirm: 'Really delete, with its runs?' });
  }

  /** Shows the progress of a run, then its result. */
  #follow({ id }: Run): void {
    this.#bar?.close();
    this.#bar = new RunProgress(this.#api, id, () => {
      if (this.#closed) return;
      this.#progress.replaceChildren(
        el('p', {}, 'The run is over. ', el('a', { href: runLink(id) }, 'Open its result')),
      );
      void this.#showResults();
    });
    this.#progress.replaceChildren(this.#bar.element);
  }

  async #showResults(): Promise<void> {
    try {
      const { runs } = await this.#api.get<{ runs: Run[] }>('/evals/runs', { suite_id: this.#id, limit: SHOWN_RUNS });
      if (this.#closed) return;
      const active = runs.find(({ status }) => status === 'running') ?? runs.find(({ status }) => status === 'queued');
      if (active !== undefined && this.#bar === null) this.#follow(active);
      this.#results.replaceChildren(...this.#resultCards(runs));
    } catch (error) {
      this.#results.replaceChildren(failure(error, () => void this.#showResults()));
    }
  }

  #resultCards(runs: readonly Run[]): HTMLElement[] {
    if (runs.length === 0) return [card('Results', empty('This suite has not run yet. Run it above.'))];
    const names = (this.#suite?.suite.cases ?? []).map(({ name }) => name);
    const matrix = matrixOf(runs, names);
    const agentName = (id: string): string => this.#names.of(id);
    return [
      card(
        'Results by version',
        matrix.rows.length === 0 ? empty('No run of these cases has a result yet.') : matrixTable(matrix, agentName),
      ),
      card('Runs', el('ol', { class: 'eval-runs' }, ...runs.slice(0, 10).map((run) => runEntry(run, agentName)))),
    ];
  }
}

function runEntry(run: Run, agentName: (id: string) => string): HTMLElement {
  const { id, agent_id: agentId, agent_version: version, mode, created_at: at, progress, cases } = run;
  const failed = (cases ?? []).filter(({ passed }) => !passed).length;
  const figures =
    cases === null
      ? `${String(progress.done)} calls`
      : `${String(cases.length - failed)} of ${String(cases.length)} cases`;
  return el(
    'li',
    { class: 'facts-line' },
    el('span', { class: `pill ${runPill(run)}` }, runWord(run)),
    el('a', { href: runLink(id) }, wholeTime(at)),
    el(
      'span',
      { class: 'soft' },
      `${agentName(agentId)} ${String(version)} · ${mode ?? 'text and voice'} · ${figures}`,
    ),
  );
}

function backToEvals(): HTMLElement {
  return el('a', { href: '#/evals', class: 'back' }, '← Evals');
}

interface RunFormOptions {
  api: ConsoleApi;
  suiteId: string;
  /** The agent of the suite; null = any. */
  agentId: string | null;
  agents: readonly AgentName[];
  /** Saves the suite if it has changed. @throws what prevents it */
  save: () => Promise<void>;
  onStarted: (run: Run) => void;
}

const VERSIONS = 50;

/** Starts a run: of which version of which agent, how, and with what to compare. */
function runForm({ api, suiteId, agentId, agents, save, onStarted }: RunFormOptions): HTMLElement {
  const agent = select(
    'agent',
    agentId ?? agents[0]?.id ?? '',
    agents.map(({ id, name }) => [id, name] as const),
  );
  const version = el('select', { name: 'version' });
  const against = el('select', { name: 'against' });
  const mode = select('mode', '', [
    ['text', 'Text'],
    ['voice', 'Voice'],
    ['', 'Text and voice'],
  ]);
  mode.value = 'text';
  const runs = el('input', { type: 'number', min: '1', max: '1000', placeholder: 'as in the suite' });
  const only = el('input', { type: 'text', placeholder: 'all cases' });

  async function loadVersions(): Promise<void> {
    const versions = await api
      .get<ListedVersion[]>(`/agents/${encodeURIComponent(agent.value)}/versions`, { limit: VERSIONS })
      .catch((): ListedVersion[] => []);
    const options = (): HTMLElement[] =>
      versions.map(({ version: n }, at) =>
        el('option', { value: String(n) }, at === 0 ? `${String(n)} (now)` : String(n)),
      );
    version.replaceChildren(...options());
    against.replaceChildren(el('option', { value: '' }, 'nothing'), ...options());
  }
  agent.addEventListener('change', () => void loadVersions());
  void loadVersions();

  const fields = [
    labelled('Agent', agent),
    labelled('Version', version),
    labelled('Mode', mode),
    labelled('Runs of each case', runs),
    labelled('Only (names or tags)', only),
    labelled('Compare with version', against),
  ];
  return actionForm('Run the suite', fields, 'Run', async () => {
    await save();
    const chosen = only.value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    const run = await api.send<Run>('POST', '/evals/runs', {
      suite_id: suiteId,
      agent_id: agent.value,
      agent_version: numberIn(version),
      mode: mode.value === '' ? undefined : mode.value,
      runs: numberIn(runs),
      only: chosen.length === 0 ? undefined : chosen,
      against: against.value === '' ? undefined : { agent_version: Number(against.value) },
    });
    onStarted(run);
  });
}

function numberIn({ value }: HTMLInputElement | HTMLSelectElement): number | undefined {
  return value === '' ? undefined : Number(value);
}
