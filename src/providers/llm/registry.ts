import { ParleyError } from '../../errors.js';
import type { LlmProvider } from './llm.js';
import { OpenAiProvider } from './openai.js';
import { fallbackScript } from './scripted/fallback-script.js';
import { scriptedProvider } from './scripted/provider.js';
import type { AgentScriptInput } from './scripted/schema.js';

/** Model ids of the interface that OpenAI serves under the same names. */
export const OPENAI_MODELS = ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano'] as const;
export const OPENAI_BASE_URL = 'https://api.openai.com/v1';

/** Where the language models are: plain values, as the operator's settings give them. */
export interface LlmSettings {
  /** OpenAI itself or a server that takes its place: serves the built-in `gpt-…` ids and `openai/<any model>`. */
  openai?: { apiKey?: string; baseUrl?: string };
  /** A local Ollama: serves `ollama/<model>`. `baseUrl` with or without `/v1`. */
  ollama?: { baseUrl: string };
  /** Further model ids, or other places for known ones. `model` is the server's own name for it, default the id. */
  models?: Readonly<Record<string, LlmModelSettings>>;
  /** The rules of the `scripted` model. Default: an honest apology. */
  script?: AgentScriptInput;
}

export interface LlmModelSettings {
  baseUrl: string;
  apiKey?: string;
  model?: string;
  headers?: Readonly<Record<string, string>>;
}

/** Which provider serves which model id. Open: anything can be registered, a later entry replaces an earlier one. */
export class LlmRegistry {
  readonly #exact = new Map<string, LlmProvider>();
  readonly #prefixes = new Map<string, LlmProvider>();

  /** `pattern` is a model id, or the beginning of many ending in `*`, such as `ollama/*`. */
  register(pattern: string, provider: LlmProvider): void {
    if (pattern.endsWith('*')) this.#prefixes.set(pattern.slice(0, -1), provider);
    else this.#exact.set(pattern, provider);
  }

  /** The provider of a model id: the exact entry, else the longest beginning. Throws PROVIDER_UNKNOWN. */
  resolve(modelId: string): LlmProvider {
    const found = this.find(modelId);
    if (found !== null) return found;
    throw new ParleyError('PROVIDER_UNKNOWN', {
      kind: 'language model',
      name: modelId,
      known: this.known().join(', '),
    });
  }

  /** As `resolve`, but null where nothing serves the id. */
  find(modelId: string): LlmProvider | null {
    const exact = this.#exact.get(modelId);
    if (exact !== undefined) return exact;
    let best: [string, LlmProvider] | null = null;
    for (const entry of this.#prefixes) {
      if (
        modelId.startsWith(entry[0]) &&
        modelId.length > entry[0].length &&
        entry[0].length > (best?.[0].length ?? -1)
      ) {
        best = entry;
      }
    }
    return best?.[1] ?? null;
  }

  /** Every id and beginning that is served, sorted. */
  known(): string[] {
    return [...this.#exact.keys(), ...[...this.#prefixes.keys()].map((prefix) => `${prefix}*`)].sort();
  }

  /** Each provider once, however many ids it serves. */
  providers(): LlmProvider[] {
    return [...new Set([...this.#exact.values(), ...this.#prefixes.values()])];
  }

  /** Closes every provider. May be called twice. */
  async close(): Promise<void> {
    await Promise.all(this.providers().map((provider) => provider.close()));
  }
}

/** A registry with everything that the settings name, and `scripted`, which is always there. */
export function llmRegistry(settings: LlmSettings = {}): LlmRegistry {
  const registry = new LlmRegistry();
  registry.register('scripted', scriptedProvider(settings.script ?? fallbackScript));
  const { openai, ollama, models = {} } = settings;
  if (openai?.apiKey !== undefined || openai?.baseUrl !== undefined) {
    const provider = new OpenAiProvider({
      baseUrl: openai.baseUrl ?? OPENAI_BASE_URL,
      ...(openai.apiKey === undefined ? {} : { apiKey: openai.apiKey }),
      modelName: withoutPrefix('openai/'),
    });
    for (const id of OPENAI_MODELS) registry.register(id, provider);
    registry.register('openai/*', provider);
  }
  if (ollama !== undefined) {
    const root = ollama.baseUrl.replace(/\/+$/, '');
    const baseUrl = root.endsWith('/v1') ? root : `${root}/v1`;
    registry.register('ollama/*', new OpenAiProvider({ name: 'ollama', baseUrl, modelName: withoutPrefix('ollama/') }));
  }
  for (const [id, { baseUrl, apiKey, model, headers }] of Object.entries(models)) {
    registry.register(
      id,
      new OpenAiProvider({
        name: id,
        baseUrl,
        ...(apiKey === undefined ? {} : { apiKey }),
        ...(headers === undefined ? {} : { headers }),
        modelName: () => model ?? id,
      }),
    );
  }
  return registry;
}

function withoutPrefix(prefix: string): (modelId: string) => string {
  return (modelId) => (modelId.startsWith(prefix) ? modelId.slice(prefix.length) : modelId);
}
