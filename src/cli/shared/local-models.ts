import { join } from 'node:path';
import { failoverOf } from '../../settings/failover.js';
import type { Settings } from '../../settings/settings.js';
import { isPath, type LocalModelsOptions } from '../../providers/local/local-models.js';

/** The local models of the settings, and the folder of models that agents may name. */
export function localModelsOf(settings: Settings): LocalModelsOptions {
  const { sttModel, denoiseModel, tts, voiceId, modelThreads, modelIdleMinutes } = settings;
  return {
    folder: modelsFolderOf(settings),
    paths: pathsIn(settings),
    threads: modelThreads,
    idleMs: modelIdleMinutes === 0 ? null : 60_000 * modelIdleMinutes,
    kept: tts === 'sherpa' && voiceId !== null ? [withoutSpeaker(voiceId)] : [],
    stt: sttModel ?? undefined,
    denoise: denoiseModel ?? undefined,
  };
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
