import { existsSync } from 'node:fs';
import { loadSettings } from '../settings/load-settings.js';
import { originSchema } from '../settings/setting-items.js';
import { ParleyError } from '../base/errors.js';
import { nowUnixMs } from '../base/real-clock.js';
import { hasAgent } from '../store/agents.js';
import { databaseFile, openDatabase } from '../store/database.js';
import { KEY_VARIABLES, KeyStore, type StoredKey } from '../store/keys.js';
import { noSuchAction } from './shared/actions.js';
import { type CommandIo, defineCommand, type FlagOptions, UsageError } from './shared/command.js';

const OPTIONS = {
  name: { type: 'string' },
  agent: { type: 'string', multiple: true, default: [] },
  origin: { type: 'string', multiple: true, default: [] },
  'data-dir': { type: 'string' },
  json: { type: 'boolean', default: false },
} satisfies FlagOptions;

export const keys = defineCommand({
  help: `
parley keys list [--json]
parley keys create private --name NAME
parley keys create public --name NAME [--agent ID …] [--origin ORIGIN …]
parley keys revoke ID …

The daemon's keys. A private key may do everything; a public key only opens sessions, and stands in web pages. A key is
shown once, when it is made. What is done here holds at once, also for a daemon that runs.

  --name NAME     whose it is, or what for
  --agent ID      an agent that a public key is for; may be given several times. Default: all
  --origin ORIGIN a web origin that a public key is for, such as https://shop.example; may be given several times.
                  Default: those of PARLEY_ALLOWED_ORIGINS, and the daemon's own
  --data-dir DIR  where the daemon keeps its data
  --json          as JSON
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [action, ...rest] = positionals;
    const wanted = { name: values.name, agents: values.agent, origins: values.origin };
    const work = workOf(action, rest, wanted);
    const { settings } = await loadSettings({ env: io.env, flags: { 'data-dir': values['data-dir'] } });
    if (action !== 'create' && !existsSync(databaseFile(settings.dataDir))) {
      if (action !== 'list')
        throw new ParleyError('NOT_FOUND', { what: 'database in the data folder', id: settings.dataDir });
      if (values.json) io.stdout.write('[]\n');
      else io.stderr.write(`no keys yet in ${settings.dataDir}: the daemon makes one at its first start\n`);
      return 0;
    }
    const database = openDatabase(settings.dataDir);
    try {
      const missing = wanted.agents.find((id) => !hasAgent(database, id));
      if (missing !== undefined) throw new ParleyError('NOT_FOUND', { what: 'agent', id: missing });
      return work(new KeyStore(database, nowUnixMs), io, values.json);
    } finally {
      database.close();
    }
  },
});

type Work = (store: KeyStore, io: CommandIo, json: boolean) => number;

/** @throws UsageError */
function workOf(
  action: string | undefined,
  rest: readonly string[],
  { name, agents, origins }: { name: string | undefined; agents: readonly string[]; origins: readonly string[] },
): Work {
  if (action !== 'list' && action !== 'create' && action !== 'revoke') {
    throw noSuchAction(action, ['list', 'create', 'revoke'], 'list, create or revoke?');
  }
  if (action !== 'create' && (name !== undefined || agents.length > 0 || origins.length > 0)) {
    throw new UsageError('--name, --agent and --origin are for create');
  }
  if (action === 'list') {
    if (rest.length > 0) throw new UsageError('list takes no keys');
    return list;
  }
  if (action === 'revoke') {
    if (rest.length === 0) throw new UsageError('revoke which key? parley keys list tells their ids');
    return (store, io) => revoke(store, io, rest);
  }
  const [kind, ...more] = rest;
  if ((kind !== 'private' && kind !== 'public') || more.length > 0) throw new UsageError('create private or public?');
  if (name === undefined || name === '' || name.length > 200)
    throw new UsageError('--name NAME is missing or too long');
  if (kind === 'private' && (agents.length > 0 || origins.length > 0)) {
    throw new UsageError('--agent and --origin are for public keys');
  }
  const odd = origins.find((origin) => !originSchema.safeParse(origin).success);
  if (odd !== undefined)
    throw new UsageError(`--origin ${odd}: a web origin such as https://shop.example, without a path`);
  return (store, io, json) => {
    const { key, stored } = store.create(kind, name, { agents, origins });
    if (json) io.stdout.write(`${JSON.stringify({ ...stored, key })}\n`);
    else {
      io.stdout.write(`${key}\n`);
      io.stderr.write(`the key above is shown this once; its id is ${stored.id}\n`);
    }
    return 0;
  };
}

function list(store: KeyStore, io: CommandIo, json: boolean): number {
  const found = store.list();
  if (json) io.stdout.write(`${JSON.stringify(found)}\n`);
  else for (const key of found) io.stdout.write(`${lineOf(key)}\n`);
  return 0;
}

function lineOf({ id, kind, name, hint, agents, origins, createdAt }: StoredKey): string {
  const bound = [
    ...(agents.length > 0 ? [`for ${agents.join(', ')}`] : []),
    ...(origins.length > 0 ? [`on ${origins.join(', ')}`] : []),
  ];
  const when = new Date(createdAt * 1000).toISOString();
  return [id, kind.padEnd(7), `…${hint}`, when, name, ...bound].join('  ');
}

function revoke(store: KeyStore, io: CommandIo, ids: readonly string[]): number {
  let missing = 0;
  for (const id of ids) {
    const key = store.get(id);
    if (key === null || !store.revoke(id)) {
      missing++;
      io.stderr.write(`there is no key ${id}\n`);
    } else if (key.ofEnvironment) {
      io.stderr.write(`a daemon that finds this key in ${KEY_VARIABLES[key.kind]} takes it again when it starts\n`);
    }
  }
  if (!store.list().some(({ kind }) => kind === 'private')) {
    io.stderr.write('no private key is left: parley keys create private --name …\n');
  }
  return missing === 0 ? 0 : 1;
}
