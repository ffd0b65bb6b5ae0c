import type { Settings } from '../../config/settings.js';
import { ParleyError } from '../../errors.js';
import { inspectModel } from '../../providers/local/inspect-model.js';
import { isPath, LocalModels } from '../../providers/local/local-models.js';
import { SileroVad } from '../../providers/vad/silero.js';
import type { CommandIo } from '../command.js';
import { localModelsOf } from '../local-models.js';
import { type Trial, tryModel } from './trial.js';

/** Parley's own detector of voices, whose weights are in the package. */
const SILERO = 'silero';

/**
 * Has each model that is here, and each that the settings name by a path, do its work once; a line about each.
 * @param name one of them; null = all, and Silero
 * @returns 1 where one cannot be used, or could not be tried
 * @throws ParleyError NOT_FOUND; the signal's reason
 */
export async function checkModels(settings: Settings, name: string | null, io: CommandIo): Promise<number> {
  const found = await new LocalModels(localModelsOf(settings)).list();
  const models = found.models.filter((model) => name === null || model.name === name);
  const broken = found.broken.filter((one) => name === null || one.name === name);
  const paths = name === null ? pathsIn(settings) : [];
  const withSilero = name === null || name === SILERO;
  if (models.length + broken.length === 0 && !withSilero)
    throw new ParleyError('NOT_FOUND', { what: 'model', id: name });
  const trials: (() => Promise<Trial>)[] = [
    ...(withSilero ? [trySilero] : []),
    ...models.map((model) => () => tryModel(model, io.signal)),
    ...paths.map((path) => async () => tryModel(await inspectModel(path), io.signal)),
  ];
  for (const one of broken) io.stdout.write(`${one.name}: cannot be used: ${one.reason}\n`);
  let code = broken.length > 0 ? 1 : 0;
  for (const trial of trials) {
    try {
      const { isTried, line } = await trial();
      io.stdout.write(`${line}\n`);
      if (!isTried) code = 1;
    } catch (error) {
      io.signal.throwIfAborted();
      if (!(error instanceof ParleyError)) throw error;
      io.stdout.write(`${error.message}\n`);
      code = 1;
    }
  }
  if (name === null && models.length + broken.length + paths.length === 0) io.stdout.write('no models are here\n');
  return code;
}

async function trySilero(): Promise<Trial> {
  await new SileroVad().warmUp();
  return { isTried: true, line: `${SILERO}: voice activity detection, it works: its weights are in parley` };
}

/** Those beside the models' folder. */
function pathsIn(settings: Settings): string[] {
  const { sttModel, denoiseModel, turnModelPath } = settings;
  const isFile = (given: string): boolean => isPath(given) || given.endsWith('.onnx');
  return [sttModel, denoiseModel, turnModelPath].filter((given) => given !== null && isFile(given)) as string[];
}
