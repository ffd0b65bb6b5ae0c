import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { languageSchema } from '../../agent/language.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { LocalModels } from '../../providers/local/local-models.js';
import { baseUrlSchema } from '../../schema/field.js';
import { loadSettings } from '../../settings/load-settings.js';
import type { Settings, SettingsFile } from '../../settings/settings.js';
import { VENDORS } from '../../settings/vendor-settings.js';
import { install } from '../models/install.js';
import { DownloadProgress } from '../models/models.js';
import { type CommandIo, defineCommand, UsageError } from '../shared/command.js';
import { ENGINE, SETTINGS } from '../shared/flags.js';
import { localModelsOf } from '../../daemon/local-models.js';
import { Questions } from '../shared/ask.js';
import { embeddedPart, isEmbedded, type Part, proposal, settingsFor, type Wishes } from './plan.js';
import { type RoundTrip, roundTrip } from './round-trip.js';
import { type Survey, surveyOf } from './survey.js';
import { copyFile, readFile, rename, writeFile } from 'node:fs/promises';
import { readSource } from '../../schema/json-file.js';

export const setup = defineCommand({
  about: `
    Sets parley up for good conversations: looks for keys, Ollama, local models, disk and network; proposes a recogniser, a
    natural voice, a turn model and a language model; and after one confirmation downloads what is missing, checks all of
    it with a real round trip (a sentence is spoken, recognised, and a question answered), and writes the settings file.

    A part that does not work is left out, and parley's embedded one takes its place. Vendors may charge for the round
    trip.`,
  flags: {
    yes: { help: 'ask nothing: take the proposal. Keys come from the environment only', short: 'y' },
    overwrite: { help: 'with --yes: change a settings file that exists (the old text is kept in FILE.bak)' },
    'dry-run': { help: 'print the proposal and stop' },
    offline: { help: 'look at no network: use what is on this machine' },
    language: { value: 'CODE', default: 'en-US', help: 'language of the agents' },
    stt: { value: 'NAME', help: 'recogniser: embedded, a vendor, or a local model (parley models lists them)' },
    voice: { value: 'NAME', help: 'voice: embedded, a vendor, or a local model' },
    turn: { value: 'NAME', help: 'turn model, or none' },
    'llm-model': { value: 'ID', help: 'language model' },
    config: {
      value: 'FILE',
      help: 'settings file to write (default: parley.json in this folder)',
      env: 'PARLEY_CONFIG',
    },
    'env-file': {
      value: 'FILE',
      help: 'file for the keys that you enter (default: parley.env beside the settings file)',
    },
    'data-dir': SETTINGS['data-dir'],
    'models-dir': ENGINE['models-dir'],
    mirror: { value: 'URL', help: 'download models from URL/HOST/PATH instead of HOST/PATH' },
  },
  async run({ values }, io) {
    const language = languageSchema.safeParse(values.language);
    if (!language.success) throw new UsageError(`--language must be a code such as de-DE, not ${values.language}`);
    const config = resolve(values.config ?? io.env['PARLEY_CONFIG'] ?? 'parley.json');
    const run = new Setup(io, {
      ...values,
      language: language.data,
      config,
      envFile: resolve(values['env-file'] ?? join(dirname(config), 'parley.env')),
      wishes: { stt: values.stt, tts: values.voice, turn: values.turn, llm: values['llm-model'] },
    });
    return run.run();
  },
});

interface SetupOptions {
  yes: boolean;
  overwrite: boolean;
  offline: boolean;
  'dry-run': boolean;
  language: string;
  config: string;
  envFile: string;
  wishes: Wishes;
  'data-dir'?: string | undefined;
  'models-dir'?: string | undefined;
  mirror?: string | undefined;
}

class Setup {
  readonly #io: CommandIo;
  readonly #options: SetupOptions;
  readonly #keys: Record<string, string> = {};

  constructor(io: CommandIo, options: SetupOptions) {
    this.#io = io;
    this.#options = options;
  }

  async run(): Promise<number> {
    const { yes, overwrite, language, config, wishes, offline } = this.#options;
    if (yes && !overwrite && !this.#options['dry-run'] && existsSync(config)) {
      throw new ParleyError('FILE_NOT_WRITABLE', { path: config, reason: 'it exists; --overwrite changes it' });
    }
    const questions = yes || this.#options['dry-run'] ? null : new Questions(this.#io);
    try {
      if (questions !== null) await this.#askKeys(questions);
      this.#say('Looking at this machine …');
      const settings = await this.#settings();
      const mirror = this.#mirror(settings);
      const survey = await surveyOf(settings, { offline, mirror, signal: this.#io.signal });
      const parts = proposal(survey, language, wishes);
      this.#print(surveyText(survey) + planText(parts));
      if (this.#options['dry-run']) return 0;
      if (questions !== null && !(await this.#confirmed(questions, parts))) {
        this.#say('Nothing was changed.');
        return 1;
      }
      return await this.#carryOut(parts, settings, survey, mirror);
    } finally {
      questions?.close();
    }
  }

  async #askKeys(questions: Questions): Promise<void> {
    const names = Object.entries(VENDORS).filter(([, { env }]) => 'apiKey' in env);
    const unset = names.filter(([, { env }]) => (this.#io.env[keyOf(env)] ?? '') === '');
    this.#say(`Which of these have given you an API key? ${unset.map(([name]) => name).join(', ')}`);
    const answer = await questions.ask('Names, with commas between (empty = none): ');
    for (const name of answer.split(/[\s,]+/).filter((part) => part !== '')) {
      const vendor = unset.find(([known]) => known === name.toLowerCase())?.[1];
      if (vendor === undefined) {
        this.#say(`${name} is not in the list: left out.`);
        continue;
      }
      const key = await questions.ask(`Key of ${vendor.title} (${keyOf(vendor.env)}, not shown): `, { hidden: true });
      if (key !== '') this.#keys[keyOf(vendor.env)] = key;
      if ('region' in vendor.env && (this.#io.env[vendor.env.region] ?? '') === '') {
        const region = await questions.ask(`Region of ${vendor.title} (${vendor.env.region}): `);
        if (region !== '') this.#keys[vendor.env.region] = region;
      }
    }
  }

  /** As they are without the members that the setup chooses. */
  async #settings(): Promise<Settings> {
    const { config } = this.#options;
    const flags = { 'data-dir': this.#options['data-dir'], 'models-dir': this.#options['models-dir'] };
    const env = { ...this.#io.env, ...this.#keys, PARLEY_CONFIG: existsSync(config) ? config : undefined };
    const { settings } = await loadSettings({ env, flags });
    return { ...settings, stt: null, sttModel: null, tts: null, voiceId: null, turnModelPath: null, llmModel: null };
  }

  #mirror({ modelsUrl }: Settings): string | null {
    const mirror = this.#options.mirror ?? modelsUrl;
    if (mirror === null || baseUrlSchema.safeParse(mirror).success) return mirror;
    throw new UsageError(`--mirror must be an http:// or https:// address, not ${mirror}`);
  }

  async #confirmed(questions: Questions, parts: readonly Part[]): Promise<boolean> {
    const { config } = this.#options;
    const loads = parts.filter(({ download }) => download !== null).length;
    const what = loads === 0 ? 'check this' : `download ${String(loads)} model${loads === 1 ? '' : 's'}, check all`;
    const file = existsSync(config) ? `change ${config} (the old text goes to ${config}.bak)` : `write ${config}`;
    return questions.confirm(`Shall I ${what}, and ${file}?`, !existsSync(config));
  }

  async #carryOut(parts: readonly Part[], settings: Settings, survey: Survey, mirror: string | null): Promise<number> {
    const { config, language, envFile } = this.#options;
    const lost: Part[] = [];
    const replaced = (part: Part, reason: string): Part => {
      if (isEmbedded(part)) return part;
      this.#say(`${nameOf(part)}: ${reason}. The embedded one takes its place.`);
      lost.push(part);
      return embeddedPart(part, survey, language);
    };
    let chosen: Part[] = [];
    for (const part of parts) {
      const fault = await this.#pull(part, survey.folder, mirror);
      chosen.push(fault === null ? part : replaced(part, fault));
    }
    this.#say('Speaking, recognising and answering, to check it …');
    const options = {
      vendors: survey.detection.vendors,
      models: survey.detection.models,
      local: new LocalModels(localModelsOf(settings)),
      voiceId: null,
      model: null,
      language,
      signal: this.#io.signal,
    };
    let trip = await roundTrip(chosen, options);
    // The recogniser must work before it can show that a voice is not understood.
    while ([...trip.faults.keys()].some((part) => !isEmbedded(part))) {
      chosen = chosen.map((part) => {
        const fault = trip.faults.get(part);
        return fault === undefined ? part : replaced(part, fault);
      });
      trip = await roundTrip(chosen, options);
    }
    await writeSettings(config, settingsFor(chosen, language));
    if (Object.keys(this.#keys).length > 0) await writeKeys(envFile, this.#keys);
    this.#print(resultText(chosen, trip, config, Object.keys(this.#keys).length > 0 ? envFile : null));
    return lost.some(({ wanted }) => wanted) || trip.faults.size > 0 ? 1 : 0;
  }

  /** The reason why the model cannot be had; null = it is here, or none is needed. */
  async #pull({ model, download }: Part, folder: string, mirror: string | null): Promise<string | null> {
    if (download === null || model === null) return null;
    const progress = new DownloadProgress(this.#io.stderr);
    try {
      await install({
        name: model,
        known: download,
        folder,
        mirror,
        signal: this.#io.signal,
        onNote: (text) => progress.note(text),
        onProgress: (file, bytes, total) => progress.update(file, bytes, total),
      });
      return null;
    } catch (error) {
      this.#io.signal.throwIfAborted();
      if (!(error instanceof ParleyError)) throw error;
      return error.message;
    } finally {
      progress.clear();
    }
  }

  #say(line: string): void {
    this.#io.stderr.write(`${line}\n`);
  }

  #print(text: string): void {
    this.#io.stdout.write(text);
  }
}

function keyOf(env: object): string {
  return 'apiKey' in env ? String(env.apiKey) : '';
}

function surveyText({ detection, freeBytes, memoryBytes, processors, folder, noNetwork, noEngine }: Survey): string {
  const found = detection.findings.filter((finding) => finding.found).map(({ line }) => `  ${line}\n`);
  const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(1);
  return [
    'This machine\n',
    `  ${String(processors)} processors, ${gigabytes(memoryBytes)} GB of memory, ${gigabytes(freeBytes)} GB free for ${folder}\n`,
    `  ${noNetwork === null ? 'models can be downloaded' : `no downloads: ${noNetwork}`}\n`,
    `  ${noEngine === null ? 'sherpa-onnx runs local models' : `no local models: ${noEngine}`}\n`,
    ...found,
  ].join('');
}

const TITLES = { stt: 'recogniser', tts: 'voice', turn: 'end of turns', llm: 'language model' } as const;

function planText(parts: readonly Part[]): string {
  const lines = parts.map((part) => {
    const { kind, download, why } = part;
    const size =
      download === null
        ? ''
        : `, ${download.megabytes === null ? 'unknown size' : `${String(download.megabytes)} MB`}, ${download.licence}`;
    return `  ${TITLES[kind].padEnd(16)}${nameOf(part)} (${why}${size})\n`;
  });
  return `Proposal\n${lines.join('')}`;
}

function nameOf({ kind, provider, model }: Part): string {
  return model ?? provider ?? (kind === 'turn' ? 'no model' : 'embedded');
}

function resultText(parts: readonly Part[], trip: RoundTrip, config: string, envFile: string | null): string {
  const { words, token, sound } = trip.delaysMs;
  const ms = (value: number | null): string => (value === null ? 'not measured' : `${String(Math.round(value))} ms`);
  const known = [words, token, sound].filter((value) => value !== null);
  const total = known.reduce((sum, value) => sum + value, 0);
  const answer = parts.some((part) => part.kind === 'llm' && isEmbedded(part)) ? 'at once' : ms(token);
  const load = envFile === null ? '' : `set -a; . ${envFile}; set +a; `;
  return [
    `Checked\n`,
    ...parts.map(
      (part) =>
        `  ${TITLES[part.kind].padEnd(16)}${nameOf(part)}${trip.faults.has(part) ? `: ${trip.faults.get(part) ?? ''}` : ''}\n`,
    ),
    `  heard           ${trip.heard ?? 'nothing'}\n`,
    `Memory: ${String(Math.round(trip.memoryBytes / 1e6))} MB with the models\n`,
    `Delay: words ${ms(words)} after the end of speech, first word of the answer ${answer}, first sound ${ms(sound)}; `,
    words === null
      ? 'the sum is not known\n'
      : `together ${String(Math.round(total))} ms, and the pause that ends a turn\n`,
    `Settings are in ${config}${envFile === null ? '' : `, keys in ${envFile}`}\n`,
    `Start with: ${load}npx parley serve --config ${config}\n`,
  ].join('');
}

/** Members that a new setup replaces or removes. */
const MEMBERS = ['stt', 'sttModel', 'tts', 'voiceId', 'turnModelPath', 'llmModel', 'language'] as const;

/**
 * Writes the settings file. An existing one keeps its other members; its text is kept in `FILE.bak`.
 * @throws ParleyError FILE_NOT_WRITABLE, CONFIG_INVALID for an existing file that is no JSON object
 */
export async function writeSettings(path: string, members: SettingsFile): Promise<void> {
  const before = existsSync(path) ? ((await readSource(path)).value as Record<string, unknown>) : {};
  const kept = Object.entries(before).filter(([name]) => !(MEMBERS as readonly string[]).includes(name));
  await written(path, async () => {
    if (existsSync(path)) await copyFile(path, `${path}.bak`);
    await replace(path, `${JSON.stringify({ ...Object.fromEntries(kept), ...members }, null, 2)}\n`, 0o644);
  });
}

/** Adds keys to a file of environment variables that only its owner can read. Other lines stay. */
export async function writeKeys(path: string, keys: Readonly<Record<string, string>>): Promise<void> {
  await written(path, async () => {
    const before = existsSync(path) ? (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '') : [];
    const others = before.filter((line) => !Object.keys(keys).some((name) => line.startsWith(`${name}=`)));
    const lines = [
      ...others,
      ...Object.entries(keys).map(([name, key]) => `${name}='${key.replaceAll("'", "'\\''")}'`),
    ];
    await replace(path, `${lines.join('\n')}\n`, 0o600);
  });
}

/** A reader sees the old file or the new one, never a part. */
async function replace(path: string, text: string, mode: number): Promise<void> {
  await writeFile(`${path}.new`, text, { mode });
  await rename(`${path}.new`, path);
}

async function written(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    throw new ParleyError('FILE_NOT_WRITABLE', { path, reason: reasonOf(error) }, { cause: error });
  }
}
