import { join } from 'node:path';
import { RealClock } from '../../base/real-clock.js';
import type { AgentFile } from '../../agent/agent-file.js';
import { type Detection, detectProviders } from '../../settings/detect.js';
import { failoverOf } from '../../settings/failover.js';
import { loadSettings } from '../../settings/load-settings.js';
import type { Settings } from '../../settings/settings.js';
import { modelWarnings } from '../../engine/warnings.js';
import type { Engine } from '../../engine/engine.js';
import type { EngineOptions } from '../../engine/options.js';
import { systemProbe } from '../../net/probe.js';
import type { CommandIo } from './command.js';
import { localModelsOf } from './local-models.js';

/** Settings that commands without a daemon accept as flags, for `parseArgs`; others come from the environment. */
export const SETTING_FLAGS = { config: { type: 'string' }, 'llm-model': { type: 'string' } } as const;

export interface EngineSettings {
  settings: Settings;
  detection: Detection;
  /** For `new Engine`. */
  engine: EngineOptions & { allowUrls: readonly string[]; recordings: string };
  /** Notices about the settings, for the operator. */
  warnings: readonly string[];
}

/**
 * The operator's settings, and the engines that they and the machine allow.
 * @param flags values of setting flags, by name without dashes
 */
export async function engineSettings(
  io: Pick<CommandIo, 'env' | 'signal'>,
  flags: Readonly<Record<string, string | undefined>> = {},
): Promise<EngineSettings> {
  const { settings, warnings } = await loadSettings({ env: io.env, flags });
  const detection = await detectProviders(settings, { probe: systemProbe, clock: new RealClock(), signal: io.signal });
  return {
    settings,
    detection,
    engine: {
      defaults: detection.defaults,
      models: detection.models,
      vendors: detection.vendors,
      languageVendors: detection.languageVendors,
      voiceSubstitutes: settings.voiceSubstitutes,
      failover: failoverOf(settings.failover),
      vad: detection.vad,
      speculation: settings.speculation,
      ...(settings.turnModelPath !== null && { turnModel: settings.turnModelPath }),
      localModels: localModelsOf(settings),
      allowUrls: settings.allowUrls,
      serviceWebhooks: settings.serviceWebhooks,
      appBaseUrls: settings.appBaseUrls,
      mcpServers: settings.mcpServers,
      ...(settings.webhookSecret !== null && { webhookSecret: settings.webhookSecret }),
      maxPromptChars: settings.limits.promptChars,
      maxToolReplyBytes: settings.limits.toolReplyBytes,
      recordings: join(settings.dataDir, 'recordings'),
      mediaCacheDir: join(settings.dataDir, 'media'),
    },
    warnings,
  };
}

/** Tells the user why an agent may not answer as expected. */
export function tellWarnings(agent: AgentFile, engine: Engine, io: Pick<CommandIo, 'stderr'>): void {
  for (const { msg } of [...(agent.warnings ?? []), ...modelWarnings(agent, engine.options)])
    io.stderr.write(`warning: ${msg}\n`);
}
