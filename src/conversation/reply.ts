import type { ToolCall } from '../config/chat.js';
import * as speech from './agent-speech.js';
import type { Core } from './core.js';
import { endCallTool } from './end-call.js';
import { addAssistantMessage, modelMessages } from './history.js';
import { armFiller } from './filler.js';
import { phrasesFor } from './phrases.js';
import { cutSentences, isSpeakable } from './sentences.js';
import type { ReplyState } from './state.js';

/** The model's answer to a turn: asks, speaks what comes sentence by sentence, and gathers the calls it makes. */

/** Rounds of tools that one turn may take. */
const MAX_ROUNDS = 6;

export interface TurnToAnswer {
  text: string;
  number: number;
  /** Index of the user's message in the history; null where the agent speaks unasked. */
  entry: number | null;
  interrupts: boolean;
}

export function startReply(core: Core, turn: TurnToAnswer): void {
  cancelReply(core);
  core.state.reply = {
    requestId: 0,
    phase: 'thinking',
    pending: '',
    pieces: 0,
    entry: null,
    round: 0,
    turnText: turn.text,
    turnNumber: turn.number,
    userEntry: turn.entry,
    calls: [],
    acted: false,
    audible: false,
    afterInterruption: turn.interrupts,
  };
  request(core, core.state.reply);
  armFiller(core);
}

/** Asks the model again, now that the tools of the last round have answered. Whether it may still be asked. */
export function nextRound(core: Core, reply: ReplyState): boolean {
  if (reply.round >= MAX_ROUNDS) {
    core.trace('reply.tooManyRounds', { rounds: reply.round });
    return false;
  }
  request(core, reply);
  armFiller(core);
  return true;
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

export function onText(core: Core, reply: ReplyState, text: string): void {
  heardFromModel(core, reply);
  reply.pending += text;
  const cut = cutSentences(reply.pending, reply.pieces === 0);
  reply.pending = cut.rest;
  for (const piece of cut.pieces) speakPiece(core, reply, piece);
}

export function onToolCall(core: Core, reply: ReplyState, call: ToolCall): void {
  heardFromModel(core, reply);
  reply.calls.push(call);
}

/** The model has said all of this round: what is left over is spoken. Whether there was anything at all. */
export function finishRound(core: Core, reply: ReplyState): boolean {
  core.disarm('llm.first', 'llm.gap');
  const rest = reply.pending.trim();
  reply.pending = '';
  if (isSpeakable(rest)) speakPiece(core, reply, rest);
  return reply.pieces > 0 || reply.calls.length > 0;
}

/** The model failed, stalled or had nothing to say: the user is told, and told once. */
export function failReply(core: Core, reason: string): void {
  const { reply } = core.state;
  core.trace('reply.failed', { reason });
  const spoke = (reply?.pieces ?? 0) > 0;
  cancelReply(core);
  core.state.failures.model++;
  // A reply that breaks off after some sentences has said something; the user will ask if it was too little.
  if (!spoke) speech.say(core, phrasesFor(core.config.language).fallback, { kind: 'fallback' });
}

/** Message in the history that the agent's words of this turn go to. */
export function replyEntry(core: Core, reply: ReplyState): number {
  reply.entry ??= addAssistantMessage(core);
  return reply.entry;
}

function request(core: Core, reply: ReplyState): void {
  reply.requestId = core.newId();
  reply.phase = 'thinking';
  reply.pending = '';
  reply.pieces = 0;
  reply.calls = [];
  reply.round++;
  if (reply.round > 1) reply.entry = null;
  core.state.resultsUntold = false;
  core.arm('llm.first', core.nowMs + core.config.deadlines.llmFirstMs);
  const tools = core.config.endCall.enabled ? [endCallTool(core.config.endCall)] : [];
  core.emit({ type: 'llm.start', requestId: reply.requestId, messages: modelMessages(core), tools });
}

function heardFromModel(core: Core, reply: ReplyState): void {
  reply.phase = 'streaming';
  core.disarm('llm.first');
  core.arm('llm.gap', core.nowMs + core.config.deadlines.llmGapMs);
}

function speakPiece(core: Core, reply: ReplyState, piece: string): void {
  reply.pieces++;
  core.disarm('filler');
  speech.say(core, piece, { kind: 'reply', entry: replyEntry(core, reply) });
}
