import type {
  CommandOf,
  CommandRefusal,
  ParticipantMode,
  ParticipantRecord,
  ParticipantState,
} from '../control/command.js';
import { done, refuse } from '../control/outcome.js';
import { releaseHold } from '../control/release-hold.js';
import type { Core } from '../core.js';
import type { ConversationEvent } from '../events.js';
import { phrasesFor } from '../language/phrases.js';
import { addParticipantMessage, isUnanswered } from '../speech/history.js';
import { isSpeakable } from '../speech/sentences.js';
import { onAgentSpoke, onUserActive } from './inactivity.js';
import { mayInterrupt } from './interruption.js';
import { fallSilent } from './silence.js';
import { owesReply, stopSpeaking, whyNotStop } from './steering.js';

/** People who join the user and the agent: what becomes of their words, and who speaks with the user. */

/** Participants in the call at once. */
export const MAX_PARTICIPANTS = 5;
/** Somebody whose words do not end counts as silent after this. */
const LONGEST_SPEECH_MS = 30_000;

export function join(core: Core, { id, participant }: CommandOf<'command.join'>): void {
  const { participants, ending } = core.state;
  const isKnown = participants.some((one) => one.id === participant.id);
  const isFull = participants.filter(isPresent).length >= MAX_PARTICIPANTS;
  const why =
    ending?.reversible === false ? 'ending' : isKnown || isFull ? 'full' : whyNotTakeOver(core, participant.mode);
  if (why !== null) {
    refuse(core, id, why);
    return;
  }
  const state = { held: false, music: true, muted: false, speaking: false, fromMs: core.nowMs, toMs: null, left: null };
  if (participant.mode === 'take_over' && !core.isTakenOver) giveWay(core);
  participants.push({ ...participant, ...state, modes: [{ mode: participant.mode, fromMs: core.nowMs }] });
  report(core, participant.id);
  done(core, id);
}

export function change(core: Core, command: CommandOf<'command.participant'>): void {
  const { id, type: _type, participant: of, ...changes } = command;
  const participant = find(core, of);
  if (participant === undefined) {
    refuse(core, id, 'unknownParticipant');
    return;
  }
  const wasTakenOver = core.isTakenOver;
  const { mode = participant.mode, held = participant.held } = changes;
  const takesOver = mode === 'take_over' && !held && !wasTakenOver;
  const why = takesOver ? whyNotTakeOver(core, mode) : null;
  if (why !== null) {
    refuse(core, id, why);
    return;
  }
  if (takesOver) giveWay(core);
  if (mode !== participant.mode) participant.modes.push({ mode, fromMs: core.nowMs });
  Object.assign(participant, changes);
  if (mode === 'listen' || participant.held || participant.muted) participant.speaking = false;
  watch(core);
  report(core, of);
  if (wasTakenOver && !core.isTakenOver) handBack(core);
  done(core, id);
}

export function leave(core: Core, { id, participant: of, reason }: CommandOf<'command.leave'>): void {
  const participant = find(core, of);
  if (participant === undefined) {
    refuse(core, id, 'unknownParticipant');
    return;
  }
  const wasTakenOver = core.isTakenOver;
  Object.assign(participant, { speaking: false, toMs: core.nowMs, left: reason });
  watch(core);
  report(core, of);
  if (wasTakenOver && !core.isTakenOver) {
    if (reason === 'lost') comeBack(core);
    handBack(core);
  }
  done(core, id);
}

/** Words of somebody whom the user hears stop the agent, as the user's do. */
export function onSpeaking(
  core: Core,
  { participant: of, on }: Extract<ConversationEvent, { type: 'participant.speaking' }>,
): void {
  const participant = find(core, of);
  if (participant === undefined || participant.held || participant.muted || participant.mode === 'listen') return;
  participant.speaking = on;
  watch(core);
  if (!on || !core.isTalkedOver || !mayInterrupt(core) || whyNotStop(core) !== null) return;
  if (owesReply(core)) core.state.hasUnreportedResults = true;
  stopSpeaking(core);
}

export function onSaid(
  core: Core,
  { participant: of, text }: Extract<ConversationEvent, { type: 'participant.said' }>,
): void {
  const participant = find(core, of);
  if (participant === undefined || !isSpeakable(text)) return;
  const { mode, name, whisperTo, held, muted } = participant;
  if (mode === 'listen' || held || muted || (mode === 'whisper' && whisperTo !== null)) return;
  const whispered = mode === 'whisper';
  addParticipantMessage(core, name, text.trim(), whispered);
  core.emit({ type: 'participant.words', participant: of, name, text: text.trim(), whispered });
  if (!whispered) onAgentSpoke(core, 'reply'); // silence counts from here
}

export function onSpeakingDue(core: Core): void {
  core.trace('participant.stuck');
  for (const participant of core.state.participants) participant.speaking = false;
}

/** Talk over the agent has a deadline. */
function watch(core: Core): void {
  if (!core.isTalkedOver) core.disarm('participant');
  else if (core.state.deadlines.participant === null) core.arm('participant', core.nowMs + LONGEST_SPEECH_MS);
}

function isPresent({ toMs }: ParticipantState): boolean {
  return toMs === null;
}

function find(core: Core, id: string): ParticipantRecord | undefined {
  return core.state.participants.find((one) => one.id === id && isPresent(one));
}

function report(core: Core, id: string): void {
  const found = core.state.participants.find((one) => one.id === id);
  if (found === undefined) return;
  const { modes: _modes, ...participant } = found;
  core.emit({ type: 'line.participant', participant });
}

function whyNotTakeOver(core: Core, mode: ParticipantMode): CommandRefusal | null {
  return mode === 'take_over' ? whyNotStop(core) : null;
}

/** The agent leaves the user to somebody else. */
function giveWay(core: Core): void {
  fallSilent(core, 'a participant took over');
}

/** The agent goes on: it answers what the user has said last, if nobody has. */
function handBack(core: Core): void {
  onUserActive(core); // silence counts from here
  if (isUnanswered(core)) core.state.hasUnreportedResults = true;
}

/** Who spoke with the user is gone: the agent says that it is there. */
function comeBack(core: Core): void {
  if (core.state.muted.agent || core.state.ending?.reversible === false) return;
  releaseHold(core);
  core.state.toSay.push({ id: null, text: phrasesFor(core.language).backAgain, whole: false, answers: true });
}
