import { join } from 'node:path';
import { RealClock } from '../base/real-clock.js';
import { ParleyError, type ErrorCode } from '../base/errors.js';
import type { Engine } from '../engine/engine.js';
import type { EngineOptions } from '../engine/options.js';
import { systemProbe } from '../net/probe.js';
import { loadPlugins } from '../plugins/load-plugins.js';
import { type ParleyPlugin, pluginFault, sharedName } from '../plugins/plugin.js';
import { localModelsOf, turnModelOf } from './local-models.js';
import { type Detection, detectProviders } from '../settings/detect.js';
import { failoverOf } from '../settings/failover.js';
import type { Settings } from '../settings/settings.js';
import { suggestionFor } from '../settings/suggestion.js';

/** What the operator's settings mean for an engine. */
export interface ConfiguredEngine {
  detection: Detection;
  /** For `new Engine`. */
  engine: EngineOptions & { allowUrls: readonly string[]; recordings: string };
}

/**
 * Loads the plug-ins of the settings and detects the available providers.
 * @param given plug-ins beside those of the settings
 * @throws ParleyError PLUGIN_INVALID; ARGUMENT_INVALID for `given`; the signal's reason
 */
export async function configuredEngine(
  settings: Settings,
  signal: AbortSignal,
  given: readonly ParleyPlugin[] = [],
): Promise<ConfiguredEngine> {
  const plugins = [...(await loadPlugins(settings.plugins)), ...given];
  const fault = given.map(pluginFault).find((reason) => reason !== null) ?? sharedName(plugins);
  if (fault !== null) throw new ParleyError('ARGUMENT_INVALID', { argument: 'plugins', reason: fault });
  const detection = await detectProviders(settings, {
    probe: systemProbe,
    clock: new RealClock(),
    signal,
    ownModels: plugins.flatMap(({ llm }) => Object.keys(llm ?? {})),
  });
  const engine: ConfiguredEngine['engine'] = {
    defaults: detection.defaults,
    models: detection.models,
    vendors: detection.vendors,
    languageVendors: detection.languageVendors,
    voiceSubstitutes: settings.voiceSubstitutes,
    failover: failoverOf(settings.failover),
    vad: detection.vad,
    speculation: settings.speculation,
    earlySpeculation: {
      tokensPerTurn: settings.speculationTokens,
      costPerTurn: settings.speculationCost,
      prices: settings.prices.llm ?? {},
    },
    pauseFeatures: settings.pauseFeatures,
    localModels: localModelsOf(settings),
    plugins,
    allowUrls: settings.allowUrls,
    serviceWebhooks: settings.serviceWebhooks,
    appBaseUrls: settings.appBaseUrls,
    mcpServers: settings.mcpServers,
    maxPromptChars: settings.limits.promptChars,
    maxToolReplyBytes: settings.limits.toolReplyBytes,
    recordings: join(settings.dataDir, 'recordings'),
    mediaCacheDir: join(settings.dataDir, 'media'),
  };
  const turnModel = await turnModelOf(settings);
  if (turnModel !== null) engine.turnModel = turnModel;
  if (settings.webhookSecret !== null) engine.webhookSecret = settings.webhookSecret;
  return { detection, engine };
}

/** Errors that only a changed setting can fix. */
const FAULTS: ReadonlySet<ErrorCode> = new Set(['PROVIDER_UNKNOWN', 'PROVIDER_NOT_CONFIGURED', 'PROVIDER_CLOSED']);

/** The settings that name providers, by the kind in the error. */
const SETTINGS: Readonly<Record<string, readonly [setting: 'llmModel' | 'stt' | 'tts' | 'vad', variable: string]>> = {
  'language model': ['llmModel', 'PARLEY_LLM_MODEL'],
  'speech-to-text': ['stt', 'PARLEY_STT'],
  'text-to-speech': ['tts', 'PARLEY_TTS'],
  vad: ['vad', 'PARLEY_VAD'],
};

/**
 * Checks that the default providers in the settings are available.
 * @throws ParleyError CONFIG_INVALID naming the setting and the remedy
 */
export async function checkDefaults(engine: Engine, settings: Settings): Promise<void> {
  try {
    await engine.checkAgent({ agent: {} });
  } catch (error) {
    if (!(error instanceof ParleyError) || !FAULTS.has(error.code)) return; // agents may name other providers
    const { kind, name, provider } = error.details;
    const named = String(name ?? provider);
    const [setting, variable] = SETTINGS[String(kind)] ?? [];
    const isDefault = setting !== undefined && settings[setting] === named;
    const place = isDefault ? `${setting} (${variable ?? ''})` : 'failover or models';
    const reason = `${place}: ${error.message}${suggestionFor(error)}`;
    throw new ParleyError('CONFIG_INVALID', { reason }, { cause: error });
  }
}
