import type { Core } from './core.js';
import type { UtteranceKind } from './events.js';
import { addAssistantMessage, assistantAt, markHeard } from './history.js';
import type { Utterance } from './state.js';

/** The agent's voice: what it says, in which order, and how much of it has been heard. */

export interface SayOptions {
  kind: UtteranceKind;
  /** Message in the history that this belongs to; a new one by default. */
  entry?: number;
  /** Default: what the agent's configuration allows. */
  interruptible?: boolean;
}

/** Has something spoken after everything that is queued. Returns the utterance's id. */
export function say(core: Core, text: string, options: SayOptions): number {
  const id = core.newId();
  const entry = options.entry ?? addAssistantMessage(core);
  assistantAt(core, entry).parts.push({ utteranceId: id, text, heardChars: null });
  const interruptible = options.interruptible ?? core.config.interruption.allowed;
  core.state.speech.queue.push({ id, text, kind: options.kind, interruptible, playing: false, entry });
  core.emit({ type: 'speak', utteranceId: id, text, kind: options.kind });
  core.disarm('inactivity');
  watch(core);
  return id;
}

/** Something is queued or being played. */
export function isSpeaking(core: Core): boolean {
  return core.state.speech.queue.length > 0;
}

/** The utterance that is next or under way. */
export function currentUtterance(core: Core): Utterance | undefined {
  return core.state.speech.queue[0];
}

export function hold(core: Core): void {
  if (core.state.speech.held) return;
  core.state.speech.held = true;
  core.emit({ type: 'playout.hold' });
  watch(core);
}

export function resume(core: Core): void {
  if (!core.state.speech.held) return;
  core.state.speech.held = false;
  core.emit({ type: 'playout.resume' });
  watch(core);
}

/** Drops all that has not been heard and cuts the history to what has. Returns the messages that were cut. */
export function drop(core: Core): void {
  const { queue } = core.state.speech;
  for (const utterance of queue) {
    const heard = utterance.id === core.position.utteranceId ? core.position.heardChars : 0;
    markHeard(core, utterance.entry, utterance.id, heard);
    if (heard < utterance.text.length) assistantAt(core, utterance.entry).interrupted = true;
  }
  queue.length = 0;
  core.state.speech.held = false;
  core.emit({ type: 'playout.drop' });
  watch(core);
}

export function onUtteranceStarted(core: Core, utteranceId: number): Utterance | undefined {
  const utterance = core.state.speech.queue.find((candidate) => candidate.id === utteranceId);
  if (utterance === undefined) return undefined;
  utterance.playing = true;
  watch(core);
  return utterance;
}

/** An utterance is over: heard whole, or (`failed`) never heard. */
export function onUtteranceOver(core: Core, utteranceId: number, failed: boolean): Utterance | undefined {
  const { queue } = core.state.speech;
  const index = queue.findIndex((candidate) => candidate.id === utteranceId);
  const utterance = queue[index];
  if (utterance === undefined) return undefined;
  const heardOfFailed = core.position.utteranceId === utteranceId ? core.position.heardChars : 0;
  markHeard(core, utterance.entry, utteranceId, failed ? heardOfFailed : utterance.text.length);
  queue.splice(index, 1);
  watch(core);
  return utterance;
}

/** Speech that neither begins nor ends in time is given up: playout that stands still must not end in silence. */
export function onSpeechDeadline(core: Core): Utterance | undefined {
  const utterance = currentUtterance(core);
  if (utterance === undefined) return undefined;
  core.trace('speech.stalled', { utteranceId: utterance.id, playing: utterance.playing });
  return utterance;
}

/** Generous length of an utterance's audio, for the deadline on its end only. */
function longestMs(text: string): number {
  return 6000 + text.length * 250;
}

function watch(core: Core): void {
  const utterance = currentUtterance(core);
  core.disarm('speech.start', 'speech.end');
  if (utterance === undefined || core.state.speech.held) return;
  if (utterance.playing) core.arm('speech.end', core.nowMs + longestMs(utterance.text));
  else core.arm('speech.start', core.nowMs + core.config.deadlines.speechStartMs);
}
