import { nowUnixMs } from '../../base/real-clock.js';
import { Daemon } from '../../daemon/daemon.js';
import { openLog } from '../../daemon/operations/log.js';
import { Engine } from '../../engine/engine.js';
import type { Settings } from '../../settings/settings.js';
import { KeyStore } from '../../store/keys.js';
import { openCommandDatabase } from '../shared/command-database.js';
import { type CommandIo, defineCommand, unknownAction, UsageError } from '../shared/command.js';
import { daemonClient, type DaemonClient, daemonPlace } from '../shared/daemon-client.js';
import { engineSettings } from '../shared/engine-settings.js';
import { listServers, login, logout } from './login.js';
import { StdioBridge } from './stdio-bridge.js';

export const mcp = defineCommand({
  help: `
Usage: parley mcp [--url URL] [--key KEY]
       parley mcp --data-dir DIR [--config FILE]
       parley mcp servers [--json]
       parley mcp login SERVER
       parley mcp logout SERVER

A server of the Model Context Protocol on standard input and output, for assistants that start their servers as commands:
agents, calls, campaigns and test suites as tools. docs/mcp.md lists them.

With --data-dir, it runs a daemon of its own on that folder until standard input ends. While another daemon uses the
folder, leave --data-dir out and name that daemon.

servers, login and logout are about the other direction: servers of the settings' mcpServers whose tools agents use. login
prints an address for a browser, in which somebody lets parley use the server, and waits until that is done. logout
deletes what the daemon got there. Both need the scope admin.

Flags:
  --url URL             address of a running daemon, also PARLEY_URL (default http://127.0.0.1:8080)
  --key KEY             a private key of it, also PARLEY_API_KEY; its scopes limit the tools
  --data-dir DIR        run a daemon on this data folder instead
  --config FILE         settings of that daemon, also PARLEY_CONFIG
  --json                print JSON (servers)
`,
  options: {
    url: { type: 'string' },
    key: { type: 'string' },
    'data-dir': { type: 'string' },
    config: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
  positionals: true,
  async run({ values, positionals }, io) {
    const { url, key, 'data-dir': dataDir, config, json } = values;
    const [action, server, ...more] = positionals;
    if (action !== undefined) {
      if (dataDir !== undefined || config !== undefined) throw new UsageError(`${action} needs a running daemon`);
      if (more.length > 0 || (action === 'servers') !== (server === undefined)) {
        throw unknownAction(undefined, [], 'expected servers, login SERVER or logout SERVER');
      }
      return operate(action, server ?? '', daemonClient(values, io), io, json);
    }
    if (json) throw new UsageError('--json applies to servers');
    if (dataDir === undefined) {
      if (config !== undefined) throw new UsageError('--config needs --data-dir');
      await new StdioBridge({ ...daemonPlace(values, io), io }).run();
      return 0;
    }
    if (url !== undefined || key !== undefined) throw new UsageError('--data-dir excludes --url and --key');
    await serveFolder({ 'data-dir': dataDir, config }, io);
    return 0;
  },
});

function operate(
  action: string,
  server: string,
  client: DaemonClient,
  io: CommandIo,
  isJson: boolean,
): Promise<number> {
  if (action === 'servers') return listServers(client, io, isJson);
  if (action === 'login') return login(server, client, io);
  if (action === 'logout') return logout(server, client, io);
  throw unknownAction(action, ['servers', 'login', 'logout']);
}

/** Bridges to a daemon in this process, with a key that is valid for this process only. */
async function serveFolder(flags: Readonly<Record<string, string | undefined>>, io: CommandIo): Promise<void> {
  const found = await engineSettings(io, flags);
  const settings: Settings = {
    ...found.settings,
    host: '127.0.0.1',
    port: 0,
    page: false,
    publicUrl: null,
    tlsCertPath: null,
    tlsKeyPath: null,
  };
  const log = openLog(io.stderr, settings);
  const engine = new Engine(found.engine);
  let daemon: Daemon | null = null;
  try {
    daemon = await Daemon.open({ settings, engine, agents: [], log });
    if (daemon.newPrivateKey !== null) io.stderr.write(`private key (shown only once): ${daemon.newPrivateKey}\n`);
    const url = await daemon.listen();
    // The first call waits until the engine is warm; reading does not.
    const warm = daemon.warmUp().catch((error: unknown) => log.write('error', String(error)));
    await withKey(settings, (key) => new StdioBridge({ url, key, io }).run());
    await warm;
  } finally {
    await daemon?.close();
    await engine.close();
  }
}

/** A private key for the time of some work. */
async function withKey(settings: Settings, work: (key: string) => Promise<void>): Promise<void> {
  const { database, tables, close } = await openCommandDatabase(settings);
  try {
    const keys = await KeyStore.open(database, tables, nowUnixMs);
    const { key, stored } = await keys.create('private', 'parley mcp');
    try {
      await work(key);
    } finally {
      await keys.revoke(stored.id);
    }
  } finally {
    await close();
  }
}
