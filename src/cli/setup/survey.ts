import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { RealClock } from '../../base/real-clock.js';
import { ParleyError } from '../../base/errors.js';
import { systemProbe } from '../../net/probe.js';
import { Deadlines } from '../../providers/deadlines.js';
import { LocalModels } from '../../providers/local/local-models.js';
import type { LocalModel } from '../../providers/local/model-facts.js';
import { sherpaMissing } from '../../providers/local/sherpa-package.js';
import { findPocketSphinx } from '../../providers/stt/embedded/pocketsphinx.js';
import { turnRuntime } from '../../providers/turn/onnx.js';
import { type Detection, detectProviders } from '../../settings/detect.js';
import type { Settings } from '../../settings/settings.js';
import { fetchText } from '../models/download.js';
import { KNOWN_MODELS } from '../models/known-models.js';
import { localModelsOf, modelsFolderOf } from '../../daemon/local-models.js';

/** What this machine, its network and its keys offer. */
export interface Survey {
  detection: Detection;
  /** Models that are in the folder. */
  installed: readonly LocalModel[];
  folder: string;
  freeBytes: number;
  memoryBytes: number;
  processors: number;
  /** Why models cannot be downloaded; null = they can. */
  noNetwork: string | null;
  /** Why local recognisers and voices cannot run; null = they can. */
  noEngine: string | null;
  /** Whether the second recogniser for English is here. */
  hasPocketSphinx: boolean;
  /** Runs turn models; null = nothing does. */
  turnRuntime: string | null;
}

/** Time for the publisher's server to answer. */
const NETWORK_MS = 5_000;

/**
 * Looks at the machine. Rejects only when aborted.
 * @param offline looks at no network
 * @param mirror stands for the publishers; null = none
 */
export async function surveyOf(
  settings: Settings,
  { offline, mirror, signal }: { offline: boolean; mirror: string | null; signal: AbortSignal },
): Promise<Survey> {
  const folder = modelsFolderOf(settings);
  const [detection, noNetwork, found, disk] = await Promise.all([
    detectProviders(settings, { probe: systemProbe, clock: new RealClock(), signal }),
    offline ? 'you chose --offline' : networkFault(mirror, signal),
    new LocalModels(localModelsOf(settings)).list(),
    statfs(existing(folder)),
  ]);
  const canUnpack = (await systemProbe.hasCommand('tar')) && (await systemProbe.hasCommand('bzip2'));
  return {
    detection,
    installed: found.models,
    folder,
    freeBytes: disk.bavail * disk.bsize,
    memoryBytes: totalmem(),
    processors: availableParallelism(),
    noNetwork: noNetwork ?? (canUnpack ? null : 'unpacking needs tar and bzip2'),
    noEngine: sherpaMissing(),
    hasPocketSphinx: findPocketSphinx() !== null,
    turnRuntime: turnRuntime(),
  };
}

/** The publisher's server, or the mirror, must answer. */
async function networkFault(mirror: string | null, signal: AbortSignal): Promise<string | null> {
  const url = KNOWN_MODELS['zipformer-en-small']?.files[0]?.url ?? '';
  const deadlines = new Deadlines(new RealClock(), 'network', signal);
  deadlines.within(NETWORK_MS);
  try {
    await fetchText(new URL('checksum.txt', url).href, { name: 'checksums', mirror, signal: deadlines.signal });
    return null;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ParleyError)) throw error;
    const { reason } = error.details;
    return typeof reason === 'string' ? reason : `${new URL(mirror ?? url).host} does not answer`;
  } finally {
    deadlines.end();
  }
}

function existing(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existing(dirname(folder));
}
