import { ParleyError } from '../base/errors.js';
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

/** Models that vendors have renamed or retired, and what takes their place: the first id that the operator has. */
export const MODEL_SUCCESSORS: Readonly<Record<string, readonly string[]>> = {
  'gpt-3.5-turbo': ['gpt-4o-mini'],
  'gpt-4': ['gpt-4.1', 'gpt-4o'],
  'gpt-4-turbo': ['gpt-4.1', 'gpt-4o'],
  'llama-3-1-8b': ['llama-3-3-8b'],
  'llama-3-1-70b': ['llama-3-3-70b', 'llama-3-70b'],
  'llama-3-1-405b': ['llama-3-3-70b', 'llama-3-70b'],
  'mistral-large-2407': ['mistral-large-latest'],
};

/** The model that takes the place of one without a route of its own; undefined = none does. */
export function successorOf(model: string, routes: Pick<ModelRoutes, 'has'>): string | undefined {
  const successors = Object.hasOwn(MODEL_SUCCESSORS, model) ? MODEL_SUCCESSORS[model] : undefined;
  return successors?.find((id) => routes.has(id));
}

/** Every model that the interface names; which of them can be used depends on the operator. */
const INTERFACE_MODELS: readonly string[] = [...OPENAI_MODELS, 'llama-3-70b', 'llama-3-1-8b', 'deepseek-v3'];

const ANTHROPIC_URL = 'https://api.anthropic.com';
const OPENAI_URL = 'https://api.openai.com/v1';
const PUBLIC_URLS: Readonly<Record<string, string>> = {
  openai: OPENAI_URL,
  [OPENAI_REALTIME]: OPENAI_URL,
  anthropic: ANTHROPIC_URL,
};

/** Why an agent cannot answer that has neither a language model nor a script, and what to do. */
export function noModelReason(routes: ModelRoutes): string {
  const ids = [...routes.keys()].filter((id) => id !== SCRIPTED_MODEL);
  const remedy =
    ids.length === 0
      ? 'Set OPENAI_API_KEY or ANTHROPIC_API_KEY, run Ollama with a model (in the library: EngineOptions.models)'
      : `Name one of these in llm.model or PARLEY_LLM_MODEL: ${ids.join(', ')}`;
  return `The agent has no language model and no script: all it can say is that. ${remedy}, or give the agent a script.`;
}

/** What makes a model usable that there is no route to. */
export function modelRemedy(model: string): string {
  if ((OPENAI_MODELS as readonly string[]).includes(model) || Object.hasOwn(OPENAI_REALTIME_MODELS, model)) {
    return 'set OPENAI_API_KEY';
  }
  if ((ANTHROPIC_MODELS as readonly string[]).includes(model)) return 'set ANTHROPIC_API_KEY';
  return `name it under "models" in the settings file, or, where Ollama has it, run \`ollama pull ${model}\``;
}

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

/** A model as embedders name it, like an entry of `models` in the settings file. */
export interface ModelEntry {
  /** The adapter, see `ModelRoute`. Default `openai`. */
  provider?: string;
  /** Default: the public address of OpenAI or Anthropic. */
  baseUrl?: string | null;
  /** Default: the server asks for none. */
  apiKey?: string | null;
  /** Default: the id. */
  model?: string;
}

/** Models that embedders name by id, in a plain object or a Map. */
export type GivenModels = Readonly<Record<string, ModelEntry>> | ReadonlyMap<string, ModelEntry>;

/**
 * Where the models lead that an embedder names.
 * @throws ParleyError ARGUMENT_INVALID for an entry that is no object
 */
export function namedModels(models: GivenModels = {}): ModelRoutes {
  const entries: (readonly [string, ModelEntry])[] =
    models instanceof Map ? [...(models as ReadonlyMap<string, ModelEntry>)] : Object.entries(models);
  return new Map(
    entries.map(([id, entry]) => {
      if (typeof entry !== 'object' || entry === null) {
        const reason =
          'an object such as {baseUrl: "http://localhost:8000/v1", apiKey: null, model: "name"} is expected';
        throw new ParleyError('ARGUMENT_INVALID', { argument: `EngineOptions.models["${id}"]`, reason });
      }
      const { provider = 'openai', baseUrl = PUBLIC_URLS[provider] ?? null, apiKey = null, model = id } = entry;
      return [id, { provider, baseUrl, apiKey, model }];
    }),
  );
}

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
  const renamed = Object.keys(MODEL_SUCCESSORS).filter((id) => successorOf(id, routes) !== undefined);
  return [...new Set([...INTERFACE_MODELS, ...routes.keys(), ...renamed])];
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
