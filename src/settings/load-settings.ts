import { homedir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { ParleyError } from '../base/errors.js';
import { InvalidConfigError, type ValidationIssue, parseWith } from '../schema/issues.js';
import { readJsonFile } from '../schema/json-file.js';
import { DEFAULT_SETTINGS, type Settings, type SettingsFile, settingsFileSchema } from './settings.js';
import { fromText } from '../schema/text.js';
import { withSecretFiles } from './secret-files.js';
import { mergedVendors, VENDOR_KEY_VARIABLES, vendorsFromEnv } from './vendor-settings.js';

export interface SettingSources {
  /** Values of command line flags by name without dashes: `{ port: '8080', 'data-dir': '/srv/parley' }`. */
  flags?: Readonly<Record<string, string | undefined>>;
  /** Default: the process's. An empty value counts as unset. */
  env?: Readonly<Record<string, string | undefined>>;
}

export interface LoadedSettings {
  settings: Settings;
  /** The configuration file that was read, if any. */
  file: string | null;
  /** Sentences about what was left aside, for the operator to see. */
  warnings: readonly string[];
}

/** How one setting can be given. */
export interface SettingName {
  key: keyof SettingsFile;
  /** Name in the environment; null = only in the file. */
  env: string | null;
  /** Name of the flag without dashes; null = none, because the value is a secret or another program's name. */
  flag: string | null;
  secret: boolean;
  /** What it is for, in Markdown. */
  description: string;
}

/** Every setting's names, in the order of the docs. */
export const SETTING_NAMES: readonly SettingName[] = Object.entries(settingsFileSchema.shape).map(([key, schema]) => {
  const meta = z.globalRegistry.get(schema);
  const env = typeof meta?.['x-env'] === 'string' ? meta['x-env'] : null;
  const secret = meta?.['x-secret'] === true;
  const flag = env?.startsWith('PARLEY_') && !secret ? env.slice(7).toLowerCase().replaceAll('_', '-') : null;
  return { key: key as keyof SettingsFile, env, flag, secret, description: meta?.description ?? '' };
});

/** Variables of secrets, those of vendors among them. */
const SECRET_VARIABLES = [
  ...SETTING_NAMES.flatMap(({ env, secret }) => (secret && env !== null ? [env] : [])),
  ...VENDOR_KEY_VARIABLES,
];

/** Variables that belong to parley and are no settings of the daemon. */
const OTHER_VARIABLES = new Set(['PARLEY_CONFIG', 'PARLEY_NATIVE', 'PARLEY_AUDIO_DIR', 'PARLEY_URL']);

/**
 * The operator's settings: flags before the environment before the file before the defaults. The file is the one
 * that the flag `config` or `PARLEY_CONFIG` names.
 * @throws InvalidConfigError naming each faulty flag, variable or member of the file; ParleyError CONFIG_INVALID
 *   where the file cannot be read.
 */
export async function loadSettings(sources: SettingSources = {}): Promise<LoadedSettings> {
  const flags = sources.flags ?? {};
  const { env, issues: fileIssues } = await withSecretFiles(sources.env ?? process.env, SECRET_VARIABLES);
  const file = given(flags['config']) ?? given(env['PARLEY_CONFIG']) ?? null;
  const fromFile =
    file === null ? {} : parseWith(settingsFileSchema, await readJsonFile(file, { comments: true }), [file]);
  const fromEnv = readTexts(SETTING_NAMES, (name) => name.env, env, '');
  const fromFlags = readTexts(SETTING_NAMES, (name) => name.flag, flags, '--');
  const vendors = vendorsFromEnv(env);
  const issues = [...fileIssues, ...fromEnv.issues, ...vendors.issues, ...fromFlags.issues];
  if (issues.length > 0) throw new InvalidConfigError(issues);
  return {
    settings: {
      ...DEFAULT_SETTINGS,
      ...fromFile,
      ...fromEnv.values,
      ...fromFlags.values,
      dataDir: fromFlags.values.dataDir ?? fromEnv.values.dataDir ?? fromFile.dataDir ?? defaultDataDir(env),
      vendors: mergedVendors(fromFile.vendors, vendors.values),
      limits: { ...DEFAULT_SETTINGS.limits, ...fromFile.limits },
      calls: { ...DEFAULT_SETTINGS.calls, ...fromFile.calls },
      media: { ...DEFAULT_SETTINGS.media, ...fromFile.media },
      webrtc: { ...DEFAULT_SETTINGS.webrtc, ...fromFile.webrtc },
      sip: { ...DEFAULT_SETTINGS.sip, ...fromFile.sip },
      twilio: { ...DEFAULT_SETTINGS.twilio, ...fromFile.twilio },
      telnyx: { ...DEFAULT_SETTINGS.telnyx, ...fromFile.telnyx },
      plivo: { ...DEFAULT_SETTINGS.plivo, ...fromFile.plivo },
      campaigns: { ...DEFAULT_SETTINGS.campaigns, ...fromFile.campaigns },
    },
    file,
    warnings: unknownVariables(env),
  };
}

type Texts = Readonly<Record<string, string | undefined>>;

function readTexts(
  names: readonly SettingName[],
  nameOf: (name: SettingName) => string | null,
  texts: Texts,
  dashes: string,
): {
  values: Omit<
    SettingsFile,
    'limits' | 'calls' | 'campaigns' | 'media' | 'webrtc' | 'sip' | 'twilio' | 'telnyx' | 'plivo'
  >;
  issues: ValidationIssue[];
} {
  const values: Record<string, unknown> = {};
  const issues: ValidationIssue[] = [];
  for (const name of names) {
    const source = nameOf(name);
    const text = source === null ? undefined : given(texts[source]);
    if (source === null || text === undefined) continue;
    const schema = settingsFileSchema.shape[name.key];
    try {
      values[name.key] = parseWith(schema, fromText(text, schema), [`${dashes}${source}`]);
    } catch (error) {
      if (!(error instanceof InvalidConfigError)) throw error;
      issues.push(...error.issues);
    }
  }
  return { values, issues };
}

/**
 * `$XDG_DATA_HOME/parley`, else `~/.local/share/parley`.
 * @throws ParleyError CONFIG_INVALID for a user without a home
 */
function defaultDataDir(env: Texts): string {
  const dataHome = given(env['XDG_DATA_HOME']);
  if (dataHome !== undefined) return join(dataHome, 'parley');
  try {
    return join(given(env['HOME']) ?? homedir(), '.local', 'share', 'parley');
  } catch (error) {
    const reason = 'PARLEY_DATA_DIR: not set, and there is no home folder to keep data in';
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
    .map((name) => `${name} is not a setting of this version: not used`);
}
