import { el } from '../../shared/elements.js';
import { actionButton, actionForm, labelled, select } from '../actions.js';
import { type AgentName, AgentNames } from '../agent-names.js';
import { type ConsoleApi, messageOf } from '../api.js';
import { card, empty, Loaded, type View, type ViewOptions } from '../view.js';
import { wholeTime, shortTime } from '../words.js';
import { type TrunkAnswer, trunkState } from './trunk-state.js';

export interface Phone {
  id: string;
  create_at: number;
  status: 'active' | 'inactive';
  agent_id: string | null;
  agent_config_override: unknown;
  tags: readonly string[];
}

/** The own numbers: buying, releasing, and the agents that answer. */
export function numbersView({ api }: ViewOptions): View {
  const names = new AgentNames(api);
  const list = new Loaded('Loading numbers', async () => {
    const [phones, agents] = await Promise.all([api.get<Phone[]>('/phones'), names.load()]);
    if (phones.length === 0)
      return [empty('No numbers yet. Buy or import one below, and choose which agent answers it.')];
    return [el('ol', { class: 'calls' }, ...phones.map((phone) => phoneItem(api, phone, agents, refresh)))];
  });
  const refresh = (): Promise<void> => list.refresh();
  const lines: Lines = new Lines(api, (hasAny) => {
    imports.hidden = !hasAny;
  });
  const imports = importCard(api, lines, refresh);
  const element = el(
    'div',
    { class: 'stack' },
    el('h1', {}, 'Numbers'),
    list.element,
    buyCard(api, refresh),
    imports,
    card('Trunks and carriers', lines.element),
  );
  return { element, title: 'Numbers', close: () => lines.close() };
}

function phoneItem(
  api: ConsoleApi,
  { id, status, agent_id: agentId, agent_config_override: override, tags, create_at: at }: Phone,
  agents: readonly AgentName[],
  refresh: () => Promise<void>,
): HTMLElement {
  const path = `/phones/${encodeURIComponent(id)}`;
  const fault = el('span', { class: 'fault', role: 'alert' });
  const agent = select('agent', agentId ?? '', [
    ['', 'No agent'],
    ...agents.map(({ id: of, name }) => [of, name] as const),
  ]);
  agent.setAttribute('aria-label', `Who answers ${id}`);
  agent.addEventListener('change', () => {
    fault.textContent = '';
    api
      .send('POST', `${path}/set_agent`, { agent_id: agent.value === '' ? null : agent.value })
      .catch((error: unknown) => (fault.textContent = messageOf(error)))
      .finally(() => void refresh());
  });
  const toggle = async (): Promise<void> => {
    await api.send('PUT', path, { status: status === 'active' ? 'inactive' : 'active' });
    await refresh();
  };
  const giveBack = async (): Promise<void> => {
    await api.send('DELETE', path);
    await refresh();
  };
  const notes = [...tags, ...(override === null ? [] : ['the agent is different here']), `since ${wholeTime(at)}`];
  return el(
    'li',
    { class: 'item' },
    el('div', {}, el('b', { class: 'figure' }, id)),
    el('span', { class: `pill ${status === 'active' ? '' : 'failed'}` }, status),
    el(
      'p',
      { class: 'soft' },
      `${notes.join(' · ')} · `,
      el('a', { href: `#/calls?number=${encodeURIComponent(id)}` }, 'Calls'),
    ),
    el(
      'div',
      { class: 'item-actions' },
      agent,
      fault,
      actionButton(status === 'active' ? 'Switch off' : 'Switch on', toggle, {
        label: `${status === 'active' ? 'Switch off' : 'Switch on'} ${id}`,
      }),
      actionButton('Give back', giveBack, {
        class: 'quiet-button danger',
        confirm: 'Really give back?',
        label: `Give back ${id}`,
      }),
    ),
  );
}

function buyCard(api: ConsoleApi, refresh: () => Promise<void>): HTMLElement {
  const country = el('input', {
    type: 'text',
    value: 'US',
    maxlength: '2',
    size: '4',
    required: '',
    spellcheck: 'false',
  });
  const area = el('input', { type: 'text', inputmode: 'numeric', maxlength: '10', placeholder: 'any, or 415' });
  const bought = el('p', { role: 'status' });
  const form = actionForm(
    'Buy a number',
    [labelled('Country', country), labelled('Area code', area)],
    'Buy',
    async () => {
      bought.textContent = '';
      const where = { country: country.value.toUpperCase(), area_code: area.value === '' ? undefined : area.value };
      const { id } = await api.send<Phone>('POST', '/phones/purchase', where);
      bought.textContent = `${id} is yours. Choose above who answers it.`;
      await refresh();
    },
  );
  const about = 'The first one of that country and area that the carrier has for sale.';
  return card('Buy a number', el('p', { class: 'soft' }, about), form, bought);
}

/** Imports a number of a trunk or an account. */
function importCard(api: ConsoleApi, lines: Lines, refresh: () => Promise<void>): HTMLElement {
  const number = el('input', { type: 'tel', required: '', maxlength: '100', placeholder: '+12025550199' });
  const imported = el('p', { role: 'status' });
  const form = actionForm('Import a number', [labelled('Number', number)], 'Import', async () => {
    imported.textContent = '';
    const { id } = await api.send<Phone>('POST', '/phones/import', { phone: number.value.replaceAll(/[\s()-]/g, '') });
    form.reset();
    await refresh();
    imported.textContent = (await lines.has(id))
      ? `${id} is imported. Choose above who answers it.`
      : `${id} is a number of the simulated phone network: no trunk or account has it.`;
  });
  const about = 'One that your trunk or your account with a carrier has already.';
  return card('Import a number', el('p', { class: 'soft' }, about), form, imported);
}

/** An account with a carrier, from `GET /carriers`. */
interface Account {
  name: string;
  numbers: readonly string[];
  calls: number;
  refused: readonly { reason: string; count: number }[];
}

/** Trunks change by themselves: they register, fail and recover. */
const REFRESH_MS = 5000;

/** The state of trunks and carriers. */
class Lines {
  readonly element: HTMLElement;
  readonly #list: Loaded;
  #numbers: ReadonlySet<string> = new Set();
  #timer = 0;
  #isClosed = false;

  /** @param onKnown called after each check with whether there are any */
  constructor(api: ConsoleApi, onKnown: (hasAny: boolean) => void) {
    this.#list = new Loaded('Loading trunks', async () => {
      const [trunks, accounts] = await Promise.all([
        api.get<TrunkAnswer[]>('/trunks'),
        api.get<Account[]>('/carriers'),
      ]);
      onKnown(trunks.length + accounts.length > 0);
      this.#numbers = new Set([...trunks, ...accounts].flatMap(({ numbers }) => numbers));
      this.#again();
      if (trunks.length + accounts.length === 0) return [el('p', { class: 'soft' }, NONE)];
      return [el('ol', { class: 'calls' }, ...trunks.map(trunkItem), ...accounts.map(accountItem))];
    });
    this.element = this.#list.element;
  }

  /** Whether a trunk or an account has an imported number now. */
  async has(number: string): Promise<boolean> {
    await this.#list.refresh();
    return this.#numbers.has(number);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #again(): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#list.refresh(), REFRESH_MS);
  }
}

const NONE =
  'No SIP trunk and no carrier account: numbers are on the simulated phone network, which no real phone reaches. ' +
  'The settings sip, twilio, telnyx and plivo connect real ones.';

function trunkItem(trunk: TrunkAnswer): HTMLElement {
  const { name, numbers, calls, registration, servers, refused } = trunk;
  const [state, look] = trunkState(trunk);
  const refusals = refused.map(({ status, count }) => `${String(count)} with ${String(status)}`);
  return el(
    'li',
    { class: 'item' },
    el('div', {}, el('b', {}, name === 'default' ? 'SIP trunk' : `SIP trunk ${name}`)),
    el('span', { class: `pill ${look}` }, state),
    el(
      'div',
      { class: 'item-lines' },
      ...(registration?.reason == null ? [] : [el('p', { class: 'fault' }, registration.reason)]),
      ...servers.map((server) => el('p', { class: 'soft' }, serverWords(server))),
      el('p', { class: 'soft' }, factsOf(numbers, calls, refusals)),
    ),
  );
}

function accountItem({ name, numbers, calls, refused }: Account): HTMLElement {
  const refusals = refused.map(({ reason, count }) => `${String(count)} ${reason}`);
  return el(
    'li',
    { class: 'item' },
    el('div', {}, el('b', {}, name.charAt(0).toUpperCase() + name.slice(1))),
    el('span', { class: 'pill' }, 'account'),
    el('p', { class: 'soft' }, factsOf(numbers, calls, refusals)),
  );
}

function serverWords({
  address,
  answers,
  last_answer_at: at,
  last_status: status,
}: TrunkAnswer['servers'][number]): string {
  if (answers === null) return `${address}: not checked yet`;
  const last = at === null ? '' : ` last ${String(status)} at ${shortTime(at, Date.now())}`;
  return answers ? `${address}: answers,${last}` : `${address}: no answer${last === '' ? '' : `,${last}`}`;
}

function factsOf(numbers: readonly string[], calls: number, refusals: readonly string[]): string {
  const facts = [
    numbers.length === 0 ? 'no imported number' : numbers.join(', '),
    calls === 1 ? '1 call in progress' : `${String(calls)} calls in progress`,
    ...(refusals.length === 0 ? [] : [`refused since the start: ${refusals.join(', ')}`]),
  ];
  return facts.join(' · ');
}
