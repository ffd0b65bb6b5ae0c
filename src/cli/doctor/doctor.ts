import { styleText } from 'node:util';
import { RealClock, nowUnixMs } from '../../base/real-clock.js';
import { detectProviders } from '../../settings/detect.js';
import { loadSettings, type SettingFlags } from '../../settings/load-settings.js';
import type { Settings } from '../../settings/settings.js';
import { weakKey } from '../../daemon/http/access.js';
import { Engine } from '../../engine/engine.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { systemProbe } from '../../net/probe.js';
import { checkSqlite } from '../../store/sqlite.js';
import { type CommandIo, defineCommand } from '../shared/command.js';
import { ENGINE, JSON_OUTPUT, settingsOf } from '../shared/flags.js';
import { loadPlugins } from '../../plugins/load-plugins.js';
import { partsOf } from '../../plugins/plugin.js';
import { checkDefaults } from '../../daemon/engine-options.js';
import { engineSettings } from '../shared/engine-settings.js';
import { checkAccounts, checkTrunks } from './carriers.js';
import { type Check, hint, ok, problem } from './check.js';
import { checkFiles } from './files.js';
import { checkLocalModels } from './local-models.js';
import { checkDataFolder, checkMachine } from './machine.js';
import { checkListening, checkProviders } from './network.js';
import { checkPostgres } from './postgres.js';

export const doctor = defineCommand({
  about: `
    Checks the installation and suggests fixes: machine and programs, settings, port, HTTPS, data folder and databases,
    file store, API keys, vendors, local models, SIP trunks and carrier accounts. Changes nothing, but writes and deletes a
    small file in the store. Exit code 1 if there is a problem.`,
  flags: { ...ENGINE, ...JSON_OUTPUT },
  async run({ values }, io) {
    const flags = settingsOf(values);
    const checks = [
      ...(await checkMachine({
        nodeVersion: process.versions.node,
        hasCommand: (name) => systemProbe.hasCommand(name),
        unixMs: nowUnixMs(),
      })),
      ...(await checkInstallation(flags, io)),
    ];
    const problems = checks.filter(({ level }) => level === 'problem').length;
    if (values.json) io.stdout.write(`${JSON.stringify({ ok: problems === 0, checks })}\n`);
    else print(checks, io);
    return problems === 0 ? 0 : 1;
  },
});

async function checkInstallation(flags: SettingFlags, io: CommandIo): Promise<Check[]> {
  let settings: Settings;
  let warnings: readonly string[];
  try {
    ({ settings, warnings } = await loadSettings({ env: io.env, flags }));
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [problem('settings', error.message, 'docs/configuration.md lists all settings')];
  }
  const detection = await detectProviders(settings, { probe: systemProbe, clock: new RealClock(), signal: io.signal });
  const plugins = await checkPlugins(settings.plugins);
  const ollama = detection.findings.find(({ name, used }) => name === 'ollama' && used)?.line ?? null;
  return [
    ...(warnings.length === 0
      ? [ok('settings', 'valid')]
      : warnings.map((text) => hint('settings', text, 'check the spelling'))),
    ...checkKey(settings),
    ...checkDatabases(settings.dataDir),
    ...(await checkPostgres(settings, nowUnixMs)),
    ...(await checkFiles(settings)),
    ...(await checkListening(settings, nowUnixMs())),
    ...(await checkProviders(settings, detection.models, ollama)),
    ...plugins,
    ...(plugins.some(({ level }) => level === 'problem') ? [] : await checkDefaultProviders(flags, io)),
    ...(await checkLocalModels(settings, systemProbe)),
    ...(await checkTrunks(settings)),
    ...(await checkAccounts(settings)),
  ];
}

/** Loads each plug-in, and says what it brings. */
async function checkPlugins(files: readonly string[]): Promise<Check[]> {
  try {
    return (await loadPlugins(files)).map((plugin) => ok('plug-in', `${plugin.name}: ${partsOf(plugin).join('; ')}`));
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [problem('plug-in', error.message, 'docs/plugins.md describes the form')];
  }
}

function checkKey(settings: Settings): Check[] {
  const { fault, isExposed } = weakKey(settings);
  if (fault === null) return [];
  return [
    isExposed
      ? problem('private key', fault, 'set a longer one: the daemon refuses to start with this one')
      : hint('private key', fault, 'set a longer one'),
  ];
}

/** Checks SQLite, then the data folder, which needs it. */
function checkDatabases(dataDir: string): Check[] {
  try {
    checkSqlite();
  } catch (error) {
    return [problem('sqlite', reasonOf(error), 'npm rebuild better-sqlite3')];
  }
  return checkDataFolder(dataDir);
}

/** Checks that the default providers are available. */
async function checkDefaultProviders(flags: SettingFlags, io: CommandIo): Promise<Check[]> {
  const { engine: options, settings } = await engineSettings(io, flags);
  let engine: Engine | null = null;
  try {
    engine = new Engine(options);
    await checkDefaults(engine, settings);
    return [];
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [
      problem('defaults', String(error.details['reason'] ?? error.message), 'docs/configuration.md lists all settings'),
    ];
  } finally {
    await engine?.close();
  }
}

function print(checks: readonly Check[], io: CommandIo): void {
  const signs = { ok: styleText('green', '✓'), hint: styleText('yellow', '–'), problem: styleText('red', '✗') };
  for (const { name, level, text, help } of checks) {
    io.stdout.write(`${signs[level]} ${name.padEnd(14)} ${text}\n`);
    if (help !== null) io.stdout.write(`${' '.repeat(17)}${help}\n`);
  }
  const count = (wanted: Check['level']): number => checks.filter(({ level }) => level === wanted).length;
  io.stdout.write(`${counted(count('problem'), 'problem')}, ${counted(count('hint'), 'hint')}\n`);
}

function counted(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`;
}
