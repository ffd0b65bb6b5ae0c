import { el } from '../../shared/elements.js';
import { actionForm, labelled, select } from '../actions.js';
import type { AgentName } from '../agent-names.js';
import type { ConsoleApi } from '../api.js';
import type { ListedVersion, Run } from './eval-types.js';

export interface RunFormOptions {
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
export function runForm({ api, suiteId, agentId, agents, save, onStarted }: RunFormOptions): HTMLElement {
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
