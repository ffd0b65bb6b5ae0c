import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { ParleyError, reasonOf } from '../base/errors.js';
import { InvalidConfigError, type ValidationIssue, parseWith } from '../schema/issues.js';
import { readTextFile } from '../schema/json-file.js';
import { jsonSource, placedIn } from '../schema/source.js';
import {
  DEFAULT_SETTINGS,
  type Settings,
  settingsDocumentSchema,
  type SettingsFile,
  settingsFileSchema,
} from './settings.js';
import { fromText } from '../schema/text.js';
import { mergedVendors, VENDOR_KEY_VARIABLES, vendorsFromEnv } from './vendor-settings.js';

/** Values of command line flags by name without dashes. A list of texts is the value of a setting that is a list. */
export type SettingFlags = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface SettingSources {
  /** Such as `{ port: '8080', 'data-dir': '/srv/parley' }`. */
  flags?: SettingFlags;
  /** Default: the process's environment. An empty value counts as unset. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Members as in the file. They override all others; undefined = not given. Default none. */
  values?: { readonly [Name in keyof SettingsFile]?: SettingsFile[Name] | undefined };
}

export interface LoadedSettings {
  settings: Settings;
  /** The settings file that was read; null = none. */
  file: string | null;
  /** Sentences about ignored variables, for the operator. */
  warnings: readonly string[];
}

/** The names of one setting. */
export interface SettingName {
  key: keyof SettingsFile;
  /** Environment variable; null = none. */
  env: string | null;
  /** Name of the flag without dashes; null = none: secrets and other programs' variables have no flag. */
  flag: string | null;
  secret: boolean;
  /** Markdown. */
  description: string;
}

/** All settings, in the order of the docs. */
export const SETTING_NAMES: readonly SettingName[] = Object.entries(settingsFileSchema.shape).map(([key, schema]) => {
  const meta = z.globalRegistry.get(schema);
  const env = typeof meta?.['x-env'] === 'string' ? meta['x-env'] : null;
  const secret = meta?.['x-secret'] === true;
  const flag = env?.startsWith('PARLEY_') && !secret ? env.slice(7).toLowerCase().replaceAll('_', '-') : null;
  return { key: key as keyof SettingsFile, env, flag, secret, description: meta?.description ?? '' };
});

/** Variables of secrets, including those of vendors. */
const SECRET_VARIABLES = [
  ...SETTING_NAMES.flatMap(({ env, secret }) => (secret && env !== null ? [env] : [])),
  ...VENDOR_KEY_VARIABLES,
];

/** parley's variables that are not settings of the daemon. */
const OTHER_VARIABLES = new Set(['PARLEY_CONFIG', 'PARLEY_NATIVE', 'PARLEY_AUDIO_DIR', 'PARLEY_URL']);

/**
 * Loads the operator's settings. Values override flags, which override the environment, which overrides the file; the flag `config` or
 * `PARLEY_CONFIG` names the file.
 * @throws InvalidConfigError naming each invalid flag, variable or member of the file; ParleyError CONFIG_INVALID if
 *   the file cannot be read
 */
export async function loadSettings(sources: SettingSources = {}): Promise<LoadedSettings> {
  const flags = sources.flags ?? {};
  const { env, issues: fileIssues } = await withSecretFiles(sources.env ?? process.env, SECRET_VARIABLES);
  const { config } = flags;
  const file = (typeof config === 'string' ? given(config) : undefined) ?? given(env['PARLEY_CONFIG']) ?? null;
  const fromFile = file === null ? {} : await readSettings(file);
  const fromEnv = readTexts(SETTING_NAMES, (name) => name.env, env, '');
  const fromFlags = readTexts(SETTING_NAMES, (name) => name.flag, flags, '--');
  const vendors = vendorsFromEnv(env);
  const fromValues = parseWith(settingsFileSchema, definedOf(sources.values ?? {}), ['settings']);
  const issues = [...fileIssues, ...fromEnv.issues, ...vendors.issues, ...fromFlags.issues];
  if (issues.length > 0) throw new InvalidConfigError(issues);
  return {
    settings: {
      ...DEFAULT_SETTINGS,
      ...fromFile,
      ...fromEnv.values,
      ...fromFlags.values,
      ...fromValues,
      dataDir:
        fromValues.dataDir ??
        fromFlags.values.dataDir ??
        fromEnv.values.dataDir ??
        fromFile.dataDir ??
        defaultDataDir(env),
      vendors: mergedVendors(mergedVendors(fromFile.vendors, vendors.values), fromValues.vendors),
      limits: { ...DEFAULT_SETTINGS.limits, ...fromFile.limits, ...fromValues.limits },
      calls: { ...DEFAULT_SETTINGS.calls, ...fromFile.calls, ...fromValues.calls },
      evals: { ...DEFAULT_SETTINGS.evals, ...fromFile.evals, ...fromValues.evals },
      media: { ...DEFAULT_SETTINGS.media, ...fromFile.media, ...fromValues.media },
      webrtc: { ...DEFAULT_SETTINGS.webrtc, ...fromFile.webrtc, ...fromValues.webrtc },
      sip: { ...DEFAULT_SETTINGS.sip, ...fromFile.sip, ...fromValues.sip },
      twilio: { ...DEFAULT_SETTINGS.twilio, ...fromFile.twilio, ...fromValues.twilio },
      telnyx: { ...DEFAULT_SETTINGS.telnyx, ...fromFile.telnyx, ...fromValues.telnyx },
      plivo: { ...DEFAULT_SETTINGS.plivo, ...fromFile.plivo, ...fromValues.plivo },
      campaigns: { ...DEFAULT_SETTINGS.campaigns, ...fromFile.campaigns, ...fromValues.campaigns },
    },
    file,
    warnings: unknownVariables(env),
  };
}

/** The settings of a file. @throws InvalidConfigError with the line and column of each fault */
async function readSettings(path: string): Promise<SettingsFile> {
  const source = jsonSource(await readTextFile(path), path);
  const { $schema: _, ...settings } = placedIn(source, () => parseWith(settingsDocumentSchema, source.value));
  return settings;
}

/** Without members that are undefined, as programs may write those that they have no value for. */
function definedOf(values: object): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

type Texts = Readonly<Record<string, string | undefined>>;

function readTexts(
  names: readonly SettingName[],
  nameOf: (name: SettingName) => string | null,
  texts: SettingFlags,
  dashes: string,
): {
  values: Omit<
    SettingsFile,
    'limits' | 'calls' | 'campaigns' | 'evals' | 'media' | 'webrtc' | 'sip' | 'twilio' | 'telnyx' | 'plivo'
  >;
  issues: ValidationIssue[];
} {
  const values: Record<string, unknown> = {};
  const issues: ValidationIssue[] = [];
  for (const name of names) {
    const source = nameOf(name);
    const text = source === null ? undefined : texts[source];
    if (source === null || text === undefined || text === '') continue;
    const schema = settingsFileSchema.shape[name.key];
    try {
      values[name.key] = parseWith(schema, typeof text === 'string' ? fromText(text, schema) : text, [
        `${dashes}${source}`,
      ]);
    } catch (error) {
      if (!(error instanceof InvalidConfigError)) throw error;
      issues.push(...error.issues);
    }
  }
  return { values, issues };
}

/**
 * `$XDG_DATA_HOME/parley`, else `~/.local/share/parley`.
 * @throws ParleyError CONFIG_INVALID if the user has no home folder
 */
function defaultDataDir(env: Texts): string {
  const dataHome = given(env['XDG_DATA_HOME']);
  if (dataHome !== undefined) return join(dataHome, 'parley');
  try {
    return join(given(env['HOME']) ?? homedir(), '.local', 'share', 'parley');
  } catch (error) {
    const reason = 'PARLEY_DATA_DIR is not set, and the user has no home folder; set PARLEY_DATA_DIR';
    throw new ParleyError('CONFIG_INVALID', { reason }, { cause: error });
  }
}

/** An empty value counts as unset. */
function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function unknownVariables(env: Texts): string[] {
  const known = new Set(SETTING_NAMES.map(({ env: name }) => name));
  return Object.keys(env)
    .filter(
      (name) =>
        name.startsWith('PARLEY_') &&
        !known.has(name) &&
        !known.has(name.replace(/_FILE$/, '')) &&
        !OTHER_VARIABLES.has(name),
    )
    .sort()
    .map((name) => `${name} is not a setting of this version and is ignored`);
}

/** Largest file of a secret, in bytes. */
const MAX_SECRET_BYTES = 65_536;

/**
 * Adds secrets from files to the environment: `NAME_FILE` holds the path of a file with the value of `NAME`, as with
 * secrets of Docker and Kubernetes and systemd credentials. White space around the value is removed.
 * @param names variables that hold secrets
 */
async function withSecretFiles(
  env: Texts,
  names: readonly string[],
): Promise<{ env: Texts; issues: readonly ValidationIssue[] }> {
  const values: Record<string, string> = {};
  const issues: ValidationIssue[] = [];
  for (const name of names) {
    const variable = `${name}_FILE`;
    const path = env[variable] ?? '';
    if (path === '') continue;
    const fault = (msg: string): void => void issues.push({ loc: [variable], msg, type: 'secret_file' });
    if ((env[name] ?? '') !== '') {
      fault(`${name} is set, too; set only one of the two`);
      continue;
    }
    try {
      const bytes = await readFile(path);
      const text = bytes.toString('utf8').trim();
      if (bytes.length > MAX_SECRET_BYTES) fault(`${path} is larger than ${String(MAX_SECRET_BYTES)} bytes`);
      else if (text === '') fault(`${path} is empty`);
      else values[name] = text;
    } catch (error) {
      fault(`${path} cannot be read: ${reasonOf(error)}`);
    }
  }
  return { env: { ...env, ...values }, issues };
}
