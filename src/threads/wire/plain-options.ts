import type { EngineOptions } from '../../engine/options.js';
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
  const { clock, turnModel, recordings } = options;
  if (clock?.virtual === true || isObject(turnModel) || isObject(recordings)) return null;
  const plain = Object.fromEntries(
    PLAIN.flatMap((name) => (name in options ? [[name, Reflect.get(options, name)]] : [])),
  );
  try {
    return structuredClone(plain) as PlainOptions;
  } catch {
    return null; // contains a function, for example
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
