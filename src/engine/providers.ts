import type { ResolvedAgent } from '../agent/resolve.js';
import { type ModelRoutes, SCRIPTED_MODEL } from '../settings/models.js';
import type { Vendors } from '../settings/vendor-settings.js';
import type { LlmProvider, SpeechModel } from '../providers/llm/llm.js';
import { type LlmRegistry, llmRegistry } from '../providers/llm/registry.js';
import {
  noModelScript,
  parseScript,
  scriptedProvider,
  type ScriptToolUse,
  speechHints,
  toolUsesOf,
} from '../providers/llm/scripted/index.js';
import { STT_PROVIDERS, sttProvider } from '../providers/stt/registry.js';
import type { SpeechHints, SttProvider } from '../providers/stt/stt.js';
import { TTS_PROVIDERS, ttsProvider } from '../providers/tts/registry.js';
import type { TtsProvider, TtsVoiceChoice } from '../providers/tts/tts.js';
import { isPath, type LocalModels } from '../providers/local/local-models.js';
import { OnnxTurnModel } from '../providers/turn/onnx.js';
import { ProsodicTurnModel } from '../providers/turn/prosodic.js';
import type { TurnModel } from '../providers/turn/turn.js';
import { DEFAULT_VAD, VAD_PROVIDERS, vadProvider } from '../providers/vad/registry.js';
import { ParleyError } from '../base/errors.js';
import { type EnginePlugin, hasModel, type Maker } from './plugin.js';
import type { VadProvider } from '../providers/vad/vad.js';

/** A compiled script, shared by all sessions that use it. */
interface Script {
  provider: LlmProvider;
  hints: SpeechHints;
  toolUses: readonly ScriptToolUse[];
}

/** The providers of one engine: created on first use, shared by all sessions, closed together. */
export class Providers {
  readonly #vad: string;
  readonly #vendors: Vendors;
  readonly #local: LocalModels;
  readonly #turnModel: TurnModel | null;
  readonly #models: LlmRegistry;
  readonly #stt = new Map<string, SttProvider>();
  readonly #tts = new Map<string, TtsProvider>();
  readonly #own: OwnProviders;
  #ownVad: VadProvider | null = null;
  readonly #scripts = new WeakMap<object, Script>();
  #noModel: LlmProvider | null = null;

  /** @throws ParleyError PROVIDER_UNKNOWN for a model whose adapter does not exist */
  constructor(options: {
    models: ModelRoutes;
    vendors: Vendors;
    localModels: LocalModels;
    vad?: string | undefined;
    turnModel?: TurnModel | string | undefined;
    plugins?: readonly EnginePlugin[] | undefined;
  }) {
    this.#own = ownProviders(options.plugins ?? []);
    this.#vendors = options.vendors;
    this.#local = options.localModels;
    this.#vad = options.vad ?? DEFAULT_VAD;
    const { turnModel = null } = options;
    this.#turnModel = typeof turnModel === 'string' ? this.#turnModelOf(turnModel) : turnModel;
    this.#models = llmRegistry(options.models);
    for (const [pattern, make] of this.#own.llm) this.#models.register(pattern, make());
  }

  /** @throws ParleyError PROVIDER_UNKNOWN */
  vad(): VadProvider {
    if (VAD_PROVIDERS.includes(this.#vad)) return vadProvider(this.#vad);
    return (this.#ownVad ??= (this.#own.vad.get(this.#vad) ?? unknownVad(this.#vad, this.#own.vad))());
  }

  /** Null = only the words decide when a turn is over. */
  turnModel(): TurnModel | null {
    return this.#turnModel;
  }

  /** @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_NOT_CONFIGURED */
  stt(name: string): SttProvider {
    return shared(this.#stt, name, () => this.#own.stt.get(name)?.() ?? sttProvider(name, this.#vendors, this.#local));
  }

  /** @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_NOT_CONFIGURED */
  tts(name: string): TtsProvider {
    return shared(this.#tts, name, () => this.#own.tts.get(name)?.() ?? ttsProvider(name, this.#vendors, this.#local));
  }

  /**
   * The provider of a model id. The scripted model uses `script` if there is one.
   * @throws ParleyError PROVIDER_UNKNOWN, CONFIG_INVALID for a script with faults
   */
  llm(model: string, script: unknown): LlmProvider {
    if (model === SCRIPTED_MODEL && script !== undefined) return this.#script(script).provider;
    return this.#models.resolve(model);
  }

  /** The names that `stt` accepts. */
  get sttNames(): readonly string[] {
    return [...STT_PROVIDERS, ...this.#own.stt.keys()];
  }

  /** The names that `tts` accepts. */
  get ttsNames(): readonly string[] {
    return [...TTS_PROVIDERS, ...this.#own.tts.keys()];
  }

  /** Whether a plug-in has the model. */
  hasOwnModel(model: string): boolean {
    return hasModel(this.#own.llm.keys(), model);
  }

  /** The models and prefixes of plug-ins. */
  get ownModels(): readonly string[] {
    return [...this.#own.llm.keys()];
  }

  /** Answers for an agent that has neither a language model nor a script: says so. */
  noModel(): LlmProvider {
    return (this.#noModel ??= scriptedProvider(noModelScript));
  }

  /** The abilities of a speech-to-speech model; null = it uses text only, or does not exist. */
  speech(model: string): SpeechModel | null {
    return this.#models.find(model)?.speech ?? null;
  }

  /**
   * Hints for the recogniser from a script.
   * @throws ParleyError CONFIG_INVALID for a script with faults
   */
  scriptHints(script: unknown): SpeechHints {
    return this.#script(script).hints;
  }

  /** Where a script calls tools. @throws as `scriptHints` */
  scriptToolUses(script: unknown): readonly ScriptToolUse[] {
    return this.#script(script).toolUses;
  }

  async close(): Promise<void> {
    const all = [...this.#stt.values(), ...this.#tts.values(), this.#models];
    await Promise.all([...all.map((provider) => provider.close()), this.#turnModel?.close()]);
  }

  /** A trained prosodic model, one of the operator's models by name, otherwise an ONNX file. */
  #turnModelOf(given: string): TurnModel {
    const own = this.#own.turn.get(given);
    if (own !== undefined) return own();
    if (given.endsWith('.json')) return new ProsodicTurnModel({ path: given });
    if (isPath(given) || given.endsWith('.onnx')) return new OnnxTurnModel({ path: given });
    const file = async (): Promise<string> => String((await this.#local.find(given, 'turn')).config['model']);
    return new OnnxTurnModel({ path: file });
  }

  #script(source: unknown): Script {
    const known = typeof source === 'object' && source !== null ? this.#scripts.get(source) : undefined;
    if (known !== undefined) return known;
    const parsed = parseScript(source);
    const script = {
      provider: scriptedProvider(parsed),
      hints: speechHints(parsed),
      toolUses: toolUsesOf(parsed),
    };
    if (typeof source === 'object' && source !== null) this.#scripts.set(source, script);
    return script;
  }
}

/** The providers of plug-ins by kind and name. */
type OwnProviders = {
  readonly [Kind in 'stt' | 'tts' | 'llm' | 'vad' | 'turn']: ReadonlyMap<
    string,
    NonNullable<EnginePlugin[Kind]>[string]
  >;
};

function ownProviders(plugins: readonly EnginePlugin[]): OwnProviders {
  const all = <Kind extends keyof OwnProviders>(kind: Kind) =>
    new Map(plugins.flatMap((plugin) => Object.entries(plugin[kind] ?? {}))) as unknown as OwnProviders[Kind];
  return { stt: all('stt'), tts: all('tts'), llm: all('llm'), vad: all('vad'), turn: all('turn') };
}

function unknownVad(name: string, own: OwnProviders['vad']): Maker<VadProvider> {
  throw new ParleyError('PROVIDER_UNKNOWN', { kind: 'vad', name, known: [...VAD_PROVIDERS, ...own.keys()].join(', ') });
}

function shared<T>(made: Map<string, T>, name: string, make: (name: string) => T): T {
  let provider = made.get(name);
  if (provider === undefined) {
    provider = make(name);
    made.set(name, provider);
  }
  return provider;
}

export function voiceChoice({ voice, language }: ResolvedAgent): TtsVoiceChoice {
  return { ...voice, language };
}
