import type { Settings } from '../../settings/settings.js';
import { ParleyError } from '../../base/errors.js';
import { inspectModel } from '../../providers/local/inspect-model.js';
import { isPath, LocalModels } from '../../providers/local/local-models.js';
import type { ModelKind } from '../../providers/local/model-facts.js';
import { SHERPA_INSTALL, sherpaMissing } from '../../providers/local/sherpa-package.js';
import { findPocketSphinx } from '../../providers/stt/embedded/pocketsphinx.js';
import { readProsodicModel } from '../../providers/turn/prosodic.js';
import { TURN_RUNTIMES, turnRuntime } from '../../providers/turn/onnx.js';
import { localModelsOf, turnModelOf, withoutSpeaker } from '../../daemon/local-models.js';
import { type Check, hint, ok, problem } from './check.js';

const PULL = 'parley models list shows the available models, parley models pull NAME downloads one';

const POCKETSPHINX_ON = 'set pocketSphinx to true (PARLEY_POCKETSPHINX)';
const POCKETSPHINX_INSTALL = 'install it (Debian: apt-get install pocketsphinx pocketsphinx-en-us)';

export interface LocalModelsProbe {
  hasCommand: (name: string) => Promise<boolean>;
  /** The package that runs turn models, null = none. Default: detected. */
  turnRuntime?: () => string | null;
  /** The second recogniser, null = none. Default: detected. */
  pocketSphinx?: () => object | null;
}

/** Checks the local models, the packages that run them, and whether the models in the settings exist. */
export async function checkLocalModels(settings: Settings, probe: LocalModelsProbe): Promise<Check[]> {
  const local = new LocalModels(localModelsOf(settings));
  const { models, broken } = await local.list();
  const checks = [
    ...models.map(({ name, family, languages }) => {
      return ok('model', `${name}: ${[family, languages?.slice(0, 5).join(', ') ?? ''].filter(Boolean).join('; ')}`);
    }),
    ...broken.map(({ name, reason }) => {
      return problem('model', `${name} cannot be used: ${reason}`, 'download it again, or remove it');
    }),
    ...(await checkWanted(settings, local)),
    ...(await checkTurnModel(settings, local, probe.turnRuntime ?? turnRuntime)),
  ];
  const isWanted = checks.length > 0 || settings.stt === 'sherpa' || settings.tts === 'sherpa';
  const second = probe.pocketSphinx ?? findPocketSphinx;
  return [checkPocketSphinx(settings, second() !== null), ...(await checkEngine(isWanted, probe)), ...checks];
}

function checkPocketSphinx({ pocketSphinx }: Settings, isHere: boolean): Check {
  if (!pocketSphinx)
    return hint('pocketsphinx', 'switched off: English is recognised by the embedded one alone', POCKETSPHINX_ON);
  return isHere
    ? ok('pocketsphinx', 'installed: decodes the English that the embedded recogniser does not understand')
    : hint('pocketsphinx', 'not installed: the embedded recogniser is on its own', POCKETSPHINX_INSTALL);
}

async function checkEngine(isWanted: boolean, { hasCommand }: LocalModelsProbe): Promise<Check[]> {
  const missing = sherpaMissing();
  if (missing !== null) {
    const text = `local models cannot run: ${missing}`;
    return [isWanted ? problem('local models', text, SHERPA_INSTALL) : hint('local models', text, SHERPA_INSTALL)];
  }
  const [tar, bzip2] = await Promise.all([hasCommand('tar'), hasCommand('bzip2')]);
  return [
    isWanted
      ? ok('local models', 'sherpa-onnx is installed')
      : hint('local models', 'sherpa-onnx is installed, but no model', PULL),
    ...(tar && bzip2
      ? []
      : [hint('bzip2', 'tar or bzip2 is missing: models cannot be unpacked', 'apt-get install tar bzip2 (Debian)')]),
  ];
}

/** Models that the settings name, and defaults without a model. */
async function checkWanted(settings: Settings, local: LocalModels): Promise<Check[]> {
  const { stt, sttModel, tts, voiceId, denoiseModel, language } = settings;
  const wanted: [what: string, kind: ModelKind, name: string | null][] = [
    ...(stt === 'sherpa' || sttModel !== null ? [['stt model', 'stt', sttModel] as [string, ModelKind, null]] : []),
    ...(tts === 'sherpa' ? [['voice model', 'tts', voiceId] as [string, ModelKind, null]] : []),
    ...(denoiseModel === null ? [] : [['denoise model', 'denoise', denoiseModel] as [string, ModelKind, string]]),
  ];
  const checks = await Promise.all(
    wanted.map(async ([what, kind, name]) => {
      try {
        await (name === null ? local.only(kind, language) : local.find(withoutSpeaker(name), kind));
        return [];
      } catch (error) {
        if (!(error instanceof ParleyError)) throw error;
        return [problem(what, error.message, PULL)];
      }
    }),
  );
  return checks.flat();
}

async function checkTurnModel(
  settings: Settings,
  local: LocalModels,
  runtimeHere: () => string | null,
): Promise<Check[]> {
  const given = await turnModelOf(settings, runtimeHere);
  if (given === null) return [];
  if (given.endsWith('.json')) return checkProsodic(given);
  try {
    const isFile = isPath(given) || given.endsWith('.onnx');
    const { kind, family } = await (isFile ? inspectModel(given) : local.find(given, 'turn'));
    if (kind !== 'turn') return [problem('turn model', `${given} is not a turn model, but ${family}`, PULL)];
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [problem('turn model', error.message, PULL)];
  }
  const runtime = runtimeHere();
  return runtime === null
    ? [
        problem(
          'turn model',
          `neither ${TURN_RUNTIMES.join(' nor ')} is installed`,
          'run npm install onnxruntime-web beside parley',
        ),
      ]
    : [ok('turn model', `${given}, run by ${runtime}`)];
}

async function checkProsodic(path: string): Promise<Check[]> {
  try {
    const { trained } = await readProsodicModel(path);
    return [ok('turn model', `${path}, trained on ${String(trained.pauses)} pauses`)];
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [problem('turn model', error.message, 'run parley turn train again')];
  }
}
