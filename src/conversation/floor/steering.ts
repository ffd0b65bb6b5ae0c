import type { Core } from '../core.js';
import { reopen } from '../reply/ending.js';
import { onAgentSpoke } from './inactivity.js';
import { agentHasSomethingToSay, cancelReply, startReply } from '../reply/reply.js';
import { abandonWaiting, onUtteranceOver } from '../reply/tool-calls.js';
import * as speech from '../speech/agent-speech.js';
import { addMessage, assistantAt, isUnanswered } from '../speech/history.js';
import { isSpeakable } from '../speech/sentences.js';
import type { Utterance } from '../state.js';
import { isOpen } from '../turn/user-turn.js';
import { isMailbox } from '../voicemail/voicemail.js';
import type { CommandOf, CommandRefusal, SpeechTime } from '../control/command.js';
import { done, open, refuse } from '../control/outcome.js';

/** What a program has the agent say, and how it stops it. */

export function say(core: Core, { id, text, when = 'next', interruptible = true }: CommandOf<'command.say'>): void {
  const isNoted = id !== undefined;
  const why = isSpeakable(text) ? whyNotSpeak(core, isNoted, when) : 'unspeakable';
  if (why !== null) {
    if (isNoted) refuse(core, id, why);
    return;
  }
  makeRoom(core, when);
  open(core, id, 'say');
  core.state.toSay.push({ id: id ?? null, text, whole: !interruptible });
}

export function generate(core: Core, command: CommandOf<'command.generate'>): void {
  const { id, instructions, when = 'next', tools = null } = command;
  const why = whyNotSpeak(core, true, when);
  if (why !== null) {
    refuse(core, id, why);
    return;
  }
  makeRoom(core, when);
  open(core, id, 'generate');
  core.state.toSay.push({ id: id ?? null, instructions, tools });
}

/** Stops the agent at once. What was said counts as far as it was heard. */
export function interrupt(core: Core, { id }: CommandOf<'command.interrupt'>): void {
  const why = whyNotStop(core);
  if (why === null) done(core, id, { stopped: stopSpeaking(core) });
  else refuse(core, id, why);
}

export function add(core: Core, { id, role, content }: CommandOf<'command.add'>): void {
  if (content.trim() === '') {
    refuse(core, id, 'unspeakable');
    return;
  }
  addMessage(core, role, content);
  done(core, id);
}

/** Says what programs want said, in their order: unless the user has the floor, and a reply only after all else. */
export function announce(core: Core): void {
  const { toSay, ending, hold } = core.state;
  if (toSay.length === 0 || isOpen(core) || ending?.reversible === false) return;
  if (core.isLineTaken || isMailbox(core) || hold !== null || core.isSilenced || core.isTalkedOver) return;
  for (let next = toSay[0]; next !== undefined; next = toSay[0]) {
    if ('text' in next) {
      const { id, text, whole, answers = false } = next;
      const own = whole ? { interruptible: false, whole } : {};
      toSay.shift();
      if (answers && core.state.hasUnreportedResults) {
        startReply(core, { text: '', number: core.state.turn.number, entry: null, interrupts: false });
      }
      speech.say(core, text, Object.assign({ kind: 'announcement', command: id } as const, own));
      continue;
    }
    if (agentHasSomethingToSay(core) || core.state.interruption !== null) return;
    toSay.shift();
    const command = core.state.commands.find(({ id }) => id === next?.id);
    if (command !== undefined) command.isBegun = true;
    core.disarm('opening');
    startReply(core, { text: '', number: core.state.turn.number, entry: null, interrupts: false, asked: next });
  }
}

/** A command is not wanted any more: takes back what was not heard of it. */
export function withdrawSpeech(core: Core, id: number): void {
  const { state } = core;
  const waits = state.toSay.some((one) => one.id === id);
  state.toSay = state.toSay.filter((one) => one.id !== id);
  if (state.reply?.asked?.id === id) {
    cancelReply(core);
    // It had taken the place of an answer.
    if (isUnanswered(core)) state.hasUnreportedResults = true;
  }
  const parts = state.commands.find((command) => command.id === id)?.parts ?? [];
  const spoken = new Set(parts.map(({ utteranceId }) => utteranceId));
  cancelUtterances(
    core,
    state.speech.queue.filter((utterance) => spoken.has(utterance.id) && !isWhole(core, utterance)),
  );
  if (waits) refuse(core, id, 'withdrawn');
}

/** The agent falls silent. @returns whether it had something to say */
export function stopSpeaking(core: Core): boolean {
  const { reply } = core.state;
  if (!agentHasSomethingToSay(core)) return false;
  if (reply !== null && reply.entry !== null && reply.phase !== 'done') {
    assistantAt(core, reply.entry).interrupted = true;
  }
  core.trace('stopped');
  const said = speech.currentUtterance(core);
  if (said?.playing === true) onAgentSpoke(core, said.kind);
  core.state.interruption = null;
  core.disarm('interruption');
  if (core.state.commanded?.target === null) core.state.commanded = null;
  Object.assign(core.state.failures, { unheard: false, again: null });
  reopen(core);
  speech.drop(core);
  cancelReply(core);
  abandonWaiting(core);
  return true;
}

/** The model is answering the user. */
export function owesReply({ state: { reply } }: Core): boolean {
  return reply !== null && reply.asked === null && (reply.phase === 'thinking' || reply.phase === 'streaming');
}

/** Why the agent may not be stopped now; null = it may. */
export function whyNotStop(core: Core): CommandRefusal | null {
  const { ending, transfer, voicemail, speech: voice } = core.state;
  if (ending?.reversible === false) return 'ending';
  if (transfer !== null) return 'transferring';
  if (voicemail?.phase === 'greeting' || voicemail?.phase === 'message') return 'machine';
  if (core.isLineTaken) return 'pressing';
  return voice.queue.some((utterance) => isWhole(core, utterance)) ? 'protected' : null;
}

/** Agents whose greeting may not be interrupted say it whole. */
function isWhole(core: Core, { whole, kind }: Utterance): boolean {
  return whole || (kind === 'opening' && !core.config.interruption.openingAllowed);
}

function whyNotSpeak(core: Core, isNoted: boolean, when: SpeechTime): CommandRefusal | null {
  const { ending, hold, muted, transfer } = core.state;
  if (ending?.reversible === false) return 'ending';
  if (hold !== null) return 'held';
  if (muted.agent) return 'muted';
  if (core.isTakenOver) return 'takenOver';
  if (when !== 'next') return whyNotStop(core);
  return isNoted && transfer !== null ? 'transferring' : null;
}

/** Drops what the agent is about to say, with the sentence that it is saying or after it. */
function makeRoom(core: Core, when: SpeechTime): void {
  if (when === 'next') return;
  const [playing, ...rest] = core.state.speech.queue;
  if (when === 'now' || playing?.playing !== true) {
    stopSpeaking(core);
    return;
  }
  reopen(core);
  cancelReply(core);
  cancelUtterances(core, rest);
  abandonWaiting(core);
}

function cancelUtterances(core: Core, utterances: readonly Utterance[]): void {
  for (const { playing, kind } of utterances) if (playing) onAgentSpoke(core, kind);
  speech.cancel(core, utterances);
  for (const { id } of utterances) onUtteranceOver(core, id);
}
