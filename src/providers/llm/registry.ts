import { type ModelRoutes, SCRIPTED_MODEL } from '../../settings/models.js';
import { ParleyError } from '../../base/errors.js';
import { AnthropicProvider } from './vendors/anthropic.js';
import { RealClock } from '../../base/real-clock.js';
import { OpenAiRealtime } from '../realtime/openai-realtime.js';
import type { LlmProvider } from './llm.js';
import { OpenAiProvider } from './vendors/openai.js';
import { fallbackScript } from './scripted/fallback-script.js';
import { scriptedProvider } from './scripted/provider.js';
import type { AgentScriptInput } from './scripted/schema.js';

/** Maps model ids to providers. A later registration replaces an earlier one. */
export class LlmRegistry {
  readonly #exact = new Map<string, LlmProvider>();
  readonly #prefixes = new Map<string, LlmProvider>();

  /** `pattern` is a model id or a prefix ending in `*`, such as `ollama/*`. */
  register(pattern: string, provider: LlmProvider): void {
    if (pattern.endsWith('*')) this.#prefixes.set(pattern.slice(0, -1), provider);
    else this.#exact.set(pattern, provider);
  }

  /**
   * The provider of a model id: the exact match, else the longest prefix.
   * @throws ParleyError PROVIDER_UNKNOWN
   */
  resolve(modelId: string): LlmProvider {
    const found = this.find(modelId);
    if (found !== null) return found;
    throw new ParleyError('PROVIDER_UNKNOWN', {
      kind: 'language model',
      name: modelId,
      known: this.known().join(', '),
    });
  }

  /** As `resolve`, but null if no provider serves the id. */
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

  /** All registered ids and prefixes, sorted. */
  known(): string[] {
    return [...this.#exact.keys(), ...[...this.#prefixes.keys()].map((prefix) => `${prefix}*`)].sort();
  }

  /** Each provider once, however many ids it serves. */
  providers(): LlmProvider[] {
    return [...new Set([...this.#exact.values(), ...this.#prefixes.values()])];
  }

  /** Closes every provider. */
  async close(): Promise<void> {
    await Promise.all(this.providers().map((provider) => provider.close()));
  }
}

export interface LlmRegistryOptions {
  /** The rules of the `scripted` model. Default: an apology, see `fallbackScript`. */
  script?: AgentScriptInput;
  /** Headers for every request to a model server. */
  headers?: Readonly<Record<string, string>>;
}

/**
 * A registry of the operator's models (`modelRoutes` of the configuration), and `scripted`, which is always available.
 * Models with the same server and key share connections.
 * @throws ParleyError PROVIDER_UNKNOWN for an unknown adapter, CONFIG_INVALID for an invalid address
 */
export function llmRegistry(routes: ModelRoutes, options: LlmRegistryOptions = {}): LlmRegistry {
  const registry = new LlmRegistry();
  const servers = new Map<string, Server>();
  registry.register(SCRIPTED_MODEL, scriptedProvider(options.script ?? fallbackScript));
  for (const [id, route] of routes) {
    if (route.provider === SCRIPTED_MODEL) continue;
    const open = Object.hasOwn(ADAPTERS, route.provider) ? ADAPTERS[route.provider] : undefined;
    if (open === undefined || route.baseUrl === null) {
      const known = [...Object.keys(ADAPTERS), SCRIPTED_MODEL].join(', ');
      throw new ParleyError('PROVIDER_UNKNOWN', { kind: 'language model', name: route.provider, known });
    }
    const key = JSON.stringify([route.provider, route.baseUrl, route.apiKey]);
    const server = servers.get(key) ?? open(route.baseUrl, route.apiKey, options);
    servers.set(key, server);
    server.names.set(id, route.model);
    registry.register(id, server.provider);
  }
  return registry;
}

/** A server, and its names for the model ids. */
interface Server {
  provider: LlmProvider;
  names: Map<string, string>;
}

/** The adapters that routes can name. */
const ADAPTERS: Readonly<
  Record<string, (baseUrl: string, apiKey: string | null, options: LlmRegistryOptions) => Server>
> = {
  openai: openAiServer,
  anthropic: anthropicServer,
  openai_realtime: realtimeServer,
};

function realtimeServer(baseUrl: string, apiKey: string | null): Server {
  const names = new Map<string, string>();
  const modelName = (id: string): string => names.get(id) ?? id;
  return { provider: new OpenAiRealtime({ baseUrl, apiKey: apiKey ?? '', modelName, clock: new RealClock() }), names };
}

function anthropicServer(baseUrl: string, apiKey: string | null): Server {
  const names = new Map<string, string>();
  const modelName = (id: string): string => names.get(id) ?? id;
  return { provider: new AnthropicProvider({ baseUrl, apiKey: apiKey ?? '', modelName }), names };
}

function openAiServer(baseUrl: string, apiKey: string | null, { headers }: LlmRegistryOptions): Server {
  const names = new Map<string, string>();
  const provider = new OpenAiProvider({
    baseUrl,
    ...(apiKey !== null && { apiKey }),
    ...(headers && { headers }),
    modelName: (id) => names.get(id) ?? id,
  });
  return { provider, names };
}
