import type { PronunciationSettings } from '../agent/extensions/pronunciation.js';
import type { Denoising } from '../audio/dsp/denoiser.js';
import type { Clock } from '../base/clock.js';
import type { Ticker } from '../base/ticker.js';
import type { AgentConfig } from '../agent/agent.js';
import type { AgentRef } from '../agent/flow/handover.js';
import type { ToolCall } from '../agent/chat.js';
import type { ConversationConfig } from '../agent/flow/conversation-config.js';
import type { AgentSettings, ParticipantState, Side } from '../conversation/control/command.js';
import type { LlmProvider } from '../providers/llm/llm.js';
import type { ProviderOutcome } from '../providers/outcome.js';
import type { SpeechHints, SttOptions, SttProvider } from '../providers/stt/stt.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import type { TurnModel } from '../providers/turn/turn.js';
import type { VadProvider } from '../providers/vad/vad.js';
import type { DefinedTool } from '../tools/define-tool.js';
import type { Toolbox } from '../tools/tool.js';
import type { TranscriptMessage, Transport } from '../transports/transport.js';
import type { AfterCallMarks } from './after-call/after-call.js';
import type { LogSink } from './record/event-log.js';
import type { Consult, MayTransfer } from './line/line-actions.js';
import type { Languages } from './hearing/language-providers.js';
import type { MemoryKeeper } from './after-call/memory.js';
import type { Recording } from './record/recording.js';
import type { SessionReport } from './record/session-report.js';
import type { TurnMetrics } from './record/session-metrics.js';

export interface SessionOptions {
  id: string;
  conversation: ConversationConfig;
  transport: Transport;
  vad: VadProvider;
  /** Denoises the user's audio. Default: none. */
  denoising?: Denoising | undefined;
  /** Probability from which audio is speech, 0 to 1. Default 0.5. */
  vadThreshold?: number;
  stt: SttProvider;
  hints?: SpeechHints;
  /** The language to recognise first. Default: the conversation's. */
  startLanguage?: string | undefined;
  sttOptions?: Pick<SttOptions, 'model' | 'multilingual'>;
  /** Languages that the session may change to. Default: none. */
  languages?: Languages | null | undefined;
  /** An audio model for the end of a turn, in addition to the words. Default: none. */
  turnModel?: TurnModel | null | undefined;
  /** Note the prosody before each of the user's pauses in the log; never with `optOut`. Default false. */
  notePauses?: boolean | undefined;
  llm: LlmProvider;
  model: string;
  /** 0..2, default 0. */
  temperature?: number;
  tts: TtsProvider;
  voice?: {
    voiceId?: string | null;
    model?: string | null;
    settings?: Readonly<Record<string, unknown>>;
    pronunciation?: PronunciationSettings | null;
  };
  toolbox?: Toolbox;
  metadata?: Readonly<Record<string, unknown>>;
  /** Why a call must not be transferred; null = it may. Default: always allowed. */
  mayTransfer?: MayTransfer | null | undefined;
  /** Asks the target of an attended transfer. Default: attended transfers fail. */
  consult?: Consult | null | undefined;
  /** Default: none; after-call functions are not protected against running twice. */
  afterCallMarks?: AfterCallMarks | null | undefined;
  /** Receives what the session has established about its user. Default: none. */
  memory?: MemoryKeeper | null | undefined;
  /** Records the session: closed with it, and named in its report. Its `line` is the `transport`. */
  recording?: Pick<Recording, 'path' | 'close' | 'pause' | 'resume'> | null | undefined;
  /** Prepares other settings of the agent. Default: they cannot change. */
  change?: ChangeAgent | null | undefined;
  /** Who speaks at the beginning. Default: an agent without an id. */
  agent?: AgentRef | undefined;
  /** Finds the agents to whom the conversation may be handed over. Default: there are none. */
  others?: OtherAgents | null | undefined;
  clock: Clock;
  ticker: Ticker;
  /** Nothing that is said may be stored: log and report have only times and kinds. Default false. */
  optOut?: boolean;
  /** Answers in place of the model, and is notified of events. Default: none. */
  participant?: Participant | null | undefined;
  /** Adds the user to the do-not-call list. Default: only the report has the request. */
  listDoNotCall?: ((by: 'rule' | 'model') => Promise<void>) | null | undefined;
  /** Receives every event and effect, see LogEntry. */
  log?: LogSink | null | undefined;
  /** For embedders and daemons. A listener that throws is noted in the log and otherwise ignored. */
  observe?: ((event: SessionEvent) => void) | null | undefined;
}

/** What a session has of the agent that speaks. */
export interface SessionAgent extends Pick<
  SessionOptions,
  | 'hints'
  | 'startLanguage'
  | 'sttOptions'
  | 'languages'
  | 'temperature'
  | 'voice'
  | 'toolbox'
  | 'metadata'
  | 'memory'
  | 'change'
  | 'conversation'
  | 'stt'
  | 'llm'
  | 'model'
  | 'tts'
> {
  agent: AgentRef;
}

/** The agents to whom a conversation may be handed over. */
export interface OtherAgents {
  /** Null = there is no such agent. */
  nameOf(id: string): Promise<string | null>;
  /**
   * An agent whose connections are open and whose voice is warm.
   * @param variables join the metadata
   * @throws ParleyError as `Engine.createSession`; the reason why this agent cannot have the conversation
   */
  prepare(agent: AgentRef, variables: Readonly<Record<string, string>>, signal: AbortSignal): Promise<SessionAgent>;
}

/** A tool of AgentConfig. */
export type AgentTool = NonNullable<AgentConfig['tools']>[number];

/** Other settings of the agent. What is left out stays. */
export interface AgentChanges {
  prompt?: AgentConfig['prompt'] | undefined;
  /** In place of all tools so far: functions in code, and tools of AgentConfig. */
  tools?: readonly (DefinedTool | AgentTool)[] | undefined;
  voice?: AgentConfig['voice'] | undefined;
  /** In place of the whole dictionary so far; null = none. */
  pronunciation?: PronunciationSettings | null | undefined;
  llm?: AgentConfig['llm'] | undefined;
  /** Joins the metadata of the session; prompt and tools get the new values of their variables. */
  metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** What a session continues with after its agent was changed. */
export interface ChangedAgent {
  settings: AgentSettings;
  toolbox: Toolbox;
  metadata: Readonly<Record<string, unknown>>;
  /** Null = the same as before. */
  model: Required<Pick<SessionOptions, 'llm' | 'model' | 'temperature'>> | null;
  /** Null = the same as before. */
  voice: {
    tts: TtsProvider;
    voiceId: string | null;
    model: string | null;
    settings: Readonly<Record<string, unknown>>;
    /** Left out = the same as before. */
    pronunciation?: PronunciationSettings | null;
  } | null;
}

/** Prepares an agent with other settings; later changes build upon it. @throws ParleyError as `Engine.createSession` */
export type ChangeAgent = (changes: AgentChanges, signal: AbortSignal) => Promise<ChangedAgent>;

/** Answers in place of the model, from outside. It gets texts even with `optOut`, and must not store any. */
export interface Participant {
  /** The session has started. */
  start(): void;
  /** The user's words; an interim text replaces the previous one. */
  heard(text: string, isFinal: boolean): void;
  /** The model's answer is complete. The rest of it is spoken in the same step. */
  answered(): void;
  /** An utterance of the model's answer will be spoken. */
  speaks(utteranceId: number): void;
  /** An utterance is over. */
  spoke(utteranceId: number): void;
  /** Everything unplayed is dropped. */
  dropped(): void;
}

export type SessionEvent =
  | ({ type: 'transcript' } & TranscriptMessage)
  /** A turn is answered. The same `turn` again: it had not been over, and this is the complete text. */
  | { type: 'user'; text: string; turn: number }
  | { type: 'agent'; text: string }
  /**
   * `who` starts or stops speaking: the user according to the VAD, the agent according to the audio on the line.
   * `levelDbfs`: how loud the user was, RMS over what the VAD took for speech, -100 to 0; where they stop.
   */
  | { type: 'speaking'; who: 'user' | 'agent'; isSpeaking: boolean; levelDbfs?: number }
  /** The user or a program has interrupted the agent, which drops the rest of its answer. */
  | { type: 'interrupted'; by: 'user' | 'program' }
  /** A program has muted a side, or unmuted it. */
  | { type: 'muted'; side: Side; on: boolean }
  /** The user was put on hold, or taken off it: by a program, or because the time of the hold was over. */
  | { type: 'held'; on: boolean }
  /** The user is being connected to somebody else, or that has come to nothing. A transfer that succeeds ends the session. */
  | { type: 'transferring'; on: boolean }
  /** Somebody has joined the user and the agent, may do something else, or (`toMs`) has left. */
  | { type: 'participant'; participant: ParticipantState }
  /** Words of a participant; `whispered`: the user did not hear them. */
  | { type: 'participantSaid'; participant: string; name: string; text: string; whispered: boolean }
  /** A step of the flow begins. */
  | { type: 'step'; step: string }
  /** The changes of an `updateAgent` apply from now on. */
  | { type: 'agentUpdated' }
  /** Another agent speaks from now on; `back`: one that had the conversation before. */
  | { type: 'handover'; from: AgentRef; to: AgentRef; back: boolean }
  /** A tool starts; `tool` follows when it is done, unless the call ends before. */
  | { type: 'toolStarted'; call: ToolCall }
  /** A running function reports progress. */
  | { type: 'toolProgress'; call: ToolCall; text: string }
  | { type: 'tool'; call: ToolCall; ok: boolean; result: string; tookMs: number }
  /** The first audio of an answer was sent to the line. */
  | { type: 'answered'; metrics: TurnMetrics }
  /** The outcome of a request or a stretch of speech, for each provider and fallback. */
  | ({ type: 'provider'; stage: 'stt' | 'llm' | 'tts' } & ProviderOutcome)
  /**
   * A fault after which the session continues, as in the report's `faults` and `faultReasons`. `stack`: of the exception
   * that has caused it.
   */
  | { type: 'fault'; name: string; reason: string; stack?: string }
  /** The last event. */
  | { type: 'ended'; report: SessionReport };
