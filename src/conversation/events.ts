import type { ChatMessage, ToolCall, ToolSpec } from '../agent/chat.js';
import type { Failure } from '../base/errors.js';
import type { CommandOutcome, ConversationCommand, NextAgent, ParticipantState, Side } from './control/command.js';
import type { StepView } from '../agent/flow/steps.js';
import type { AnnouncedEnd } from './voicemail/announcements.js';
import type { ExpectedAnswer } from '../agent/expected-answer.js';
import type { AgentRef } from '../agent/flow/handover.js';
import type { AttendedTransferConfig } from '../agent/flow/actions.js';

/** What happens to a conversation. Plain data; times are milliseconds on the session's clock. */
export type ConversationEvent =
  | { type: 'line.opened' }
  /** The user hung up, or the line broke (`error`). */
  | { type: 'line.closed'; error: string | null }
  /** The VAD hears speech that began at `startMs`. */
  | { type: 'speech.started'; startMs: number }
  /** The VAD has heard no speech since `endMs`. */
  | { type: 'speech.stopped'; endMs: number }
  /** An audio model's result for the silence: the probability (0 to 1) that the user's turn is over. */
  | { type: 'turn.judged'; probability: number }
  /** Replaces every earlier transcript of the same segment. */
  | { type: 'transcript'; segment: number; text: string; isFinal: boolean; understood: boolean }
  /** A typed message. */
  | { type: 'text'; text: string }
  | { type: 'digits'; digits: string }
  /** The beep of a voicemail greeting has ended. */
  | { type: 'beep'; endMs: number }
  /** A fax machine or modem is on the line, detected by its answering tone, modem signal or calling tone. */
  | { type: 'fax'; sign: 'answer' | 'modem' | 'calling' }
  /**
   * Special information tones (ITU-T E.180): three rising tones before a network's announcement. `busy`: no circuit is
   * free; `failed`: the number cannot be reached.
   */
  | { type: 'sit'; end: 'failed' | 'busy' }
  /** `flush`: speak the text so far, complete sentence or not; `pauseMs`: silence to leave after it. */
  | { type: 'llm.text'; requestId: number; text: string; flush?: boolean; pauseMs?: number }
  /** Speech to speech: (more) words of the model's own audio. Empty = it continues, and the words are not known yet. */
  | { type: 'llm.voice'; requestId: number; text: string }
  | { type: 'llm.toolCall'; requestId: number; call: ToolCall }
  | { type: 'llm.done'; requestId: number }
  | ({ type: 'llm.failed'; requestId: number } & Failure)
  | { type: 'tool.result'; callId: string; ok: boolean; content: string }
  /** A sentence about a running call, for the user. */
  | { type: 'tool.progress'; callId: string; text: string }
  /** The result of a transfer; `reason` is what the model reads about a failure. */
  | { type: 'transfer.result'; callId: string; ok: boolean; reason: string }
  /** The first sample of an utterance has been given to the line. */
  | { type: 'utterance.started'; utteranceId: number }
  /** The last sample of an utterance has been given to the line (an utterance without audio has no `started`). */
  | { type: 'utterance.finished'; utteranceId: number }
  | ({ type: 'utterance.failed'; utteranceId: number } & Failure)
  /** The voice is late: the line has no audio in the middle of an utterance. */
  | { type: 'utterance.starved'; utteranceId: number }
  /** The voice has audio again. */
  | { type: 'utterance.fed'; utteranceId: number }
  /** Speech recognition has failed permanently. */
  | ({ type: 'ears.failed' } & Failure)
  /** A participant begins to say words, or (`on` false) has finished. */
  | { type: 'participant.speaking'; participant: string; on: boolean }
  /** The words of a participant. */
  | { type: 'participant.said'; participant: string; text: string }
  /** The agent of an `agent.prepare` can go on with the conversation. */
  | ({ type: 'handover.ready'; callId: string } & NextAgent)
  /** It cannot; `reason` is what the model reads. */
  | { type: 'handover.failed'; callId: string; reason: string }
  | ConversationCommand
  /** The language from now on: the model has changed it, or the user speaks another one. */
  | { type: 'language'; language: string }
  /** A deadline is due: see `Conversation.nextDeadlineMs`. */
  | { type: 'time' };

/** Playback position of the current utterance; every event carries it. */
export interface PlayoutPosition {
  /** Null while nothing is being played. */
  utteranceId: number | null;
  /** Characters of its text whose audio has been played. */
  heardChars: number;
}

/** An attended transfer: the target is asked before the user is connected. */
export interface AttendedTransfer extends Omit<AttendedTransferConfig, 'holdMessages'> {
  /** The model's summary of the user and what they want; null = none. */
  summary: string | null;
}

/** What the conversation wants done. Effects are executed in order. */
export type ConversationEffect =
  /** `speculative`: an answer to a turn that may not be over; `llm.confirm` or `llm.cancel` follows. */
  | {
      type: 'llm.start';
      requestId: number;
      messages: readonly ChatMessage[];
      tools: readonly ToolSpec[];
      speculative: boolean;
      /** The names of the tools that this request may use; default all. */
      only?: readonly string[];
      /** The present step of a flow. */
      step?: StepView;
    }
  /** The turn was over: the speculative request is the answer. */
  | { type: 'llm.confirm'; requestId: number }
  /** Cancels the request: its answer is no longer needed. */
  | { type: 'llm.cancel'; requestId: number }
  /** Synthesise in advance, for a `speak` (or a `speak.cancel`) of the same utterance that may follow. */
  | { type: 'speak.prepare'; utteranceId: number; text: string; marked?: string }
  /**
   * Synthesise, unless it was prepared, and play after all earlier utterances. `requestId`: the model speaks it itself,
   * with this request; `text` is then what is known of it so far. `marked`: the text with its speech mark-up, if any.
   */
  | { type: 'speak'; utteranceId: number; text: string; marked?: string; kind: UtteranceKind; requestId?: number }
  /** More text of an utterance that the model speaks itself. */
  | { type: 'speak.more'; utteranceId: number; text: string }
  /** Silence to leave after an utterance in place of the usual pause. */
  | { type: 'speak.pause'; utteranceId: number; pauseMs: number }
  /** Cancels one utterance, prepared or requested; later ones continue. */
  | { type: 'speak.cancel'; utteranceId: number }
  /** Pauses playback at once and keeps the rest. */
  | { type: 'playout.hold' }
  /** Resumes at the sample where playback paused. */
  | { type: 'playout.resume' }
  /** Drops everything that has not been played, and cancels synthesis in progress. */
  | { type: 'playout.drop' }
  | { type: 'tool.start'; call: ToolCall }
  /** Press keys (0-9, *, #, A-D; `w` waits 500 ms); a `tool.result` of the call follows when they are sent. */
  | { type: 'digits.send'; callId: string; digits: string }
  /**
   * Recognise and speak another language. A `tool.result` of the call says whether that is possible; a `language` comes
   * first.
   */
  | { type: 'language.switch'; callId: string; language: string }
  /** The user does not want to be called again: found by a rule, or by the model. */
  | { type: 'doNotCall'; by: 'rule' | 'model' }
  /** Connects the user to a target; a `transfer.result` follows. */
  | { type: 'line.transfer'; callId: string; target: string; attended?: AttendedTransfer }
  /** Cancels the pending transfer. */
  | { type: 'line.transfer.cancel' }
  /** The user is not heard any more (or is again), or the agent has fallen silent (or may speak again). */
  | { type: 'line.mute'; side: Side; on: boolean }
  /** The user hears music or nothing, and is not heard. */
  | { type: 'line.hold'; music: boolean }
  | { type: 'line.unhold' }
  /** A participant has joined, was changed, or has left. */
  | { type: 'line.participant'; participant: ParticipantState }
  /** Words of a participant are in the history; `whispered`: only for the model. */
  | { type: 'participant.words'; participant: string; name: string; text: string; whispered: boolean }
  /** Model, voice and tools of this `command.update` from now on. */
  | { type: 'agent.update'; update: number }
  /**
   * Prepares an agent to whom the conversation is to be handed over: a `handover.ready` or `handover.failed` follows.
   * `summary`: it needs one of the conversation (true), or gets this one. `variables`: values that it gets; those that are null are looked up.
   */
  | {
      type: 'agent.prepare';
      callId: string;
      agent: AgentRef;
      summary: boolean | string;
      variables: Readonly<Record<string, string | null>>;
    }
  /** The agent is not waited for any more. */
  | { type: 'agent.prepare.cancel'; callId: string }
  /** Another agent speaks from now on. `back`: it had the conversation before. */
  | { type: 'agent.handover'; from: AgentRef; to: AgentRef; back: boolean }
  | { type: 'recording.pause'; on: boolean }
  | CommandOutcome
  /** The transcript has become a user turn. */
  | { type: 'stt.endTurn' }
  /** What the agent's question asks for, whenever that changes; null = anything. */
  | { type: 'stt.expect'; answer: ExpectedAnswer | null }
  /** A turn is answered. The same turn number again: it had not been over, and this is the complete text. */
  | { type: 'user.said'; text: string; turn: number }
  /** Closes the line; no effect follows it. */
  | { type: 'line.close'; status: EndStatus }
  /** For the event log: a decision and its reasons. */
  | { type: 'trace'; name: string; data: Readonly<Record<string, string | number | boolean | null>> };

/**
 * `prompt`: the question whether the user is still there; `announcement`: requested by the API or an embedder;
 * `transfer`: the notice of a transfer; `voicemail`: a message for a machine.
 */
export type UtteranceKind =
  | 'opening'
  | 'reply'
  | 'filler'
  | 'tool'
  | 'prompt'
  | 'announcement'
  | 'fallback'
  | 'goodbye'
  | 'transfer'
  | 'voicemail';

/**
 * How a conversation can end (the call statuses that a conversation itself decides). `failed`, `busy` and `no-answer`:
 * the network played an announcement instead of connecting a person.
 */
export type EndStatus =
  | 'user-ended'
  | 'agent-ended'
  | 'api-ended'
  | 'timeout'
  | 'error'
  | 'voicemail-hangup'
  | 'voicemail-message'
  | AnnouncedEnd;
