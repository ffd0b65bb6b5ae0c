import * as speech from './reply/agent-speech.js';
import * as commands from './floor/commands.js';
import type { ConversationConfig } from './config.js';
import { Core, NOT_PLAYING } from './core.js';
import * as digits from './floor/user-digits.js';
import { close, endNow, onClosingDue } from './floor/ending.js';
import type { ConversationEffect, ConversationEvent, PlayoutPosition } from './events.js';
import { onAgentHeard, onFillerDue } from './reply/filler.js';
import * as floor from './floor/floor.js';
import * as inactivity from './reply/inactivity.js';
import * as interruption from './floor/interruption.js';
import { onLineOpened, onOpeningDue } from './reply/opening.js';
import { phrasesFor } from './language/phrases.js';
import { isPressing } from './actions/press-digits.js';
import * as replies from './reply/reply.js';
import { endRound } from './reply/tool-round.js';
import { isSpeakable } from './reply/sentences.js';
import * as speculation from './reply/speculation.js';
import { type ConversationState, type DeadlineName, initialState, type ReplyState, type Utterance } from './state.js';
import * as toolCalls from './reply/tool-calls.js';
import { onTransferDue, onTransferResult, onWaitingDue } from './actions/transfer.js';
import * as userTurn from './turn/user-turn.js';
import * as voiceFailure from './reply/voice-failure.js';
import * as voicemail from './voicemail/voicemail.js';

/**
 * One spoken conversation as a pure state machine: no I/O, no clock, no chance. Events go in, effects come out, and
 * the same events at the same times give the same effects to the bit. Each behaviour is a small machine with a slice
 * of the state and a file of its own; this class only routes between them.
 */
export class Conversation {
  readonly #core: Core;

  /** @param state from an earlier conversation's `state`, to go on with it; owned by this one from now on */
  constructor(config: ConversationConfig, state: ConversationState = initialState()) {
    this.#core = new Core(config, state);
  }

  /** The whole state, plain data. Read it; change it only through `step`. */
  get state(): Readonly<ConversationState> {
    return this.#core.state;
  }

  /** When to step with a `time` event if nothing else happens before; undefined while the line is not open. */
  get nextDeadlineMs(): number | undefined {
    const next = this.#core.nextDeadline;
    return next === null ? undefined : (this.#core.state.deadlines[next] ?? undefined);
  }

  /**
   * Takes one event, then whatever deadlines are due. Never throws; events that fit nothing are ignored.
   * @param nowMs milliseconds since the session began; time does not run backwards
   */
  step(event: ConversationEvent, nowMs: number, position: PlayoutPosition = NOT_PLAYING): ConversationEffect[] {
    const core = this.#core;
    core.effects = [];
    if (core.state.line === 'closed') return core.effects;
    if (Number.isFinite(nowMs) && nowMs > core.state.nowMs) core.state.nowMs = nowMs;
    core.position = position;
    this.#on(event);
    for (let due = this.#due(); due !== null; due = this.#due()) {
      core.disarm(due);
      this.#onDeadline(due);
    }
    floor.settle(core);
    return core.effects;
  }

  #on(event: ConversationEvent): void {
    const core = this.#core;
    if (core.state.line === 'waiting' && event.type !== 'line.opened' && event.type !== 'line.closed') return;
    if ('requestId' in event && speculation.take(core, event)) return;
    switch (event.type) {
      case 'line.opened':
        this.#open();
        return;
      case 'line.closed':
        close(core, event.error === null ? 'user-ended' : 'error', false);
        return;
      case 'speech.started':
        userTurn.onSpeechStarted(core, event.startMs);
        voicemail.onSpeechStarted(core, event.startMs);
        interruption.onSpeechStarted(core);
        return;
      case 'speech.stopped':
        userTurn.onSpeechStopped(core, event.endMs);
        voicemail.onSpeechStopped(core, event.endMs);
        interruption.onSpeechStopped(core);
        return;
      case 'turn.judged':
        userTurn.onJudged(core, event.probability);
        return;
      case 'transcript':
        if (voicemail.isLate(core)) return;
        userTurn.onTranscript(core, event);
        voicemail.onTranscript(core, event);
        if (userTurn.segmentsText(core) !== '' && !interruption.isEcho(core)) inactivity.onUserActive(core);
        interruption.judge(core);
        return;
      case 'text':
        floor.takeTyped(core, event.text);
        return;
      case 'digits':
        digits.onDigits(core, event.digits);
        return;
      case 'beep':
        voicemail.onBeep(core);
        return;
      case 'sit':
        voicemail.onSpecialInformationTones(core, event.end);
        return;
      case 'fax':
        voicemail.onFax(core, event.sign);
        return;
      case 'llm.text':
        this.#withReply(event.requestId, (reply) => {
          replies.onText(core, reply, event);
        });
        return;
      case 'llm.voice':
        this.#withReply(event.requestId, (reply) => {
          replies.onVoice(core, reply, event.text);
        });
        return;
      case 'llm.toolCall':
        this.#withReply(event.requestId, (reply) => {
          replies.onToolCall(core, reply, event.call);
        });
        return;
      case 'llm.done':
        this.#withReply(event.requestId, (reply) => {
          endRound(core, reply);
        });
        return;
      case 'llm.failed':
        this.#withReply(event.requestId, (reply) => {
          reply.phase = 'done'; // nothing is left to cancel
          replies.onNoAnswer(core, event.reason);
        });
        return;
      case 'tool.result':
        if (isPressing(core)) inactivity.onAgentSpoke(core, 'reply');
        toolCalls.onResult(core, event.callId, event.ok, event.content);
        interruption.listenAgain(core);
        return;
      case 'transfer.result':
        if (onTransferResult(core, event.callId, event.ok, event.reason)) close(core, 'agent-ended', true);
        interruption.listenAgain(core);
        return;
      case 'utterance.started':
        this.#withUtterance(event.utteranceId, (utterance) => {
          speech.onUtteranceStarted(core, utterance);
        });
        return;
      case 'utterance.finished':
        this.#withUtterance(event.utteranceId, (utterance) => {
          inactivity.onAgentSpoke(core, utterance.kind);
          onAgentHeard(core);
          voicemail.onAgentHeard(core, utterance.kind);
          if (utterance.playing) voiceFailure.onFinished(core, utterance);
          else voiceFailure.onFailed(core, utterance, 'no audio');
          floor.onUtteranceFinished(core);
        });
        return;
      case 'utterance.failed':
        this.#withUtterance(event.utteranceId, (utterance) => {
          voiceFailure.onFailed(core, utterance, event.reason);
        });
        return;
      case 'utterance.starved':
      case 'utterance.fed':
        this.#withUtterance(event.utteranceId, (utterance) => {
          speech.onSupply(core, utterance, event.type === 'utterance.starved');
        });
        return;
      case 'ears.failed':
        core.trace('ears.failed', { reason: event.reason });
        endNow(core, 'error', phrasesFor(core.language).givingUp);
        return;
      case 'command.say':
        if (isSpeakable(event.text)) floor.takeAnnouncement(core, event.text);
        return;
      case 'command.hangUp':
        commands.hangUp(core);
        return;
      case 'command.transfer':
        commands.transfer(core, event.target);
        return;
      case 'language':
        commands.switchTo(core, event.language);
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
        floor.endTurn(core);
        return;
      case 'turn.stuck':
        floor.endTurn(core, true);
        return;
      case 'speculation':
        speculation.onDue(core);
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
        replies.onNoAnswer(core, 'no first token in time');
        return;
      case 'llm.gap':
        replies.failReply(core, 'the reply stood still');
        return;
      case 'speech.start':
      case 'speech.end':
        voiceFailure.onStalled(core);
        return;
      case 'tools':
        toolCalls.onToolsDue(core);
        interruption.listenAgain(core);
        return;
      case 'transfer':
        onTransferDue(core);
        interruption.listenAgain(core);
        return;
      case 'transfer.waiting':
        onWaitingDue(core);
        return;
      case 'voicemail':
        voicemail.onVoicemailDue(core);
        return;
      case 'voicemail.cadence':
        voicemail.onCadenceDue(core);
        return;
      case 'digits':
        digits.commit(core);
        return;
      case 'inactivity':
        inactivity.onInactivityDue(core);
        return;
      case 'idle':
      case 'duration':
        inactivity.onLimitDue(core, name);
        return;
      case 'closing':
        onClosingDue(core);
        return;
    }
  }

  #open(): void {
    const core = this.#core;
    const { state } = core;
    if (state.line !== 'waiting') return;
    state.line = 'open';
    state.lastActiveMs = core.nowMs;
    state.inactivity.sinceMs = core.nowMs;
    core.arm('duration', core.nowMs + core.config.limits.maxDurationMs);
    voicemail.onLineOpened(core);
    onLineOpened(core);
  }

  /** The deadline that has been due for longest. */
  #due(): DeadlineName | null {
    const { state, nextDeadline } = this.#core;
    return nextDeadline !== null && (state.deadlines[nextDeadline] ?? Infinity) <= state.nowMs ? nextDeadline : null;
  }

  #withReply(requestId: number, then: (reply: ReplyState) => void): void {
    const reply = replies.replyTo(this.#core, requestId);
    if (reply !== null) then(reply);
  }

  #withUtterance(utteranceId: number, then: (utterance: Utterance) => void): void {
    const utterance = speech.findUtterance(this.#core, utteranceId);
    if (utterance !== undefined) then(utterance);
  }
}
