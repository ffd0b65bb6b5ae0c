import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { type AgentFile, agentSlug, loadAgentFile } from '../agent/agent-file.js';
import { Daemon, engineReports } from '../daemon/daemon.js';
import { type Log, openLog } from '../daemon/operations/log.js';
import type { HostedAgent } from '../daemon/agents/agents.js';
import { Engine } from '../engine/engine.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { nativeStatus } from '../base/native.js';
import { packageFile } from '../package-files.js';
import { databaseFile } from '../store/database.js';
import { storageFault } from '../store/sqlite.js';
import { type CommandIo, defineCommand } from './shared/command.js';
import { atDesk, openDemoDesk } from './shared/demo-desk.js';
import { checkDefaults } from '../daemon/engine-options.js';
import { type EngineSettings, engineSettings } from './shared/engine-settings.js';
import { PLUGINS, SETTING_FLAGS, SETTINGS } from './shared/flags.js';

const DEMO_AGENT = fileURLToPath(packageFile('examples/restaurant/agent.json'));

export const serve = defineCommand({
  about: `
    Starts the daemon and prints the address of its page. The daemon stores agents in its data folder; without any agent it
    serves the demo agent. Ctrl-C or SIGTERM shuts it down once conversations have ended (--drain-s); a second one at once.

    Most flags are settings: a flag overrides the environment variable beside it, which overrides the settings file.
    Secrets and further settings have no flag: docs/configuration.md lists them. A LIST is separated by commas.`,
  flags: {
    agent: {
      value: 'FILE',
      help: 'add or update the agent of this file: {name, config, script?, extensions?}',
      repeatable: true,
      stream: 'in',
    },
    ...PLUGINS,
    config: SETTINGS.config,
    ...SETTING_FLAGS,
  },
  examples: [['parley serve --agent agent.json --port 8080', 'serves one agent']],
  async run({ values }, io) {
    const { agent: agentFiles, plugin, ...texts } = values;
    const flags = plugin.length === 0 ? texts : { ...texts, plugins: plugin };
    const found = await engineSettings(io, flags);
    const agents = await loadAgents(agentFiles);
    const log = openLog(io.stderr, found.settings);
    const desk = await openDemoDesk(() => log.write('info', 'the demo agent booked a table'));
    const allowUrls = [...found.engine.allowUrls, desk.url];
    const engine = new Engine({ ...found.engine, ...engineReports(log), allowUrls });
    let daemon: Daemon | undefined;
    try {
      daemon = await Daemon.prepare({
        settings: found.settings,
        engine,
        agents,
        agentInUse: (config) => atDesk(config, desk),
        log,
      });
      for (const { name, warnings = [] } of agents) {
        for (const { msg } of warnings) log.write('warn', `agent "${name}": ${msg}`);
      }
      await serveUntilStopped(daemon, engine, found, io, log);
    } catch (error) {
      throw storageFault(error, databaseFile(found.settings.dataDir)) ?? error;
    } finally {
      await daemon?.close();
      await engine.close();
      await desk.close();
    }
    return 0;
  },
});

async function serveUntilStopped(
  daemon: Daemon,
  engine: Engine,
  found: EngineSettings,
  io: CommandIo,
  log: Log,
): Promise<void> {
  const say = (line: string): void => log.write('info', line);
  // Health checks are answered while the engine loads.
  const address = await listen(daemon, found);
  await checkDefaults(engine, found.settings);
  for (const warning of found.warnings) log.write('warn', warning);
  for (const finding of found.detection.findings) say(finding.line);
  for (const choice of found.detection.choices) say(choice);
  say(nativeLine());
  if (daemon.newPrivateKey !== null) {
    // The key is printed next to the address; logs never contain it.
    io.stdout.write(`private key (shown only once): ${daemon.newPrivateKey}\n`);
  } else if (found.settings.apiKey !== null) say('private key: the one of the setting apiKey (PARLEY_API_KEY)');
  const [demo] = await loadAgents([DEMO_AGENT]);
  for (const warning of await daemon.adopt(demo)) log.write('warn', warning);
  for (const agent of daemon.agents.active()) {
    for (const { msg } of daemon.agents.modelWarnings(agent)) log.write('warn', `agent "${agent.name}": ${msg}`);
  }
  const invitation = found.settings.page ? `Talk to it: ${address}/` : `Listening on ${address}`;
  io.stdout.write(`${styleText('bold', invitation)}\n`);
  for (const reason of await daemon.warmUp()) log.write('warn', reason);
  say('ready');
  await new Promise<void>((resolve) => {
    if (io.signal.aborted) resolve();
    io.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const hurry = io.hurry?.();
  const { busy } = daemon;
  const { drainS } = found.settings;
  const running = busy === 1 ? '1 conversation continues' : `${String(busy)} conversations continue`;
  const limit = `for at most ${String(drainS)} s; another Ctrl-C or SIGTERM ends ${busy === 1 ? 'it' : 'them'} now`;
  say(busy === 0 ? 'shutting down' : `shutting down: ${running} ${limit}`);
  await daemon.drain(hurry);
}

async function listen(daemon: Daemon, { settings }: EngineSettings): Promise<string> {
  try {
    return await daemon.listen();
  } catch (error) {
    const where = `${settings.host}:${String(settings.port)}`;
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    const reason = isTaken ? 'the port is in use; set another one with PARLEY_PORT' : reasonOf(error);
    throw new ParleyError('DAEMON_CANNOT_LISTEN', { where, reason }, { cause: error });
  }
}

/**
 * Loads agent files and derives the agents' ids from their names.
 * @throws ParleyError CONFIG_INVALID if two agents have the same name
 */
async function loadAgents(files: readonly string[]): Promise<HostedAgent[]> {
  const loaded: AgentFile[] = await Promise.all(files.map((file) => loadAgentFile(file)));
  const taken = new Set<string>();
  return loaded.map((file, index) => {
    if (loaded.findIndex(({ name }) => name === file.name) < index) {
      const reason = `${String(files[index])}: another agent has the name "${file.name}", too`;
      throw new ParleyError('CONFIG_INVALID', { reason });
    }
    const slug = agentSlug(file.name);
    let id = slug;
    for (let number = 2; taken.has(id); number++) id = `${slug}-${String(number)}`;
    taken.add(id);
    return { ...file, id };
  });
}

function nativeLine(): string {
  const { loaded, reason } = nativeStatus();
  return loaded
    ? 'native kernels: in use'
    : `native kernels: not in use (${reason}); slower WebAssembly and TypeScript run`;
}
