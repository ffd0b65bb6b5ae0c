import type { EngineOptions } from '../../engine/options.js';
import { type EnginePlugin, functionsOf, staysInThread } from '../../engine/plugin.js';
import { plainTool } from '../../tools/code-tool.js';
import type { PlainOptions } from './protocol.js';

/** The members of `PlainOptions`. */
const PLAIN = [
  'defaults',
  'models',
  'vendors',
  'voiceSubstitutes',
  'languageVendors',
  'failover',
  'vad',
  'speculation',
  'earlySpeculation',
  'pauseFeatures',
  'endpointing',
  'localModels',
  'allowUrls',
  'serviceWebhooks',
  'mediaCacheDir',
  'appBaseUrls',
  'mcpServers',
  'webhookSecret',
  'maxPromptChars',
  'maxToolReplyBytes',
  'turnModel',
  'recordings',
] as const;

/**
 * The options for an equal engine in another thread, without stores.
 * @returns null if the engine has objects of its embedder, which stay on their thread
 */
export function plainOptions(options: Readonly<EngineOptions>): PlainOptions | null {
  const { clock, turnModel, recordings, plugins = [] } = options;
  if (clock?.virtual === true || isObject(turnModel) || isObject(recordings)) return null;
  if (plugins.some(staysInThread)) return null;
  const plain = Object.fromEntries(
    PLAIN.flatMap((name) => (name in options ? [[name, Reflect.get(options, name)]] : [])),
  );
  try {
    return structuredClone(plugins.length === 0 ? plain : { ...plain, ...plainPlugins(plugins) }) as PlainOptions;
  } catch {
    return null; // contains a function, for example
  }
}

function plainPlugins(plugins: readonly EnginePlugin[]): Pick<PlainOptions, 'pluginFiles' | 'functions'> {
  return {
    pluginFiles: plugins.flatMap(({ file }) => (file === undefined ? [] : [file])),
    functions: [...functionsOf(plugins).values()].map(plainTool),
  };
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
