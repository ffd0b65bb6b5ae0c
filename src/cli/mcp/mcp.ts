import { nowUnixMs } from '../../base/real-clock.js';
import { Daemon } from '../../daemon/daemon.js';
import { openLog } from '../../daemon/operations/log.js';
import { Engine } from '../../engine/engine.js';
import type { SettingFlags } from '../../settings/load-settings.js';
import type { Settings } from '../../settings/settings.js';
import { KeyStore } from '../../store/keys.js';
import { openCommandDatabase } from '../shared/command-database.js';
import { type CommandIo, defineCommand, UsageError } from '../shared/command.js';
import { daemonClient, daemonPlace } from '../shared/daemon-client.js';
import { engineSettings } from '../shared/engine-settings.js';
import { DAEMON, ENGINE, JSON_OUTPUT, settingsOf } from '../shared/flags.js';
import { listServers, login, logout } from './login.js';
import { StdioBridge } from './stdio-bridge.js';

const SERVER = [{ name: 'SERVER', help: "a server of the settings' mcpServers" }] as const;

export const mcp = defineCommand({
  about: `
    A server of the Model Context Protocol on standard input and output, for assistants that start their servers as
    commands: agents, calls, campaigns and test suites as tools. docs/mcp.md lists them.

    With --data-dir, it runs a daemon of its own on that folder until standard input ends. While another daemon uses the
    folder, leave --data-dir out and name that daemon.

    servers, login and logout are about the other direction: servers of the settings' mcpServers whose tools agents use.`,
  flags: {
    ...DAEMON,
    ...ENGINE,
    'data-dir': { value: 'DIR', help: 'run a daemon on this data folder instead; it takes the flags below' },
  },
  async run({ values }, io) {
    const { url, key, 'data-dir': dataDir } = values;
    const settings = settingsOf(values);
    if (dataDir === undefined) {
      const extra = Object.entries(settings).find(([, value]) => value !== undefined);
      if (extra !== undefined) throw new UsageError(`--${extra[0].replace('plugins', 'plugin')} needs --data-dir`);
      await new StdioBridge({ ...daemonPlace(values, io), io }).run();
      return 0;
    }
    if (url !== undefined || key !== undefined) throw new UsageError('--data-dir excludes --url and --key');
    await serveFolder(settings, io);
    return 0;
  },
  actions: {
    servers: defineCommand({
      about: 'List the MCP servers that the daemon reaches over HTTP.',
      flags: { ...DAEMON, ...JSON_OUTPUT },
      run: ({ values }, io) => listServers(daemonClient(values, io), io, values.json),
    }),
    login: defineCommand({
      about: `
        Print an address for a browser, in which somebody lets parley use the server, and wait until that is done. Needs
        the scope admin.`,
      args: SERVER,
      flags: DAEMON,
      run: ({ values, positionals: [server = ''] }, io) => login(server, daemonClient(values, io), io),
    }),
    logout: defineCommand({
      about: 'Delete what the daemon got from the server at login. Needs the scope admin.',
      args: SERVER,
      flags: DAEMON,
      run: ({ values, positionals: [server = ''] }, io) => logout(server, daemonClient(values, io), io),
    }),
  },
});

/** Bridges to a daemon in this process, with a key that is valid for this process only. */
async function serveFolder(flags: SettingFlags, io: CommandIo): Promise<void> {
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
    daemon = await Daemon.prepare({ settings, engine, agents: [], log });
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
