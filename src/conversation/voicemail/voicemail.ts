import * as speech from '../speech/agent-speech.js';
import { type AnnouncedEnd, announcedEnd } from './announcements.js';
import type { Core } from '../core.js';
import { beginEnding, endNow, fallSilent } from '../reply/ending.js';
import type { UtteranceKind } from '../events.js';
import { addUserMessage } from '../speech/history.js';
import { screeningTurn } from '../reply/reply.js';
import { isSpeakable } from '../speech/sentences.js';
import type { VoicemailState } from '../state.js';
import { closeTurn, notAfterNow, turnText, type TurnTranscript } from '../turn/user-turn.js';
import {
  announcesMenu,
  announcesTone,
  asksCaller,
  asksToWait,
  hintsAtMachine,
  isMenu,
  type MachinePhrase,
  machinePhraseOf,
} from './voicemail-phrases.js';

/**
 * A machine that answers an outbound call. Detection runs beside the conversation, which continues as with a person:
 * phrases and the beep identify a machine. A greeting longer than people's makes it suspect: it gets the same answer as
 * a person, and silence after that identifies a machine. If nothing is found in time, a person has answered. A
 * network's announcement ends the call with the status of a refusal by the network.
 */

/** From the answer of the call, or from an answer to a call screener, until it counts as a person. */
const VERDICT_MS = 20_000;
const SCREENED_MS = 60_000;
/** Few people who answer talk for this long without a pause; with words typical of machines a shorter time suffices. */
const LONG_GREETING_MS = 8000;
const LONG_HINTED_GREETING_MS = 6000;
/** Silence longer than a breath: a short greeting before it is a person's; after a long one, counting restarts. */
const PAUSE_MS = 1000;
/** A greeting up to this length is short. */
const SHORT_GREETING_MS = 2500;
/** If suspect, the other side must say something within this time after the agent's answer. */
const UNANSWERED_MS = 10_000;
/** … and has at least this time after the agent has asked whether anyone is there. */
const PROMPTED_MS = 4000;
/** … and this time for a beep or a phrase. */
const SUSPECT_MS = 30_000;
/** Silence that ends a mailbox's greeting; longer if a beep is announced, which may be late. */
const GREETING_END_MS = 3500;
const TONE_AWAITED_MS = 6000;
/** The message is left by then in any case. */
const GREETING_DEADLINE_MS = 30_000;
/** Silence between the options of a phone menu, and before the first one. */
const MENU_PAUSE_MS = 1500;
const MENU_BEGINS_MS = 1000;
/** Words of an interim transcript may change: what they indicate must persist for this long. */
const PHRASE_STANDS_MS = 300;
/** Maximum number of segments of a greeting to keep. */
const MAX_SEGMENTS = 50;

export function onLineOpened(core: Core): void {
  if (core.config.direction !== 'outbound' || core.config.voicemail === null) return;
  core.state.voicemail = {
    phase: 'listening',
    segments: [],
    speaking: false,
    stretchMs: null,
    endMs: null,
    personal: false,
    screening: false,
    screened: false,
    suspectMs: null,
    listenedMs: null,
    beeped: false,
    phrase: null,
    announced: null,
    entry: null,
  };
  core.arm('voicemail', core.nowMs + VERDICT_MS);
}

/** The other side is a mailbox. */
export function isMailbox(core: Core): boolean {
  return core.state.voicemail?.phase === 'greeting';
}

export function onSpeechStarted(core: Core, startMs: number): void {
  const { voicemail } = core.state;
  if (voicemail === null) return;
  const atMs = notAfterNow(core, startMs);
  voicemail.speaking = true;
  if (voicemail.stretchMs === null || voicemail.endMs === null || atMs - voicemail.endMs > PAUSE_MS) {
    voicemail.stretchMs = atMs;
  }
  watchCadence(core, voicemail);
}

export function onSpeechStopped(core: Core, endMs: number): void {
  const { voicemail } = core.state;
  if (voicemail === null || !voicemail.speaking) return;
  voicemail.speaking = false;
  voicemail.endMs = notAfterNow(core, endMs);
  watchCadence(core, voicemail);
}

export function onTranscript(core: Core, { segment, text, isFinal, understood }: TurnTranscript): void {
  const { voicemail } = core.state;
  if (voicemail === null || !understood) return;
  const known = voicemail.segments.find((candidate) => candidate.segment === segment);
  if (known !== undefined) known.text = text;
  else if (voicemail.segments.push({ segment, text }) > MAX_SEGMENTS) voicemail.segments.shift();
  if (voicemail.phase !== 'message') judgeWords(core, voicemail, isFinal);
  watchCadence(core, voicemail);
}

/** The agent's utterance was heard to its end: someone who has greeted and lets the agent finish is listening. */
export function onAgentHeard(core: Core, kind: UtteranceKind): void {
  const { voicemail } = core.state;
  if (voicemail === null || voicemail.speaking || !(voicemail.personal || voicemail.suspectMs !== null)) return;
  // The question whether the user is there does not count as a new answer.
  if (kind !== 'prompt' || voicemail.listenedMs === null) voicemail.listenedMs = core.nowMs;
  watchCadence(core, voicemail);
}

/** Words of the greeting that arrive late, over the message: there has been no speech since it began. */
export function isLate(core: Core): boolean {
  const { voicemail } = core.state;
  return voicemail?.phase === 'message' && voicemail.stretchMs === null;
}

/** A beep after speech: a mailbox records from now on. */
export function onBeep(core: Core): void {
  const { voicemail } = core.state;
  if (voicemail === null) return;
  core.trace('voicemail.beep');
  // The screener's own beep: its question is over, and there has been no other speech yet.
  if (voicemail.screening || (voicemail.screened && voicemail.segments.length === 0)) return;
  const isFirst = !voicemail.beeped;
  voicemail.beeped = true;
  if (voicemail.phase === 'listening') detect(core, voicemail, 'beep');
  if (isMailbox(core)) leaveMessage(core);
  else if (voicemail.phase === 'message' && isFirst) startAnew(core, voicemail);
}

/** A fax machine: no conversation is possible, inbound or outbound, whatever is configured. */
export function onFax(core: Core, sign: string): void {
  core.trace('voicemail.detected', { class: 'fax', by: sign });
  hangUp(core);
}

/** Special information tones: an announcement follows. */
export function onSpecialInformationTones(core: Core, end: AnnouncedEnd): void {
  if (core.config.direction !== 'outbound') return;
  endAsAnnounced(core, end, 'tones');
}

export function onVoicemailDue(core: Core): void {
  if (isMailbox(core)) leaveMessage(core);
  else onPerson(core, 'nothing tells a machine');
}

/** Speech or silence has lasted this long. */
export function onCadenceDue(core: Core): void {
  const { voicemail } = core.state;
  if (voicemail === null) return;
  if (voicemail.phase === 'greeting') leaveMessage(core);
  else if (voicemail.speaking) suspect(core, voicemail, 'length');
  else if (voicemail.suspectMs === null && greetsBriefly(voicemail)) voicemail.personal = true;
  else if (voicemail.suspectMs === null) suspect(core, voicemail, 'greeting');
  else if (speech.isSpeaking(core)) watchCadence(core, voicemail);
  else detect(core, voicemail, 'silence');
}

/** The call was answered by a person. */
export function onPerson(core: Core, reason: string): void {
  if (core.state.voicemail === null) return;
  core.trace('voicemail.person', { reason });
  core.state.voicemail = null;
  core.disarm('voicemail', 'voicemail.cadence');
}

/** A phone menu continues after its pauses: it gets no answer before this time; 0 = no menu. */
export function menuGoesOnUntil(core: Core): number {
  const { config, state } = core;
  if (config.direction !== 'outbound') return 0;
  const text = turnText(core);
  if (isMenu(text, core.language)) return state.turn.endMs + MENU_PAUSE_MS;
  const mayBeOne = announcesMenu(text, core.language) && !asksCaller(text, core.language);
  return mayBeOne ? state.turn.endMs + MENU_BEGINS_MS : 0;
}

/** How a turn is handled before it is answered: the text to answer; null = no answer. */
export function heardAs(core: Core, message: string): string | null {
  const { voicemail } = core.state;
  if (voicemail === null && isFirstHeard(core)) {
    const announced = announcementIn(core, message);
    if (announced !== null) {
      addUserMessage(core, message);
      endAsAnnounced(core, announced, 'words');
      return null;
    }
  }
  if (voicemail?.phase !== 'listening') return message;
  if (!voicemail.screening) {
    if (voicemail.screened && asksToWait(message, core.language)) {
      core.trace('voicemail.waiting');
      return null;
    }
    if (voicemail.listenedMs !== null) onPerson(core, 'talks');
    return message;
  }
  // The next speech comes from another party: the person, a mailbox, or the next question.
  core.state.voicemail = {
    ...voicemail,
    segments: [],
    phrase: null,
    screening: false,
    screened: true,
    personal: false,
    suspectMs: null,
    listenedMs: null,
    stretchMs: null,
  };
  core.arm('voicemail', core.nowMs + SCREENED_MS);
  return screeningTurn(message);
}

/** A message of which nothing was heard has not been left. */
export function settle(core: Core): void {
  const { voicemail, ending } = core.state;
  if (voicemail?.phase !== 'message') return;
  if (ending === null) onPerson(core, 'speaks during the message');
  else if (!speech.isSpeaking(core) && !speech.wasHeard(core, voicemail.entry)) ending.status = 'voicemail-hangup';
}

function judgeWords(core: Core, voicemail: VoicemailState, isFinal: boolean): void {
  const { language } = core;
  const text = textOf(voicemail);
  const found =
    machinePhraseOf(text, language, core.config.voicemail?.detectionPhrases ?? []) ?? announcementIn(core, text);
  if (found !== voicemail.phrase?.found) voicemail.phrase = found === null ? null : { found, sinceMs: core.nowMs };
  const stoodMs = core.nowMs - (voicemail.phrase?.sinceMs ?? core.nowMs);
  if (found !== null && !isFinal && stoodMs < PHRASE_STANDS_MS) return;
  if (found === 'full') detect(core, voicemail, found);
  else if (found === 'failed') endAsAnnounced(core, found, 'words');
  else if (voicemail.phase !== 'listening') reconsiderAnnouncement(core, voicemail, found, text);
  else if (found === 'machine') detect(core, voicemail, found);
  else if ((found === 'busy' || found === 'no-answer') && isFinal) announce(core, voicemail, found);
  else if (found === 'screening') screen(core, voicemail);
  else if (voicemail.suspectMs !== null && asksCaller(text, language)) onPerson(core, 'asks the caller');
}

/** Speech longer than people's who answer: if silence follows the agent's answer, it is a machine. */
function suspect(core: Core, voicemail: VoicemailState, by: 'length' | 'greeting'): void {
  core.trace('voicemail.suspected', { by });
  voicemail.suspectMs = voicemail.stretchMs;
  voicemail.listenedMs = null;
  core.arm('voicemail', core.nowMs + SUSPECT_MS);
}

/** How an announcement ends the call. A request to hold means a queue, in which the agent waits. */
function announcementIn(core: Core, text: string): AnnouncedEnd | null {
  const end = announcedEnd(text, core.language);
  return end === 'busy' && asksToWait(text, core.language) ? null : end;
}

function isFirstHeard(core: Core): boolean {
  return core.config.direction === 'outbound' && !core.state.history.some(({ role }) => role === 'user');
}

/** The call ends, unless a mailbox takes a message after the announcement. */
function announce(core: Core, voicemail: VoicemailState, end: AnnouncedEnd): void {
  if (!leavesMessage(core)) {
    endAsAnnounced(core, end, 'words');
    return;
  }
  voicemail.announced = end;
  detect(core, voicemail, 'announcement');
}

/** What follows an announcement: a mailbox that takes a message, or a queue, in which the agent waits. */
function reconsiderAnnouncement(
  core: Core,
  voicemail: VoicemailState,
  found: MachinePhrase | AnnouncedEnd | null,
  text: string,
): void {
  if (voicemail.announced === null) return;
  if (found === 'machine') voicemail.announced = null;
  else if (asksToWait(text, core.language)) onPerson(core, 'asks to hold');
}

function endAsAnnounced(core: Core, end: AnnouncedEnd, by: 'words' | 'tones'): void {
  core.trace('voicemail.detected', { class: 'announcement', by });
  keepGreeting(core);
  endNow(core, end, null);
}

/** The screener waits for the answer. */
function screen(core: Core, voicemail: VoicemailState): void {
  if (voicemail.screening) return;
  voicemail.screening = true;
  core.trace('voicemail.screening');
  fallSilent(core);
  core.disarm('opening');
}

/** A machine has answered: drops what was being said to a person. */
function detect(core: Core, voicemail: VoicemailState, by: MachinePhrase | 'announcement' | 'beep' | 'silence'): void {
  core.trace('voicemail.detected', { class: 'mailbox', by });
  if (by === 'full' || !leavesMessage(core)) {
    hangUp(core);
    return;
  }
  fallSilent(core);
  core.disarm('opening');
  voicemail.phase = 'greeting';
  core.arm('voicemail', core.nowMs + GREETING_DEADLINE_MS);
  watchCadence(core, voicemail);
}

function leavesMessage(core: Core): boolean {
  const { voicemail } = core.config;
  return voicemail?.action === 'message' && voicemail.message !== null && isSpeakable(voicemail.message);
}

function hangUp(core: Core): void {
  keepGreeting(core);
  endNow(core, 'voicemail-hangup', null);
}

/** The mailbox records: says the message, then hangs up. */
function leaveMessage(core: Core): void {
  const { voicemail, config } = { voicemail: core.state.voicemail, config: core.config.voicemail };
  if (voicemail === null || config?.message == null || core.state.ending !== null) return;
  if (voicemail.announced !== null && !voicemail.beeped) {
    endAsAnnounced(core, voicemail.announced, 'words');
    return;
  }
  keepGreeting(core);
  core.disarm('voicemail', 'voicemail.cadence');
  voicemail.phase = 'message';
  voicemail.stretchMs = null;
  const interruptible = config.continueOnVoiceActivity;
  const id = speech.say(core, config.message, { kind: 'voicemail', interruptible });
  voicemail.entry = speech.findUtterance(core, id)?.entry ?? null;
  beginEnding(core, { status: 'voicemail-message', reversible: interruptible, call: null });
}

/** The beep came only now: nothing before it was recorded. */
function startAnew(core: Core, voicemail: VoicemailState): void {
  fallSilent(core);
  core.state.ending = null;
  voicemail.phase = 'greeting';
  leaveMessage(core);
}

/** The machine's words belong to the history, although they get no answer. */
function keepGreeting(core: Core): void {
  const text = turnText(core);
  if (text !== '') addUserMessage(core, text);
  closeTurn(core);
}

/** While listening: speech or silence for too long. In a greeting: silence for long enough. */
function watchCadence(core: Core, voicemail: VoicemailState): void {
  core.disarm('voicemail.cadence');
  const dueMs = voicemail.phase === 'message' ? null : cadenceDueMs(core, voicemail);
  if (dueMs !== null) core.arm('voicemail.cadence', Math.max(core.nowMs, dueMs));
}

function cadenceDueMs(core: Core, voicemail: VoicemailState): number | null {
  const { phase, speaking, stretchMs, endMs, personal, screening, suspectMs, listenedMs } = voicemail;
  const { language } = core;
  const text = textOf(voicemail);
  if (phase === 'greeting') {
    if (speaking) return null;
    return (endMs ?? core.nowMs) + (announcesTone(text, language) ? TONE_AWAITED_MS : GREETING_END_MS);
  }
  if (stretchMs === null || personal || screening || isMenu(text, language)) return null;
  if (!speaking && suspectMs === null && greetsBriefly(voicemail)) return endMs === null ? null : endMs + PAUSE_MS;
  if (asksCaller(text, language)) return null;
  // A recording whose words the recogniser does not know. A person who was not understood would speak again.
  if (!speaking && suspectMs === null) return endMs === null || text !== '' ? null : endMs + PAUSE_MS;
  if (!speaking) {
    if (listenedMs === null) return null;
    if (speech.isSpeaking(core)) return core.nowMs + UNANSWERED_MS;
    const sinceMs = Math.max(listenedMs, endMs ?? 0);
    return Math.max(sinceMs + UNANSWERED_MS, core.state.inactivity.sinceMs + PROMPTED_MS);
  }
  if (suspectMs === stretchMs) return null;
  return stretchMs + (hintsAtMachine(text, language) ? LONG_HINTED_GREETING_MS : LONG_GREETING_MS);
}

/** The greeting so far is as short as people's. */
function greetsBriefly({ stretchMs, endMs }: VoicemailState): boolean {
  return stretchMs !== null && endMs !== null && endMs - stretchMs <= SHORT_GREETING_MS;
}

function textOf(voicemail: VoicemailState): string {
  return voicemail.segments.map(({ text }) => text).join(' ');
}
