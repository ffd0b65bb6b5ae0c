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
 * What another thread makes an engine of that is like this one, but for its stores.
 * @returns null where the engine has objects of its embedder's, which stay on their thread
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
    return null; // a function in it, for one
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
