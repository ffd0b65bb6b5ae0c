import { join } from 'node:path';
import { failoverOf } from '../settings/failover.js';
import type { Settings } from '../settings/settings.js';
import { isPath, LocalModels, type LocalModelsOptions } from '../providers/local/local-models.js';
import { turnRuntime } from '../providers/turn/onnx.js';

/** The local models of the settings, and the folder of models that agents may name. */
export function localModelsOf(settings: Settings): LocalModelsOptions {
  const { sttModel, denoiseModel, pocketSphinx, tts, voiceId, modelThreads, modelIdleMinutes } = settings;
  return {
    folder: modelsFolderOf(settings),
    paths: pathsIn(settings),
    threads: modelThreads,
    idleMs: modelIdleMinutes === 0 ? null : 60_000 * modelIdleMinutes,
    kept: tts === 'sherpa' && voiceId !== null ? [withoutSpeaker(voiceId)] : [],
    stt: sttModel ?? undefined,
    denoise: denoiseModel ?? undefined,
    pocketSphinx,
  };
}

/** `turnModelPath` for none, although one is installed. */
export const NO_TURN_MODEL = 'none';

/**
 * The turn model of the settings; without one, the only installed model if a package is there to run it. Null = none.
 * @param runtime the package, null = there is none
 */
export async function turnModelOf(settings: Settings, runtime = turnRuntime): Promise<string | null> {
  const { turnModelPath } = settings;
  if (turnModelPath === NO_TURN_MODEL) return null;
  if (turnModelPath !== null || runtime() === null) return turnModelPath;
  const { models } = await new LocalModels(localModelsOf(settings)).list();
  const [only, ...others] = models.filter(({ kind }) => kind === 'turn');
  return only === undefined || others.length > 0 ? null : only.name;
}

export function modelsFolderOf({ modelsDir, dataDir }: Settings): string {
  return modelsDir ?? join(dataDir, 'models');
}

/** Models given by path, which only the operator may do. */
function pathsIn({ voiceId, voiceSubstitutes, failover }: Settings): string[] {
  const { stt, tts } = failoverOf(failover);
  const named = [
    voiceId,
    ...Object.values(voiceSubstitutes).map((substitute) => substitute.voiceId),
    ...stt.map(({ model }) => model),
    ...tts.map((voice) => voice.voiceId),
  ];
  return named.filter((name) => name != null && isPath(name)).map((name) => withoutSpeaker(name ?? ''));
}

/** The model in a voice's name (`MODEL:SPEAKER`). */
export function withoutSpeaker(voiceId: string): string {
  return voiceId.replace(/:[^/\\:]*$/u, '');
}
