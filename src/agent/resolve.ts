import type { AgentConfig } from './agent.js';
import type {
  ConversationConfig,
  EndpointingConfig,
  InterruptionConfig,
  OpeningConfig,
  TransferConfig,
} from './conversation-config.js';
import type { AgentExtensions } from './extensions/extensions.js';
import type { Flow } from './flow.js';
import type { AgentFunction, AppFunction, ServiceFunction } from './function.js';
import { DEFAULT_LANGUAGE, type Language } from './language.js';
import { setOr } from '../schema/field.js';
import { type ResolvedSound, soundOf } from './sound.js';
import { type Variables, type VariableSources, fillVariables, variablesOf } from './variables.js';
import { type WebhookAddress, webhookAddress } from './webhook.js';

/** What stands where a configuration leaves a choice to the operator. */
export interface AgentDefaults {
  llmModel: string;
  sttProvider: string;
  voiceProvider: string;
  /** Null = the provider's default voice of the language. Goes with `voiceProvider` only. */
  voiceId: string | null;
  language: Language;
  timezone: string;
  /** Longest session in seconds. */
  maxDurationS: number;
}

export interface ResolveOptions extends VariableSources {
  /** What the agent has beside its configuration. Default none. */
  extensions?: AgentExtensions | null;
  defaults?: Partial<AgentDefaults>;
  /** Default false. */
  includeMetadataInPrompt?: boolean;
  /** Comes after the agent's own prompt, as it is. Default none. */
  extraPrompt?: string;
}

/** How long a transfer's target is rung. */
const RING_TIMEOUT_S = 30;

/** What the agent decides of how its conversation is held; the rest is the engine's. */
type FlowSettings = Pick<
  ConversationConfig,
  'filler' | 'endCall' | 'voicemail' | 'keypad' | 'inactivity' | 'limits' | 'history'
> & {
  opening: Pick<OpeningConfig, 'firstMessage' | 'userStarts'>;
  interruption: Pick<InterruptionConfig, 'allowed' | 'keepMessage' | 'openingAllowed'>;
  endpointing: Pick<EndpointingConfig, 'responseDelayMs' | 'numberInputDelayMs'>;
  /** Null = calls are not transferred. */
  transfer: Required<Omit<TransferConfig, 'anyTarget'>> | null;
};

/** An agent ready for a session: defaults applied, variables filled in, units in the names. Plain data. */
export interface ResolvedAgent extends FlowSettings {
  status: 'active' | 'disabled';
  language: Language;
  timezone: string;
  /** The operator's part of the system prompt; `buildSystemPrompt` makes the whole. */
  prompt: string;
  metadata: Readonly<Record<string, unknown>>;
  includeMetadataInPrompt: boolean;
  variables: Variables;
  /** 0..1. */
  vadThreshold: number;
  sound: ResolvedSound;
  voice: ResolvedVoice;
  llm: { model: string; temperature: number };
  stt: { provider: string; model: string | null; multilingual: boolean };
  /** Answers in place of the language model; null = none does. */
  customLlm: WebhookAddress | null;
  /** Null = the language stays as it is. Lists the language that the agent begins in, too. */
  switchLanguage: { languages: readonly Language[] } | null;
  /** What of the user's may be kept, and whether a wish not to be called again is looked for. */
  privacy: { optOut: boolean; doNotCall: boolean };
  /** Words that speech recognition favours, with their weights. */
  keywords: ReadonlyMap<string, number>;
  /** As configured; the toolbox fills in their variables. */
  tools: readonly AgentFunction[];
  serviceFunctions: readonly ServiceFunction[];
  /** Who is asked when a session begins, and told when it has ended; null = nobody. */
  webhooks: { extraPrompt: WebhookAddress | null; sessionData: WebhookAddress | null };
  appFunctions: readonly AppFunction[];
  /** Files that it consults, and what it says meanwhile. */
  knowledge: { fileIds: readonly string[]; messages: readonly string[] };
  /** Whom memories are of: the value of `memory.user_identifier_key`. Null = nothing is remembered. */
  memoryUser: string | null;
}

export interface ResolvedVoice {
  provider: string;
  /** Null = the provider's default voice of the language. */
  voiceId: string | null;
  model: string | null;
  settings: Readonly<Record<string, unknown>>;
}

/** The embedded engines: what runs where nothing else is configured or found. */
export const EMBEDDED_DEFAULTS: AgentDefaults = {
  llmModel: 'scripted',
  sttProvider: 'embedded',
  voiceProvider: 'flite',
  voiceId: null,
  language: DEFAULT_LANGUAGE,
  timezone: 'UTC',
  maxDurationS: 3_600,
};

/**
 * Applies the defaults and fills in the variables. Does not judge: `parseAgentConfig` does.
 */
export function resolveAgent(config: AgentConfig, options: ResolveOptions = {}): ResolvedAgent {
  const defaults = { ...EMBEDDED_DEFAULTS, ...options.defaults };
  const variables = variablesOf(options);
  const fill = (text: string | null | undefined): string => fillVariables(text ?? '', variables);
  const history = config.llm?.history_settings;
  return {
    status: config.status ?? 'active',
    language: setOr(config.language, defaults.language),
    timezone: setOr(config.timezone, defaults.timezone),
    prompt: [fill(config.prompt), options.extraPrompt?.trim() ?? ''].filter((part) => part !== '').join('\n\n'),
    metadata: options.metadata ?? {},
    includeMetadataInPrompt: options.includeMetadataInPrompt ?? false,
    variables,
    vadThreshold: config.vad_threshold ?? 0.5,
    sound: soundOf(config),
    voice: voiceOf(config, defaults),
    llm: { model: config.llm?.model ?? defaults.llmModel, temperature: config.llm?.temperature ?? 0 },
    stt: {
      provider: setOr(config.speech_to_text?.provider, defaults.sttProvider),
      model: nonEmpty(config.speech_to_text?.model),
      multilingual: config.speech_to_text?.multilingual ?? false,
    },
    customLlm: webhookAddress(config.custom_llm_websocket, variables),
    switchLanguage: switchOf(config, setOr(config.language, defaults.language)),
    privacy: {
      optOut: config.privacy_settings?.opt_out_data_collection ?? false,
      doNotCall: config.privacy_settings?.do_not_call_detection ?? false,
    },
    keywords: new Map(Object.entries(config.custom_vocabulary?.keywords ?? {})),
    tools: config.tools ?? [],
    serviceFunctions: config.service_functions ?? [],
    webhooks: {
      extraPrompt: webhookAddress(config.extra_prompt_webhook, variables),
      sessionData: webhookAddress(config.session_data_webhook, variables),
    },
    appFunctions: config.app_functions ?? [],
    knowledge: {
      fileIds: [...new Set(config.knowledge_base?.files)],
      messages: phrases(config.knowledge_base?.messages, fill),
    },
    memoryUser: memoryUserOf(config, variables),
    opening: {
      firstMessage: fill(config.first_message) || null,
      userStarts: config.flow?.user_start_first ?? false,
    },
    ...flowOf(config.flow ?? {}, options.extensions ?? {}, fill),
    limits: {
      maxDurationMs: setOr(config.session_timeout?.max_duration, defaults.maxDurationS) * 1_000,
      maxIdleMs: config.session_timeout?.max_idle ? config.session_timeout.max_idle * 1_000 : null,
      message: fill(config.session_timeout?.message) || null,
    },
    history: {
      messageLimit: history?.history_message_limit ?? null,
      toolResultLimit: history?.history_tool_result_limit ?? null,
    },
  };
}

/** Nobody where nothing may be kept, and where the session does not say who it is with. */
function memoryUserOf(config: AgentConfig, variables: Variables): string | null {
  const key = config.memory?.user_identifier_key ?? '';
  if (key === '' || config.privacy_settings?.opt_out_data_collection === true) return null;
  return nonEmpty(variables.get(key)?.trim().slice(0, 500));
}

function switchOf({ switch_language }: AgentConfig, start: Language): ResolvedAgent['switchLanguage'] {
  const languages = [...new Set([start, ...(switch_language?.languages ?? [])])].filter((code) => code !== 'multi');
  return (switch_language?.languages ?? []).length === 0 ? null : { languages };
}

type Fill = (text: string | null | undefined) => string;

function flowOf(
  flow: Flow,
  extensions: AgentExtensions,
  fill: Fill,
): Pick<
  ResolvedAgent,
  'interruption' | 'endpointing' | 'filler' | 'endCall' | 'voicemail' | 'transfer' | 'keypad' | 'inactivity'
> {
  const fillers = flow.auto_fill_responses;
  const idle = flow.inactivity_handling;
  return {
    interruption: {
      allowed: flow.interruption?.allowed ?? true,
      keepMessage: flow.interruption?.keep_interruption_message ?? true,
      openingAllowed: flow.interruption?.first_messsage ?? true,
    },
    endpointing: delaysOf(flow.response_delay),
    filler: {
      afterMs: fillers == null ? null : (fillers.response_gap_threshold ?? 0),
      messages: phrases(fillers?.messages, fill),
    },
    endCall: {
      enabled: flow.agent_terminate_call?.enabled ?? false,
      instruction: fill(flow.agent_terminate_call?.instruction) || null,
      messages: phrases(flow.agent_terminate_call?.messages, fill),
    },
    voicemail: voicemailOf(flow.voicemail, fill),
    transfer: transferOf(flow.call_transfer, extensions.transfer, fill),
    keypad: {
      enabled: flow.dtmf_dial?.enabled ?? false,
      instruction: fill(flow.dtmf_dial?.instruction) || null,
    },
    inactivity: !idle?.idle_time ? null : { idleMs: idle.idle_time * 1_000, message: fill(idle.message) || null },
  };
}

/** One whose members all ask for nothing is off. */
function voicemailOf(voicemail: Flow['voicemail'], fill: Fill): ResolvedAgent['voicemail'] {
  const message = fill(voicemail?.message).trim() || null;
  const detectionPhrases = phrases(voicemail?.detection_phrases, fill);
  const continueOnVoiceActivity = voicemail?.continue_on_voice_activity ?? false;
  const isOff = voicemail?.action == null && message === null && !continueOnVoiceActivity;
  if (isOff && detectionPhrases.length === 0) return null;
  return { action: voicemail?.action ?? 'hangup', message, continueOnVoiceActivity, detectionPhrases };
}

/** `phone` comes first, unless `phones` describes it. */
function transferOf(
  transfer: Flow['call_transfer'],
  extension: AgentExtensions['transfer'],
  fill: Fill,
): ResolvedAgent['transfer'] {
  const described = (transfer?.phones ?? []).map(({ phone, description }) => ({
    phone: fill(phone).trim(),
    description: fill(description).trim() || null,
  }));
  const single = { phone: fill(transfer?.phone).trim(), description: null };
  const all = described.some(({ phone }) => phone === single.phone) ? described : [single, ...described];
  const targets = all.filter(({ phone }, index) => phone !== '' && all.findIndex((it) => it.phone === phone) === index);
  if (targets.length === 0) return null;
  return {
    targets,
    instruction: fill(transfer?.instruction) || null,
    messages: phrases(transfer?.messages, fill),
    attended: attendedOf(extension?.attended, fill),
  };
}

function attendedOf(
  attended: NonNullable<AgentExtensions['transfer']>['attended'],
  fill: Fill,
): NonNullable<ResolvedAgent['transfer']>['attended'] {
  if (attended?.enabled !== true) return null;
  return {
    briefing: fill(attended.briefing).trim() || null,
    confirm: attended.confirm ?? true,
    ringMs: (attended.ring_timeout ?? RING_TIMEOUT_S) * 1000,
    holdSound: attended.hold_sound ?? 'music',
    holdMessages: phrases(attended.hold_messages, fill),
  };
}

function delaysOf(delay: Flow['response_delay']): ResolvedAgent['endpointing'] {
  if (typeof delay === 'number') return { responseDelayMs: delay, numberInputDelayMs: 0 };
  return { responseDelayMs: delay?.generic_delay ?? 0, numberInputDelayMs: delay?.number_input_delay ?? 0 };
}

/** The operator's voice is a voice of the operator's provider: it does not follow to another one. */
function voiceOf(config: AgentConfig, defaults: AgentDefaults): ResolvedVoice {
  const voice = config.voice;
  return {
    provider: voice?.provider ?? defaults.voiceProvider,
    voiceId: voice == null ? defaults.voiceId : voice.voice_id,
    model: nonEmpty(voice?.model),
    settings: voice?.settings ?? {},
  };
}

function nonEmpty(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

function phrases(texts: readonly string[] | null | undefined, fill: (text: string) => string): readonly string[] {
  return (texts ?? []).map(fill).filter((text) => text.trim() !== '');
}
