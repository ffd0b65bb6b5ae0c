import type { ChatMessage } from './chat.js';

/** How one conversation is to be held. Plain data, made from an AgentConfig and the operator's settings. */
export interface ConversationConfig {
  /** A code of the interface's language list. */
  language: string;
  /** The whole system prompt, variables and notes filled in. */
  systemPrompt: string;
  /** Who called whom: only one who is called may turn out to be a machine. */
  direction: 'inbound' | 'outbound';
  opening: OpeningConfig;
  interruption: InterruptionConfig;
  endpointing: EndpointingConfig;
  speculation: SpeculationConfig;
  /** The model hears the user itself: it can answer what was not transcribed, and need not wait for words. */
  modelHears: boolean;
  filler: FillerConfig;
  endCall: EndCallConfig;
  /** Null = a machine is talked to like a person. Acts on outbound calls only. */
  voicemail: VoicemailConfig | null;
  /** Null, or without targets = calls are not transferred. */
  transfer: TransferConfig | null;
  keypad: KeypadConfig;
  /** Null = the language stays as it is. */
  switchLanguage: SwitchLanguageConfig | null;
  /** A wish not to be called again is noticed, acknowledged and reported. */
  doNotCall: boolean;
  /** Null = the agent does not ask whether the user is still there. `message` null = a stock question. */
  inactivity: { idleMs: number; message: string | null } | null;
  limits: LimitsConfig;
  history: HistoryConfig;
  /** Messages of an earlier session, which come first in what the model is given. */
  earlier: readonly ChatMessage[];
  /** How the agent speaks around each tool, by the tool's name. */
  toolSpeech: Readonly<Record<string, ToolSpeechConfig>>;
  deadlines: DeadlineConfig;
}

export interface OpeningConfig {
  /** Null = the model opens the conversation. */
  firstMessage: string | null;
  /** The agent waits for the user to speak first … */
  userStarts: boolean;
  /** … but no longer than this. */
  userStartTimeoutMs: number;
  /** `earlier` is the beginning of this same call, whose line broke: the agent does not greet again. Default false. */
  resumes?: boolean;
}

export interface InterruptionConfig {
  allowed: boolean;
  /**
   * Interruption allowed: keep the interrupted message in the history, cut to what was heard. Not allowed: keep
   * what the user said over the agent as the next turn.
   */
  keepMessage: boolean;
  /** Whether the opening message may be interrupted. */
  openingAllowed: boolean;
  /**
   * Speech that has lasted this long over the agent interrupts it if no transcript has come yet; if what came is an
   * acknowledgement, or nothing that was understood, the agent goes on.
   */
  maxHoldMs: number;
  /** How long after the user's speech has stopped its words are waited for. */
  wordsAfterStopMs: number;
}

export interface EndpointingConfig {
  /** The least wait after the end of speech. */
  responseDelayMs: number;
  /** Added while the user is dictating digits. */
  numberInputDelayMs: number;
  /** Silence that ends a turn whose words are surely complete. */
  minSilenceMs: number;
  /** Silence that ends any turn. */
  maxSilenceMs: number;
  /** How long after the end of speech the final transcript is waited for before the interim one must do. */
  finalTranscriptMs: number;
  /** Speech for which nothing is transcribed closes the turn after this. */
  stuckMs: number;
}

export interface SpeculationConfig {
  /** The answer is begun at a likely pause, before it is certain that the user has finished. */
  enabled: boolean;
}

export interface FillerConfig {
  /** Wait from the end of the turn until a filler is spoken; null = only when a stage stalls. */
  afterMs: number | null;
  /** Empty = short default phrases in the conversation's language. */
  messages: readonly string[];
}

export interface EndCallConfig {
  enabled: boolean;
  instruction: string | null;
  /** One of these is said before the line is closed; empty = what the model says with the call. */
  messages: readonly string[];
}

export interface VoicemailConfig {
  action: 'hangup' | 'message';
  /** What is left after the beep; null = nothing: it hangs up. */
  message: string | null;
  /** A person who speaks up during the message makes it a conversation. */
  continueOnVoiceActivity: boolean;
  /** Phrases that identify an answering machine, besides the built-in ones. */
  detectionPhrases: readonly string[];
}

export interface TransferConfig {
  targets: readonly TransferTarget[];
  /** Whoever answers for the model may name any other target, too. Default false. */
  anyTarget?: boolean;
  instruction: string | null;
  /** One of these is said first; empty = what the model says with the call. */
  messages: readonly string[];
  /** Whoever the user is to be connected to is asked first. Default null: nobody is. */
  attended?: AttendedTransferConfig | null;
}

/** How somebody is asked whether they take the call, while the user waits. */
export interface AttendedTransferConfig {
  /** What they are told; `{summary}` in it is the model's. Null = a stock sentence. */
  briefing: string | null;
  /** They are asked to take the call; else it is enough that a person answers. */
  confirm: boolean;
  /** How long it rings there. */
  ringMs: number;
  /** What the user hears meanwhile. */
  holdSound: 'music' | 'ringing' | 'none';
  /** Said to the user now and then; empty = a stock sentence. */
  holdMessages: readonly string[];
}

export interface TransferTarget {
  phone: string;
  /** When it is the right one. */
  description: string | null;
}

/** The agent pressing keys. */
export interface KeypadConfig {
  enabled: boolean;
  instruction: string | null;
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
  /** How many of the latest messages the model is given; null = all. */
  messageLimit: number | null;
  /** How many of the latest tool results are given whole; null = all. */
  toolResultLimit: number | null;
}

export interface ToolSpeechConfig {
  messages: readonly string[];
  /** `strict` says one of the messages as written, `flexible` lets the model phrase it. */
  responseMode: 'strict' | 'flexible';
  /** The call starts when the message has been played, else while it plays. */
  executeAfterMessage: boolean;
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
  /** Transfer timeout: a transfer nobody has accepted by then has failed. */
  transferMs: number;
  /** Longest time from the decision to hang up to the line being closed, beside what the last words take. */
  closingMs: number;
}

export const DEFAULT_CONVERSATION: ConversationConfig = {
  language: 'en-US',
  systemPrompt: '',
  direction: 'inbound',
  opening: { firstMessage: null, userStarts: false, userStartTimeoutMs: 8000 },
  interruption: { allowed: true, keepMessage: true, openingAllowed: true, maxHoldMs: 2000, wordsAfterStopMs: 500 },
  endpointing: {
    responseDelayMs: 0,
    numberInputDelayMs: 0,
    minSilenceMs: 240,
    maxSilenceMs: 1800,
    finalTranscriptMs: 1200,
    stuckMs: 12_000,
  },
  speculation: { enabled: true },
  modelHears: false,
  filler: { afterMs: null, messages: [] },
  endCall: { enabled: false, instruction: null, messages: [] },
  voicemail: null,
  transfer: null,
  keypad: { enabled: false, instruction: null },
  switchLanguage: null,
  doNotCall: false,
  inactivity: null,
  limits: { maxDurationMs: 3_600_000, maxIdleMs: null, message: null },
  history: { messageLimit: null, toolResultLimit: null },
  earlier: [],
  toolSpeech: {},
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
