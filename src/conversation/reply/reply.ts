import type { ChatMessage, ToolCall } from '../../agent/chat.js';
import * as speech from '../speech/agent-speech.js';
import type { Core } from '../core.js';
import type { ConversationEvent } from '../events.js';
import { armFiller } from './filler.js';
import { addAssistantMessage, modelMessages } from '../speech/history.js';
import { phrasesFor } from '../language/phrases.js';
import { screeningAnswer } from './screening.js';
import { type Cut, cutSentences, isSpeakable } from '../speech/sentences.js';
import { OPENING_TURN, type ReplyState } from '../state.js';

/** The model's answer to a turn: asks, speaks what comes sentence by sentence, and gathers the calls it makes. */

/** Rounds of tools that one turn may take. */
export const MAX_ROUNDS = 6;
/** Replies that may fail one after another before the agent gives up. */
export const MAX_MODEL_FAILURES = 3;

/** A piece of the model's text, see the event. */
export type ModelText = Pick<Extract<ConversationEvent, { type: 'llm.text' }>, 'text' | 'flush' | 'pauseMs'>;

export interface TurnToAnswer {
  text: string;
  number: number;
  /** Index of the user's message in the history; null where the agent speaks unasked. */
  entry: number | null;
  interrupts: boolean;
}

export function startReply(core: Core, turn: TurnToAnswer): void {
  cancelReply(core);
  core.state.reply = newReply(turn);
  request(core, core.state.reply);
}

/** A reply for which nothing has been asked yet. */
export function newReply(turn: TurnToAnswer): ReplyState {
  return {
    requestId: 0,
    phase: 'thinking',
    pending: '',
    pieces: 0,
    ownUtterance: null,
    entry: null,
    round: 0,
    turnText: turn.text,
    turnNumber: turn.number,
    userEntry: turn.entry,
    calls: [],
    acted: false,
    afterInterruption: turn.interrupts,
    pressed: false,
    wordless: false,
  };
}

/** Asks the model again, now that the tools of the last round have answered. */
export function nextRound(core: Core, reply: ReplyState): void {
  if (reply.round < MAX_ROUNDS) {
    request(core, reply);
    return;
  }
  core.state.resultsUntold = false; // they would only start the same again
  failReply(core, 'too many rounds of tools');
}

/** Lets go of the model's answer. What was said and done stays. */
export function cancelReply(core: Core): void {
  const { reply } = core.state;
  if (reply === null) return;
  if (reply.phase === 'thinking' || reply.phase === 'streaming') {
    core.emit({ type: 'llm.cancel', requestId: reply.requestId });
  }
  core.disarm('llm.first', 'llm.gap', 'filler');
  core.state.reply = null;
}

/** The reply that a message of the model belongs to, if it is the current one. */
export function replyTo(core: Core, requestId: number): ReplyState | null {
  const { reply } = core.state;
  return reply?.requestId === requestId && (reply.phase === 'thinking' || reply.phase === 'streaming') ? reply : null;
}

export function onText(core: Core, reply: ReplyState, said: ModelText): void {
  const { text, flush = false, pauseMs = 0 } = said;
  if (text === '' && !flush && pauseMs === 0) return;
  heardFromModel(core, reply);
  const { pieces, rest } = cutText(reply.pending, said, reply.pieces === 0);
  reply.pending = rest;
  for (const piece of pieces) speakPiece(core, reply, piece);
  if (pauseMs > 0) speech.pauseAfterLast(core, pauseMs);
}

/** The model speaks itself: all that it says in a round is one utterance, whose words come while it is heard. */
export function onVoice(core: Core, reply: ReplyState, text: string): void {
  heardFromModel(core, reply);
  if (reply.ownUtterance !== null) {
    speech.sayMore(core, replyEntry(core, reply), reply.ownUtterance, text);
    return;
  }
  reply.pieces++;
  core.disarm('filler');
  const entry = replyEntry(core, reply);
  reply.ownUtterance = speech.say(core, text, { kind: 'reply', entry, requestId: reply.requestId });
}

/** The pieces that are whole now. A flush, and a pause, end one wherever the text stands. */
export function cutText(pending: string, { text, flush = false, pauseMs = 0 }: ModelText, first: boolean): Cut {
  const { pieces, rest } = cutSentences(pending + text, first);
  if (!flush && pauseMs === 0) return { pieces, rest };
  return isSpeakable(rest) ? { pieces: [...pieces, rest.trim()], rest: '' } : { pieces, rest: '' };
}

export function onToolCall(core: Core, reply: ReplyState, call: ToolCall): void {
  heardFromModel(core, reply);
  addCall(core, reply, call);
}

export function addCall(core: Core, reply: ReplyState, call: ToolCall): void {
  reply.calls.push({ id: uniqueCallId(core, reply, call.id), name: call.name, arguments: call.arguments });
}

/** The model has said all of this round: what is left over is spoken. */
export function finishRound(core: Core, reply: ReplyState): void {
  core.disarm('llm.first', 'llm.gap');
  const rest = reply.pending.trim();
  reply.phase = 'done';
  reply.pending = '';
  if (isSpeakable(rest)) speakPiece(core, reply, rest);
}

/** The model failed or stalled. Where it was asked before the words were known, whoever needs words has not been asked yet. */
export function onNoAnswer(core: Core, reason: string): void {
  const { reply } = core.state;
  if (reply?.wordless !== true || reply.pieces > 0 || reply.calls.length > 0) {
    failReply(core, reason);
    return;
  }
  core.trace('reply.askedAgain', { reason });
  if (reply.phase !== 'done') core.emit({ type: 'llm.cancel', requestId: reply.requestId });
  reply.round = 0;
  request(core, reply);
}

/** The model failed, stalled or had nothing to say: the agent says so, once. */
export function failReply(core: Core, reason: string): void {
  const { reply, failures } = core.state;
  core.trace('reply.failed', { reason });
  // A reply that breaks off after some sentences has said something; the user will ask if it was too little, unless they
  // were asked to wait.
  const spoke = reply !== null && reply.pieces > 0 && !isBridged(core, reply);
  const opening = reply?.turnNumber === OPENING_TURN;
  cancelReply(core);
  failures.model++;
  if (spoke || failures.model >= MAX_MODEL_FAILURES) return;
  const { greeting, fallback } = phrasesFor(core.language);
  const answer = reply === null ? null : screeningAnswer(core, reply.turnText);
  if (opening) speech.say(core, greeting, { kind: 'fallback', interruptible: mayInterruptOpening(core) });
  else speech.say(core, answer ?? fallback, { kind: 'fallback' });
}

/** The user was asked to wait for the rest just now. */
function isBridged(core: Core, { turnNumber }: ReplyState): boolean {
  const { lastMs, turn } = core.state.filler;
  return lastMs !== null && turn === turnNumber && lastMs >= core.nowMs - core.config.deadlines.llmGapMs;
}

/** The agent speaks, or owes the user something: an answer, a connection. */
export function agentHasSomethingToSay(core: Core): boolean {
  const { reply } = core.state;
  return speech.isSpeaking(core) || core.state.transfer !== null || (reply !== null && reply.phase !== 'done');
}

/** Message in the history that the agent's words of this round go to. */
export function replyEntry(core: Core, reply: ReplyState): number {
  reply.entry ??= addAssistantMessage(core);
  return reply.entry;
}

function request(core: Core, reply: ReplyState): void {
  reply.requestId = core.newId();
  reply.phase = 'thinking';
  reply.pending = '';
  reply.pieces = 0;
  reply.ownUtterance = null;
  reply.wordless = false;
  reply.calls = [];
  reply.entry = null;
  reply.round++;
  core.state.resultsUntold = false;
  armModelDeadline(core, reply);
  armFiller(core);
  requestModel(core, reply.requestId, modelMessages(core), false);
}

export function requestModel(
  core: Core,
  requestId: number,
  messages: readonly ChatMessage[],
  speculative: boolean,
): void {
  const { actions, config } = core;
  const tools = actions.flatMap((action) => (action.isEnabled(config) ? (action.tool(config) ?? []) : []));
  core.emit({ type: 'llm.start', requestId, messages, tools, speculative });
}

/** The model's next piece is waited for. */
export function armModelDeadline(core: Core, reply: ReplyState): void {
  const { llmFirstMs, llmGapMs } = core.config.deadlines;
  core.disarm('llm.first', 'llm.gap');
  if (reply.phase === 'thinking') core.arm('llm.first', core.nowMs + llmFirstMs);
  else core.arm('llm.gap', core.nowMs + llmGapMs);
}

function heardFromModel(core: Core, reply: ReplyState): void {
  reply.phase = 'streaming';
  armModelDeadline(core, reply);
}

/** @param utteranceId where the voice has made it ready */
export function speakPiece(core: Core, reply: ReplyState, piece: string, utteranceId: number | null = null): void {
  reply.pieces++;
  core.disarm('filler');
  speech.say(core, piece, {
    kind: 'reply',
    entry: replyEntry(core, reply),
    ...(utteranceId !== null && { utteranceId }),
  });
}

/** Whether the configuration lets the user interrupt what opens the call. */
export function mayInterruptOpening(core: Core): boolean {
  return core.config.interruption.allowed && core.config.interruption.openingAllowed;
}

function uniqueCallId(core: Core, reply: ReplyState, id: string): string {
  const taken = new Set(reply.calls.map((call) => call.id));
  for (const entry of core.state.history) {
    if (entry.role === 'assistant') for (const { call } of entry.calls) taken.add(call.id);
  }
  return freeCallId(id, taken);
}

/** Some models number the calls of every reply from nought: an id that was there before gets a suffix. */
export function freeCallId(id: string, taken: ReadonlySet<string>): string {
  const base = id === '' ? 'call' : id;
  let free = base;
  for (let count = 2; taken.has(free); count++) free = `${base}-${String(count)}`;
  return free;
}
