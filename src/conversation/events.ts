import type { ChatMessage, ToolCall, ToolSpec } from '../agent/chat.js';
import type { Failure } from '../base/errors.js';
import type { AnnouncedEnd } from './voicemail/announcements.js';
import type { AttendedTransferConfig } from '../agent/flow/actions.js';

/** What happens to a conversation. Plain data; times are milliseconds on the session's clock. */
export type ConversationEvent =
  | { type: 'line.opened' }
  /** The user has gone, or the line broke (`error`). */
  | { type: 'line.closed'; error: string | null }
  /** The VAD hears speech that began at `startMs`. */
  | { type: 'speech.started'; startMs: number }
  /** The VAD has heard no speech since `endMs`. */
  | { type: 'speech.stopped'; endMs: number }
  /** An audio model has judged the silence: the probability (0..1) that the user's turn is over. */
  | { type: 'turn.judged'; probability: number }
  /** Replaces every earlier transcript of the same segment. */
  | { type: 'transcript'; segment: number; text: string; isFinal: boolean; understood: boolean }
  /** A typed message. */
  | { type: 'text'; text: string }
  | { type: 'digits'; digits: string }
  /** The beep of a voicemail greeting has ended. */
  | { type: 'beep'; endMs: number }
  /** A fax machine or a modem is on the line, known by its answering tone, its modem or its calling tone. */
  | { type: 'fax'; sign: 'answer' | 'modem' | 'calling' }
  /**
   * Special information tones (ITU-T E.180): three rising tones before a network's announcement. `busy`: no circuit is
   * free; `failed`: the number cannot be reached.
   */
  | { type: 'sit'; end: 'failed' | 'busy' }
  /** `flush`: speak what there is now, whole sentence or not; `pauseMs`: leave so much silence behind it. */
  | { type: 'llm.text'; requestId: number; text: string; flush?: boolean; pauseMs?: number }
  /**
   * The model speaks itself, and these are (more of) its words: the audio is its own. Empty = it goes on, the words are not
   * known yet.
   */
  | { type: 'llm.voice'; requestId: number; text: string }
  | { type: 'llm.toolCall'; requestId: number; call: ToolCall }
  | { type: 'llm.done'; requestId: number }
  | ({ type: 'llm.failed'; requestId: number } & Failure)
  | { type: 'tool.result'; callId: string; ok: boolean; content: string }
  /** What became of a transfer; `reason` is what the model is told of a failure. */
  | { type: 'transfer.result'; callId: string; ok: boolean; reason: string }
  /** The first sample of an utterance has been given to the line. */
  | { type: 'utterance.started'; utteranceId: number }
  /** The last sample of an utterance has been given to the line (an utterance without audio has no `started`). */
  | { type: 'utterance.finished'; utteranceId: number }
  | ({ type: 'utterance.failed'; utteranceId: number } & Failure)
  /** The voice is late: the line has nothing to play in the middle of an utterance … */
  | { type: 'utterance.starved'; utteranceId: number }
  /** … and now it has again. */
  | { type: 'utterance.fed'; utteranceId: number }
  /** Speech recognition has failed permanently. */
  | ({ type: 'ears.failed' } & Failure)
  /** Somebody outside (the API, an embedder) has the agent say something, or ends the call. */
  | { type: 'command.say'; text: string }
  | { type: 'command.end' }
  /** The agent itself is done: the call ends when all has been said. */
  | { type: 'command.hangUp' }
  /** The user is to be connected to somebody else when all has been said. */
  | { type: 'command.transfer'; target: string }
  /** What is spoken from now on: the model has changed the language, or the user was found to speak another one. */
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

/** Somebody is asked whether they take the call before the user is connected. */
export interface AttendedTransfer extends Omit<AttendedTransferConfig, 'holdMessages'> {
  /** The model's account of the user and what they want; null = it gave none. */
  summary: string | null;
}

/** What the conversation wants done. Effects are carried out in order. */
export type ConversationEffect =
  /** `speculative`: an answer to a turn that may not be over; `llm.confirm` or `llm.cancel` follows. */
  | {
      type: 'llm.start';
      requestId: number;
      messages: readonly ChatMessage[];
      tools: readonly ToolSpec[];
      speculative: boolean;
    }
  /** The turn was over: what was asked speculatively is the answer. */
  | { type: 'llm.confirm'; requestId: number }
  /** Cancels the request: its answer is no longer needed. */
  | { type: 'llm.cancel'; requestId: number }
  /** Synthesise, for a `speak` (or a `speak.cancel`) of the same utterance that may follow. */
  | { type: 'speak.prepare'; utteranceId: number; text: string }
  /**
   * Synthesise, unless it was prepared, and play after all utterances asked for before. `requestId`: the model speaks it
   * itself, with this request; then `text` is what is known of it so far.
   */
  | { type: 'speak'; utteranceId: number; text: string; kind: UtteranceKind; requestId?: number }
  /** More text of an utterance that the model speaks itself. */
  | { type: 'speak.more'; utteranceId: number; text: string }
  /** Leave so much silence behind an utterance in place of the usual breath. */
  | { type: 'speak.pause'; utteranceId: number; pauseMs: number }
  /** Give up one utterance, prepared or asked for; the ones after it go on. */
  | { type: 'speak.cancel'; utteranceId: number }
  /** Pauses playback at once and keeps the rest. */
  | { type: 'playout.hold' }
  /** Resumes at the sample where playback paused. */
  | { type: 'playout.resume' }
  /** Drop everything that has not been played, and any synthesis that is under way. */
  | { type: 'playout.drop' }
  | { type: 'tool.start'; call: ToolCall }
  /** Press keys (0-9, *, #, A-D; `w` waits 500 ms); a `tool.result` of the call tells when they are sent. */
  | { type: 'digits.send'; callId: string; digits: string }
  /** Hear and speak another language; a `tool.result` of the call tells whether that is possible, a `language` comes first. */
  | { type: 'language.switch'; callId: string; language: string }
  /** The user does not want to be called again: found by a rule in their words, or by the model. */
  | { type: 'doNotCall'; by: 'rule' | 'model' }
  /** Connect the user to somebody else; a `transfer.result` follows. */
  | { type: 'line.transfer'; callId: string; target: string; attended?: AttendedTransfer }
  /** Cancels the pending transfer. */
  | { type: 'line.transfer.cancel' }
  /** The transcript became a user turn. */
  | { type: 'stt.endTurn' }
  /** A turn is answered. The same turn number again: it had not been over, and this is all of it. */
  | { type: 'user.said'; text: string; turn: number }
  /** Closes the line; no effect follows it. */
  | { type: 'line.close'; status: EndStatus }
  /** For the event log: a decision and its reasons. */
  | { type: 'trace'; name: string; data: Readonly<Record<string, string | number | boolean | null>> };

/**
 * `prompt`: whether the user is still there; `announcement`: what somebody outside wants said; `transfer`: that the user
 * will be connected; `voicemail`: a message left with a machine.
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
 * How a conversation can end (call statuses of the interface that a conversation itself decides). `failed`, `busy` and
 * `no-answer`: the network answered with an announcement in place of the person.
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
