import { ParleyError } from '../base/errors.js';
import type { Settings } from './settings.js';
import { vendorsOf } from './vendor-settings.js';

/** OpenAI's models that agent configurations can name. */
export const OPENAI_MODELS = ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano'] as const;

/** The adapter of speech-to-speech models (OpenAI's Realtime API). */
export const OPENAI_REALTIME = 'openai_realtime';

/**
 * OpenAI's speech-to-speech models: our ids and the vendor's names. The vendor has shut down the previews; their ids map
 * to their successors. Source: developers.openai.com/api/docs/models, 2026-11-22.
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

/** Anthropic's models that are fast enough for conversations, in order of preference. */
export const ANTHROPIC_MODELS = [
  'claude-haiku-5-5',
  'claude-haiku-4-5',
  'claude-sonnet-5-5',
  'claude-sonnet-4-6',
] as const;

/** The embedded model, which follows the rules in an agent file. */
export const SCRIPTED_MODEL = 'scripted';

/** Successors of renamed or retired models. The first one with a route applies. */
export const MODEL_SUCCESSORS: Readonly<Record<string, readonly string[]>> = {
  'gpt-3.5-turbo': ['gpt-4o-mini'],
  'gpt-4': ['gpt-4.1', 'gpt-4o'],
  'gpt-4-turbo': ['gpt-4.1', 'gpt-4o'],
  'llama-3-1-8b': ['llama-3-3-8b'],
  'llama-3-1-70b': ['llama-3-3-70b', 'llama-3-70b'],
  'llama-3-1-405b': ['llama-3-3-70b', 'llama-3-70b'],
  'mistral-large-2407': ['mistral-large-latest'],
};

/** The successor of a model that has no route; undefined = none. */
export function successorOf(model: string, routes: Pick<ModelRoutes, 'has'>): string | undefined {
  const successors = Object.hasOwn(MODEL_SUCCESSORS, model) ? MODEL_SUCCESSORS[model] : undefined;
  return successors?.find((id) => routes.has(id));
}

/** Models that agent configurations can name, with or without a route. */
const INTERFACE_MODELS: readonly string[] = [...OPENAI_MODELS, 'llama-3-70b', 'llama-3-1-8b', 'deepseek-v3'];

const ANTHROPIC_URL = 'https://api.anthropic.com';
const OPENAI_URL = 'https://api.openai.com/v1';
const PUBLIC_URLS: Readonly<Record<string, string>> = {
  openai: OPENAI_URL,
  [OPENAI_REALTIME]: OPENAI_URL,
  anthropic: ANTHROPIC_URL,
};

/** The warning for an agent that has neither a language model nor a script. */
export function noModelReason(routes: ModelRoutes): string {
  const ids = [...routes.keys()].filter((id) => id !== SCRIPTED_MODEL);
  const remedy =
    ids.length === 0
      ? 'Set OPENAI_API_KEY or ANTHROPIC_API_KEY, run Ollama with a model (in the library: EngineOptions.models)'
      : `Set llm.model or PARLEY_LLM_MODEL to one of: ${ids.join(', ')}`;
  return `The agent has no language model and no script, so it cannot answer. ${remedy}, or give the agent a script.`;
}

/** How to make a model without a route usable. */
export function modelRemedy(model: string): string {
  if ((OPENAI_MODELS as readonly string[]).includes(model) || Object.hasOwn(OPENAI_REALTIME_MODELS, model)) {
    return 'set OPENAI_API_KEY';
  }
  if ((ANTHROPIC_MODELS as readonly string[]).includes(model)) return 'set ANTHROPIC_API_KEY';
  return `add it to "models" in the settings file, or, for a model of Ollama, run \`ollama pull ${model}\``;
}

/** How to reach a model. */
export interface ModelRoute {
  /**
   * The adapter: `openai` for any server with OpenAI's chat completions, `anthropic` for Anthropic's messages,
   * `openai_realtime` for speech-to-speech models, `scripted` for the embedded model.
   */
  provider: string;
  /** Null = the adapter needs none. */
  baseUrl: string | null;
  apiKey: string | null;
  /** The server's name of the model. */
  model: string;
}

/** Routes of the usable models, by id. */
export type ModelRoutes = ReadonlyMap<string, ModelRoute>;

/** A model of an embedder, like an entry of `models` in the settings file. */
export interface ModelEntry {
  /** The adapter, see `ModelRoute`. Default `openai`. */
  provider?: string;
  /** Default: the public address of OpenAI or Anthropic. */
  baseUrl?: string | null;
  /** Default null: the server needs no key. */
  apiKey?: string | null;
  /** Default: the id. */
  model?: string;
}

/** An embedder's models by id, as a plain object or a Map. */
export type GivenModels = Readonly<Record<string, ModelEntry>> | ReadonlyMap<string, ModelEntry>;

/**
 * The routes of an embedder's models.
 * @throws ParleyError ARGUMENT_INVALID for an entry that is not an object
 */
export function namedModels(models: GivenModels = {}): ModelRoutes {
  const entries: (readonly [string, ModelEntry])[] =
    models instanceof Map ? [...(models as ReadonlyMap<string, ModelEntry>)] : Object.entries(models);
  return new Map(
    entries.map(([id, entry]) => {
      if (typeof entry !== 'object' || entry === null) {
        const reason = 'expected an object such as {baseUrl: "http://localhost:8000/v1", apiKey: null, model: "name"}';
        throw new ParleyError('ARGUMENT_INVALID', { argument: `EngineOptions.models["${id}"]`, reason });
      }
      const { provider = 'openai', baseUrl = PUBLIC_URLS[provider] ?? null, apiKey = null, model = id } = entry;
      return [id, { provider, baseUrl, apiKey, model }];
    }),
  );
}

/**
 * The routes of all usable models: the embedded model, Ollama's models, those of OpenAI and Anthropic if their keys are
 * set, and the operator's `models`. A later route replaces an earlier one with the same id.
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
      // A key is sent only to the server that it belongs to.
      apiKey: entry.apiKey ?? (entry.baseUrl === undefined ? usualKey : null),
      model: entry.model ?? id,
    });
  }
  return routes;
}

/** The route of the operator's embedding model; null = none is set. */
export function embeddingRoute(settings: Settings): (Omit<ModelRoute, 'provider'> & { baseUrl: string }) | null {
  const { embeddingModel: id, openaiBaseUrl, openaiApiKey, models } = settings;
  if (id === null) return null;
  const entry = Object.hasOwn(models, id) ? models[id] : undefined;
  return {
    baseUrl: entry?.baseUrl ?? openaiBaseUrl,
    // A key is sent only to the server that it belongs to.
    apiKey: entry?.apiKey ?? (entry?.baseUrl === undefined ? openaiApiKey : null),
    model: entry?.model ?? id,
  };
}

/** Model ids that an agent configuration may name. */
export function knownModels(routes: ModelRoutes): string[] {
  const renamed = Object.keys(MODEL_SUCCESSORS).filter((id) => successorOf(id, routes) !== undefined);
  return [...new Set([...INTERFACE_MODELS, ...routes.keys(), ...renamed])];
}

/** The URL for `OLLAMA_HOST`, which may be a host, host:port or a URL, as in Ollama. */
export function ollamaUrl(host: string): string {
  const withScheme = /^https?:\/\//.test(host) ? host : `http://${host}`;
  if (!URL.canParse(withScheme)) return 'http://127.0.0.1:11434';
  const url = new URL(withScheme);
  const hasPort = /:\d+$/.test(withScheme.replace(/^https?:\/\//, '').replace(/[/?#].*$/, ''));
  if (!hasPort) url.port = '11434';
  // A server can listen on the unspecified address, but a client cannot call it.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  return url.origin + url.pathname.replace(/\/+$/, '');
}
