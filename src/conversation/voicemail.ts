import * as speech from './agent-speech.js';
import type { Core } from './core.js';
import { beginEnding, endNow, fallSilent } from './ending.js';
import { addUserMessage } from './history.js';
import { screeningTurn } from './screening.js';
import { isSpeakable } from './sentences.js';
import type { VoicemailState } from './state.js';
import { closeTurn, notAfterNow, turnText, type TurnTranscript } from './user-turn.js';
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
 * A machine that answers an outbound call. It is looked for beside the conversation, which goes on meanwhile as with a
 * person: phrases, the beep, or a greeting that goes on for long without a pause give it away. Who is not found to be a
 * machine in time is a person.
 */

/** From the answer, or from an answer to a machine that screens the call, until whoever is there is a person. */
const VERDICT_MS = 20_000;
const SCREENED_MS = 60_000;
/** People who answer do not talk for so long without a pause; with words that machines like, for less. */
const LONG_GREETING_MS = 8000;
const LONG_HINTED_GREETING_MS = 6000;
/** Silence that is more than a breath: a short greeting before it is a person's, a long one begins anew after it. */
const PAUSE_MS = 1000;
/** A greeting up to this is short. */
const SHORT_GREETING_MS = 2500;
/** Silence that ends a mailbox's greeting; with a beep announced, which may be late, it is waited for longer. */
const GREETING_END_MS = 3500;
const TONE_AWAITED_MS = 6000;
/** The message is left by then in any case. */
const GREETING_DEADLINE_MS = 30_000;
/** Silence between the choices of a phone menu, and before the first one. */
const MENU_PAUSE_MS = 1500;
const MENU_BEGINS_MS = 1000;
/** Words of an interim transcript may be others in the next: what they tell has to stand for so long. */
const PHRASE_STANDS_MS = 300;
/** More than this of a greeting is not kept. */
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
    listened: false,
    beeped: false,
    guessed: false,
    phrase: null,
    entry: null,
  };
  core.arm('voicemail', core.nowMs + VERDICT_MS);
}

/** A mailbox is being listened to: nobody is there to talk to. */
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

/** An utterance of the agent was heard to its end: who has greeted briefly and lets it finish is listening. */
export function onAgentHeard(core: Core): void {
  const { voicemail } = core.state;
  if (voicemail?.personal === true && !voicemail.speaking) voicemail.listened = true;
}

/** Words that belong to the greeting come late, over the message: nobody has spoken since it began. */
export function isLate(core: Core): boolean {
  const { voicemail } = core.state;
  return voicemail?.phase === 'message' && voicemail.stretchMs === null;
}

/** A beep after somebody has spoken: a mailbox records from now on. */
export function onBeep(core: Core): void {
  const { voicemail } = core.state;
  if (voicemail === null) return;
  core.trace('voicemail.beep');
  // A screener's own: its question is over, and nobody else has spoken yet.
  if (voicemail.screening || (voicemail.screened && voicemail.segments.length === 0)) return;
  const isFirst = !voicemail.beeped;
  voicemail.beeped = true;
  if (voicemail.phase === 'listening') detect(core, voicemail, 'beep');
  if (isMailbox(core)) greetingOver(core);
  else if (voicemail.phase === 'message' && isFirst) startAnew(core, voicemail);
}

/** A fax machine: nobody to talk to, whoever called and whatever is configured. */
export function onFax(core: Core, sign: string): void {
  core.trace('voicemail.detected', { class: 'fax', by: sign });
  hangUp(core);
}

/** The deadline of the phase. */
export function onVoicemailDue(core: Core): void {
  if (isMailbox(core)) greetingOver(core);
  else onPerson(core, 'nothing tells a machine');
}

/** Speech, or silence, has lasted for so long. */
export function onCadenceDue(core: Core): void {
  const { voicemail } = core.state;
  if (voicemail === null) return;
  if (voicemail.phase === 'greeting') greetingOver(core);
  else if (voicemail.speaking) detect(core, voicemail, 'length');
  else voicemail.personal = true;
}

/** Whoever is there is a person. */
export function onPerson(core: Core, reason: string): void {
  if (core.state.voicemail === null) return;
  core.trace('voicemail.person', { reason });
  core.state.voicemail = null;
  core.disarm('voicemail', 'voicemail.cadence');
}

/** A phone menu goes on after its pauses: it is not answered before this, 0 = nothing like one is heard. */
export function menuGoesOnUntil(core: Core): number {
  const { config, state } = core;
  if (config.direction !== 'outbound') return 0;
  const text = turnText(core);
  if (isMenu(text, core.language)) return state.turn.endMs + MENU_PAUSE_MS;
  const mayBeOne = announcesMenu(text, core.language) && !asksCaller(text, core.language);
  return mayBeOne ? state.turn.endMs + MENU_BEGINS_MS : 0;
}

/** What becomes of a turn before it is answered: null = it is not. */
export function heardAs(core: Core, message: string): string | null {
  const { voicemail } = core.state;
  if (voicemail?.phase !== 'listening') return message;
  if (!voicemail.screening) {
    if (voicemail.screened && asksToWait(message, core.language)) {
      core.trace('voicemail.waiting');
      return null;
    }
    if (voicemail.listened) onPerson(core, 'talks');
    return message;
  }
  // What comes next is somebody else: the person, a mailbox, or the next question.
  core.state.voicemail = {
    ...voicemail,
    segments: [],
    phrase: null,
    screening: false,
    screened: true,
    personal: false,
    listened: false,
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
  const found = machinePhraseOf(text, language, core.config.voicemail?.detectionPhrases ?? []);
  if (found !== voicemail.phrase?.found) voicemail.phrase = found === null ? null : { found, sinceMs: core.nowMs };
  const stoodMs = core.nowMs - (voicemail.phrase?.sinceMs ?? core.nowMs);
  if (found !== null && !isFinal && stoodMs < PHRASE_STANDS_MS) return;
  if (found === 'full') detect(core, voicemail, found);
  else if (voicemail.phase === 'greeting' && voicemail.guessed) reconsider(core, voicemail, found, text);
  else if (voicemail.phase !== 'listening') return;
  else if (found === 'machine') detect(core, voicemail, found);
  else if (found === 'screening') screen(core, voicemail);
}

/** Only the length of the speech told a machine: now its words tell what it is. */
function reconsider(core: Core, voicemail: VoicemailState, found: MachinePhrase | null, text: string): void {
  const { language } = core;
  if (found === 'machine') detect(core, voicemail, found);
  else if (found === 'screening' || isMenu(text, language)) {
    core.trace('voicemail.revoked', { reason: found ?? 'menu' });
    voicemail.phase = 'listening';
    voicemail.guessed = false;
    core.arm('voicemail', core.nowMs + VERDICT_MS);
    if (found === 'screening') screen(core, voicemail);
  } else if (asksCaller(text, language)) onPerson(core, 'asks the caller');
}

/** The answer is what it waits for. */
function screen(core: Core, voicemail: VoicemailState): void {
  if (voicemail.screening) return;
  voicemail.screening = true;
  core.trace('voicemail.screening');
  fallSilent(core);
  core.disarm('opening');
}

/** It is a machine: what was being said to a person is dropped. One that was only guessed is listened to first. */
function detect(core: Core, voicemail: VoicemailState, by: MachinePhrase | 'beep' | 'length'): void {
  core.trace('voicemail.detected', { class: 'mailbox', by });
  voicemail.guessed = by === 'length';
  if (!voicemail.guessed && (by === 'full' || !leavesMessage(core))) {
    hangUp(core);
    return;
  }
  fallSilent(core);
  core.disarm('opening');
  voicemail.phase = 'greeting';
  core.arm('voicemail', core.nowMs + GREETING_DEADLINE_MS);
  watchCadence(core, voicemail);
}

function greetingOver(core: Core): void {
  if (leavesMessage(core)) leaveMessage(core);
  else hangUp(core);
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

/** What the machine said belongs to the history, though nobody answers it. */
function keepGreeting(core: Core): void {
  const text = turnText(core);
  if (text !== '') addUserMessage(core, text);
  closeTurn(core);
}

/** While it listens: speech for too long. In a greeting: silence for long enough. */
function watchCadence(core: Core, voicemail: VoicemailState): void {
  const { phase, speaking, stretchMs, endMs, personal, screening } = voicemail;
  const { language } = core;
  const text = textOf(voicemail);
  core.disarm('voicemail.cadence');
  if (phase === 'greeting') {
    if (speaking) return;
    const silenceMs = !leavesMessage(core)
      ? PAUSE_MS
      : announcesTone(text, language)
        ? TONE_AWAITED_MS
        : GREETING_END_MS;
    core.arm('voicemail.cadence', Math.max(core.nowMs, (endMs ?? core.nowMs) + silenceMs));
  } else if (phase === 'listening' && stretchMs !== null && !personal && !screening && !isMenu(text, language)) {
    const longMs = hintsAtMachine(text, language) ? LONG_HINTED_GREETING_MS : LONG_GREETING_MS;
    if (speaking) core.arm('voicemail.cadence', Math.max(core.nowMs, stretchMs + longMs));
    else if (endMs !== null && endMs - stretchMs <= SHORT_GREETING_MS) {
      core.arm('voicemail.cadence', Math.max(core.nowMs, endMs + PAUSE_MS));
    }
  }
}

function textOf(voicemail: VoicemailState): string {
  return voicemail.segments.map(({ text }) => text).join(' ');
}
