import {
  type ConfigChanges,
  type ConversationConfig,
  DEFAULT_CONVERSATION,
  mergeConfig,
  OPTIONAL_SECTIONS,
} from '../agent/flow/conversation-config.js';
import type { NoteData } from '../session/record/event-log.js';
import { Timeline } from '../stage/timeline.js';
import type { EventLog } from './read-log.js';
import { recordingOf, questionOf, type SessionRecording, requestOf } from './session-recording.js';
import { ParleyError } from '../base/errors.js';
import { Conversation } from '../conversation/conversation.js';
import type { ConversationEffect, ConversationEvent } from '../conversation/events.js';
import { Agenda } from '../stage/stage.js';
import { StageVoice } from '../stage/voice.js';

/** A decision of the conversation, with its reasons. */
export interface PlayedDecision {
  atMs: number;
  name: string;
  data: NoteData;
}

/** One turn of the user with the agent's answer. */
export interface PlayedTurn {
  /** End of the user's speech; null for the opening and for typed messages. */
  speechEndMs: number | null;
  /** When the turn ended; null for the opening. */
  decidedMs: number | null;
  /** The last score of the turn's completeness (`turn.scored`); null = none. */
  scored: NoteData | null;
  /** Empty for the opening. */
  user: string;
  /** The agent's utterances until the next turn, cut to the part that was heard. */
  agent: { fromMs: number; text: string; isWhole: boolean }[];
  /** Further decisions until the next turn. */
  decisions: PlayedDecision[];
}

export interface WhatIf {
  /** Pairs of turns; null = the turn is missing on this side. */
  turns: {
    before: PlayedTurn | null;
    after: PlayedTurn | null;
    /** Both have the same words at the same times. */
    isSame: boolean;
  }[];
  /** The end of the conversation; null = it is still open at the end of the recording. */
  before: Timeline['end'];
  after: Timeline['end'];
}

/**
 * Plays a session twice, with its own settings and with changed ones. The user acts at the same times in both, and the
 * model, the tools and the voice give their recorded answers. A request that the session never made gets the next
 * recorded answer, or none.
 * @throws ParleyError CONFIG_INVALID for invalid changes
 */
export function whatIf(log: EventLog, changes: ConfigChanges): WhatIf {
  const own = mergeConfig(log.start.config);
  checkChanges(changes, own);
  const recording = recordingOf(log);
  const before = reenact(recording, own);
  const after = reenact(recording, mergeConfig(changes, own));
  return { turns: alignTurns(turnsOf(before), turnsOf(after)), before: before.end, after: after.end };
}

/** Repeated while a turn is open; it belongs to the turn that follows. */
const SCORED = 'turn.scored';

function turnsOf({ turns, utterances, events, effects }: Timeline): PlayedTurn[] {
  const played: PlayedTurn[] = [
    { speechEndMs: null, decidedMs: null, scored: null, user: '', agent: [], decisions: [] },
    ...turns.map(({ atMs, text }) => ({
      speechEndMs: null,
      decidedMs: atMs,
      scored: null,
      user: text,
      agent: [],
      decisions: [],
    })),
  ];
  for (const { atMs, event } of events) {
    const next = played.find(({ decidedMs }) => decidedMs !== null && decidedMs >= atMs);
    if (event.type === 'speech.stopped' && next !== undefined) next.speechEndMs = event.endMs;
  }
  for (const { atMs, effect } of effects) {
    if (effect.type !== 'trace') continue;
    const { name, data } = effect;
    const next = played.find(({ decidedMs }) => decidedMs !== null && decidedMs >= atMs);
    if (name === SCORED && next !== undefined) next.scored = data;
    else if (name !== SCORED) lastBefore(played, atMs)?.decisions.push({ atMs, name, data });
  }
  const heard = new Map(events.map(({ position }) => [position.utteranceId, position.heardChars]));
  for (const { utteranceId, text, played: stretches, isWhole, askedMs } of utterances) {
    const fromMs = stretches[0]?.from;
    const turn = lastBefore(played, askedMs);
    if (fromMs === undefined || turn === undefined) continue;
    turn.agent.push({ fromMs, text: isWhole ? text : text.slice(0, heard.get(utteranceId) ?? 0), isWhole });
  }
  return played;
}

function lastBefore(turns: readonly PlayedTurn[], atMs: number): PlayedTurn | undefined {
  return turns.findLast(({ decidedMs }) => (decidedMs ?? 0) <= atMs);
}

/** Pairs turns with the same words, and the rest in order. */
function alignTurns(before: readonly PlayedTurn[], after: readonly PlayedTurn[]): WhatIf['turns'] {
  const rows: WhatIf['turns'] = [];
  const add = (left: PlayedTurn | null, right: PlayedTurn | null): void => {
    rows.push({ before: left, after: right, isSame: wordsOf(left) === wordsOf(right) });
  };
  let left = 0;
  let right = 0;
  while (left < before.length || right < after.length) {
    const one = before[left] ?? null;
    const other = after[right] ?? null;
    const oneLater = one === null ? -1 : after.slice(right).findIndex(({ user }) => user === one.user);
    const otherLater = other === null ? -1 : before.slice(left).findIndex(({ user }) => user === other.user);
    if (one !== null && other !== null && (oneLater === 0 || (oneLater < 0 && otherLater < 0))) {
      add(one, other);
      left++;
      right++;
    } else if (other === null || (one !== null && oneLater < 0)) {
      add(one, null);
      left++;
    } else {
      add(null, other);
      right++;
    }
  }
  return rows;
}

/** The words and times of a turn, as text to compare. */
function wordsOf(turn: PlayedTurn | null): string {
  return JSON.stringify(turn && [turn.decidedMs, turn.user, turn.agent]);
}

/** Members that may be missing or null, although their default is an object. */
const OPTIONAL_MEMBERS = new Set(['attended']);

const ALL_SETTINGS: Readonly<Record<string, unknown>> = { ...DEFAULT_CONVERSATION, ...OPTIONAL_SECTIONS };

/**
 * Checks that changes are settings: all names are known, all values have the right type, all sections are complete.
 * @param own the settings to change
 * @throws ParleyError CONFIG_INVALID
 */
export function checkChanges(changes: unknown, own: ConversationConfig): asserts changes is ConfigChanges {
  checkMembers(changes, ALL_SETTINGS, '');
  for (const [name, members] of Object.entries(OPTIONAL_SECTIONS)) {
    const change = changes[name];
    if (own[name as keyof typeof OPTIONAL_SECTIONS] !== null || !isObject(change)) continue;
    const missing = Object.keys(members).find(
      (member) => !Object.hasOwn(change, member) && !OPTIONAL_MEMBERS.has(member),
    );
    if (missing !== undefined) throw invalid(`${name}.${missing}`, 'required');
  }
}

function checkMembers(
  value: unknown,
  known: Readonly<Record<string, unknown>>,
  path: string,
): asserts value is Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw invalid(path, 'must be an object');
  for (const [name, member] of Object.entries(value)) {
    const where = path === '' ? name : `${path}.${name}`;
    if (!Object.hasOwn(known, name)) throw invalid(where, 'unknown setting');
    const usual = known[name];
    const isSection = Object.hasOwn(OPTIONAL_SECTIONS, name) && path === '';
    const isOff = member === null && (isSection || OPTIONAL_MEMBERS.has(name));
    if (isOff || name === 'toolSpeech') continue; // members of toolSpeech are names of tools
    if (isObject(usual)) checkMembers(member, usual, where);
    else checkValue(member, usual, where);
  }
}

/** A value whose default is null may be a string or a number; a string or number may be null. */
function checkValue(value: unknown, usual: unknown, where: string): void {
  if (Array.isArray(usual)) {
    if (!Array.isArray(value)) throw invalid(where, 'must be an array');
  } else if (isObject(value) || Array.isArray(value)) throw invalid(where, 'must be a single value');
  else if (value !== null && usual !== null && typeof value !== typeof usual) {
    throw invalid(where, `must be a ${typeof usual}`);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(path: string, reason: string): ParleyError {
  return new ParleyError('CONFIG_INVALID', { reason: `${path === '' ? 'the changes' : path}: ${reason}` });
}

/** A conversation may run this long beyond the end of the recording. */
const AFTER_END_MS = 30_000;
/** Latency of utterances that the recording does not contain whole. */
const USUAL_LATENCY_MS = 150;

/**
 * Plays a recording to a conversation with other settings. The user and the line act at the same times as in the
 * recording; the model, the tools and the voice give the same answers with the same latencies.
 */
export function reenact(recording: SessionRecording, config: ConversationConfig): Timeline {
  return new Reenactment(recording, config).play();
}

class Reenactment {
  readonly #recording: SessionRecording;
  readonly #conversation: Conversation;
  readonly #timeline = new Timeline();
  readonly #agenda = new Agenda();
  readonly #voice: StageVoice;
  readonly #used = new Set<object>();
  readonly #live = new Set<number>();
  #nowMs = 0;

  constructor(recording: SessionRecording, config: ConversationConfig) {
    this.#recording = recording;
    this.#conversation = new Conversation(config);
    const { spoken, msPerChar } = recording;
    this.#voice = new StageVoice(
      { msPerChar, latencyMs: USUAL_LATENCY_MS, timing: (text) => spoken.get(text) ?? null },
      (event) => {
        this.#dispatch(event);
      },
      this.#timeline,
    );
    for (const { atMs, event } of recording.happened) this.#later(atMs, event);
  }

  play(): Timeline {
    const untilMs = this.#recording.endMs + AFTER_END_MS;
    while (this.#timeline.end === null && this.#advance(untilMs));
    return this.#timeline;
  }

  #advance(untilMs: number): boolean {
    const agendaMs = this.#agenda.nextMs ?? Infinity;
    const tickMs = this.#voice.nextTickMs ?? Infinity;
    const deadlineMs = this.#conversation.nextDeadlineMs ?? Infinity;
    const nextMs = Math.min(agendaMs, tickMs, deadlineMs);
    if (nextMs > untilMs) return false;
    this.#nowMs = Math.max(this.#nowMs, nextMs);
    if (agendaMs === nextMs) this.#agenda.runNext();
    else if (tickMs === nextMs)
      this.#nowMs = this.#voice.play(this.#nowMs, Math.min(agendaMs - 1, deadlineMs, untilMs));
    else this.#dispatch({ type: 'time' });
    return true;
  }

  #later(atMs: number, event: ConversationEvent): void {
    this.#agenda.add(atMs, () => {
      if (!('requestId' in event) || this.#live.has(event.requestId)) this.#dispatch(event);
    });
  }

  #dispatch(event: ConversationEvent): void {
    if (this.#timeline.end !== null) return;
    const position = this.#voice.position();
    this.#timeline.onEvent(this.#nowMs, event, position);
    for (const effect of this.#conversation.step(event, this.#nowMs, position)) {
      this.#timeline.onEffect(this.#nowMs, effect);
      this.#carryOut(effect);
    }
    const { line, ending } = this.#conversation.state;
    if (line === 'closed') this.#timeline.end = { atMs: this.#nowMs, status: ending?.status ?? 'error' };
  }

  #carryOut(effect: ConversationEffect): void {
    if (effect.type === 'llm.start') this.#answer(effect);
    else if (effect.type === 'llm.cancel') this.#live.delete(effect.requestId);
    else if (effect.type === 'speak') this.#voice.speak(effect.utteranceId, effect.text, this.#nowMs);
    else if (effect.type === 'speak.more') this.#voice.more(effect.utteranceId, effect.text);
    else if (effect.type === 'speak.prepare') this.#voice.prepare(effect.utteranceId, effect.text, this.#nowMs);
    else if (effect.type === 'speak.cancel') this.#voice.cancel(effect.utteranceId);
    else if (effect.type === 'playout.hold') this.#voice.hold();
    else if (effect.type === 'playout.resume') this.#voice.resume(this.#nowMs);
    else if (effect.type === 'playout.drop') this.#voice.drop();
    else this.#act(effect);
  }

  /** Answers with the recorded reply to the same message; without one, with the next unused reply. */
  #answer(effect: Extract<ConversationEffect, { type: 'llm.start' }>): void {
    const { requestId } = effect;
    const asked = questionOf(effect);
    const { replies } = this.#recording;
    const free = replies.filter((reply) => !this.#used.has(reply));
    const reply = free.find((candidate) => candidate.asked === asked) ?? free[0];
    this.#live.add(requestId);
    if (reply === undefined) {
      this.#later(this.#nowMs, { type: 'llm.failed', requestId, reason: 'the recording has no further reply' });
      return;
    }
    this.#used.add(reply);
    for (const { afterMs, event } of reply.pieces) this.#later(this.#nowMs + afterMs, { ...event, requestId });
  }

  /** Tools and the line give the recorded outcome of the same request. */
  #act(effect: ConversationEffect): void {
    const request = requestOf(effect);
    if (request === null) return;
    const { callId } = request;
    const outcome = this.#recording.outcomes.find(
      (candidate) => candidate.asked === request.asked && !this.#used.has(candidate),
    );
    if (outcome !== undefined) {
      this.#used.add(outcome);
      this.#later(this.#nowMs + outcome.afterMs, { ...outcome.event, callId } as ConversationEvent);
      return;
    }
    const reason = 'the recording has no outcome for this request';
    if (effect.type === 'line.transfer')
      this.#later(this.#nowMs, { type: 'transfer.result', callId, ok: false, reason });
    else this.#later(this.#nowMs, { type: 'tool.result', callId, ok: false, content: reason });
  }
}
