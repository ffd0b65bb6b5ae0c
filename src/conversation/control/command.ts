import type { AgentRef, HandoverContext } from '../../agent/flow/handover.js';
import type { ConversationConfig, ToolSpeechConfig } from '../../agent/flow/conversation-config.js';
import type { StepsConfig } from '../../agent/flow/steps.js';

/**
 * What a program may ask of a running conversation. `id`: a `command.done` or `command.refused` with the same number
 * follows, once; ids are unique within a conversation. Without one nothing follows.
 */
export type ConversationCommand =
  /** Makes the agent say something, word for word. */
  | { type: 'command.say'; id?: number; text: string; when?: SpeechTime; interruptible?: boolean }
  /** Makes the model speak, by instructions that the user does not hear. `tools`: those it may call; default all. */
  | { type: 'command.generate'; id?: number; instructions: string; when?: SpeechTime; tools?: readonly string[] }
  /** Stops the agent at once. */
  | { type: 'command.interrupt'; id?: number }
  /** Adds a message to the history, which gets no answer. */
  | { type: 'command.add'; id?: number; role: AddedRole; content: string }
  /** Other settings, from the next reply on: an `agent.update` with the same `update` says from when. */
  | { type: 'command.update'; id?: number; update: number; settings: AgentSettings }
  | { type: 'command.mute'; id?: number; side: Side; on: boolean }
  /** Puts the user on hold, for `maxMs` at most. */
  | { type: 'command.hold'; id?: number; music: boolean; maxMs: number }
  | { type: 'command.unhold'; id?: number }
  /**
   * Connects the user to a target when all queued speech has been heard. With an `id` the target may be one that the
   * agent does not name. `attended`: asks the target first; default: as the agent is set.
   */
  | { type: 'command.transfer'; id?: number; target: string; attended?: boolean; summary?: string }
  /** Another agent goes on with the conversation, from the next reply on. */
  | ({ type: 'command.handover'; id?: number; order: HandoverOrder } & NextAgent)
  /** Presses keys when all queued speech has been heard. */
  | { type: 'command.press'; id?: number; digits: string }
  /** Leaves what follows out of the recording, or (`on`) records again. */
  | { type: 'command.record'; id?: number; on: boolean }
  /** Notes that somebody begins or ends to listen in. `by`: the id of their key; `name`: what they are called. */
  | { type: 'command.listen'; id?: number; by: string; on: boolean; name?: string }
  /** Another person joins the user and the agent. */
  | { type: 'command.join'; id?: number; participant: NewParticipant }
  /** Changes what a participant hears, and who hears them. What is left out stays. */
  | ({ type: 'command.participant'; id?: number; participant: string } & ParticipantChanges)
  | { type: 'command.leave'; id?: number; participant: string; reason: LeaveReason }
  /** A command that is under way is not wanted any more. */
  | { type: 'command.withdraw'; id: number }
  /** Ends the call, after `message`. */
  | { type: 'command.end'; message?: string }
  /** Ends the call when all queued speech has been heard, unless the user speaks before that. */
  | { type: 'command.hangUp' };

export type CommandOf<Type extends ConversationCommand['type']> = Extract<ConversationCommand, { type: Type }>;

/**
 * When the agent speaks: after all that it is about to say (`next`), when the sentence is over that it is saying
 * (`afterSentence`; the rest is dropped), or in place of what it is saying (`now`). It never talks over the user: while
 * the user speaks, it waits for the end of their turn.
 */
export type SpeechTime = 'next' | 'afterSentence' | 'now';

export type Side = 'user' | 'agent';

/** `system`: a note for the model alone. The others count as said, though nobody has said them. */
export type AddedRole = 'system' | 'user' | 'assistant';

/**
 * What a participant does in the call. `listen`: hears both sides, and nobody hears them. `whisper`: the agent's model
 * reads what they say, or another participant hears it, and the user does not. `barge_in`: everybody hears them.
 * `take_over`: the same, and the agent says nothing.
 */
export type ParticipantMode = 'listen' | 'whisper' | 'barge_in' | 'take_over';

/** `left`: by themselves, in order; `removed`: by a program; `lost`: their line broke, or they hung up. */
export type LeaveReason = 'left' | 'removed' | 'lost';

export interface NewParticipant {
  /** Unique within the conversation. */
  id: string;
  name: string;
  /** How they joined: `socket`, `webrtc`, `phone`, or the name of a line. */
  channel: string;
  /** Who let them join: the id of a key; null = a program. */
  by: string | null;
  mode: ParticipantMode;
  /** The participant who hears a whisper; null = the agent's model reads it. */
  whisperTo: string | null;
}

export interface ParticipantState extends NewParticipant {
  held: boolean;
  /** On hold they hear music. */
  music: boolean;
  muted: boolean;
  /** They are saying words. */
  speaking: boolean;
  /** Times in ms since the line opened; null = they are in the call. */
  fromMs: number;
  toMs: number | null;
  /** Why they are not in the call any more; null = they are, or the call ended with them. */
  left: LeaveReason | null;
}

/** A participant with the modes that they have had, in order. */
export interface ParticipantRecord extends ParticipantState {
  modes: { mode: ParticipantMode; fromMs: number }[];
}

export interface ParticipantChanges {
  mode?: ParticipantMode;
  whisperTo?: string | null;
  /** On hold they hear music or nothing, and nobody hears them. */
  held?: boolean;
  /** What they hear on hold. Default true. */
  music?: boolean;
  /** Nobody hears them. */
  muted?: boolean;
}

/** Settings of a conversation that may change while it lasts. */
export interface AgentSettings {
  systemPrompt?: string;
  toolSpeech?: Readonly<Record<string, ToolSpeechConfig>>;
  /** Longest wait for a tool's result. */
  toolMs?: number;
  /** Another flow, which begins at its start; null = none. */
  steps?: StepsConfig | null;
}

/** An agent that can go on with the conversation. */
export interface NextAgent {
  agent: AgentRef;
  config: ConversationConfig;
  /** Of the conversation so far; null = none was wanted, or none came in time. */
  summary: string | null;
  variables: Readonly<Record<string, string>>;
}

/** How a program wants the conversation handed over. */
export interface HandoverOrder extends HandoverContext {
  /** Said word for word first, by the agent so far; null = nothing. */
  announcement: string | null;
  /** What the next agent is told; null = nothing. */
  reason: string | null;
  mayReturn: boolean;
}

/** How a command was carried out. */
export type CommandResult =
  /** Of `say` and `generate`: the words, and those of them that were heard. */
  | { text: string; heard: string }
  /** Of `interrupt`: whether the agent was stopped. */
  | { stopped: boolean }
  | null;

/** Why a command is not carried out. */
export type CommandRefusal = keyof typeof REFUSALS;

export const REFUSALS = {
  notStarted: 'the line is not open yet',
  ended: 'the session has ended',
  ending: 'the call is being ended',
  transferring: 'the call is being transferred',
  handingOver: 'the conversation is being handed over to another agent',
  machine: 'a machine has answered the call',
  pressing: 'keys are being pressed',
  held: 'the user is on hold',
  muted: 'the agent is muted',
  protected: 'the agent says something that must be said whole',
  unspeakable: 'there is no letter or digit in it',
  keysInvalid: 'keys are 0-9, *, #, A-D and w (a pause), 64 at most',
  unsupported: 'this session cannot do it',
  failed: 'it failed',
  notConnected: 'the user was not connected',
  withdrawn: 'it was withdrawn',
  takenOver: 'a participant has taken over',
  full: 'the call has as many participants as it can have',
  unknownParticipant: 'the call has no such participant',
} as const;

/** What follows a command with an id. */
export type CommandOutcome =
  | { type: 'command.done'; id: number; result: CommandResult }
  /** `detail`: more about the reason, where it is known. */
  | { type: 'command.refused'; id: number; why: CommandRefusal; detail?: string };
