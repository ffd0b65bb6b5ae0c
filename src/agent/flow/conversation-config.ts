import type { ChatMessage } from '../chat.js';
import type { StepsConfig } from './steps.js';
import type { AgentRef, HandoverConfig } from './handover.js';
import { type FlowSettings, resolveFlow } from './flow.js';

/** The settings of one conversation. Plain data, made from an AgentConfig and the operator's settings. */
export interface ConversationConfig extends FlowSettings {
  /** A code of the interface's language list. */
  language: string;
  /** The whole system prompt, variables and notes filled in. */
  systemPrompt: string;
  /** `outbound`: the agent has called, and a machine may answer. */
  direction: 'inbound' | 'outbound';
  speculation: SpeculationConfig;
  /** The model hears the user itself: it can answer what was not transcribed, and need not wait for words. */
  modelHears: boolean;
  /** Who speaks at the beginning. Default: an agent without id and name. */
  agent?: AgentRef;
  /** Null = it stays with this agent. */
  handover: HandoverConfig | null;
  /** Null = the language does not change. */
  switchLanguage: SwitchLanguageConfig | null;
  /** The core notices, acknowledges and reports a wish not to be called again. */
  doNotCall: boolean;
  limits: LimitsConfig;
  history: HistoryConfig;
  /** Messages of an earlier session. They come first in the model's messages. */
  earlier: readonly ChatMessage[];
  /** How the agent speaks around each tool, by the tool's name. */
  toolSpeech: Readonly<Record<string, ToolSpeechConfig>>;
  /** The steps that the conversation follows; null = none. */
  steps: StepsConfig | null;
  deadlines: DeadlineConfig;
}

export interface SpeculationConfig {
  /** The answer is begun at a likely pause, before it is certain that the user has finished. */
  enabled: boolean;
  /** It is also begun while the user still speaks, on interim words that are probably complete. */
  early: boolean;
  /** Then words end a turn no sooner than after this silence: the answer would come before most pauses are over. */
  earlySilenceMs: number;
  /** Tokens (estimated) that answers begun while the user speaks may cost in one turn. */
  tokensPerTurn: number;
  /** The same in money, by the prices below; null = no limit. */
  costPerTurn: number | null;
  /** Price of a million tokens of the model's input and output; 0 = unknown. */
  promptPrice: number;
  completionPrice: number;
}

/** Changing the language in mid-conversation. */
export interface SwitchLanguageConfig {
  /** Codes of the interface's language list. */
  languages: readonly string[];
}

export interface LimitsConfig {
  maxDurationMs: number;
  /** Time without input from the user after which the session ends; null = none. */
  maxIdleMs: number | null;
  /** Said before a session ends by a limit; null = a stock sentence in the conversation's language. */
  message: string | null;
}

export interface HistoryConfig {
  /** How many of the latest messages the model gets; null = all. */
  messageLimit: number | null;
  /** How many of the latest tool results the model gets whole; null = all. */
  toolResultLimit: number | null;
}

export interface ToolSpeechConfig {
  messages: readonly string[];
  /** `strict` says one of the messages as written, `flexible` lets the model phrase it. */
  responseMode: 'strict' | 'flexible';
  /** The call starts when the message has been played, else while it plays. */
  executeAfterMessage: boolean;
  /** The conversation goes on while the call runs. Default false. */
  background?: boolean;
}

/** First-result deadlines of the stages. */
export interface DeadlineConfig {
  /** The model's first token: a filler comes after `stallFillerMs`, the fallback after `llmFirstMs`. */
  llmFirstMs: number;
  /** The longest gap between two pieces of a reply. */
  llmGapMs: number;
  stallFillerMs: number;
  /** From asking for speech to its first audio at the line, and the longest gap in the middle of it. */
  speechStartMs: number;
  /** Tool timeout: a tool without a result by then has failed. */
  toolMs: number;
  /** Transfer timeout: a transfer that is not accepted by then has failed. */
  transferMs: number;
  /** Longest time from the decision to hang up to the closed line, in addition to the time of the last words. */
  closingMs: number;
}

export const DEFAULT_CONVERSATION: ConversationConfig = {
  language: 'en-US',
  systemPrompt: '',
  direction: 'inbound',
  ...resolveFlow({ config: {}, transfer: null, recording: null }, (text) => text ?? ''),
  // Logs of older versions do not have the members after `enabled`, and began no answer while the user spoke.
  speculation: {
    enabled: true,
    early: false,
    earlySilenceMs: 0,
    tokensPerTurn: 8000,
    costPerTurn: null,
    promptPrice: 0,
    completionPrice: 0,
  },
  modelHears: false,
  handover: null,
  switchLanguage: null,
  doNotCall: false,
  limits: { maxDurationMs: 3_600_000, maxIdleMs: null, message: null },
  history: { messageLimit: null, toolResultLimit: null },
  earlier: [],
  toolSpeech: {},
  steps: null,
  deadlines: {
    llmFirstMs: 9000,
    llmGapMs: 8000,
    stallFillerMs: 2500,
    speechStartMs: 4000,
    toolMs: 60_000,
    transferMs: 60_000,
    closingMs: 15_000,
  },
};

/** The sections that may be null, each with all its members and their defaults. */
export const OPTIONAL_SECTIONS = optionalSections();

function optionalSections(): Record<
  'voicemail' | 'transfer' | 'inactivity' | 'pauseRecording' | 'handover' | 'switchLanguage',
  object
> {
  const config = {
    flow: { voicemail: { action: 'hangup' }, call_transfer: { phone: '+' }, inactivity_handling: { idle_time: 10 } },
  } as const;
  const attended = { enabled: true };
  const sections = resolveFlow(
    { config, transfer: { attended }, recording: { pause: attended } },
    (text) => text ?? '',
  );
  return {
    voicemail: sections.voicemail ?? {},
    transfer: { ...sections.transfer, targets: [] },
    inactivity: sections.inactivity ?? {},
    pauseRecording: sections.pauseRecording ?? {},
    handover: { targets: [], maxHops: 10 } satisfies HandoverConfig,
    switchLanguage: { languages: [] } satisfies SwitchLanguageConfig,
  };
}

/** Settings that differ from others, section by section. */
export type ConfigChanges = {
  [Key in keyof ConversationConfig]?: ConversationConfig[Key] extends string | readonly unknown[] | null
    ? ConversationConfig[Key]
    : ConversationConfig[Key] extends object
      ? Partial<ConversationConfig[Key]>
      : Key extends 'voicemail' | 'transfer' | 'inactivity'
        ? Partial<NonNullable<ConversationConfig[Key]>> | null
        : ConversationConfig[Key];
};

/** What the members of a section that may be null are where nothing sets them: in older event logs, in changes. */
const UNSET_MEMBERS: Readonly<Record<string, object>> = {
  ...OPTIONAL_SECTIONS,
  transfer: { ...OPTIONAL_SECTIONS.transfer, attended: null },
};

/** Sections whose members are names that the agent's author chose: a change replaces the whole section. */
const WHOLE = new Set(['toolSpeech', 'steps']);

/**
 * The settings with the changes applied. Members of a section that the changes do not name stay as they are, or have
 * their defaults if the section was off.
 */
export function mergeConfig(
  changes: ConfigChanges,
  usual: ConversationConfig = DEFAULT_CONVERSATION,
): ConversationConfig {
  const merged: Record<string, unknown> = { ...usual };
  for (const [section, change] of Object.entries(changes)) {
    const before = usual[section as keyof ConversationConfig] ?? UNSET_MEMBERS[section];
    const isSection = typeof change === 'object' && change !== null && !Array.isArray(change) && !WHOLE.has(section);
    merged[section] = isSection && typeof before === 'object' ? { ...before, ...change } : change;
  }
  return merged as unknown as ConversationConfig;
}
