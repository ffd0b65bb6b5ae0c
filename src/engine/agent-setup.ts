import { setOr } from '../schema/field.js';
import type { Clock } from '../base/clock.js';
import type { AgentConfig } from '../agent/agent.js';
import { parseAgentExtensions } from '../agent/extensions/extensions.js';
import { movedParts } from '../agent/extensions/old-place.js';
import { knownModels, noModelReason, SCRIPTED_MODEL, successorOf } from '../settings/models.js';
import { type AgentConfigRules, parseAgentConfig } from '../agent/parse.js';
import {
  type AgentDefaults,
  EMBEDDED_DEFAULTS,
  resolveAgent,
  type ResolvedAgent,
  type ResolvedVoice,
} from '../agent/resolve.js';
import { ACTION_NAMES } from '../conversation/actions/actions.js';
import { ParleyError } from '../base/errors.js';
import type { GuardedClient } from '../net/guarded-client.js';
import { type Switch, switchText } from '../providers/failover/health.js';
import type { LlmProvider, SpeechModel, SpeechSession } from '../providers/llm/llm.js';
import { STT_PROVIDERS } from '../providers/stt/registry.js';
import { TTS_PROVIDERS } from '../providers/tts/registry.js';
import { NO_MODEL_FAULT } from '../session/record/end-reason.js';
import type { SessionOptions } from '../session/session-options.js';
import type { McpServers } from '../tools/mcp/tools.js';
import { AgentToolbox } from '../tools/toolbox.js';
import { checkCustomLlm } from './custom-llm.js';
import { knowledgeTools } from './knowledge.js';
import { checkStt, checkVoiceModel, chooseStt, chooseVoice, NO_LANGUAGE_VENDORS } from './languages.js';
import type { AgentRequest, CustomVoices, EngineOptions, EngineParts, SessionRequest } from './options.js';
import type { Providers } from './providers.js';
import type { LineDecorators } from './line-decorators.js';
import { Fallbacks } from './fallbacks.js';
import { placed } from '../schema/issues.js';
import { AppTool } from '../tools/app-tool.js';
import { ServiceWebhook } from '../tools/service-webhook.js';
import type { Tool } from '../tools/tool.js';
import { WebForm } from '../tools/web-form.js';
import type { TtsProvider } from '../providers/tts/tts.js';

export interface PlannerOptions {
  options: EngineParts;
  providers: Providers;
  sound: Pick<LineDecorators, 'check'>;
  mcp: McpServers;
  client: GuardedClient;
  /** For what the operator configured: agents cannot make it call anything else. */
  operatorClient: GuardedClient;
  clock: Clock;
  /** Real time, also where the conversation's is not. */
  networkClock: Clock;
  /** Why a vendor cannot be used: it refuses the operator's key. Null = nothing is known against it. */
  refusalOf: (provider: LlmProvider) => ParleyError | null;
}

/** What an agent thinks with, and what it can do. */
export interface Mind {
  config: AgentConfig;
  agent: ResolvedAgent;
  toolbox: AgentToolbox;
  llm: LlmProvider;
  /** Why its model cannot answer, and nobody stands in for it: a session must not begin. Null = it can. */
  refusal: ParleyError | null;
}

/** With what it hears and speaks. */
export interface Plan extends Omit<Mind, 'llm'> {
  providers: Pick<SessionOptions, 'vad' | 'stt' | 'llm' | 'tts'>;
  /** A model that hears and speaks itself: its part of the session, to be closed with it. Null = there is none. */
  speech: OwnSpeech | null;
}

export interface PlanNotes {
  /** What the conversation has to do without, and who stands in for whom. Default: nobody is told. */
  onFault?: (name: string, reason: string) => void;
  /** Comes after the agent's own prompt. Default none. */
  extraPrompt?: string;
}

/** Makes of a configuration what a conversation needs of its agent; refuses what cannot be had. */
export class Planner {
  readonly #options: PlannerOptions;
  readonly #fallbacks: Fallbacks;

  /** @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_NOT_CONFIGURED for a stand-in that cannot be had */
  constructor(options: PlannerOptions) {
    this.#options = options;
    const { providers, clock } = options;
    this.#fallbacks = new Fallbacks({
      providers,
      clock,
      refusalOf: options.refusalOf,
      failover: options.options.failover,
    });
  }

  /**
   * For a conversation on a line.
   * @throws ParleyError as `Engine.createSession`, but for a disabled agent
   */
  async plan(request: AgentRequest, notes: PlanNotes): Promise<Plan> {
    const { providers, sound, options } = this.#options;
    const model = speechModelOf(request.agent, request, providers, this.#modelDefaults(request));
    const { config, agent: named } = this.#resolved(request, notes, await this.#defaults(request, model));
    const said = substituted(customVoice(named.voice, options.voices), options.voiceSubstitutes);
    const speech = model === null ? null : ownSpeech(model, { ...named, voice: said }, request);
    const agent = { ...named, voice: speech?.voice ?? said };
    const llm = this.#llm(agent, request, notes, speech?.session.llm);
    const onSwitch = switchNotes(notes);
    const ears = speech?.hears === true ? speech.session.stt : undefined;
    const stt = request.stt ?? this.#fallbacks.stt(agent, onSwitch, ears);
    const tts = request.tts ?? this.#fallbacks.tts(agent, onSwitch, speech?.tts ?? undefined);
    sound.check(agent.sound);
    tts.checkSettings?.(agent.voice.settings, agent.voice.voiceId);
    checkStt(agent, stt);
    if (request.tts === undefined) checkVoiceModel(agent, tts);
    this.#checkTime([stt, llm, tts]);
    const hasScreen = 'transport' in request && (request as SessionRequest).transport.showsForms === true;
    const toolbox = await this.#toolbox(agent, request, notes, hasScreen);
    const refusal = this.#refusal(agent, request);
    return {
      config,
      agent,
      toolbox,
      speech,
      refusal,
      providers: { vad: request.vad ?? providers.vad(), stt, llm, tts },
    };
  }

  /**
   * For a conversation in writing: what it would hear and speak with is not looked at.
   * @throws ParleyError CONFIG_INVALID, NOT_FOUND, PROVIDER_UNKNOWN, PROVIDER_REMOTE_IN_VIRTUAL_TIME, NET_ADDRESS_REFUSED
   */
  async mind(request: AgentRequest, notes: PlanNotes): Promise<Mind> {
    const { config, agent } = this.#resolved(request, notes, this.#modelDefaults(request));
    const llm = this.#llm(agent, request, notes);
    this.#checkTime([llm]);
    return {
      config,
      agent,
      toolbox: await this.#toolbox(agent, request, notes, false),
      llm,
      refusal: this.#refusal(agent, request),
    };
  }

  #resolved(
    request: AgentRequest,
    { extraPrompt = '' }: PlanNotes,
    defaults: AgentDefaults,
  ): Pick<Mind, 'config' | 'agent'> {
    const parts = movedParts(request.agent, request.extensions);
    const config = parseAgentConfig(parts.config, this.#rules(request));
    const extensions = parseAgentExtensions(parts.extensions ?? {}, ['extensions']);
    const agent = resolveAgent(config, {
      extensions,
      defaults,
      extraPrompt,
      metadata: request.metadata ?? {},
      includeMetadataInPrompt: request.includeMetadataInPrompt ?? false,
      fromPhone: request.phones?.from ?? null,
      toPhone: request.phones?.to ?? null,
    });
    const { models = new Map() } = this.#options.options;
    if (request.llm === undefined && !models.has(agent.llm.model)) {
      agent.llm.model = successorOf(agent.llm.model, models) ?? agent.llm.model;
    }
    return { config, agent };
  }

  #llm(agent: ResolvedAgent, { llm, script }: AgentRequest, notes: PlanNotes, own?: LlmProvider): LlmProvider {
    const { providers, client, clock, options } = this.#options;
    if (script !== undefined) providers.scriptHints(script);
    if (agent.customLlm !== null) checkCustomLlm(agent.customLlm, client.guard, clock);
    if (llm !== undefined) return llm;
    if (agent.llm.model === SCRIPTED_MODEL && script === undefined && agent.customLlm === null) {
      notes.onFault?.(NO_MODEL_FAULT, noModelReason(options.models ?? new Map()));
      return providers.noModel();
    }
    return this.#fallbacks.llm(agent.llm.model, script, switchNotes(notes), own);
  }

  #refusal({ llm: { model }, customLlm }: ResolvedAgent, { llm, script }: AgentRequest): ParleyError | null {
    return llm !== undefined || customLlm !== null ? null : this.#fallbacks.refusal(model, script);
  }

  async #toolbox(
    agent: ResolvedAgent,
    request: AgentRequest,
    { onFault = () => undefined }: PlanNotes,
    hasScreen: boolean,
  ): Promise<AgentToolbox> {
    const { agentId = null } = request;
    const { options, clock, networkClock, client, operatorClient, mcp } = this.#options;
    return new AgentToolbox(agent.tools, {
      client,
      clock,
      variables: agent.variables,
      reservedNames: ACTION_NAMES,
      tools: [
        ...agentTools(agent, { clock, operatorClient, mcp, agentId, options, hasScreen }),
        ...(await knowledgeTools(agent, {
          agentId,
          clock,
          networkClock,
          knowledge: options.knowledge ?? null,
          onFault: (reason) => onFault('knowledge.failed', reason),
        })),
      ],
    });
  }

  /** What an agent may name here; where the embedder brings a provider, its name is the embedder's business. */
  #rules({ llm, stt, tts }: AgentRequest): AgentConfigRules {
    const { models = new Map(), maxPromptChars } = this.#options.options;
    return {
      ...(llm === undefined && { llmModels: [...new Set([...knownModels(models), SCRIPTED_MODEL])] }),
      ...(stt === undefined && { sttProviders: STT_PROVIDERS }),
      ...(tts === undefined && { voiceProviders: TTS_PROVIDERS }),
      ...(maxPromptChars !== undefined && { maxPromptChars }),
    };
  }

  /** What the agent leaves open: its own script speaks for it, and its language chooses who hears and speaks. */
  async #defaults(request: AgentRequest, model: SpeechModel | null): Promise<AgentDefaults> {
    const defaults = this.#modelDefaults(request);
    if (model !== null) return { ...defaults, ...ownDefaults(model) };
    const { agent, stt, tts } = request;
    const { providers, options } = this.#options;
    const { languageVendors = NO_LANGUAGE_VENDORS } = options;
    const language = setOr(agent.language, defaults.language);
    if (stt === undefined) {
      defaults.sttProvider = chooseStt(language, defaults.sttProvider, languageVendors, providers);
    }
    if (agent.voice == null && tts === undefined && defaults.voiceProvider === EMBEDDED_DEFAULTS.voiceProvider) {
      defaults.voiceProvider = await chooseVoice(language, languageVendors, providers);
    }
    return defaults;
  }

  #modelDefaults({ agent, script }: AgentRequest): AgentDefaults {
    const defaults = { ...EMBEDDED_DEFAULTS, ...this.#options.options.defaults };
    if (script !== undefined && agent.llm == null) defaults.llmModel = SCRIPTED_MODEL;
    return defaults;
  }

  #checkTime(providers: readonly { name: string; virtualTime: boolean }[]): void {
    if (!this.#options.clock.virtual) return;
    const remote = providers.find((provider) => !provider.virtualTime);
    if (remote !== undefined) throw new ParleyError('PROVIDER_REMOTE_IN_VIRTUAL_TIME', { provider: remote.name });
  }
}

/** The operator's voice in place of the agent's; that one's settings mean nothing to it. */
function substituted(voice: ResolvedVoice, substitutes: EngineParts['voiceSubstitutes'] = {}): ResolvedVoice {
  const other = Object.hasOwn(substitutes, voice.provider) ? substitutes[voice.provider] : undefined;
  if (other === undefined) return voice;
  return { provider: other.provider, voiceId: other.voiceId ?? null, model: other.model ?? null, settings: {} };
}

/** Who stands in for whom is a fault of the session's, named by the stage. */
function switchNotes({ onFault }: PlanNotes): (what: Switch) => void {
  return (what) => onFault?.(`${what.stage}.fallback`, switchText(what));
}

/** What a custom voice stands for; what the agent says itself goes before what the voice says. */
function customVoice(voice: ResolvedVoice, voices: CustomVoices | undefined): ResolvedVoice {
  const { provider, voiceId, model, settings } = voice;
  const custom = voiceId === null ? null : (voices?.find(provider, voiceId) ?? null);
  if (custom === null) return voice;
  return {
    provider,
    voiceId: custom.baseVoiceId,
    model: model ?? custom.model,
    settings: { ...custom.settings, ...settings },
  };
}

export interface AgentToolsOptions {
  clock: Clock;
  /** For addresses of the operator's. */
  operatorClient: GuardedClient;
  options: Pick<EngineOptions, 'serviceWebhooks' | 'appBaseUrls'>;
  mcp: McpServers;
  /** Null where the agent has no id. */
  agentId: string | null;
  /** Whether the line's client shows forms. */
  hasScreen: boolean;
}

/**
 * What an agent can do beside the functions of its `tools`.
 * @throws ParleyError CONFIG_INVALID for an app that there is not, or without its credentials
 */
export function agentTools(agent: ResolvedAgent, options: AgentToolsOptions): Tool[] {
  const tools = [...serviceTools(agent, options), ...appTools(agent, options)];
  const taken = new Set([...agent.tools.map(({ name }) => name), ...tools.map(({ spec }) => spec.name)]);
  return [...tools, ...options.mcp.tools(options.agentId, options.clock, taken)];
}

function serviceTools({ serviceFunctions, variables }: ResolvedAgent, options: AgentToolsOptions): Tool[] {
  const { clock, hasScreen, operatorClient: client } = options;
  const { serviceWebhooks = {} } = options.options;
  return serviceFunctions.map((fn) => {
    if (fn.type !== 'webhook') return new WebForm(fn, { clock, variables, hasScreen });
    const address = Object.hasOwn(serviceWebhooks, fn.name) ? (serviceWebhooks[fn.name] ?? null) : null;
    return new ServiceWebhook(fn, { clock, variables, hasScreen, client, address });
  });
}

function appTools({ appFunctions, timezone, language }: ResolvedAgent, options: AgentToolsOptions): Tool[] {
  const { clock, operatorClient: client } = options;
  const baseUrls = options.options.appBaseUrls ?? {};
  return appFunctions.map((fn, at) =>
    placed(['app_functions', at], () => new AppTool(fn, { client, clock, timezone, language, baseUrls })),
  );
}

/** A model that hears and speaks itself, in one session's place of what it would have otherwise. */
export interface OwnSpeech {
  session: SpeechSession;
  /** Its own ears are the session's. */
  hears: boolean;
  /** Says exact phrases in its voice; null = the agent speaks with another voice. */
  tts: TtsProvider | null;
  /** The agent's voice, with the model that phrases are said by. */
  voice: ResolvedVoice;
}

/** The model of an agent, where it hears and speaks itself and nothing else answers in its place. */
export function speechModelOf(
  config: AgentConfig,
  { llm }: AgentRequest,
  providers: Pick<Providers, 'speech'>,
  { llmModel }: Pick<AgentDefaults, 'llmModel'>,
): SpeechModel | null {
  if (llm !== undefined || config.custom_llm_websocket != null) return null;
  return providers.speech(config.llm?.model ?? llmModel);
}

/** Where the agent names neither recogniser nor voice, they are the model's own. */
export function ownDefaults({ voiceProvider }: SpeechModel): Partial<AgentDefaults> {
  return { sttProvider: voiceProvider, voiceProvider, voiceId: null };
}

/** Nothing is opened yet. */
export function ownSpeech(speech: SpeechModel, agent: ResolvedAgent, { stt, tts }: AgentRequest): OwnSpeech {
  const { voice, llm } = agent;
  const speaks = tts === undefined && voice.provider === speech.voiceProvider;
  const hears = stt === undefined && agent.stt.provider === speech.voiceProvider;
  const { voiceId, settings } = voice;
  return {
    session: speech.open(llm.model, speaks ? { voiceId, settings } : null),
    hears,
    tts: speaks ? speech.reader : null,
    voice: speaks ? { ...voice, model: voice.model ?? speech.readerModel(llm.model) } : voice,
  };
}
