import type { ToolSpeechConfig } from '../../agent/flow/conversation-config.js';

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
  /** Presses keys when all queued speech has been heard. */
  | { type: 'command.press'; id?: number; digits: string }
  /** Leaves what follows out of the recording, or (`on`) records again. */
  | { type: 'command.record'; id?: number; on: boolean }
  /** Notes that somebody begins or ends to listen in. `by`: who, by the id of their key. */
  | { type: 'command.listen'; id?: number; by: string; on: boolean }
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

/** Settings of a conversation that may change while it lasts. */
export interface AgentSettings {
  systemPrompt?: string;
  toolSpeech?: Readonly<Record<string, ToolSpeechConfig>>;
  /** Longest wait for a tool's result. */
  toolMs?: number;
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
} as const;

/** What follows a command with an id. */
export type CommandOutcome =
  | { type: 'command.done'; id: number; result: CommandResult }
  /** `detail`: more about the reason, where it is known. */
  | { type: 'command.refused'; id: number; why: CommandRefusal; detail?: string };
