import { modelRemedy } from '../../settings/models.js';
import type { Settings } from '../../settings/settings.js';
import type { Engine } from '../../engine/engine.js';
import { ParleyError, type ErrorCode } from '../../base/errors.js';

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
    const help = kind === 'language model' && error.code === 'PROVIDER_UNKNOWN' ? `; ${modelRemedy(named)}` : '';
    throw new ParleyError('CONFIG_INVALID', { reason: `${place}: ${error.message}${help}` }, { cause: error });
  }
}
