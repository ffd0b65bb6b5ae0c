import type { Clock } from '../clock/clock.js';
import type { AgentConfig } from '../config/agent.js';
import { knownModels, SCRIPTED_MODEL } from '../config/models.js';
import { type AgentConfigRules, parseAgentConfig } from '../config/parse.js';
import {
  type AgentDefaults,
  EMBEDDED_DEFAULTS,
  type ResolvedAgent,
  type ResolvedVoice,
  resolveAgent,
} from '../config/resolve.js';
import { ACTION_NAMES } from '../conversation/actions.js';
import { ParleyError } from '../errors.js';
import type { GuardedClient } from '../net/guarded-client.js';
import { FallbackLlmProvider } from '../providers/llm/fallback.js';
import type { LlmProvider } from '../providers/llm/llm.js';
import { STT_PROVIDERS } from '../providers/stt/registry.js';
import { chooseTts } from '../providers/tts/choose.js';
import { TTS_PROVIDERS } from '../providers/tts/registry.js';
import type { SessionOptions } from '../session/session-options.js';
import type { McpServers } from '../tools/mcp/tools.js';
import { AgentToolbox } from '../tools/toolbox.js';
import { agentTools } from './agent-tools.js';
import { checkCustomLlm } from './custom-llm.js';
import { knowledgeTools } from './knowledge.js';
import { checkStt, checkVoiceModel } from './languages.js';
import type { AgentRequest, CustomVoices, EngineOptions, SessionRequest } from './options.js';
import type { Providers } from './providers.js';
import type { Sound } from './sound.js';

export interface PlannerOptions {
  options: EngineOptions;
  providers: Providers;
  sound: Pick<Sound, 'check'>;
  mcp: McpServers;
  client: GuardedClient;
  /** For what the operator configured: agents cannot make it call anything else. */
  operatorClient: GuardedClient;
  clock: Clock;
  /** Real time, also where the conversation's is not. */
  networkClock: Clock;
}

/** What an agent thinks with, and what it can do. */
export interface Mind {
  config: AgentConfig;
  agent: ResolvedAgent;
  toolbox: AgentToolbox;
  llm: LlmProvider;
}

/** With what it hears and speaks. */
export interface Plan extends Omit<Mind, 'llm'> {
  providers: Pick<SessionOptions, 'vad' | 'stt' | 'llm' | 'tts'>;
}

export interface PlanNotes {
  /** The model's stand-in answers. */
  onFallback: (reason: Error) => void;
  /** What the conversation has to do without. Default: nobody is told. */
  onFault?: (name: string, reason: string) => void;
  /** Comes after the agent's own prompt. Default none. */
  extraPrompt?: string;
}

/** Makes of a configuration what a conversation needs of its agent; refuses what cannot be had. */
export class Planner {
  readonly #options: PlannerOptions;

  constructor(options: PlannerOptions) {
    this.#options = options;
  }

  /**
   * For a conversation on a line.
   * @throws ParleyError as `Engine.createSession`, but for a disabled agent
   */
  async plan(request: AgentRequest, notes: PlanNotes): Promise<Plan> {
    const { providers, sound, options } = this.#options;
    const { config, agent: named } = this.#resolved(request, notes, await this.#defaults(request));
    const voice = substituted(customVoice(named.voice, options.voices), options.voiceSubstitutes);
    const agent = { ...named, voice };
    const llm = this.#llm(agent, request, notes);
    const stt = request.stt ?? providers.stt(agent.stt.provider);
    const tts = request.tts ?? providers.tts(agent.voice.provider);
    sound.check(agent.sound);
    tts.checkSettings?.(agent.voice.settings, agent.voice.voiceId);
    checkStt(agent, stt);
    if (request.tts === undefined) checkVoiceModel(agent, tts);
    this.#checkTime([stt, llm, tts]);
    const hasScreen = 'transport' in request && (request as SessionRequest).transport.showsForms === true;
    const toolbox = await this.#toolbox(agent, request, notes, hasScreen);
    return { config, agent, toolbox, providers: { vad: request.vad ?? providers.vad(), stt, llm, tts } };
  }

  /**
   * For a conversation in writing: what it would hear and speak with is not looked at.
   * @throws ParleyError CONFIG_INVALID, NOT_FOUND, PROVIDER_UNKNOWN, PROVIDER_REMOTE_IN_VIRTUAL_TIME, NET_ADDRESS_REFUSED
   */
  async mind(request: AgentRequest, notes: PlanNotes): Promise<Mind> {
    const { config, agent } = this.#resolved(request, notes, this.#modelDefaults(request));
    const llm = this.#llm(agent, request, notes);
    this.#checkTime([llm]);
    return { config, agent, toolbox: await this.#toolbox(agent, request, notes, false), llm };
  }

  #resolved(
    request: AgentRequest,
    { extraPrompt = '' }: PlanNotes,
    defaults: AgentDefaults,
  ): Pick<Mind, 'config' | 'agent'> {
    const config = parseAgentConfig(request.agent, this.#rules(request));
    const agent = resolveAgent(config, {
      ...{ defaults, extraPrompt },
      metadata: request.metadata ?? {},
      includeMetadataInPrompt: request.includeMetadataInPrompt ?? false,
      fromPhone: request.phones?.from ?? null,
      toPhone: request.phones?.to ?? null,
    });
    return { config, agent };
  }

  #llm(agent: ResolvedAgent, { llm, script }: AgentRequest, { onFallback }: PlanNotes): LlmProvider {
    const { providers, client, clock } = this.#options;
    if (script !== undefined) providers.scriptHints(script);
    if (agent.customLlm !== null) checkCustomLlm(agent.customLlm, client.guard, clock);
    return llm ?? this.#model(agent.llm.model, script, onFallback);
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
      ...{ client, clock },
      variables: agent.variables,
      reservedNames: ACTION_NAMES,
      tools: [
        ...agentTools(agent, { clock, operatorClient, mcp, agentId, options, hasScreen }),
        ...(await knowledgeTools(agent, {
          ...{ agentId, clock, networkClock, knowledge: options.knowledge ?? null },
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

  /** What the agent leaves open: its own script speaks for it, and its language chooses the embedded voice. */
  async #defaults(request: AgentRequest): Promise<AgentDefaults> {
    const defaults = this.#modelDefaults(request);
    const { agent, tts } = request;
    if (agent.voice == null && tts === undefined && defaults.voiceProvider === EMBEDDED_DEFAULTS.voiceProvider) {
      defaults.voiceProvider = await chooseTts(agent.language ?? defaults.language);
    }
    return defaults;
  }

  #modelDefaults({ agent, script }: AgentRequest): AgentDefaults {
    const defaults = { ...EMBEDDED_DEFAULTS, ...this.#options.options.defaults };
    if (script !== undefined && agent.llm == null) defaults.llmModel = SCRIPTED_MODEL;
    return defaults;
  }

  /** The agent's model; its script stands in for one that is not on this machine. */
  #model(model: string, script: unknown, onFallback: (reason: Error) => void): LlmProvider {
    const { providers } = this.#options;
    const primary = providers.llm(model, script);
    if (primary.virtualTime || script === undefined) return primary;
    const secondary = providers.llm(SCRIPTED_MODEL, script);
    return new FallbackLlmProvider({ primary, secondary, secondaryModel: SCRIPTED_MODEL, onFallback });
  }

  #checkTime(providers: readonly { name: string; virtualTime: boolean }[]): void {
    if (!this.#options.clock.virtual) return;
    const remote = providers.find((provider) => !provider.virtualTime);
    if (remote !== undefined) throw new ParleyError('PROVIDER_REMOTE_IN_VIRTUAL_TIME', { provider: remote.name });
  }
}

/** The operator's voice in place of the agent's; that one's settings mean nothing to it. */
function substituted(voice: ResolvedVoice, substitutes: EngineOptions['voiceSubstitutes'] = {}): ResolvedVoice {
  const other = Object.hasOwn(substitutes, voice.provider) ? substitutes[voice.provider] : undefined;
  if (other === undefined) return voice;
  return { provider: other.provider, voiceId: other.voiceId ?? null, model: other.model ?? null, settings: {} };
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
