import { loadSettings } from '../../settings/load-settings.js';
import { originSchema } from '../../settings/setting-items.js';
import { ParleyError } from '../../base/errors.js';
import { nowUnixMs } from '../../base/real-clock.js';
import { hasAgent } from '../../store/agents.js';
import type { Settings } from '../../settings/settings.js';
import { KEY_SCOPES, KEY_VARIABLES, KeyStore, type StoredKey } from '../../store/keys.js';
import { type CommandDatabase, hasDatabase, openCommandDatabase } from '../shared/command-database.js';
import { type CommandIo, defineCommand, type FlagSet, UsageError, type Values } from '../shared/command.js';
import { JSON_OUTPUT, SETTINGS, settingsOf } from '../shared/flags.js';
import { rotateKeys } from './rotate.js';

/** Of actions that only need the data folder. */
const FLAGS = { ...SETTINGS, ...JSON_OUTPUT } as const;

const NEW_KEY = {
  name: { value: 'NAME', required: true, help: 'owner or purpose of the key' },
  scope: {
    value: 'SCOPE',
    choices: KEY_SCOPES,
    help: 'limit a private key to this (default: everything)',
    repeatable: true,
  },
  agent: { value: 'ID', help: 'limit a public key to this agent (default: all agents)', repeatable: true },
  origin: {
    value: 'ORIGIN',
    help: "limit a public key to this web origin, such as https://shop.example (default: PARLEY_ALLOWED_ORIGINS and the daemon's own origin)",
    repeatable: true,
  },
  ...FLAGS,
} as const satisfies FlagSet;

export const keys = defineCommand({
  about: `
    Manages the daemon's API keys, and the key that encrypts stored secrets. A private key allows everything, or what its
    scopes name. A public key only opens sessions and may appear in web pages. A key is shown once, at its creation. Changes
    apply at once, also to a running daemon.`,
  actions: {
    list: defineCommand({
      about: 'List the keys, without their text.',
      flags: FLAGS,
      run: ({ values }, io) => list(values, io),
    }),
    create: defineCommand({
      about: 'Create a key and print it.',
      args: [{ name: 'KIND', choices: ['private', 'public'], help: 'what the key is for' }],
      flags: NEW_KEY,
      examples: [['parley keys create private --name reports --scope read', 'a key that only reads']],
      run: ({ values, positionals: [kind] }, io) => create(kind === 'public' ? 'public' : 'private', values, io),
    }),
    revoke: defineCommand({
      about: 'Revoke keys. Exit code 1 if there is no such key.',
      args: [{ name: 'ID', help: 'the id of a key; `parley keys list` shows the ids', many: true }],
      flags: SETTINGS,
      run: ({ values, positionals }, io) => revoke(values, positionals, io),
    }),
    rotate: defineCommand({
      about: `
        Change the key that encrypts stored secrets. A key in the data folder is replaced by a new one, while no daemon
        runs. A key in PARLEY_SECRET_KEY takes the place of those in PARLEY_OLD_SECRET_KEYS, while all nodes run with both.
        docs/keys.md has the steps. If it is interrupted, run it again.`,
      flags: FLAGS,
      async run({ values }, io) {
        const { settings } = await loadSettings({ env: io.env, flags: settingsOf(values) });
        return rotateKeys(settings, io, values.json);
      },
    }),
  },
});

async function withDatabase(
  settings: Settings,
  work: (opened: CommandDatabase, store: KeyStore) => Promise<number>,
): Promise<number> {
  const opened = await openCommandDatabase(settings);
  try {
    return await work(opened, await KeyStore.open(opened.database, opened.tables, nowUnixMs));
  } finally {
    await opened.close();
  }
}

async function create(kind: 'private' | 'public', values: Values<typeof NEW_KEY>, io: CommandIo): Promise<number> {
  const { name, scope: scopes, agent: agents, origin: origins, json } = values;
  if (name === '') throw new UsageError('--name must not be empty');
  if (name.length > 200) throw new UsageError('--name must have at most 200 characters');
  if (kind === 'private' && (agents.length > 0 || origins.length > 0)) {
    throw new UsageError('--agent and --origin apply to public keys only');
  }
  if (kind === 'public' && scopes.length > 0) throw new UsageError('--scope applies to private keys only');
  const odd = origins.find((origin) => !originSchema.safeParse(origin).success);
  if (odd !== undefined) {
    throw new UsageError(`--origin must be a web origin such as https://shop.example, without a path, not ${odd}`);
  }
  const { settings } = await loadSettings({ env: io.env, flags: settingsOf(values) });
  return withDatabase(settings, async ({ database }, store) => {
    for (const id of agents) {
      if (!(await hasAgent(database, id))) throw new ParleyError('NOT_FOUND', { what: 'agent', id });
    }
    const limits = { agents, origins };
    const { key, stored } = await store.create(kind, name, scopes.length === 0 ? limits : { ...limits, scopes });
    if (json) io.stdout.write(`${JSON.stringify({ ...stored, key })}\n`);
    else {
      io.stdout.write(`${key}\n`);
      io.stderr.write(`save this key: it is not shown again; its id is ${stored.id}\n`);
    }
    return 0;
  });
}

async function list(values: Values<typeof FLAGS>, io: CommandIo): Promise<number> {
  const { settings } = await loadSettings({ env: io.env, flags: settingsOf(values) });
  if (!hasDatabase(settings)) {
    if (values.json) io.stdout.write('[]\n');
    else io.stderr.write(`no keys in ${settings.dataDir}; the daemon creates one at its first start\n`);
    return 0;
  }
  return withDatabase(settings, async (_opened, store) => {
    const found = store.list();
    if (values.json) io.stdout.write(`${JSON.stringify(found)}\n`);
    else for (const key of found) io.stdout.write(`${lineOf(key)}\n`);
    return 0;
  });
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

async function revoke(values: Values<typeof SETTINGS>, ids: readonly string[], io: CommandIo): Promise<number> {
  const { settings } = await loadSettings({ env: io.env, flags: settingsOf(values) });
  if (!hasDatabase(settings)) {
    throw new ParleyError('NOT_FOUND', { what: 'database in the data folder', id: settings.dataDir });
  }
  return withDatabase(settings, async (_opened, store) => {
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
  });
}
