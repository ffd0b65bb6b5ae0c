import type { AgentConfig } from '../agent/agent.js';
import { type AgentExtensions, parseAgentExtensions } from '../agent/extensions/extensions.js';
import { movedParts } from '../agent/extensions/old-place.js';
import type { AgentConfigRules } from '../agent/parse.js';
import {
  type AgentDefaults,
  EMBEDDED_DEFAULTS,
  resolveAgent,
  type ResolvedAgent,
  type ResolvedVoice,
} from '../agent/resolve.js';
import type { Clock } from '../base/clock.js';
import { ParleyError } from '../base/errors.js';
import { VirtualClock } from '../base/virtual-clock.js';
import type { Flow } from '../agent/flow/steps.js';
import { ACTION_NAMES } from '../conversation/actions/actions.js';
import { STEP_FUNCTIONS } from '../conversation/steps/steps.js';
import { flowPatternFaults } from '../providers/llm/scripted/index.js';
import { type Switch, switchText } from '../providers/failover/health.js';
import type { LlmProvider, SpeechModel, SpeechSession } from '../providers/llm/llm.js';
import type { SttProvider } from '../providers/stt/stt.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import type { VadProvider } from '../providers/vad/vad.js';
import { setOr } from '../schema/field.js';
import { NO_MODEL_FAULT } from '../session/record/end-reason.js';
import { knownModels, noModelReason, SCRIPTED_MODEL, successorOf } from '../settings/models.js';
import { AgentToolbox, toolNameFaults } from '../tools/toolbox.js';
import { FaultCollector } from './agent-faults.js';
import { checkCustomLlm } from './custom-llm.js';
import { knowledgeTools } from './knowledge.js';
import { checkVoiceModel, chooseStt, chooseVoice, NO_LANGUAGE_VENDORS, sttFaults } from './languages.js';
import type { AgentRequest, EngineParts, Medium } from './options.js';
import { PacedLlm } from './paced-llm.js';
import type { EngineServices } from './services.js';
import { faultOf, placed } from '../schema/issues.js';
import { AppTool } from '../tools/apps/app-tool.js';
import { CodeTool } from '../tools/code-tool.js';
import { type DefinedTool, toolFault } from '../tools/define-tool.js';
import { type EnginePlugin, functionsOf } from './plugin.js';
import { ServiceWebhook } from '../tools/service-webhook.js';
import type { Tool } from '../tools/tool.js';
import { WebForm } from '../tools/web-form.js';
import type { Providers } from './providers.js';
import { scriptWarnings, warningText } from './warnings.js';

/** Everything that a conversation needs from its agent. */
export interface AgentSetup {
  /** As parsed by its schema. */
  readonly config: AgentConfig;
  readonly extensions: AgentExtensions | null;
  readonly agent: ResolvedAgent;
  readonly toolbox: AgentToolbox;
  readonly llm: LlmProvider;
  /** Null for a text conversation. */
  readonly speech: SpeechSetup | null;
  /** Why the agent's model cannot answer and has no fallback: no session may start. Null = it can. */
  readonly refusal: ParleyError | null;
}

/** The providers of speech of an agent. */
export interface SpeechSetup {
  readonly vad: VadProvider;
  readonly stt: SttProvider;
  readonly tts: TtsProvider;
  /** Null = the agent's model uses text. */
  readonly realtime: RealtimeSetup | null;
}

export interface SetUpOptions {
  /** Called when the conversation lacks something, or a fallback provider takes over. Default: not called. */
  onFault?: ((name: string, reason: string) => void) | null | undefined;
  /** Appended to the agent's prompt. Default none. */
  extraPrompt?: string | null | undefined;
}

/** The setup of an agent, or all faults that prevent it. */
export type SetUpResult =
  | { readonly setup: AgentSetup; readonly faults: null }
  | { readonly setup: null; readonly faults: readonly [ParleyError, ...ParleyError[]] };

/** @param medium `writing`: speech providers are neither selected nor checked */
export async function setUpAgent(
  services: EngineServices,
  request: AgentRequest,
  medium: Medium,
  { onFault, extraPrompt }: SetUpOptions = {},
): Promise<SetUpResult> {
  const run = new SetUp(services, request, onFault ?? (() => undefined));
  return run.run(medium, extraPrompt ?? '');
}

/** One setup of one agent. Each step that fails is a fault; steps that depend on it are skipped. */
class SetUp {
  readonly #services: EngineServices;
  readonly #request: AgentRequest;
  readonly #onFault: (name: string, reason: string) => void;
  readonly #faults = new FaultCollector();

  constructor(services: EngineServices, request: AgentRequest, onFault: (name: string, reason: string) => void) {
    this.#services = services;
    this.#request = request;
    this.#onFault = onFault;
  }

  async run(medium: Medium, extraPrompt: string): Promise<SetUpResult> {
    const faults = this.#faults;
    const parts = movedParts(this.#request.agent, this.#request.extensions);
    const config = faults.parse(parts.config, this.#rules());
    const extensions = faults.attempt(() => parseAgentExtensions(parts.extensions ?? {}, ['extensions']));
    if (config === null) return this.#refused(null);
    const { agent, voiceIsChosen, realtime } = await this.#resolve({ config, extensions, medium, extraPrompt });
    const llm = this.#paced(this.#llm(agent, realtime));
    const speech = medium === 'line' ? this.#speech(agent, realtime, voiceIsChosen) : null;
    this.#checkTime([speech?.stt, llm, speech?.tts]);
    const toolbox = await this.#toolbox(agent, extensions, medium);
    if (!faults.isEmpty || llm === null || toolbox === null) return this.#refused(config);
    if (medium === 'line') this.#noteScriptWarnings(config, agent);
    const setup = { config, extensions, agent, toolbox, llm, refusal: this.#refusal(agent) };
    if (medium === 'writing') return { setup: { ...setup, speech: null }, faults: null };
    const { stt = null, tts = null } = speech ?? {};
    if (stt === null || tts === null) return this.#refused(config);
    const vad = this.#request.vad ?? this.#services.providers.vad();
    return { setup: { ...setup, speech: { vad, stt, tts, realtime } }, faults: null };
  }

  /** A script that answers, but cannot do what its rules say. */
  #noteScriptWarnings(config: AgentConfig, agent: ResolvedAgent): void {
    const { script, llm, extensions } = this.#request;
    if (script == null || llm != null || agent.customLlm !== null || agent.llm.model !== SCRIPTED_MODEL) return;
    const warnings = scriptWarnings(config, this.#services.providers.scriptToolUses(script), extensions ?? null);
    if (warnings.length > 0) this.#onFault('script.action_off', warnings.map(warningText).join(' '));
  }

  #refused(checked: AgentConfig | null): SetUpResult {
    const [first, ...others] = this.#faults.list(this.#request.agent, checked);
    if (first === undefined) throw new Error('the setup of an agent stopped without a fault');
    return { setup: null, faults: [first, ...others] };
  }

  /** What an agent may name here. A provider of the embedder is not checked. */
  #rules(): AgentConfigRules {
    const { llm, stt, tts } = this.#request;
    const { options, providers } = this.#services;
    const { models, maxPromptChars } = options;
    const own = this.#request.agent.llm?.model;
    const ownModels = own != null && providers.hasOwnModel(own) ? [own] : providers.ownModels;
    return {
      llmModels: llm == null ? [...new Set([...knownModels(models), SCRIPTED_MODEL, ...ownModels])] : null,
      sttProviders: stt == null ? providers.sttNames : null,
      voiceProviders: tts == null ? providers.ttsNames : null,
      maxPromptChars,
    };
  }

  async #resolve({
    config,
    extensions,
    medium,
    extraPrompt,
  }: {
    config: AgentConfig;
    extensions: AgentExtensions | null;
    medium: Medium;
    extraPrompt: string;
  }): Promise<{ agent: ResolvedAgent; voiceIsChosen: boolean; realtime: RealtimeSetup | null }> {
    const request = this.#request;
    const { providers, options } = this.#services;
    const models = options.models;
    const modelDefaults = this.#modelDefaults(config);
    const model = medium === 'line' ? realtimeModelOf(config, request, providers, modelDefaults) : null;
    const defaults =
      model !== null
        ? { ...modelDefaults, ...realtimeDefaults(model) }
        : medium === 'line'
          ? await this.#faults.attemptAsync(() => this.#speechDefaults(config, modelDefaults))
          : modelDefaults;
    const agent = resolveAgent(config, {
      extensions,
      defaults: defaults ?? modelDefaults,
      extraPrompt,
      metadata: request.metadata ?? {},
      includeMetadataInPrompt: request.includeMetadataInPrompt ?? false,
      fromPhone: request.phones?.from ?? null,
      toPhone: request.phones?.to ?? null,
    });
    if (request.llm == null && !models.has(agent.llm.model) && !providers.hasOwnModel(agent.llm.model)) {
      agent.llm.model = successorOf(agent.llm.model, models) ?? agent.llm.model;
    }
    if (medium === 'line') agent.voice = substituted(customVoice(agent.voice, options), options);
    const realtime = model === null ? null : realtimeSetup(model, agent, request);
    return {
      agent: { ...agent, voice: realtime?.voice ?? agent.voice },
      voiceIsChosen: defaults !== null,
      realtime,
    };
  }

  /** An agent with a script and without a model uses the scripted model. */
  #modelDefaults(config: AgentConfig): AgentDefaults {
    const defaults = { ...EMBEDDED_DEFAULTS, ...this.#services.options.defaults };
    if (this.#request.script !== undefined && config.llm == null) defaults.llmModel = SCRIPTED_MODEL;
    return defaults;
  }

  /** The agent's language selects the speech providers that the agent does not name. */
  async #speechDefaults(config: AgentConfig, defaults: AgentDefaults): Promise<AgentDefaults> {
    const { stt, tts } = this.#request;
    const { providers, options } = this.#services;
    const vendors = options.languageVendors ?? NO_LANGUAGE_VENDORS;
    const language = setOr(config.language, defaults.language);
    const chosen = { ...defaults };
    if (stt == null) chosen.sttProvider = chooseStt(language, defaults.sttProvider, vendors, providers);
    if (config.voice == null && tts == null && defaults.voiceProvider === EMBEDDED_DEFAULTS.voiceProvider) {
      chosen.voiceProvider = await chooseVoice(language, vendors, providers);
    }
    return chosen;
  }

  #llm(agent: ResolvedAgent, realtime: RealtimeSetup | null): LlmProvider | null {
    const { llm } = this.#request;
    const { providers, client, clock, options, fallbacks } = this.#services;
    const { customLlm } = agent;
    // The scripted model can follow the steps of a flow without a script.
    const script = this.#request.script ?? (agent.steps === null ? undefined : NO_RULES);
    const hints = script === undefined ? undefined : this.#faults.attempt(() => providers.scriptHints(script));
    if (customLlm !== null) this.#faults.attempt(() => checkCustomLlm(customLlm, client.guard, clock));
    if (llm != null) return llm;
    if (hints === null) return null;
    if (agent.llm.model === SCRIPTED_MODEL && script === undefined && customLlm === null) {
      this.#onFault(NO_MODEL_FAULT, noModelReason(options.models));
      return providers.noModel();
    }
    const choose = (): LlmProvider => fallbacks.llm(agent.llm.model, script, this.#onSwitch, realtime?.session.llm);
    return this.#faults.attempt(choose);
  }

  /** A virtual clock that can follow a real one allows remote models. */
  #paced(llm: LlmProvider | null): LlmProvider | null {
    const { clock } = this.#services;
    if (llm === null || llm.virtualTime || !(clock instanceof VirtualClock) || !clock.canFollow) return llm;
    return new PacedLlm(llm, clock);
  }

  #speech(
    agent: ResolvedAgent,
    realtime: RealtimeSetup | null,
    voiceIsChosen: boolean,
  ): { stt: SttProvider | null; tts: TtsProvider | null } {
    const { fallbacks, decorators } = this.#services;
    const { stt: ownStt, tts: ownTts } = this.#request;
    const faults = this.#faults;
    const realtimeStt = realtime?.hears === true ? realtime.session.stt : undefined;
    const stt = ownStt ?? faults.attempt(() => fallbacks.stt(agent, this.#onSwitch, realtimeStt));
    const findVoice = (): TtsProvider => fallbacks.tts(agent, this.#onSwitch, realtime?.tts ?? undefined);
    const tts = voiceIsChosen ? (ownTts ?? faults.attempt(findVoice)) : null;
    faults.attempt(() => decorators.check(agent.sound));
    if (tts !== null) this.#checkVoiceSettings(agent, tts);
    if (stt !== null) faults.add(sttFaults(agent, stt));
    if (tts !== null && ownTts == null) faults.attempt(() => checkVoiceModel(agent, tts));
    return { stt, tts };
  }

  /** A voice reports only its first fault: a faulty setting is removed and the others are checked again. */
  #checkVoiceSettings({ voice }: ResolvedAgent, tts: TtsProvider): void {
    let { settings } = voice;
    for (;;) {
      const fault = this.#faults.faultOf(() => tts.checkSettings?.(settings, voice.voiceId));
      const wrong = fault?.code === 'TTS_SETTING_INVALID' ? String(fault.details['setting']) : null;
      if (wrong === null || !Object.hasOwn(settings, wrong)) return;
      settings = Object.fromEntries(Object.entries(settings).filter(([name]) => name !== wrong));
    }
  }

  #checkTime(providers: readonly ({ name: string; virtualTime: boolean } | null | undefined)[]): void {
    if (!this.#services.clock.virtual) return;
    const remote = providers.find((provider) => provider?.virtualTime === false);
    if (remote == null) return;
    this.#faults.add([new ParleyError('PROVIDER_REMOTE_IN_VIRTUAL_TIME', { provider: remote.name })]);
  }

  async #toolbox(
    agent: ResolvedAgent,
    extensions: AgentExtensions | null,
    medium: Medium,
  ): Promise<AgentToolbox | null> {
    const faults = this.#faults;
    const { options, clock, networkClock, client } = this.#services;
    const agentId = this.#request.agentId ?? null;
    const hasScreen = medium === 'line' && showsForms(this.#request);
    const others = agentTools(agent, this.#services, { agentId, hasScreen, faults });
    const consulting = await faults.attemptAsync(() =>
      knowledgeTools(agent, {
        agentId,
        clock,
        networkClock,
        knowledge: options.knowledge ?? null,
        onFault: (reason) => this.#onFault('knowledge.failed', reason),
      }),
    );
    const coded = codeTools(this.#request, { agent, extensions, clock, plugins: options.plugins ?? [], faults });
    const tools = [...others, ...coded, ...(consulting ?? [])];
    const names = [...agent.tools.map(({ name }) => name), ...tools.map(({ spec }) => spec.name)];
    const reserved =
      agent.steps === null ? ACTION_NAMES.filter((name) => !STEP_FUNCTIONS.includes(name)) : ACTION_NAMES;
    faults.add(toolNameFaults(names, reserved));
    if (agent.steps !== null) faults.add(flowToolFaults(agent.steps, [...names, ...ACTION_NAMES]));
    if (!faults.isEmpty) return null;
    return new AgentToolbox(agent.tools, {
      client,
      clock,
      variables: agent.variables,
      reservedNames: reserved,
      tools,
      intercept: this.#request.interceptTool ?? undefined,
    });
  }

  #refusal({ llm: { model }, customLlm }: ResolvedAgent): ParleyError | null {
    const { llm, script } = this.#request;
    return llm != null || customLlm !== null ? null : this.#services.fallbacks.refusal(model, script);
  }

  /** A switch to a fallback is a fault of the session, named by the stage. */
  readonly #onSwitch = (what: Switch): void => this.#onFault(`${what.stage}.fallback`, switchText(what));
}

/** The script of an agent that has only a flow. */
const NO_RULES = {};

/** What a flow names and the agent does not have, and patterns with faults. */
function flowToolFaults(flow: Flow, known: readonly string[]): ParleyError[] {
  const place = ['extensions', 'flow'];
  const check = (name: string, loc: readonly (string | number)[]): ParleyError[] =>
    known.includes(name) ? [] : [faultOf([...place, ...loc], `The agent has no tool ${name}`)];
  const checkAll = (names: readonly string[] | null | undefined, loc: readonly (string | number)[]): ParleyError[] =>
    (names ?? []).flatMap((name, at) => check(name, [...loc, at]));
  const lists = [
    ['steps', flow.steps],
    ['global', flow.global ?? []],
  ] as const;
  return [
    ...checkAll(flow.tools, ['tools']),
    ...lists.flatMap(([list, steps]) =>
      steps.flatMap(({ tools, call }, at) => [
        ...checkAll(tools, [list, at, 'tools']),
        ...(call == null ? [] : check(call.tool, [list, at, 'call', 'tool'])),
      ]),
    ),
    ...flowPatternFaults(flow).map(({ loc, reason }) => faultOf([...place, ...loc], reason)),
  ];
}

function showsForms(request: AgentRequest & { transport?: { showsForms?: boolean } }): boolean {
  return request.transport?.showsForms === true;
}

/** The operator's substitute for the agent's voice, without the voice's own settings. */
function substituted(voice: ResolvedVoice, { voiceSubstitutes }: EngineParts): ResolvedVoice {
  const substitutes = voiceSubstitutes ?? {};
  const other = Object.hasOwn(substitutes, voice.provider) ? substitutes[voice.provider] : undefined;
  if (other === undefined) return voice;
  const { pronunciation } = voice;
  return {
    provider: other.provider,
    voiceId: other.voiceId ?? null,
    model: other.model ?? null,
    settings: {},
    pronunciation,
  };
}

/** The provider's voice of a custom voice. The agent's settings override those of the custom voice. */
function customVoice(voice: ResolvedVoice, { voices }: EngineParts): ResolvedVoice {
  const { provider, voiceId, model, settings } = voice;
  const custom = voiceId === null ? null : (voices?.find(provider, voiceId) ?? null);
  if (custom === null) return voice;
  return {
    ...voice,
    voiceId: custom.baseVoiceId,
    model: model ?? custom.model,
    settings: { ...custom.settings, ...settings },
  };
}

type ToolServices = Pick<EngineServices, 'clock' | 'operatorClient' | 'options' | 'mcp'>;

interface AgentToolsOptions {
  /** Null if the agent has no id. */
  agentId: string | null;
  /** Whether the line's client shows forms. */
  hasScreen: boolean;
  /** Collects apps that do not exist or lack credentials. */
  faults: FaultCollector;
}

/** The tools of an agent other than the functions of its `tools`. */
function agentTools(
  agent: ResolvedAgent,
  services: ToolServices,
  { agentId, hasScreen, faults }: AgentToolsOptions,
): Tool[] {
  const tools = [...serviceTools(agent, services, hasScreen), ...appTools(agent, services, faults)];
  const taken = new Set([...agent.tools.map(({ name }) => name), ...tools.map(({ spec }) => spec.name)]);
  return [...tools, ...services.mcp.tools(agentId, services.clock, taken)];
}

interface CodeToolsOptions {
  agent: ResolvedAgent;
  extensions: AgentExtensions | null;
  clock: Clock;
  plugins: readonly EnginePlugin[];
  faults: FaultCollector;
}

/** The functions in code of an agent: those of the request, and those of plug-ins that it names. */
function codeTools(
  { tools: own, agentId }: AgentRequest,
  { agent, extensions, clock, plugins, faults }: CodeToolsOptions,
): Tool[] {
  const known = functionsOf(plugins);
  const named = (extensions?.functions ?? []).map((name, at) =>
    faults.attempt((): DefinedTool => {
      const tool = known.get(name);
      if (tool !== undefined) return tool;
      const names =
        [...known.keys()].join(', ') ||
        'none; functions come with `tools` in code, or with plug-ins (`plugins`, --plugin FILE)';
      throw faultOf(['extensions', 'functions', at], `there is no function "${name}". Known: ${names}`);
    }),
  );
  const given = (own ?? []).map((tool) =>
    faults.attempt((): DefinedTool => {
      const reason = toolFault(tool);
      if (reason !== null) throw new ParleyError('ARGUMENT_INVALID', { argument: 'tools', reason });
      return tool;
    }),
  );
  const { variables } = agent;
  return [...named, ...given].flatMap((tool) =>
    tool === null ? [] : [new CodeTool(tool, { clock, agentId: agentId ?? null, variables })],
  );
}

function serviceTools(
  { serviceFunctions, variables }: ResolvedAgent,
  { clock, operatorClient: client, options }: ToolServices,
  hasScreen: boolean,
): Tool[] {
  const serviceWebhooks = options.serviceWebhooks ?? {};
  return serviceFunctions.map((fn) => {
    if (fn.type !== 'webhook') return new WebForm(fn, { clock, variables, hasScreen });
    const address = Object.hasOwn(serviceWebhooks, fn.name) ? (serviceWebhooks[fn.name] ?? null) : null;
    return new ServiceWebhook(fn, { clock, variables, hasScreen, client, address });
  });
}

function appTools(
  { appFunctions, timezone, language }: ResolvedAgent,
  { clock, operatorClient: client, options }: ToolServices,
  faults: FaultCollector,
): Tool[] {
  const baseUrls = options.appBaseUrls ?? {};
  return appFunctions.flatMap((fn, at) => {
    const make = (): Tool => new AppTool(fn, { client, clock, timezone, language, baseUrls });
    const tool = faults.attempt(() => placed(['app_functions', at], make));
    return tool === null ? [] : [tool];
  });
}

/** A speech-to-speech model in one session, in place of other providers. Close it with the session. */
interface RealtimeSetup {
  session: SpeechSession;
  /** The model transcribes the user: it is also the session's recogniser. */
  hears: boolean;
  /** Speaks exact phrases in the model's voice; null = the agent uses another provider's voice. */
  tts: TtsProvider | null;
  /** The agent's voice, with the model for exact phrases. */
  voice: ResolvedVoice;
}

/** The agent's speech-to-speech model; null if its model uses text or another one answers in its place. */
function realtimeModelOf(
  config: AgentConfig,
  { llm }: AgentRequest,
  providers: Pick<Providers, 'speech'>,
  { llmModel }: Pick<AgentDefaults, 'llmModel'>,
): SpeechModel | null {
  if (llm != null || config.custom_llm_websocket != null) return null;
  return providers.speech(config.llm?.model ?? llmModel);
}

/** A speech-to-speech model hears and speaks for an agent that names neither recogniser nor voice. */
function realtimeDefaults({ voiceProvider }: SpeechModel): Partial<AgentDefaults> {
  return { sttProvider: voiceProvider, voiceProvider, voiceId: null };
}

/** Does not connect yet. */
function realtimeSetup(model: SpeechModel, agent: ResolvedAgent, { stt, tts }: AgentRequest): RealtimeSetup {
  const { voice, llm } = agent;
  const speaks = tts == null && voice.provider === model.voiceProvider;
  const hears = stt == null && agent.stt.provider === model.voiceProvider;
  const { voiceId, settings } = voice;
  return {
    session: model.open(llm.model, speaks ? { voiceId, settings } : null),
    hears,
    tts: speaks ? model.reader : null,
    voice: speaks ? { ...voice, model: voice.model ?? model.readerModel(llm.model) } : voice,
  };
}
