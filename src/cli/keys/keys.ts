import { loadSettings } from '../../settings/load-settings.js';
import { originSchema } from '../../settings/setting-items.js';
import { ParleyError } from '../../base/errors.js';
import { nowUnixMs } from '../../base/real-clock.js';
import { hasAgent } from '../../store/agents.js';
import { KEY_SCOPES, KEY_VARIABLES, type KeyScope, KeyStore, type StoredKey } from '../../store/keys.js';
import { hasDatabase, openCommandDatabase } from '../shared/command-database.js';
import { type CommandIo, defineCommand, type FlagOptions, unknownAction, UsageError } from '../shared/command.js';
import { rotateKeys } from './rotate.js';

const OPTIONS = {
  name: { type: 'string' },
  scope: { type: 'string', multiple: true, default: [] },
  agent: { type: 'string', multiple: true, default: [] },
  origin: { type: 'string', multiple: true, default: [] },
  'data-dir': { type: 'string' },
  json: { type: 'boolean', default: false },
} satisfies FlagOptions;

export const keys = defineCommand({
  help: `
Usage: parley keys list [--json]
       parley keys create private --name NAME [--scope SCOPE …]
       parley keys create public --name NAME [--agent ID …] [--origin ORIGIN …]
       parley keys revoke ID …
       parley keys rotate [--json]

Manages the daemon's API keys, and the key that encrypts stored secrets. A private key allows everything, or what its
scopes name. A public key only opens sessions and may appear in web pages. A key is shown once, at its creation. Changes
apply at once, also to a running daemon.

rotate changes the key that encrypts stored secrets. A key in the data folder is replaced by a new one, while no daemon
runs. A key in PARLEY_SECRET_KEY takes the place of those in PARLEY_OLD_SECRET_KEYS, while all nodes run with both.
docs/keys.md has the steps. If it is interrupted, run it again.

Flags:
  --name NAME           owner or purpose of the key
  --scope SCOPE         limit a private key to read, write, calls, evals or admin (repeatable; default: everything)
  --agent ID            limit a public key to this agent (repeatable; default: all agents)
  --origin ORIGIN       limit a public key to this web origin, such as https://shop.example (repeatable; default:
                        PARLEY_ALLOWED_ORIGINS and the daemon's own origin)
  --data-dir DIR        the daemon's data folder
  --json                print JSON
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [action, ...rest] = positionals;
    if (action === 'rotate') {
      const isMore =
        values.name !== undefined || [...rest, ...values.scope, ...values.agent, ...values.origin].length > 0;
      if (isMore) throw new UsageError('rotate takes --data-dir and --json only');
      const { settings } = await loadSettings({ env: io.env, flags: { 'data-dir': values['data-dir'] } });
      return rotateKeys(settings, io, values.json);
    }
    const wanted = { name: values.name, scopes: values.scope, agents: values.agent, origins: values.origin };
    const work = workOf(action, rest, wanted);
    const { settings } = await loadSettings({ env: io.env, flags: { 'data-dir': values['data-dir'] } });
    if (action !== 'create' && !hasDatabase(settings)) {
      if (action !== 'list')
        throw new ParleyError('NOT_FOUND', { what: 'database in the data folder', id: settings.dataDir });
      if (values.json) io.stdout.write('[]\n');
      else io.stderr.write(`no keys in ${settings.dataDir}; the daemon creates one at its first start\n`);
      return 0;
    }
    const { database, tables, close } = await openCommandDatabase(settings);
    try {
      for (const id of wanted.agents) {
        if (!(await hasAgent(database, id))) throw new ParleyError('NOT_FOUND', { what: 'agent', id });
      }
      const store = await KeyStore.open(database, tables, nowUnixMs);
      return await work(store, io, values.json);
    } finally {
      await close();
    }
  },
});

type Work = (store: KeyStore, io: CommandIo, json: boolean) => number | Promise<number>;

/** The flags of a new key. */
interface Wanted {
  name: string | undefined;
  scopes: readonly string[];
  agents: readonly string[];
  origins: readonly string[];
}

/** @throws UsageError */
function workOf(action: string | undefined, rest: readonly string[], { name, scopes, agents, origins }: Wanted): Work {
  if (action !== 'list' && action !== 'create' && action !== 'revoke') {
    throw unknownAction(action, ['list', 'create', 'revoke', 'rotate']);
  }
  if (action !== 'create' && (name !== undefined || [...scopes, ...agents, ...origins].length > 0)) {
    throw new UsageError('--name, --scope, --agent and --origin apply to create only');
  }
  if (action === 'list') {
    if (rest.length > 0) throw new UsageError('list takes no arguments');
    return list;
  }
  if (action === 'revoke') {
    if (rest.length === 0) throw new UsageError('revoke needs the ID of a key; `parley keys list` shows the ids');
    return (store, io) => revoke(store, io, rest);
  }
  const [kind, ...more] = rest;
  if ((kind !== 'private' && kind !== 'public') || more.length > 0) {
    throw new UsageError('expected create private or create public');
  }
  if (name === undefined || name === '') throw new UsageError('create needs --name NAME');
  if (name.length > 200) throw new UsageError('--name must have at most 200 characters');
  if (kind === 'private' && (agents.length > 0 || origins.length > 0)) {
    throw new UsageError('--agent and --origin apply to public keys only');
  }
  if (kind === 'public' && scopes.length > 0) throw new UsageError('--scope applies to private keys only');
  const unknown = scopes.find((scope) => !isScope(scope));
  if (unknown !== undefined) throw new UsageError(`--scope must be one of ${KEY_SCOPES.join(', ')}, not ${unknown}`);
  const odd = origins.find((origin) => !originSchema.safeParse(origin).success);
  if (odd !== undefined) {
    throw new UsageError(`--origin must be a web origin such as https://shop.example, without a path, not ${odd}`);
  }
  return async (store, io, json) => {
    const limits = { agents, origins };
    const scoped = scopes.length === 0 ? limits : { ...limits, scopes: scopes.filter(isScope) };
    const { key, stored } = await store.create(kind, name, scoped);
    if (json) io.stdout.write(`${JSON.stringify({ ...stored, key })}\n`);
    else {
      io.stdout.write(`${key}\n`);
      io.stderr.write(`save this key: it is not shown again; its id is ${stored.id}\n`);
    }
    return 0;
  };
}

function isScope(text: string): text is KeyScope {
  return (KEY_SCOPES as readonly string[]).includes(text);
}

function list(store: KeyStore, io: CommandIo, json: boolean): number {
  const found = store.list();
  if (json) io.stdout.write(`${JSON.stringify(found)}\n`);
  else for (const key of found) io.stdout.write(`${lineOf(key)}\n`);
  return 0;
}

function lineOf({ id, kind, name, hint, agents, origins, scopes, createdAt }: StoredKey): string {
  const isLimited = kind === 'private' && scopes.length < KEY_SCOPES.length;
  const bound = [
    ...(isLimited ? [`only ${scopes.join(', ')}`] : []),
    ...(agents.length > 0 ? [`for ${agents.join(', ')}`] : []),
    ...(origins.length > 0 ? [`on ${origins.join(', ')}`] : []),
  ];
  const when = new Date(createdAt * 1000).toISOString();
  return [id, kind.padEnd(7), `…${hint}`, when, name, ...bound].join('  ');
}

async function revoke(store: KeyStore, io: CommandIo, ids: readonly string[]): Promise<number> {
  let missing = 0;
  for (const id of ids) {
    const key = store.get(id);
    if (key === null || !(await store.revoke(id))) {
      missing++;
      io.stderr.write(`no key has the id ${id}\n`);
    } else if (key.ofEnvironment) {
      io.stderr.write(
        `${KEY_VARIABLES[key.kind]} sets this key; change it, or the next start of the daemon restores the key\n`,
      );
    }
  }
  if (!store.list().some(({ scopes }) => scopes.includes('admin'))) {
    io.stderr.write('no private key that manages keys is left; create one: parley keys create private --name NAME\n');
  }
  return missing === 0 ? 0 : 1;
}
