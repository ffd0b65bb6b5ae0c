import type { ChatMessage, ToolCall } from '../../agent/chat.js';
import * as speech from '../speech/agent-speech.js';
import type { Core } from '../core.js';
import type { ConversationEffect, ConversationEvent } from '../events.js';
import { refuse } from '../control/outcome.js';
import { becomeNextAgent } from './next-agent.js';
import { applyUpdates } from './update.js';
import { armFiller } from './filler.js';
import { allowedTools, stepsOf } from '../steps/steps.js';
import { addAssistantMessage, isUnanswered, modelMessages } from '../speech/history.js';
import { phrasesFor } from '../language/phrases.js';
import { type Cut, cutSentences, isSpeakable } from '../speech/sentences.js';
import { type AskedReply, OPENING_TURN, type ReplyState } from '../state.js';

/**
 * The model's answer to a turn: sends the request, speaks the answer sentence by sentence, and collects its tool calls.
 */

/** Maximum rounds of tools in one turn. */
export const MAX_ROUNDS = 6;
/** Consecutive failed replies before the agent gives up. */
export const MAX_MODEL_FAILURES = 3;

/** A piece of the model's text, see the event. */
export type ModelText = Pick<Extract<ConversationEvent, { type: 'llm.text' }>, 'text' | 'flush' | 'pauseMs'>;

export interface TurnToAnswer {
  text: string;
  number: number;
  /** Index of the user's message in the history; null if the agent speaks without one. */
  entry: number | null;
  interrupts: boolean;
  /** A program asks for it. Default: nobody does. */
  asked?: AskedReply;
}

export function startReply(core: Core, turn: TurnToAnswer): void {
  cancelReply(core);
  becomeNextAgent(core);
  applyUpdates(core);
  core.state.reply = newReply(turn);
  request(core, core.state.reply);
}

/** A reply without a request yet. */
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
    asked: turn.asked ?? null,
  };
}

/** Asks the model again after all tools of the last round have results. */
export function nextRound(core: Core, reply: ReplyState): void {
  if (reply.round < MAX_ROUNDS) {
    request(core, reply);
    return;
  }
  core.state.hasUnreportedResults = false; // they would only start the same request again
  failReply(core, 'too many rounds of tools');
}

/** Cancels the model's answer. What was said and done stays. */
export function cancelReply(core: Core): void {
  const { reply } = core.state;
  if (reply === null) return;
  if (reply.phase === 'thinking' || reply.phase === 'streaming') {
    core.emit({ type: 'llm.cancel', requestId: reply.requestId });
  }
  core.disarm('llm.first', 'llm.gap', 'filler');
  core.state.reply = null;
}

/** The current reply, if the request belongs to it. */
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

/** Speech to speech: everything that the model says in a round is one utterance, whose words arrive while it plays. */
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

/** The complete pieces. A flush or a pause ends a piece anywhere in the text. */
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

/** The model has finished this round: speaks the remaining text. */
export function finishRound(core: Core, reply: ReplyState): void {
  core.disarm('llm.first', 'llm.gap');
  const rest = reply.pending.trim();
  reply.phase = 'done';
  reply.pending = '';
  if (isSpeakable(rest)) speakPiece(core, reply, rest);
}

/**
 * The model failed or stalled. If it was asked before the words were known, models that need words have not been asked
 * yet.
 */
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

/** The model failed, stalled or said nothing: the agent says so, once. */
export function failReply(core: Core, reason: string): void {
  const { reply, failures } = core.state;
  core.trace('reply.failed', { reason });
  // A reply that breaks off after some sentences has said something; the user asks again if needed, unless the agent
  // asked them to wait.
  const spoke = reply !== null && reply.pieces > 0 && !isBridged(core, reply);
  const opening = reply?.turnNumber === OPENING_TURN;
  cancelReply(core);
  failures.model++;
  if (reply?.asked != null && !spoke) refuse(core, reply.asked.id, 'failed', reason);
  // Nobody waits for what a program has asked for, unless the user has heard no answer yet.
  const isUnasked = reply?.asked != null && !isUnanswered(core);
  if (spoke || isUnasked || failures.model >= MAX_MODEL_FAILURES) return;
  const { greeting, fallback } = phrasesFor(core.language);
  const answer = reply === null ? null : screeningAnswer(core, reply.turnText);
  if (opening) speech.say(core, greeting, { kind: 'fallback', interruptible: mayInterruptOpening(core) });
  else speech.say(core, answer ?? fallback, { kind: 'fallback' });
}

/** The agent has just asked the user to wait for the rest. */
function isBridged(core: Core, { turnNumber }: ReplyState): boolean {
  const { lastMs, turn } = core.state.filler;
  return lastMs !== null && turn === turnNumber && lastMs >= core.nowMs - core.config.deadlines.llmGapMs;
}

/** The agent is speaking, or owes the user an answer or a connection. */
export function agentHasSomethingToSay(core: Core): boolean {
  const { reply } = core.state;
  return speech.isSpeaking(core) || core.state.transfer !== null || (reply !== null && reply.phase !== 'done');
}

/** The message in the history for the agent's words of this round. */
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
  core.state.hasUnreportedResults = false;
  armModelDeadline(core, reply);
  armFiller(core);
  const { requestId, asked } = reply;
  if (asked === null) requestModel(core, requestId, modelMessages(core), { speculative: false });
  else {
    const instructions = { role: 'system', content: asked.instructions } as const;
    const only = asked.tools ?? undefined;
    requestModel(core, requestId, [...modelMessages(core), instructions], { speculative: false, only });
  }
}

export function requestModel(
  core: Core,
  requestId: number,
  messages: readonly ChatMessage[],
  { speculative, only }: { speculative: boolean; only?: readonly string[] | undefined },
): void {
  const { actions, config, state } = core;
  const all = actions.flatMap((action) => (action.isEnabled(config, state) ? (action.tool(config, core) ?? []) : []));
  const allowed = allowedTools(core, only);
  const tools = allowed === null ? all : all.filter(({ name }) => allowed.includes(name));
  const effect: Extract<ConversationEffect, { type: 'llm.start' }> = {
    type: 'llm.start',
    requestId,
    messages,
    tools,
    speculative,
  };
  if (allowed !== null) effect.only = allowed;
  const steps = stepsOf(core);
  if (steps !== null) effect.step = steps.view();
  core.emit(effect);
}

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

/** @param utteranceId of the prepared utterance */
export function speakPiece(core: Core, reply: ReplyState, piece: string, utteranceId: number | null = null): void {
  reply.pieces++;
  core.disarm('filler');
  speech.say(core, piece, {
    kind: 'reply',
    entry: replyEntry(core, reply),
    utteranceId: utteranceId ?? undefined,
  });
}

/** Whether the configuration lets the user interrupt the opening. */
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

/** Some models number the calls of every reply from 0: an id that is already used gets a suffix. */
export function freeCallId(id: string, taken: ReadonlySet<string>): string {
  const base = id === '' ? 'call' : id;
  let free = base;
  for (let count = 2; taken.has(free); count++) free = `${base}-${String(count)}`;
  return free;
}

/** The question of a call screener, as the model gets it. */

const NOTE = '[An automatic call screening, not the person you are calling, says:]';

export function screeningTurn(message: string): string {
  return message.startsWith(NOTE) ? message : `${NOTE} ${message}`;
}

/** The answer to a screener's question if the model has none; null = the turn is not one. */
export function screeningAnswer(core: Core, turnText: string): string | null {
  if (!turnText.startsWith(NOTE)) return null;
  const { firstMessage } = core.config.opening;
  return firstMessage !== null && isSpeakable(firstMessage) ? firstMessage : phrasesFor(core.language).screened;
}
