import * as speech from '../speech/agent-speech.js';
import type { Core } from '../core.js';
import { phrasesFor } from '../language/phrases.js';
import { mayInterruptOpening, newReply, startReply, type TurnToAnswer } from './reply.js';
import { callTool } from './tool-calls.js';
import { begin, mayBegin, stepsOf } from '../steps/steps.js';
import { OPENING_TURN } from '../state.js';
import { isSpeakable } from '../speech/sentences.js';
import { isOpen } from '../turn/user-turn.js';

/** The start of the conversation: the agent greets, or waits for the user up to a deadline. */

/** The user may be speaking: the end of their turn decides, or it is tried again after this. */
const AGAIN_MS = 500;

export function onLineOpened(core: Core): void {
  const { opening } = core.config;
  if (opening.resumes) resume(core);
  else if (opening.userStarts) core.arm('opening', core.nowMs + opening.userStartTimeoutMs);
  else open(core);
}

/** The end of a sentence, including a quote or bracket after it. */
const SENTENCE_END = /[.!?…。！？।]["'”’»」)\]]*\s*$/u;

/**
 * The call continues after its line broke. A waiting user gets the answer; an agent that was cut off in the middle of a
 * sentence says that it is there; otherwise the user continues.
 */
function resume(core: Core): void {
  const last = core.config.earlier.at(-1);
  core.trace('opening.resumed', { after: last?.role ?? null });
  if (last?.role === 'user' || last?.role === 'tool') {
    startReply(core, { text: '', number: OPENING_TURN, entry: null, interrupts: false });
  } else if (last !== undefined && !SENTENCE_END.test(last.content)) {
    const interruptible = mayInterruptOpening(core);
    speech.say(core, phrasesFor(core.language).stillThereAgain, { kind: 'opening', interruptible });
  }
}

/** The user did not start. */
export function onOpeningDue(core: Core): void {
  if (isOpen(core) || core.state.digits !== '') {
    core.arm('opening', core.nowMs + AGAIN_MS);
    return;
  }
  core.trace('opening.userSilent');
  open(core);
}

function open(core: Core): void {
  const { firstMessage } = core.config.opening;
  if (firstMessage !== null && isSpeakable(firstMessage)) {
    speech.say(core, firstMessage, { kind: 'opening', interruptible: mayInterruptOpening(core) });
    if (mayBegin(core)) startSteps(core, OPENING, firstMessage);
  } else if (mayBegin(core)) startSteps(core, OPENING);
  else startReply(core, OPENING);
}

const OPENING: TurnToAnswer = { text: '', number: OPENING_TURN, entry: null, interrupts: false };

/**
 * Enters the first step of the flow.
 * @param said just before it: a question need not be followed by another one
 */
export function startSteps(core: Core, turn: TurnToAnswer, said = ''): void {
  const before = core.state.speech.queue.length;
  const next = begin(core);
  if (typeof next === 'object') {
    const reply = { ...newReply(turn), requestId: core.newId(), phase: 'done' as const };
    core.state.reply = reply;
    callTool(core, reply, next);
    return;
  }
  // What the user has said first is answered after the phrase.
  const isOwed = turn.entry !== null && stepsOf(core)?.step.end == null;
  const isAsked = /[?？]\s*$/u.test(said) && core.state.speech.queue.length === before;
  if ((next === 'model' || isOwed) && !isAsked) startReply(core, turn);
}
