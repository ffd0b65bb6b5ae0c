import * as speech from './speech/agent-speech.js';
import * as commands from './floor/commands.js';
import { noteListener } from './control/listeners.js';
import { done, refuse, settleSpoken } from './control/outcome.js';
import * as participants from './floor/participants.js';
import * as press from './floor/program-keys.js';
import * as silence from './floor/silence.js';
import * as steering from './floor/steering.js';
import { update, withdrawUpdate } from './reply/update.js';
import type { ConversationConfig } from '../agent/flow/conversation-config.js';
import { Core, NOT_PLAYING } from './core.js';
import * as digits from './floor/user-digits.js';
import { close, endNow, onClosingDue } from './reply/ending.js';
import type { ConversationEffect, ConversationEvent, PlayoutPosition } from './events.js';
import { onAgentHeard, onFillerDue } from './reply/filler.js';
import * as floor from './floor/floor.js';
import * as inactivity from './floor/inactivity.js';
import * as interruption from './floor/interruption.js';
import { onLineOpened, onOpeningDue } from './reply/opening.js';
import { phrasesFor } from './language/phrases.js';
import { ACTIONS } from './actions/actions.js';
import * as handover from './actions/handover.js';
import { setRecording } from './control/recording.js';
import * as replies from './reply/reply.js';
import * as toolCalls from './reply/tool-calls.js';
import { endRound } from './reply/tool-calls.js';
import { isSpeakable } from './speech/sentences.js';
import * as speculation from './reply/speculation.js';
import { type ConversationState, type DeadlineName, initialState, type ReplyState, type Utterance } from './state.js';
import { onTransferDue, onTransferResult, onWaitingDue } from './actions/transfer.js';
import { stepsOf } from './steps/steps.js';
import * as userTurn from './turn/user-turn.js';
import * as voiceFailure from './reply/voice-failure.js';
import * as voicemail from './voicemail/voicemail.js';

/** What each event does. An event without a handler does not compile. */
const ON_EVENT: {
  readonly [Type in ConversationEvent['type']]: (core: Core, event: Extract<ConversationEvent, { type: Type }>) => void;
} = {
  'line.opened': open,
  'line.closed': (core, { error }) => close(core, error === null ? 'user-ended' : 'error', false),
  'speech.started': (core, { startMs }) => {
    userTurn.onSpeechStarted(core, startMs);
    voicemail.onSpeechStarted(core, startMs);
    interruption.onSpeechStarted(core);
  },
  'speech.stopped': (core, { endMs }) => {
    userTurn.onSpeechStopped(core, endMs);
    voicemail.onSpeechStopped(core, endMs);
    interruption.onSpeechStopped(core);
  },
  'turn.judged': (core, { probability }) => userTurn.onJudged(core, probability),
  transcript: (core, transcript) => {
    if (voicemail.isLate(core)) return;
    userTurn.onTranscript(core, transcript);
    voicemail.onTranscript(core, transcript);
    if (userTurn.segmentsText(core) !== '' && !userTurn.isEcho(core)) inactivity.onUserActive(core);
    interruption.judge(core);
  },
  text: (core, { text }) => floor.takeTyped(core, text),
  digits: (core, event) => digits.onDigits(core, event.digits),
  beep: voicemail.onBeep,
  sit: (core, { end }) => voicemail.onSpecialInformationTones(core, end),
  fax: (core, { sign }) => voicemail.onFax(core, sign),
  'llm.text': ofReply((core, reply, said) => replies.onText(core, reply, said)),
  'llm.voice': ofReply((core, reply, { text }) => replies.onVoice(core, reply, text)),
  'llm.toolCall': ofReply((core, reply, { call }) => replies.onToolCall(core, reply, call)),
  'llm.done': ofReply(endRound),
  'llm.failed': ofReply((core, reply, { reason }) => {
    reply.phase = 'done'; // there is nothing to cancel any more
    replies.onNoAnswer(core, reason);
  }),
  'tool.result': (core, { callId, ok, content }) => {
    if (press.onPressed(core, callId, ok, content)) return;
    if (core.isLineTaken) inactivity.onAgentSpoke(core, 'reply');
    toolCalls.onResult(core, callId, ok, content);
    interruption.listenAgain(core);
  },
  'tool.progress': (core, { callId, text }) => {
    if (isSpeakable(text) && !toolCalls.onProgress(core, callId, text))
      steering.say(core, { type: 'command.say', text });
  },
  'transfer.result': (core, { callId, ok, reason }) => {
    if (onTransferResult(core, callId, ok, reason)) close(core, 'agent-ended', true);
    interruption.listenAgain(core);
  },
  'handover.ready': (core, { callId, agent, config, summary, variables }) => {
    handover.onHandoverReady(core, callId, { agent, config, summary, variables });
    interruption.listenAgain(core);
  },
  'handover.failed': (core, { callId, reason }) => {
    handover.onHandoverFailed(core, callId, reason);
    interruption.listenAgain(core);
  },
  'utterance.started': ofUtterance(speech.onUtteranceStarted),
  'utterance.finished': ofUtterance((core, utterance) => {
    inactivity.onAgentSpoke(core, utterance.kind);
    onAgentHeard(core);
    voicemail.onAgentHeard(core, utterance.kind);
    if (utterance.playing) voiceFailure.onFinished(core, utterance);
    else voiceFailure.onFailed(core, utterance, 'no audio');
    floor.onUtteranceFinished(core);
  }),
  'utterance.failed': ofUtterance((core, utterance, { reason }) => voiceFailure.onFailed(core, utterance, reason)),
  'utterance.starved': ofUtterance((core, utterance) => speech.onSupply(core, utterance, true)),
  'utterance.fed': ofUtterance((core, utterance) => speech.onSupply(core, utterance, false)),
  'ears.failed': (core, { reason }) => {
    core.trace('ears.failed', { reason });
    endNow(core, 'error', phrasesFor(core.language).givingUp);
  },
  'command.say': steering.say,
  'command.generate': steering.generate,
  'command.interrupt': steering.interrupt,
  'command.add': steering.add,
  'command.update': update,
  'command.mute': silence.mute,
  'command.hold': silence.hold,
  'command.unhold': silence.unhold,
  'command.transfer': commands.transfer,
  'command.handover': handover.handOverByCommand,
  'command.press': press.press,
  'command.record': (core, { id, on }) => {
    setRecording(core, on);
    done(core, id);
  },
  'command.listen': (core, { id, type: _type, ...listener }) => {
    core.trace('listener', listener);
    noteListener(core.state.listeners, { ...listener, nowMs: core.nowMs });
    done(core, id);
  },
  'command.join': participants.join,
  'command.participant': participants.change,
  'command.leave': participants.leave,
  'participant.speaking': participants.onSpeaking,
  'participant.said': participants.onSaid,
  'command.withdraw': (core, { id }) => {
    steering.withdrawSpeech(core, id);
    commands.withdraw(core, id);
    press.withdrawPress(core, id);
    withdrawUpdate(core, id);
    handover.withdrawHandover(core, id);
  },
  'command.hangUp': commands.hangUp,
  'command.end': (core, { message }) => endNow(core, 'api-ended', message ?? null),
  language: (core, { language }) => commands.switchTo(core, language),
  time: () => undefined,
};

const ON_DEADLINE: Readonly<Record<DeadlineName, (core: Core) => void>> = {
  'turn.end': (core) => floor.endTurn(core),
  'turn.stuck': (core) => floor.endTurn(core, true),
  speculation: speculation.onDue,
  interruption: interruption.onDeadline,
  opening: onOpeningDue,
  filler: onFillerDue,
  'llm.first': (core) => replies.onNoAnswer(core, 'no first token in time'),
  'llm.gap': (core) => replies.failReply(core, 'the reply stood still'),
  'speech.start': voiceFailure.onStalled,
  'speech.end': voiceFailure.onStalled,
  tools: (core) => {
    toolCalls.onToolsDue(core);
    interruption.listenAgain(core);
  },
  transfer: (core) => {
    onTransferDue(core);
    interruption.listenAgain(core);
  },
  'transfer.waiting': onWaitingDue,
  handover: (core) => {
    handover.onHandoverDue(core);
    interruption.listenAgain(core);
  },
  voicemail: voicemail.onVoicemailDue,
  'voicemail.cadence': voicemail.onCadenceDue,
  digits: digits.commit,
  inactivity: inactivity.onInactivityDue,
  idle: (core) => inactivity.onLimitDue(core, 'idle'),
  duration: (core) => inactivity.onLimitDue(core, 'duration'),
  closing: onClosingDue,
  hold: silence.onHoldDue,
  press: press.onPressDue,
  recording: (core) => setRecording(core, true),
  participant: participants.onSpeakingDue,
};

/**
 * One spoken conversation as a pure state machine: no I/O, no clock, no randomness. It turns events into effects; the
 * same events at the same times give exactly the same effects. Each behaviour is a small machine with its own file and
 * its own slice of the state; this file only routes between them.
 */
export class Conversation {
  readonly #core: Core;

  /** @param state of an earlier conversation, to continue it; this conversation then owns it */
  constructor(config: ConversationConfig, state: ConversationState = initialState()) {
    this.#core = new Core(config, state, ACTIONS);
  }

  /** The whole state as plain data. Read-only: `step` changes it. */
  get state(): Readonly<ConversationState> {
    return this.#core.state;
  }

  /** The system prompt now. */
  get systemPrompt(): string {
    return this.#core.config.systemPrompt;
  }

  /** Whether the user is asked for the number of a card now. */
  get asksForCard(): boolean {
    return stepsOf(this.#core)?.asksForCard === true;
  }

  /** When to step with a `time` event if nothing else happens before; undefined while the line is not open. */
  get nextDeadlineMs(): number | undefined {
    const next = this.#core.nextDeadline;
    return next === null ? undefined : (this.#core.state.deadlines[next] ?? undefined);
  }

  /**
   * Handles one event, then all due deadlines. Never throws; ignores events that do not fit.
   * @param nowMs milliseconds since the session began; must not decrease
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
      ON_DEADLINE[due](core);
    }
    floor.settle(core);
    settleSpoken(core);
    return core.effects;
  }

  #on(event: ConversationEvent): void {
    const core = this.#core;
    if (core.state.line === 'waiting' && event.type !== 'line.opened' && event.type !== 'line.closed') {
      if ('id' in event && event.type !== 'command.withdraw') refuse(core, event.id, 'notStarted');
      return;
    }
    if ('requestId' in event && speculation.take(core, event)) return;
    (ON_EVENT[event.type] as (core: Core, event: ConversationEvent) => void)(core, event);
  }

  /** The deadline that is due for the longest time. */
  #due(): DeadlineName | null {
    const { state, nextDeadline } = this.#core;
    return nextDeadline !== null && (state.deadlines[nextDeadline] ?? Infinity) <= state.nowMs ? nextDeadline : null;
  }
}

function open(core: Core): void {
  const { state } = core;
  if (state.line !== 'waiting') return;
  state.line = 'open';
  state.lastActiveMs = core.nowMs;
  state.inactivity.sinceMs = core.nowMs;
  core.arm('duration', core.nowMs + core.config.limits.maxDurationMs);
  voicemail.onLineOpened(core);
  onLineOpened(core);
}

/** Handles an event of the current reply's request; ignores those of others, which are late. */
function ofReply<Event extends { requestId: number }>(
  handle: (core: Core, reply: ReplyState, event: Event) => void,
): (core: Core, event: Event) => void {
  return (core, event) => {
    const reply = replies.replyTo(core, event.requestId);
    if (reply !== null) handle(core, reply, event);
  };
}

/** Handles an event of a queued or playing utterance. */
function ofUtterance<Event extends { utteranceId: number }>(
  handle: (core: Core, utterance: Utterance, event: Event) => void,
): (core: Core, event: Event) => void {
  return (core, event) => {
    const utterance = speech.findUtterance(core, event.utteranceId);
    if (utterance !== undefined) handle(core, utterance, event);
  };
}
