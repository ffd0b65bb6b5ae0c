import { el } from '../../shared/elements.js';
import { actionButton, actionForm, labelled, select } from '../actions.js';
import { type AgentName, AgentNames } from '../agent-names.js';
import { mcpServers } from './mcp-servers.js';
import { card, Loaded, type View, type ViewOptions } from '../view.js';
import { wholeTime } from '../words.js';

interface Key {
  id: string;
  kind: 'private' | 'public';
  name: string;
  hint: string;
  agents: readonly string[];
  origins: readonly string[];
  scopes: readonly string[];
  created_at: number;
}

/** The valid keys: creating (shown once), listing, revoking. */
export function keysView({ api }: ViewOptions): View {
  const names = new AgentNames(api);
  const made = el('div', { 'aria-live': 'polite' });
  const form = el('div', {});
  const list = new Loaded('Loading keys', async () => {
    const [keys, agents] = await Promise.all([api.get<Key[]>('/keys'), names.load()]);
    if (form.childElementCount === 0) form.append(keyForm(agents, create));
    return [el('ol', { class: 'calls' }, ...keys.map(keyItem))];
  });

  async function create(body: object): Promise<void> {
    const { key, kind, name } = await api.send<Key & { key: string }>('POST', '/keys', body);
    made.replaceChildren(newKey(key, kind, name));
    await list.refresh();
  }

  function keyItem({ id, kind, name, hint, agents, origins, scopes, created_at: createdAt }: Key): HTMLElement {
    const bounds =
      kind === 'private'
        ? [scopes.length < SCOPES.length ? scopes.join(', ') : 'full access']
        : [
            agents.length === 0 ? 'all agents' : agents.map((agent) => names.of(agent)).join(', '),
            origins.length === 0 ? 'the operator’s origins' : origins.join(', '),
          ];
    const revoke = async (): Promise<void> => {
      await api.send('DELETE', '/keys', { id });
      await list.refresh();
    };
    return el(
      'li',
      { class: 'item' },
      el('div', {}, el('b', {}, name), ' ', el('code', { class: 'soft' }, `…${hint}`)),
      el('span', { class: 'pill' }, kind),
      el('p', { class: 'soft' }, `${bounds.join(' · ')} · made ${wholeTime(createdAt)}`),
      actionButton('Revoke', revoke, {
        class: 'quiet-button danger',
        confirm: 'Really revoke?',
        label: `Revoke ${name}`,
      }),
    );
  }

  const element = el(
    'div',
    { class: 'stack' },
    el('h1', {}, 'Keys'),
    made,
    list.element,
    card('Make a key', el('p', { class: 'soft' }, ABOUT), form),
    mcpServers(api),
  );
  return { element, title: 'Keys', close: () => undefined };
}

/** What a private key allows, and what that is. */
const SCOPES = [
  ['read', 'Read everything but keys'],
  ['write', 'Change agents, numbers, campaigns, knowledge'],
  ['publish', 'Publish drafts, roll back, split callers between versions'],
  ['calls', 'Place and end calls, run campaigns, chat'],
  ['evals', 'Change and run test suites'],
  ['admin', 'Manage keys, delete calls and memories'],
] as const;

const ABOUT =
  'Web pages, the widget and apps open sessions with a public key. A private key has full access, as this console has, ' +
  'or does what you tick: keep it on servers.';

function keyForm(agents: readonly AgentName[], create: (body: object) => Promise<void>): HTMLElement {
  const kind = select('kind', 'public', [
    ['public', 'Public: opens sessions'],
    ['private', 'Private: for servers'],
  ]);
  const name = el('input', { type: 'text', required: '', maxlength: '200', placeholder: 'Whose it is, or what for' });
  const agent = select('agent', '', [['', 'All agents'], ...agents.map(({ id, name: of }) => [id, of] as const)]);
  const origins = el('input', { type: 'text', placeholder: 'https://example.com https://…', spellcheck: 'false' });
  const bounds = [labelled('For the agent', agent), labelled('On the web origins', origins)];
  const scopes = SCOPES.map(([scope, what]) => ({
    box: el('input', { type: 'checkbox', value: scope, checked: '' }),
    what,
  }));
  const allowed = el(
    'div',
    { class: 'boxes', role: 'group', 'aria-label': 'What the key allows' },
    ...scopes.map(({ box, what }) => el('label', {}, box, ` ${what}`)),
  );
  const form = actionForm(
    'Make a key',
    [labelled('Kind', kind), labelled('Name', name), ...bounds, allowed],
    'Make',
    async () => {
      const isPublic = kind.value === 'public';
      await create({
        kind: kind.value,
        name: name.value.trim(),
        scopes: isPublic || scopes.every(({ box }) => box.checked) ? undefined : ticked(),
        agents: isPublic && agent.value !== '' ? [agent.value] : undefined,
        origins: isPublic && origins.value.trim() !== '' ? origins.value.trim().split(/[\s,]+/) : undefined,
      });
      form.reset();
    },
  );
  const ticked = (): string[] => scopes.filter(({ box }) => box.checked).map(({ box }) => box.value);
  const show = (): void => {
    for (const field of bounds) field.hidden = kind.value !== 'public';
    allowed.hidden = kind.value !== 'private';
  };
  show();
  kind.addEventListener('change', show);
  // A form is reset after the event.
  form.addEventListener('reset', () => queueMicrotask(show));
  return form;
}

/** A new key, which is shown only once. */
function newKey(key: string, kind: string, name: string): HTMLElement {
  const field = el('input', { type: 'text', readonly: '', value: key, 'aria-label': `The key ${name}`, class: 'code' });
  field.addEventListener('focus', () => field.select());
  const copy = el('button', { type: 'button', class: 'quiet-button' }, 'Copy');
  copy.addEventListener('click', () => {
    field.select();
    navigator.clipboard.writeText(key).then(
      () => (copy.textContent = 'Copied'),
      () => (copy.textContent = 'Press Ctrl C'),
    );
  });
  return el(
    'div',
    { class: 'notice made' },
    el('p', {}, `The ${kind} key “${name}”. It is shown this once.`),
    el('div', { class: 'row' }, field, copy),
  );
}
