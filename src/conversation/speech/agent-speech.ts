import { expectedAnswer } from '../../agent/expected-answer.js';
import { baseLanguage } from '../../base/language.js';
import { withoutMarkup } from '../../base/speech-markup.js';
import type { Core } from '../core.js';
import { noteSpoken } from '../control/outcome.js';
import type { UtteranceKind } from '../events.js';
import { addAssistantMessage, assistantAt, lastSpoken, markHeard } from './history.js';
import { OPENING_TURN, type Utterance } from '../state.js';

/** The agent's speech: the utterances, their order, and how much of them was heard. */

/** Number of characters of past speech to keep. */
const SAID_CHARS = 600;
/** A longer pause would seem like a lost line. */
const MAX_PAUSE_MS = 10_000;

export interface UtteranceOptions {
  kind: UtteranceKind;
  /** The id under which it was prepared. */
  utteranceId?: number | undefined;
  /** Its message in the history; default: a new one. */
  entry?: number;
  /** Default: the agent's configuration, which covers the opening with its fillers and tool phrases. */
  interruptible?: boolean;
  /** The voice failed to speak it the first time. */
  again?: boolean;
  /** The model speaks it itself, with this request. */
  requestId?: number;
  /** Nothing may cut it off, no program either. Default false. */
  whole?: boolean;
  /** The program's command that it belongs to. Default: that of the reply. */
  command?: number | null;
}

/** What the voice is told besides the text: its mark-up, if it has any. */
export function markedPart(marked: string): { text: string; marked?: string } {
  const text = withoutMarkup(marked);
  return text === marked ? { text } : { text, marked };
}

/** Queues a text, which may have speech mark-up, after all others. Returns the utterance's id. */
export function say(core: Core, given: string, options: UtteranceOptions): number {
  const { queue } = core.state.speech;
  const part = markedPart(given);
  const { text } = part;
  const id = options.utteranceId ?? core.newId();
  const entry = options.entry ?? addAssistantMessage(core);
  assistantAt(core, entry).parts.push({ utteranceId: id, text, heardChars: null });
  const { allowed, openingAllowed } = core.config.interruption;
  const isOpening = core.state.reply?.turnNumber === OPENING_TURN;
  const interruptible = options.interruptible ?? (allowed && (openingAllowed || !isOpening));
  const { kind, again = false, requestId, whole = false } = options;
  const own = requestId !== undefined;
  queue.push({ id, ...part, kind, interruptible, playing: false, pauseMs: 0, entry, again, own, whole });
  const command = kind === 'announcement' ? options.command : core.state.reply?.asked?.id;
  if (command != null && kind !== 'filler') noteSpoken(core, command, entry, id);
  core.emit(
    own ? { type: 'speak', utteranceId: id, text, kind, requestId } : { type: 'speak', utteranceId: id, ...part, kind },
  );
  if (queue.length === 1) watch(core);
  return id;
}

/** More words of the model's own speech: queued, playing, or already played. */
export function sayMore(core: Core, entry: number, utteranceId: number, text: string): void {
  const part = assistantAt(core, entry).parts.find((candidate) => candidate.utteranceId === utteranceId);
  const utterance = findUtterance(core, utteranceId);
  if (part === undefined || text === '') return;
  // It was cut off: the rest was not heard.
  if (utterance === undefined && part.heardChars !== part.text.length) return;
  part.text += text;
  core.emit({ type: 'speak.more', utteranceId, text });
  if (utterance === undefined) {
    part.heardChars = part.text.length;
    noteSaid(core, text.trim());
    return;
  }
  utterance.text += text;
  if (utterance === currentUtterance(core)) watch(core);
}

/** Adds a pause after the last queued utterance, as the model wants. */
export function pauseAfterLast(core: Core, pauseMs: number): void {
  const last = core.state.speech.queue.at(-1);
  if (last === undefined || !Number.isFinite(pauseMs)) return;
  last.pauseMs = Math.min(pauseMs, MAX_PAUSE_MS);
  core.emit({ type: 'speak.pause', utteranceId: last.id, pauseMs: last.pauseMs });
}

/** An utterance is queued or playing. */
export function isSpeaking(core: Core): boolean {
  return core.state.speech.queue.length > 0;
}

/** The next utterance or the one that is playing. */
export function currentUtterance(core: Core): Utterance | undefined {
  return core.state.speech.queue[0];
}

export function findUtterance(core: Core, utteranceId: number): Utterance | undefined {
  return core.state.speech.queue.find((utterance) => utterance.id === utteranceId);
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

/** Plays queued speech to its end, even if it was about to be stopped. */
export function playOut(core: Core): void {
  core.state.interruption = null;
  core.disarm('interruption');
  for (const utterance of core.state.speech.queue) utterance.interruptible = false;
  resume(core);
}

/** Takes queued utterances out again, and what is left of the one that plays. */
export function cancel(core: Core, utterances: readonly Utterance[]): void {
  for (const utterance of utterances) {
    core.emit({ type: 'speak.cancel', utteranceId: utterance.id });
    if (heardChars(core, utterance) < utterance.text.length) assistantAt(core, utterance.entry).interrupted = true;
    onUtteranceOver(core, utterance, true);
  }
}

/** Drops all speech that was not heard, and cuts the history to what was. */
export function drop(core: Core): void {
  const { speech } = core.state;
  if (speech.queue.length === 0 && !speech.held) return;
  for (const utterance of speech.queue) {
    const heard = heardChars(core, utterance);
    markHeard(core, utterance.entry, utterance.id, heard);
    noteSaid(core, utterance.text.slice(0, heard));
    if (heard < utterance.text.length) assistantAt(core, utterance.entry).interrupted = true;
  }
  speech.queue.length = 0;
  speech.held = false;
  core.emit({ type: 'playout.drop' });
  watch(core);
}

export function onUtteranceStarted(core: Core, utterance: Utterance): void {
  if (utterance.playing) return;
  utterance.playing = true;
  if (utterance.kind !== 'filler') noteQuestion(core);
  if (utterance === currentUtterance(core)) watch(core);
}

/** Tells the recogniser what the agent asks for. */
function noteQuestion(core: Core): void {
  const { state } = core;
  const answer =
    baseLanguage(core.language) === 'en' ? (state.steps?.expects ?? expectedAnswer(lastSpoken(core))) : null;
  if (answer === state.expected) return;
  state.expected = answer;
  core.emit({ type: 'stt.expect', answer });
}

/** The voice is late in the middle of an utterance (`isDry`), or has more audio again. */
export function onSupply(core: Core, utterance: Utterance, isDry: boolean): void {
  if (utterance !== currentUtterance(core) || !utterance.playing || core.state.speech.held) return;
  if (isDry) core.arm('speech.end', core.nowMs + core.config.deadlines.speechStartMs);
  else watch(core);
}

/** An utterance is over: heard completely, or (`failed`) as far as the voice spoke it. */
export function onUtteranceOver(core: Core, utterance: Utterance, failed: boolean): void {
  const { queue } = core.state.speech;
  const index = queue.indexOf(utterance);
  const heard = failed ? heardChars(core, utterance) : utterance.text.length;
  markHeard(core, utterance.entry, utterance.id, heard);
  noteSaid(core, utterance.text.slice(0, heard));
  queue.splice(index, 1);
  if (!failed) core.state.speech.pausedUntilMs = core.nowMs + utterance.pauseMs;
  if (index === 0) watch(core);
}

/** Whether the user has heard anything of a message. */
export function wasHeard(core: Core, entry: number | null): boolean {
  if (entry === null) return false;
  if (assistantAt(core, entry).parts.some((part) => (part.heardChars ?? 0) > 0)) return true;
  return core.state.speech.queue.some((utterance) => utterance.entry === entry && heardChars(core, utterance) > 0);
}

/** Heard characters of a queued utterance; those before the playing one were heard completely. */
function heardChars(core: Core, utterance: Utterance): number {
  const { queue } = core.state.speech;
  const underWay = queue.findIndex((candidate) => candidate.id === core.position.utteranceId);
  const index = queue.indexOf(utterance);
  if (index < underWay) return utterance.text.length;
  return index === underWay ? Math.max(0, core.position.heardChars) : 0;
}

/** Keeps what was heard last, to detect its echo. */
function noteSaid(core: Core, text: string): void {
  const { said } = core.state.speech;
  if (text === '') return;
  said.text = `${said.text} ${text}`.slice(-SAID_CHARS);
  said.chars += text.length + 1;
  said.endMs = core.nowMs;
}

/** A generous estimate of an utterance's duration, for the deadline of its end. */
function longestMs(text: string): number {
  return 6000 + text.length * 250;
}

/** Sets the deadlines: the next utterance must start, and the playing one must end. */
function watch(core: Core): void {
  const utterance = currentUtterance(core);
  core.disarm('speech.start', 'speech.end');
  if (utterance === undefined || core.state.speech.held) return;
  if (utterance.playing) core.arm('speech.end', core.nowMs + longestMs(utterance.text));
  else
    core.arm(
      'speech.start',
      Math.max(core.nowMs, core.state.speech.pausedUntilMs) + core.config.deadlines.speechStartMs,
    );
}
