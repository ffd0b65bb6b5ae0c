import type { AgentConfig } from './agent.js';
import type { HistoryConfig, LimitsConfig } from './flow/conversation-config.js';
import type { AgentExtensions } from './extensions/extensions.js';
import type { Flow } from './flow/steps.js';
import type { PronunciationSettings } from './extensions/pronunciation.js';
import { type FlowSettings, resolveFlow } from './flow/flow.js';
import type { AgentFunction, AppFunction, ServiceFunction } from './function.js';
import { DEFAULT_LANGUAGE, type Language } from './language.js';
import { setOr } from '../schema/field.js';
import {
  type Fill,
  filledPhrases,
  fillVariables,
  type Variables,
  type VariableSources,
  variablesOf,
} from './variables.js';
import { type WebhookAddress, webhookAddress } from './webhook.js';

/** The operator's values for fields that a configuration leaves unset. */
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

/** An agent ready for a session: defaults applied, variables filled in, units in the names. Plain data. */
export interface ResolvedAgent {
  flow: FlowSettings;
  /** The steps that its conversations follow; null = none. */
  steps: Flow | null;
  limits: LimitsConfig;
  history: HistoryConfig;
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
  /** Whether the user's data may be stored, and whether the agent detects a wish not to be called again. */
  privacy: { optOut: boolean; doNotCall: boolean };
  /** Words that speech recognition favours, with their weights. */
  keywords: ReadonlyMap<string, number>;
  /** As configured; the toolbox fills in their variables. */
  tools: readonly AgentFunction[];
  serviceFunctions: readonly ServiceFunction[];
  /** Webhooks that the engine calls when a session begins and when it has ended; null = none. */
  webhooks: { extraPrompt: WebhookAddress | null; sessionData: WebhookAddress | null };
  appFunctions: readonly AppFunction[];
  /** Files that the agent consults, and phrases that it says meanwhile. */
  knowledge: { fileIds: readonly string[]; messages: readonly string[] };
  /** Identifies the user in memories: the value of `memory.user_identifier_key`. Null = no memory. */
  memoryUser: string | null;
}

export interface ResolvedVoice {
  provider: string;
  /** Null = the provider's default voice of the language. */
  voiceId: string | null;
  model: string | null;
  settings: Readonly<Record<string, unknown>>;
  /** Null = as the voice says them. */
  pronunciation: PronunciationSettings | null;
}

/** The embedded engines: the defaults if nothing else is configured or detected. */
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
 * Applies the defaults and fills in the variables. Does not validate: `parseAgentConfig` does.
 */
export function resolveAgent(config: AgentConfig, options: ResolveOptions = {}): ResolvedAgent {
  const defaults = { ...EMBEDDED_DEFAULTS, ...options.defaults };
  const variables = variablesOf(options);
  const fill = (text: string | null | undefined): string => fillVariables(text ?? '', variables);
  const history = config.llm?.history_settings;
  const { transfer = null, recording = null, flow: steps = null } = options.extensions ?? {};
  const sound = soundOf(config);
  return {
    status: config.status ?? 'active',
    language: setOr(config.language, defaults.language),
    timezone: setOr(config.timezone, defaults.timezone),
    prompt: [fill(config.prompt), options.extraPrompt?.trim() ?? ''].filter((part) => part !== '').join('\n\n'),
    steps: steps === null ? null : filled(steps, fill),
    metadata: options.metadata ?? {},
    includeMetadataInPrompt: options.includeMetadataInPrompt ?? false,
    variables,
    vadThreshold: config.vad_threshold ?? 0.5,
    sound,
    voice: voiceOf(config, defaults, options.extensions?.pronunciation ?? null),
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
      messages: filledPhrases(config.knowledge_base?.messages, fill),
    },
    memoryUser: memoryUserOf(config, variables),
    flow: resolveFlow({ config, transfer, recording: sound.recording ? recording : null }, fill),
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

/** The same with variables filled into every text. */
function filled<Value>(value: Value, fill: Fill): Value {
  if (typeof value === 'string') return fill(value) as Value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one: unknown) => filled(one, fill)) as Value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one as unknown, fill)])) as Value;
}

/** Null if the agent opts out of data collection, or if the session does not identify its user. */
function memoryUserOf(config: AgentConfig, variables: Variables): string | null {
  const key = config.memory?.user_identifier_key ?? '';
  if (key === '' || config.privacy_settings?.opt_out_data_collection === true) return null;
  return nonEmpty(variables.get(key)?.trim().slice(0, 500));
}

function switchOf({ switch_language }: AgentConfig, start: Language): ResolvedAgent['switchLanguage'] {
  const languages = [...new Set([start, ...(switch_language?.languages ?? [])])].filter((code) => code !== 'multi');
  return (switch_language?.languages ?? []).length === 0 ? null : { languages };
}

/** The operator's voice id applies to the operator's provider only. */
function voiceOf(
  config: AgentConfig,
  defaults: AgentDefaults,
  pronunciation: PronunciationSettings | null,
): ResolvedVoice {
  const voice = config.voice;
  return {
    provider: voice?.provider ?? defaults.voiceProvider,
    voiceId: voice == null ? defaults.voiceId : voice.voice_id,
    model: nonEmpty(voice?.model),
    settings: voice?.settings ?? {},
    pronunciation,
  };
}

function nonEmpty(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/** What an agent's configuration says about the sound of its calls. */
export interface ResolvedSound {
  /** The call is recorded. */
  recording: boolean;
  /** Null = none that could be heard. */
  background: { url: string; volume: number } | null;
  /** Null = everybody hears the line as it is. `strength`: above 0, up to 1. */
  denoise: { strength: number; vad: boolean; stt: boolean } | null;
}

export function soundOf(config: AgentConfig): ResolvedSound {
  const { enable_recording = false, background } = config.call_settings ?? {};
  const volume = background?.volume ?? 1;
  return {
    recording: enable_recording === true && recordingAllowed(config),
    background: background == null || background.url === '' || volume === 0 ? null : { url: background.url, volume },
    denoise: denoiseOf(config),
  };
}

function denoiseOf({ speech_to_text }: AgentConfig): ResolvedSound['denoise'] {
  const { strength, applies_to } = speech_to_text?.denoiser?.settings ?? {};
  const appliesTo = applies_to ?? 'stt';
  if (speech_to_text?.denoise !== true || strength === 0) return null;
  return { strength: strength ?? 1, vad: appliesTo !== 'stt', stt: appliesTo !== 'vad' };
}

/** Nothing is recorded of those who opted out, whatever else the configuration asks for. */
export function recordingAllowed({ privacy_settings }: AgentConfig): boolean {
  return privacy_settings?.opt_out_data_collection !== true;
}
