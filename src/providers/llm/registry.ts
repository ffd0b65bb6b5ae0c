import { type ModelRoutes, SCRIPTED_MODEL } from '../../settings/models.js';
import { ParleyError } from '../../base/errors.js';
import { AnthropicProvider } from './vendors/anthropic.js';
import { RealClock } from '../../base/real-clock.js';
import { OpenAiRealtime } from './vendors/openai-realtime/openai-realtime.js';
import { defineRegistry } from '../registry.js';
import type { LlmProvider } from './llm.js';
import { OpenAiProvider } from './vendors/openai.js';
import { fallbackScript } from './scripted/fallback-script.js';
import { lazyScriptedProvider, scriptedProvider } from './scripted/provider.js';
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

/** A model server that routes lead to. */
interface ModelServer {
  baseUrl: string;
  apiKey: string | null;
  /** The server's own name of a model id. */
  modelName: (id: string) => string;
  headers: LlmRegistryOptions['headers'];
}

/** The adapters that routes can name; null = the embedded model, which has no server. */
const ADAPTERS = defineRegistry<((server: ModelServer) => LlmProvider) | null>('language model', {
  openai: (server) => new OpenAiProvider(server),
  anthropic: ({ apiKey, ...server }) => new AnthropicProvider({ ...server, apiKey: apiKey ?? '' }),
  openai_realtime: ({ apiKey, ...server }) =>
    new OpenAiRealtime({ ...server, apiKey: apiKey ?? '', clock: new RealClock() }),
  [SCRIPTED_MODEL]: null,
});

/**
 * A registry of the operator's models (`modelRoutes` of the configuration), and `scripted`, which is always available.
 * Models with the same server and key share connections.
 * @throws ParleyError PROVIDER_UNKNOWN for an unknown adapter, CONFIG_INVALID for an invalid address
 */
export function llmRegistry(routes: ModelRoutes, { script, headers }: LlmRegistryOptions = {}): LlmRegistry {
  const registry = new LlmRegistry();
  registry.register(
    SCRIPTED_MODEL,
    script === undefined ? lazyScriptedProvider(fallbackScript) : scriptedProvider(script),
  );
  const servers = new Map<string, { provider: LlmProvider; names: Map<string, string> }>();
  for (const [id, { provider: adapter, baseUrl, apiKey, model }] of routes) {
    const open = ADAPTERS.entry(adapter);
    if (open === null) continue;
    if (baseUrl === null) throw ADAPTERS.unknown(adapter);
    const key = JSON.stringify([adapter, baseUrl, apiKey]);
    let server = servers.get(key);
    if (server === undefined) {
      const names = new Map<string, string>();
      server = { provider: open({ baseUrl, apiKey, headers, modelName: (name) => names.get(name) ?? name }), names };
      servers.set(key, server);
    }
    server.names.set(id, model);
    registry.register(id, server.provider);
  }
  return registry;
}
