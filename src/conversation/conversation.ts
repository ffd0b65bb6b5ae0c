import type { ToolCall } from '../config/chat.js';
import * as speech from './agent-speech.js';
import type { ConversationConfig } from './config.js';
import { Core } from './core.js';
import { END_CALL, goodbyeOf } from './end-call.js';
import { close, closeIfDone, endNow, onClosingDue, sayGoodbye } from './ending.js';
import type { ConversationEffect, ConversationEvent, PlayoutPosition } from './events.js';
import { onFillerDue } from './filler.js';
import { addToolCall, addUserMessage, setToolResult } from './history.js';
import * as inactivity from './inactivity.js';
import * as interruption from './interruption.js';
import { onLineOpened, onOpeningDue } from './opening.js';
import { phrasesFor } from './phrases.js';
import * as replies from './reply.js';
import { type ConversationState, type DeadlineName, initialState, type ReplyState } from './state.js';
import * as toolCalls from './tool-calls.js';
import * as userTurn from './user-turn.js';

const NOT_PLAYING: PlayoutPosition = { utteranceId: null, heardChars: 0 };

/** How long after the last key a row of digits without `#` is over. */
const DIGITS_PAUSE_MS = 2000;
/** Replies, and attempts to speak, that may fail one after another before the agent gives up. */
const MAX_MODEL_FAILURES = 3;
const MAX_VOICE_FAILURES = 3;

/**
 * One spoken conversation as a pure state machine: no I/O, no clock, no chance. Events go in, effects come out, and
 * the same events at the same times give the same effects to the bit. Each behaviour is a small machine with a slice
 * of the state and a file of its own; this class only routes between them.
 */
export class Conversation {
  readonly #core: Core;

  constructor(config: ConversationConfig, state: ConversationState = initialState()) {
    this.#core = new Core(config, state);
  }

  /** The whole state, plain data. Read it; change it only through `step`. */
  get state(): Readonly<ConversationState> {
    return this.#core.state;
  }

  /** When to step with a `time` event if nothing else happens before; undefined once the conversation is over. */
  get nextDeadlineMs(): number | undefined {
    let next: number | undefined;
    for (const atMs of Object.values(this.#core.state.deadlines)) if (next === undefined || atMs < next) next = atMs;
    return next;
  }

  /**
   * Takes one event, then whatever deadlines are due.
   * @param nowMs never less than in the step before
   */
  step(event: ConversationEvent, nowMs: number, position: PlayoutPosition = NOT_PLAYING): ConversationEffect[] {
    const core = this.#core;
    core.nowMs = nowMs;
    core.position = position;
    core.effects = [];
    if (core.state.line === 'closed') return core.effects;
    this.#on(event);
    for (let due = this.#due(); due !== undefined; due = this.#due()) {
      core.disarm(due);
      this.#onDeadline(due);
    }
    this.#settle();
    return core.effects;
  }

  #on(event: ConversationEvent): void {
    const core = this.#core;
    if (core.state.line === 'waiting' && event.type !== 'line.opened' && event.type !== 'line.closed') return;
    switch (event.type) {
      case 'line.opened':
        if (core.state.line !== 'waiting') return;
        core.state.line = 'open';
        core.state.openedMs = core.nowMs;
        core.state.lastActiveMs = core.nowMs;
        core.arm('duration', core.nowMs + core.config.limits.maxDurationMs);
        onLineOpened(core);
        return;
      case 'line.closed':
        close(core, event.error === null ? 'user-ended' : 'error', false);
        return;
      case 'speech.started':
        inactivity.onUserActive(core);
        userTurn.onSpeechStarted(core, event.startMs);
        interruption.onSpeechStarted(core);
        return;
      case 'speech.stopped':
        userTurn.onSpeechStopped(core, event.endMs);
        interruption.onSpeechStopped(core);
        return;
      case 'transcript':
        userTurn.onTranscript(core, event);
        interruption.judge(core);
        return;
      case 'text':
        this.#takeTyped(event.text);
        return;
      case 'digits':
        this.#takeDigits(event.digits);
        return;
      case 'llm.text':
        this.#withReply(event.requestId, (reply) => {
          replies.onText(core, reply, event.text);
        });
        return;
      case 'llm.toolCall':
        this.#withReply(event.requestId, (reply) => {
          replies.onToolCall(core, reply, event.call);
        });
        return;
      case 'llm.done':
        this.#withReply(event.requestId, (reply) => {
          this.#endRound(reply);
        });
        return;
      case 'llm.failed':
        this.#withReply(event.requestId, () => {
          replies.failReply(core, event.reason);
        });
        return;
      case 'tool.result':
        core.trace('tool.result', { callId: event.callId, ok: event.ok });
        toolCalls.onResult(core, event.callId, event.content);
        return;
      case 'utterance.started':
        this.#onUtteranceStarted(event.utteranceId);
        return;
      case 'utterance.finished':
        this.#onUtteranceOver(event.utteranceId, false);
        return;
      case 'utterance.failed':
        core.trace('speech.failed', { utteranceId: event.utteranceId, reason: event.reason });
        this.#onUtteranceFailed(event.utteranceId);
        return;
      case 'ears.failed':
        core.trace('ears.failed', { reason: event.reason });
        endNow(core, 'error', phrasesFor(core.config.language).givingUp);
        return;
      case 'command.say':
        speech.say(core, event.text, { kind: 'prompt' });
        return;
      case 'command.end':
        endNow(core, 'api-ended', null);
        return;
      case 'time':
        return;
    }
  }

  #onDeadline(name: DeadlineName): void {
    const core = this.#core;
    switch (name) {
      case 'turn.end':
      case 'turn.stuck':
        this.#endTurn();
        return;
      case 'interruption':
        interruption.onDeadline(core);
        return;
      case 'opening':
        onOpeningDue(core);
        return;
      case 'filler':
        onFillerDue(core);
        return;
      case 'llm.first':
        replies.failReply(core, 'no first token in time');
        return;
      case 'llm.gap':
        replies.failReply(core, 'the reply stood still');
        return;
      case 'speech.start':
      case 'speech.end': {
        const stalled = speech.onSpeechDeadline(core);
        if (stalled === undefined) return;
        core.emit({ type: 'speak.cancel', utteranceId: stalled.id });
        this.#onUtteranceFailed(stalled.id);
        return;
      }
      case 'tools':
        toolCalls.onToolsDue(core);
        return;
      case 'digits':
        this.#commitDigits();
        return;
      case 'inactivity':
        inactivity.onInactivityDue(core);
        return;
      case 'idle':
        inactivity.onIdleDue(core);
        return;
      case 'duration':
        inactivity.onDurationDue(core);
        return;
      case 'closing':
        onClosingDue(core);
        return;
    }
  }

  /** What follows from the state as it is now, whatever led to it. */
  #settle(): void {
    const core = this.#core;
    if (core.state.line !== 'open') return;
    const { model, voice } = core.state.failures;
    if ((model >= MAX_MODEL_FAILURES || voice >= MAX_VOICE_FAILURES) && core.state.ending === null) {
      core.trace('givingUp', { model, voice });
      endNow(core, 'error', phrasesFor(core.config.language).givingUp);
    }
    closeIfDone(core);
    if (!this.#isSilent()) {
      core.disarm('inactivity', 'idle');
      return;
    }
    core.state.reply = null;
    if (core.state.turn.waiting) this.#endTurn();
    else if (core.state.resultsUntold) {
      replies.startReply(core, { text: '', number: core.state.turn.number, entry: null, interrupts: false });
    } else if (!this.#waits()) inactivity.onSilence(core);
  }

  /** Nobody speaks, and nobody owes an answer. */
  #isSilent(): boolean {
    const core = this.#core;
    return (
      core.state.line === 'open' &&
      core.state.ending === null &&
      core.state.interruption === null &&
      !interruption.agentHasSomethingToSay(core) &&
      (core.state.turn.waiting || !userTurn.isOpen(core)) &&
      core.state.digits === ''
    );
  }

  /** A deadline of the silence is already set. */
  #waits(): boolean {
    const { deadlines } = this.#core.state;
    return ['inactivity', 'idle', 'opening'].some((name) => deadlines[name as DeadlineName] !== undefined);
  }

  #due(): DeadlineName | undefined {
    const { deadlines } = this.#core.state;
    let due: DeadlineName | undefined;
    let dueMs = this.#core.nowMs;
    for (const [name, atMs] of Object.entries(deadlines) as [DeadlineName, number][]) {
      if (atMs < dueMs || (atMs === dueMs && due === undefined)) {
        due = name;
        dueMs = atMs;
      }
    }
    return due;
  }

  #withReply(requestId: number, then: (reply: ReplyState) => void): void {
    const reply = replies.replyTo(this.#core, requestId);
    if (reply !== null) then(reply);
  }

  /** The user's turn is over, as far as can be known: it is answered, kept for later, or was nothing. */
  #endTurn(): void {
    const core = this.#core;
    const { turn } = core.state;
    if (core.state.interruption !== null) return; // its own deadline decides first
    let message = userTurn.turnMessage(core);
    if (message !== null && interruption.agentHasSomethingToSay(core)) {
      const real = interruption.overlapWords(core) === 'real';
      if (real && interruption.mayInterrupt(core)) {
        interruption.confirm(core);
        message = userTurn.turnMessage(core);
      } else if (real && core.config.interruption.keepMessage && core.state.ending === null) {
        turn.waiting = true;
        return;
      } else {
        core.trace('turn.ignored', { text: message });
        userTurn.closeTurn(core);
        return;
      }
    }
    if (message === null || core.state.ending !== null) {
      userTurn.closeTurn(core);
      return;
    }
    this.#answer(message, turn.number, turn.interrupts);
    userTurn.closeTurn(core);
  }

  #answer(message: string, number: number, interrupts: boolean): void {
    const core = this.#core;
    inactivity.onUserActive(core);
    core.disarm('opening');
    core.emit({ type: 'user.said', text: message, turn: number });
    const entry = addUserMessage(core, message);
    replies.startReply(core, { text: message, number, entry, interrupts });
  }

  /** A typed message or keys are a turn at once, and cut off what they may. */
  #takeTyped(text: string): void {
    const core = this.#core;
    const message = text.trim();
    inactivity.onUserActive(core);
    if (message === '' || core.state.ending?.reversible === false) return;
    if (interruption.agentHasSomethingToSay(core)) interruption.confirm(core);
    const spoken = userTurn.turnText(core);
    const number = core.state.turn.number;
    userTurn.closeTurn(core);
    this.#answer(spoken === '' ? message : `${spoken} ${message}`, number, false);
  }

  #takeDigits(digits: string): void {
    const core = this.#core;
    inactivity.onUserActive(core);
    for (const digit of digits) {
      if (digit === '#') this.#commitDigits();
      else core.state.digits += digit;
    }
    if (core.state.digits !== '') {
      core.arm('digits', core.nowMs + DIGITS_PAUSE_MS + core.config.endpointing.numberInputDelayMs);
    }
  }

  #commitDigits(): void {
    const { digits } = this.#core.state;
    this.#core.state.digits = '';
    this.#core.disarm('digits');
    if (digits !== '') this.#takeTyped(digits);
  }

  /** The model has finished a round: its tools run, or the reply is complete. */
  #endRound(reply: ReplyState): void {
    const core = this.#core;
    const saidSomething = replies.finishRound(core, reply);
    if (!saidSomething) {
      replies.failReply(core, 'the model said nothing');
      return;
    }
    core.state.failures.model = 0;
    const isEnd = (call: ToolCall): boolean => core.config.endCall.enabled && call.name === END_CALL;
    const endCall = reply.calls.find(isEnd);
    const calls = reply.calls.filter((call) => !isEnd(call));
    if (calls.length > 0) {
      // A call that would hang up beside others is left out: their results come first, and may change the plan.
      toolCalls.runCalls(core, reply, calls);
      return;
    }
    reply.phase = 'done';
    core.disarm('filler');
    if (endCall === undefined) return;
    const entry = replies.replyEntry(core, reply);
    setToolResult(core, addToolCall(core, entry, endCall), 'The call is being ended.');
    sayGoodbye(core, goodbyeOf(endCall), reply.pieces > 0, entry);
  }

  #onUtteranceStarted(utteranceId: number): void {
    const utterance = speech.onUtteranceStarted(this.#core, utteranceId);
    const { reply } = this.#core.state;
    if (utterance !== undefined && reply !== null && reply.entry === utterance.entry) reply.audible = true;
  }

  #onUtteranceOver(utteranceId: number, failed: boolean): void {
    if (!failed) this.#core.state.failures.voice = 0;
    speech.onUtteranceOver(this.#core, utteranceId, failed);
    toolCalls.onUtteranceOver(this.#core, utteranceId);
  }

  /** The voice failed: what nobody heard must not end in silence. */
  #onUtteranceFailed(utteranceId: number): void {
    const core = this.#core;
    core.state.failures.voice++;
    this.#onUtteranceOver(utteranceId, true);
    const gaveUp = core.state.failures.voice >= MAX_VOICE_FAILURES || core.state.ending !== null;
    if (gaveUp || interruption.agentHasSomethingToSay(core)) return;
    speech.say(core, phrasesFor(core.config.language).fallback, { kind: 'fallback' });
  }
}
