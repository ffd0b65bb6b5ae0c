import { baseUrlSchema } from '../../schema/field.js';
import { loadSettings } from '../../settings/load-settings.js';
import type { Settings } from '../../settings/settings.js';
import { ParleyError } from '../../base/errors.js';
import { isPath, LocalModels } from '../../providers/local/local-models.js';
import type { LocalModel } from '../../providers/local/model-facts.js';
import { type CommandIo, defineCommand, UsageError, type Values } from '../shared/command.js';
import { ENGINE, JSON_OUTPUT, SETTINGS, settingsOf } from '../shared/flags.js';
import { localModelsOf, modelsFolderOf } from '../../daemon/local-models.js';
import { install } from './install.js';
import { KNOWN_MODELS, type KnownModel } from './known-models.js';
import { inspectModel } from '../../providers/local/inspect-model.js';
import { SileroVad } from '../../providers/vad/silero/silero.js';
import { type ModelTrial, tryModel } from './trial.js';
import { ProgressBar } from '../shared/progress.js';
import { megabytes } from './download.js';

/** The built-in VAD, whose weights are in the package. */
const SILERO = 'silero';

/**
 * Tests every installed model, and those that the settings name by path; prints a line for each.
 * @param name a single model; null = all, and Silero
 * @returns 1 if a model is unusable or could not be tested
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
  const trials: (() => Promise<ModelTrial>)[] = [
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
  if (name === null && models.length + broken.length + paths.length === 0) io.stdout.write('no models are installed\n');
  return code;
}

async function trySilero(): Promise<ModelTrial> {
  await new SileroVad().warmUp();
  return { isTried: true, line: `${SILERO}: voice activity detection, works; part of parley` };
}

/** Models outside the models' folder. */
function pathsIn(settings: Settings): string[] {
  const { sttModel, denoiseModel, turnModelPath } = settings;
  const isFile = (given: string): boolean => !given.endsWith('.json') && (isPath(given) || given.endsWith('.onnx'));
  return [sttModel, denoiseModel, turnModelPath].filter((given) => given !== null && isFile(given)) as string[];
}

const FOLDERS = { ...SETTINGS, 'models-dir': ENGINE['models-dir'] } as const;
const LIST = { ...FOLDERS, ...JSON_OUTPUT } as const;

export const models = defineCommand({
  about: `
    Manages local models: speech recognition, voices, noise suppression, end of turn; without an action, lists them.
    docs/providers/local.md describes how to use them.`,
  flags: LIST,
  run: ({ values }, io) => list(values, io),
  actions: {
    list: defineCommand({
      about: 'List the installed models and those that can be downloaded.',
      flags: LIST,
      run: ({ values }, io) => list(values, io),
    }),
    pull: defineCommand({
      about: `
        Download a model from its publisher, verify its checksum, unpack it and test it. An interrupted download resumes.`,
      args: [{ name: 'NAME', help: 'a model of the list' }],
      flags: {
        again: { help: 'download again, even if the model is installed' },
        mirror: { value: 'URL', help: 'download HOST/PATH from URL/HOST/PATH' },
        ...FOLDERS,
      },
      async run({ values, positionals: [name = ''] }, io) {
        const { settings } = await loadSettings({ env: io.env, flags: settingsOf(values) });
        const mirror = values.mirror ?? settings.modelsUrl;
        if (mirror !== null && !baseUrlSchema.safeParse(mirror).success) {
          throw new UsageError(`--mirror must be an http:// or https:// address, not ${mirror}`);
        }
        return pull(settings, name, { again: values.again, mirror }, io);
      },
    }),
    check: defineCommand({
      about: 'Load all installed models, or one, run each once and print how long it takes.',
      args: [{ name: 'MODEL', help: 'an installed model', optional: true }],
      flags: FOLDERS,
      async run({ values, positionals: [name = null] }, io) {
        const { settings } = await loadSettings({ env: io.env, flags: settingsOf(values) });
        return checkModels(settings, name, io);
      },
    }),
  },
});

async function list(values: Values<typeof LIST>, io: CommandIo): Promise<number> {
  const { settings } = await loadSettings({ env: io.env, flags: settingsOf(values) });
  const folder = modelsFolderOf(settings);
  const found = await new LocalModels(localModelsOf(settings)).list();
  if (values.json) {
    const here = found.models.map(({ name, path, kind, family, languages }) => ({
      name,
      path,
      kind,
      family,
      languages,
    }));
    const known = Object.entries(KNOWN_MODELS).map(([name, model]) => ({ name, ...model }));
    io.stdout.write(`${JSON.stringify({ folder, here, broken: found.broken, known }, null, 2)}\n`);
    return 0;
  }
  const names = [...found.models, ...found.broken].map(({ name }) => name.length + 2);
  const width = Math.max(WIDTH, ...names);
  const here = [
    ...found.models.map((model) => `  + ${model.name.padEnd(width)}${hereLine(model)}\n`),
    ...found.broken.map(({ name, reason }) => `  - ${name.padEnd(width)}cannot be used: ${reason}\n`),
  ];
  io.stdout.write(`Installed in ${folder}\n${here.length === 0 ? '  none\n' : here.join('')}`);
  for (const kind of ['stt', 'tts', 'denoise', 'turn'] as const) {
    const lines = Object.entries(KNOWN_MODELS)
      .filter(([, known]) => known.kind === kind)
      .map(([name, known]) => `  ${name.padEnd(WIDTH + 2)}${knownLine(known)}\n`);
    io.stdout.write(`\n${HEADS[kind]}\n${lines.join('')}`);
  }
  io.stdout.write('\nDownload a model with: parley models pull NAME\n');
  return 0;
}

const WIDTH = 20;
const HEADS = {
  stt: 'Speech recognition',
  tts: 'Voices',
  denoise: 'Noise suppression',
  turn: 'End of turn',
} as const;

function hereLine({ family, languages }: LocalModel): string {
  return [family, languagesOf(languages)].filter((part) => part !== '').join('; ');
}

function knownLine({ about, languages, licence, megabytes: size }: KnownModel): string {
  return [languagesOf(languages), about, licence, size === null ? '' : `${String(size)} MB`]
    .filter((part) => part !== '')
    .join('; ');
}

function languagesOf(codes: readonly string[] | null): string {
  if (codes === null) return '';
  return codes.length > 5 ? `${String(codes.length)} languages` : codes.join(', ');
}

async function pull(
  settings: Settings,
  name: string,
  { again, mirror }: { again: boolean; mirror: string | null },
  io: CommandIo,
): Promise<number> {
  const known = Object.hasOwn(KNOWN_MODELS, name) ? KNOWN_MODELS[name] : undefined;
  if (known === undefined) {
    throw new ParleyError('NOT_FOUND', { what: 'model to download called', id: name });
  }
  const folder = modelsFolderOf(settings);
  if (!again && new LocalModels({ folder }).has(name)) {
    io.stdout.write(`${name} is already installed: ${folder}/${name} (--again downloads it again)\n`);
    return 0;
  }
  const progress = new DownloadProgress(io.stderr);
  const model = await install({
    name,
    known,
    folder,
    mirror,
    signal: io.signal,
    onNote: (text) => progress.note(text),
    onProgress: (file, bytes, total) => progress.update(file, bytes, total),
  })
    .catch((error: unknown) => {
      if (io.signal.aborted) progress.note('stopped; the next pull resumes the download');
      throw error;
    })
    .finally(() => progress.clear());
  io.stdout.write(`${name} is installed: ${model.path}\n${usage(model)}`);
  return 0;
}

/** How to use the model: settings and commands. */
function usage({ name, kind }: LocalModel): string {
  const settings = {
    stt: `PARLEY_STT=sherpa PARLEY_STT_MODEL=${name}`,
    tts: `PARLEY_TTS=sherpa PARLEY_VOICE_ID=${name}`,
    denoise: `PARLEY_DENOISE_MODEL=${name}`,
    turn: `PARLEY_TURN_MODEL_PATH=${name}`,
  };
  return `Use it with: ${settings[kind]} parley serve\n`;
}

/** A bar on a terminal, otherwise a line per tenth. */
export class DownloadProgress {
  readonly #stream: CommandIo['stderr'];
  #bar: ProgressBar | null = null;
  #file = '';
  #shownTenths = 0;

  constructor(stream: CommandIo['stderr']) {
    this.#stream = stream;
  }

  note(text: string): void {
    this.clear();
    this.#stream.write(`${text}\n`);
  }

  update(file: string, bytes: number, total: number | null): void {
    if (file !== this.#file) {
      this.clear();
      this.#file = file;
      this.#shownTenths = 0;
    }
    if (total === null || total === 0) return;
    if (this.#stream.isTTY === true) {
      this.#bar ??= new ProgressBar(this.#stream, `${file} ${megabytes(total)}`);
      this.#bar.update(bytes / total);
      return;
    }
    const tenths = Math.floor((10 * bytes) / total);
    if (tenths > this.#shownTenths) this.#stream.write(`${file}: ${String(10 * tenths)} % of ${megabytes(total)}\n`);
    this.#shownTenths = Math.max(this.#shownTenths, tenths);
  }

  clear(): void {
    this.#bar?.clear();
    this.#bar = null;
  }
}
