import type { Settings } from './settings.js';
import { vendorsOf } from './vendor-settings.js';

/** OpenAI's models that the interface names. */
export const OPENAI_MODELS = ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano'] as const;

/** The adapter of models that hear and speak themselves over OpenAI's Realtime API. */
export const OPENAI_REALTIME = 'openai_realtime';

/**
 * OpenAI's models that hear and speak themselves, and the vendor's names of them. The previews were shut down by the vendor:
 * their ids stand for their successors. developers.openai.com/api/docs/models, read on 2026-11-22.
 */
export const OPENAI_REALTIME_MODELS: Readonly<Record<string, string>> = {
  'gpt-4o-realtime-preview': 'gpt-realtime-2.1',
  'gpt-4o-mini-realtime-preview': 'gpt-realtime-2.1-mini',
  'gpt-realtime': 'gpt-realtime',
  'gpt-realtime-mini': 'gpt-realtime-mini',
  'gpt-realtime-1.5': 'gpt-realtime-1.5',
  'gpt-realtime-2': 'gpt-realtime-2',
  'gpt-realtime-2.1': 'gpt-realtime-2.1',
  'gpt-realtime-2.1-mini': 'gpt-realtime-2.1-mini',
};

/** Anthropic's models that answer quickly enough to talk with, the best suited first. */
export const ANTHROPIC_MODELS = [
  'claude-haiku-5-5',
  'claude-haiku-4-5',
  'claude-sonnet-5-5',
  'claude-sonnet-4-6',
] as const;

/** The embedded model that follows an agent file's own rules. */
export const SCRIPTED_MODEL = 'scripted';

/** Every model that the interface names; which of them can be used depends on the operator. */
const INTERFACE_MODELS: readonly string[] = [...OPENAI_MODELS, 'llama-3-70b', 'llama-3-1-8b', 'deepseek-v3'];

const ANTHROPIC_URL = 'https://api.anthropic.com';

/** How a model id is reached. */
export interface ModelRoute {
  /**
   * The adapter: `openai` for any server with OpenAI's chat completions, `anthropic` for Anthropic's messages,
   * `openai_realtime` for models that hear and speak themselves, `scripted` for the embedded model.
   */
  provider: string;
  /** Null = the adapter needs none. */
  baseUrl: string | null;
  apiKey: string | null;
  /** The server's own name of the model. */
  model: string;
}

/** Model ids that can be used here, and how. */
export type ModelRoutes = ReadonlyMap<string, ModelRoute>;

/**
 * The models that can be used: the embedded one, OpenAI's and Anthropic's where there is a key, Ollama's where it was found, and
 * what the operator's `models` map. Later ones replace earlier ones of the same id.
 */
export function modelRoutes(settings: Settings, ollamaModels: readonly string[] = []): ModelRoutes {
  const routes = new Map<string, ModelRoute>();
  routes.set(SCRIPTED_MODEL, { provider: SCRIPTED_MODEL, baseUrl: null, apiKey: null, model: SCRIPTED_MODEL });
  for (const model of ollamaModels) {
    routes.set(model, { provider: 'openai', baseUrl: `${ollamaUrl(settings.ollamaHost)}/v1`, apiKey: null, model });
  }
  if (settings.openaiApiKey !== null) {
    const access = { baseUrl: settings.openaiBaseUrl, apiKey: settings.openaiApiKey };
    for (const model of OPENAI_MODELS) routes.set(model, { provider: 'openai', ...access, model });
    for (const [id, model] of Object.entries(OPENAI_REALTIME_MODELS)) {
      routes.set(id, { provider: OPENAI_REALTIME, ...access, model });
    }
  }
  const anthropic = vendorsOf(settings).anthropic;
  const anthropicBaseUrl = anthropic?.baseUrl ?? ANTHROPIC_URL;
  if (anthropic?.apiKey != null) {
    for (const model of ANTHROPIC_MODELS) {
      routes.set(model, { provider: 'anthropic', baseUrl: anthropicBaseUrl, apiKey: anthropic.apiKey, model });
    }
  }
  for (const [id, entry] of Object.entries(settings.models)) {
    const isAnthropic = entry.provider === 'anthropic';
    const usualKey = isAnthropic ? (anthropic?.apiKey ?? null) : settings.openaiApiKey;
    routes.set(id, {
      provider: entry.provider ?? 'openai',
      baseUrl: entry.baseUrl ?? (isAnthropic ? anthropicBaseUrl : settings.openaiBaseUrl),
      // A key goes only to the server that it was given for.
      apiKey: entry.apiKey ?? (entry.baseUrl === undefined ? usualKey : null),
      model: entry.model ?? id,
    });
  }
  return routes;
}

/** How the operator's embedding model is reached; null = there is none. */
export function embeddingRoute(settings: Settings): (Omit<ModelRoute, 'provider'> & { baseUrl: string }) | null {
  const { embeddingModel: id, openaiBaseUrl, openaiApiKey, models } = settings;
  if (id === null) return null;
  const entry = Object.hasOwn(models, id) ? models[id] : undefined;
  return {
    baseUrl: entry?.baseUrl ?? openaiBaseUrl,
    // A key goes only to the server that it was given for.
    apiKey: entry?.apiKey ?? (entry?.baseUrl === undefined ? openaiApiKey : null),
    model: entry?.model ?? id,
  };
}

/** Model ids that a configuration may name: the interface's and those that can be used here. */
export function knownModels(routes: ModelRoutes): string[] {
  return [...new Set([...INTERFACE_MODELS, ...routes.keys()])];
}

/** `OLLAMA_HOST` as Ollama reads it (host, host:port or an address), as an address that can be called. */
export function ollamaUrl(host: string): string {
  const withScheme = /^https?:\/\//.test(host) ? host : `http://${host}`;
  if (!URL.canParse(withScheme)) return 'http://127.0.0.1:11434';
  const url = new URL(withScheme);
  const hasPort = /:\d+$/.test(withScheme.replace(/^https?:\/\//, '').replace(/[/?#].*$/, ''));
  if (!hasPort) url.port = '11434';
  // The address that a server listens on everywhere with is none to call.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  return url.origin + url.pathname.replace(/\/+$/, '');
}
