import * as z from 'zod';
import { parseContinuation, type SessionContinuation } from '../../agent/continuation.js';
import { nowUnixMs } from '../../base/real-clock.js';
import { readJsonFile } from '../../schema/json-file.js';
import { SETTING_NAMES, type SettingFlags } from '../../settings/load-settings.js';
import { DEFAULT_SETTINGS, settingsFileSchema } from '../../settings/settings.js';
import { type Flag, UsageError } from './command.js';

/** A flag with a value that may be missing. */
type TextFlag = Flag & { value: string };

/** The flags of settings, by name. */
export const SETTING_FLAGS: Readonly<Record<string, TextFlag>> = Object.fromEntries(
  SETTING_NAMES.flatMap(({ key, env, flag, description }) => {
    if (flag === null) return [];
    const words = description
      .replaceAll(/, see \[[^\]]+\]\(([^)#]+)[^)]*\)/g, ' (docs/$1)')
      .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
      .replaceAll('`', '')
      .replace(/^[A-Z](?=[a-z]*\b)/, (letter) => letter.toLowerCase());
    const value: unknown = key === 'dataDir' ? '$XDG_DATA_HOME/parley or ~/.local/share/parley' : DEFAULT_SETTINGS[key];
    const isSet = value !== null && !(Array.isArray(value) && value.length === 0);
    const fallback = isSet ? ` (default: ${typeof value === 'string' ? value : JSON.stringify(value)})` : '';
    const help = `${words.replace(/\.$/, '')}${fallback}`;
    return [[flag, { value: placeholderOf(flag, settingsFileSchema.shape[key]), help, env: env ?? '' }]];
  }),
);

/** The placeholder of a setting's value. */
function placeholderOf(flag: string, schema: z.ZodType): string {
  if (schema instanceof z.ZodExactOptional || schema instanceof z.ZodNullable) {
    return placeholderOf(flag, schema.unwrap() as z.ZodType);
  }
  if (schema instanceof z.ZodNumber) return 'N';
  if (schema instanceof z.ZodBoolean) return 'true|false';
  if (schema instanceof z.ZodArray) return 'LIST';
  if (schema instanceof z.ZodEnum && schema.options.length < 10) return schema.options.join('|');
  return flag.endsWith('-dir') ? 'DIR' : /-(?:cert|key|model)-path$/.test(flag) ? 'FILE' : 'VALUE';
}

/** Of commands that read the operator's settings. */
export const SETTINGS = {
  config: { value: 'FILE', help: 'settings file (JSON), as for parley serve', env: 'PARLEY_CONFIG', stream: 'in' },
  'data-dir': { value: 'DIR', help: "the daemon's data folder", env: 'PARLEY_DATA_DIR' },
} as const;

/** Of commands that load plug-ins. */
export const PLUGINS = {
  plugin: {
    value: 'FILE',
    help: 'functions, providers and more of your own, see docs/plugins.md',
    repeatable: true,
    env: 'PARLEY_PLUGINS',
  },
} as const;

/** Of commands that run an engine without a daemon. */
export const ENGINE = {
  ...SETTINGS,
  ...PLUGINS,
  'llm-model': { value: 'ID', help: 'default language model, for agents that name none', env: 'PARLEY_LLM_MODEL' },
  stt: { value: 'NAME', help: 'default recogniser, for agents that name none', env: 'PARLEY_STT' },
  'stt-model': { value: 'NAME', help: 'default model of the recogniser sherpa', env: 'PARLEY_STT_MODEL' },
  tts: { value: 'NAME', help: 'default voice provider, for agents that name none', env: 'PARLEY_TTS' },
  'voice-id': { value: 'ID', help: 'default voice, for agents that name none', env: 'PARLEY_VOICE_ID' },
  'models-dir': {
    value: 'DIR',
    help: 'folder of local models (default: models in the data folder)',
    env: 'PARLEY_MODELS_DIR',
  },
} as const;

/** The flags of settings among a command's values, for `loadSettings`. */
export function settingsOf(values: Readonly<Partial<Record<keyof typeof ENGINE, unknown>>>): SettingFlags {
  const { plugin, ...others } = values;
  const named = Object.entries(others).filter(([name]) => Object.hasOwn(ENGINE, name));
  const plugins = plugin as readonly string[] | undefined;
  return { ...Object.fromEntries(named as [string, string | undefined][]), ...(plugins?.length ? { plugins } : {}) };
}

/** Of commands that ask a running daemon. */
export const DAEMON = {
  url: { value: 'URL', help: 'address of the daemon (default: http://127.0.0.1:8080)', env: 'PARLEY_URL' },
  key: {
    value: 'KEY',
    help: 'private API key; the variable is safer, because command lines are visible to others',
    env: 'PARLEY_API_KEY',
  },
} as const;

export const JSON_OUTPUT = { json: { help: 'print JSON' } } as const;

/** Of commands that hold a session. */
export const SESSION = {
  metadata: { value: 'JSON', help: 'metadata of the session, an object; its members are variables' },
  continue: {
    value: 'FILE',
    help: 'earlier conversation to continue, JSON: {messages?, session_id?, identifier_variable?}',
    stream: 'in',
  },
  knowledge: {
    value: 'FILE',
    help: 'add a knowledge file: txt, md, csv, json, html, pdf or docx',
    repeatable: true,
  },
  recordings: {
    value: 'DIR',
    help: 'folder for recordings of agents with enable_recording (default: recordings in the data folder)',
  },
} as const;

/** Of commands that hold a session in real or virtual time. */
export const PACE = {
  speed: {
    choices: ['real', 'max'],
    default: 'real',
    help: 'real: in real time, with any provider; max: in virtual time, as fast as the machine can, with embedded providers only. Runs in virtual time are reproducible bit for bit',
  },
  now: {
    value: 'TIME',
    help: 'start time of the conversation, ISO 8601 (default: now; with --speed max: noon today, UTC)',
  },
} as const;

export const ALLOW = {
  allow: { value: 'URL', help: 'private address that the agent may call', repeatable: true },
} as const;

const DAY_MS = 86_400_000;

/** The value of `--metadata`. @throws UsageError if it is not a JSON object */
export function metadataOf(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // reported below
  }
  throw new UsageError('--metadata must be a JSON object');
}

/**
 * The start time of a conversation, from `--now`. Virtual time keeps the date, so that "tomorrow" is right, but not the
 * hour, so that runs on one day are identical. @throws UsageError
 */
export function startTime(now: string | undefined, virtual: boolean): number {
  const unixMs = now === undefined ? nowUnixMs() : Date.parse(now);
  if (Number.isNaN(unixMs)) throw new UsageError('--now must be an ISO 8601 time');
  return virtual && now === undefined ? Math.floor(unixMs / DAY_MS) * DAY_MS + DAY_MS / 2 : unixMs;
}

/** The conversation to continue, from the file of `--continue`. @throws ParleyError CONFIG_INVALID */
export async function continuationOf(path: string | undefined): Promise<SessionContinuation | null> {
  return path === undefined ? null : parseContinuation(await readJsonFile(path), [path]);
}
