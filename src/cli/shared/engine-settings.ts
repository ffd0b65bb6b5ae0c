import type { AgentFile } from '../../agent/agent-file.js';
import { loadSettings, type SettingFlags } from '../../settings/load-settings.js';
import type { Settings } from '../../settings/settings.js';
import { type ConfiguredEngine, configuredEngine } from '../../daemon/engine-options.js';
import { modelWarnings, scriptWarnings, warningText } from '../../engine/warnings.js';
import { scriptToolUses } from '../../providers/llm/scripted/index.js';
import type { Engine } from '../../engine/engine.js';
import type { CommandIo } from './command.js';

export interface EngineSettings extends ConfiguredEngine {
  settings: Settings;
  /** Warnings about the settings, for the operator. */
  warnings: readonly string[];
}

/**
 * Loads the operator's settings and detects the available providers.
 * @param flags values of setting flags, by name without dashes
 */
export async function engineSettings(
  io: Pick<CommandIo, 'env' | 'signal'>,
  flags: SettingFlags = {},
): Promise<EngineSettings> {
  const { settings, warnings } = await loadSettings({ env: io.env, flags });
  return { settings, warnings, ...(await configuredEngine(settings, io.signal)) };
}

/** Prints an agent's warnings, such as a missing language model. */
export function printWarnings(agent: AgentFile, engine: Engine, io: Pick<CommandIo, 'stderr'>): void {
  const { config, script, extensions } = agent;
  const ofScript = scriptWarnings(config, scriptToolUses(script), extensions ?? null);
  const found = [...modelWarnings(agent, engine.options), ...ofScript];
  for (const text of [...(agent.warnings ?? []).map(({ msg }) => msg), ...found.map(warningText)])
    io.stderr.write(`warning: ${text}\n`);
}
