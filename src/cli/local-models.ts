import { join } from 'node:path';
import { failoverOf } from '../config/failover.js';
import type { Settings } from '../config/settings.js';
import { isPath, type LocalModelsOptions } from '../providers/local/local-models.js';

/** The models that the settings name, and the folder of those that agents may name. */
export function localModelsOf(settings: Settings): LocalModelsOptions {
  const { sttModel, denoiseModel, modelThreads } = settings;
  return {
    folder: modelsFolderOf(settings),
    paths: pathsIn(settings),
    threads: modelThreads,
    ...(sttModel !== null && { stt: sttModel }),
    ...(denoiseModel !== null && { denoise: denoiseModel }),
  };
}

export function modelsFolderOf({ modelsDir, dataDir }: Settings): string {
  return modelsDir ?? join(dataDir, 'models');
}

/** Where the operator, and nobody else, has named a folder in place of a name. */
function pathsIn({ voiceId, voiceSubstitutes, failover }: Settings): string[] {
  const { stt, tts } = failoverOf(failover);
  const named = [
    voiceId,
    ...Object.values(voiceSubstitutes).map((substitute) => substitute.voiceId),
    ...stt.map(({ model }) => model),
    ...tts.map((voice) => voice.voiceId),
  ];
  // Of a voice what stands before its speaker.
  return named.filter((name) => name != null && isPath(name)).map((name) => (name ?? '').replace(/:[^/\\:]*$/u, ''));
}
