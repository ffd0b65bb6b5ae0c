import type { ListeningPeriod } from './control/listeners.js';
import type { ExpectedAnswer } from '../agent/expected-answer.js';
import type { AgentRef, HandoverContext } from '../agent/flow/handover.js';
import type { ConversationConfig } from '../agent/flow/conversation-config.js';
import type { ToolCall } from '../agent/chat.js';
import type { AttendedTransferConfig } from '../agent/flow/actions.js';
import type { AddedRole, AgentSettings, NextAgent, ParticipantRecord } from './control/command.js';
import type { EndStatus, UtteranceKind } from './events.js';
import type { AnnouncedEnd } from './voicemail/announcements.js';
import type { StepsState } from './steps/machine.js';
import type { MachinePhrase } from './voicemail/voicemail-phrases.js';

/** Number of the turn in which the model opens the conversation. */
export const OPENING_TURN = 0;

/** The complete state as plain JSON data, one slice per machine. */
export interface ConversationState {
  /** The line opens once and closes once. */
  line: 'waiting' | 'open' | 'closed';
  /** Time of the latest step. */
  nowMs: number;
  /** Due times by name; the conversation must be stepped at the earliest. */
  deadlines: ConversationDeadlines;
  /** The language since the conversation changed it; null = as configured. */
  language: string | null;
  /** The user has asked not to be called again. */
  doNotCall: boolean;
  history: HistoryEntry[];
  turn: TurnState;
  /** What the agent's latest question asks for; null = anything. */
  expected: ExpectedAnswer | null;
  /** The user's latest pauses inside turns, in ms; and the end of speech of the previous turn. */
  pace: { pausesMs: number[]; endMs: number | null };
  /** Keys pressed so far of an incomplete row. */
  digits: string;
  speech: SpeechState;
  reply: ReplyState | null;
  /** A speculative answer. */
  speculation: SpeculationState | null;
  /** Answers begun while the user still spoke, the latest counting most: how many, and how many were the right ones. */
  early: { begun: number; right: number };
  interruption: InterruptionState | null;
  /** Noise has held the agent for long: until then, sound alone does not hold it. */
  noisyUntilMs: number;
  ending: EndingState | null;
  /** A transfer in progress. */
  transfer: TransferState | null;
  /** A hand-over to another agent in progress. */
  handover: HandoverState | null;
  /** The hand-overs so far: the last has the agent that speaks. */
  handovers: Handover[];
  /** The settings of that agent; null = those of the beginning. */
  agentConfig: ConversationConfig | null;
  /** A program wants the user connected to this target, or (null) the call ended, when all queued speech has been heard. */
  commanded: CommandedEnd | null;
  /** A machine may have answered, or has; null = a person has. */
  voicemail: VoicemailState | null;
  /** The last filler: when, which, and in which turn. */
  filler: { lastMs: number | null; text: string | null; turn: number | null };
  /** How often a phrase of each list was used, for rotation. */
  rotation: Record<string, number>;
  /** `prompts`: consecutive questions whether the user is there; `sinceMs`: start of the silence on both sides. */
  inactivity: { prompts: number; sinceMs: number };
  /** Time of the last activity: words or keys of the user, or the end of the agent's speech. */
  lastActiveMs: number;
  /** Tool calls that run or wait for their phrase. */
  tools: RunningTool[];
  /** Tool calls that run while the conversation goes on. */
  background: ToolCall[];
  /** A tool result is not part of any model request yet. */
  hasUnreportedResults: boolean;
  /** What a program has the agent say, once the user has finished. */
  toSay: ToSay[];
  /** Commands whose outcome is open. */
  commands: OpenCommand[];
  /** Changes of settings that wait for the end of the reply. */
  updates: { id: number | null; update: number; settings: AgentSettings }[];
  /** The changes so far. */
  settings: AgentSettings;
  muted: { user: boolean; agent: boolean };
  /** The user is on hold. */
  hold: { sinceMs: number } | null;
  /** Keys to press for a program; `callId` null = they wait for the end of speech. */
  press: { id: number | null; digits: string; callId: string | null } | null;
  /** The recording leaves out what happens now. */
  recordingPaused: boolean;
  /** Who has joined the user and the agent, in order, with those who have left. */
  participants: ParticipantRecord[];
  /** Null = the agent has no steps, or they have not begun. */
  steps: StepsState | null;
  /** Who has listened in, in order. */
  listeners: ListeningPeriod[];
  /**
   * Consecutive failures of the model's replies, and of messages for the voice. `unheard`: nothing has been heard since
   * the voice failed; `again`: what must be said again then.
   */
  failures: { model: number; voice: number; voiceEntry: number | null; unheard: boolean; again: Again | null };
  nextId: number;
}

export type ConversationDeadlines = Record<DeadlineName, number | null>;

export type DeadlineName = (typeof DEADLINES)[number];

/** Deadlines due at the same time are handled in this order. */
const DEADLINES = [
  'turn.end',
  'turn.stuck',
  'speculation',
  'interruption',
  'opening',
  'filler',
  'llm.first',
  'llm.gap',
  'speech.start',
  'speech.end',
  'tools',
  'transfer',
  'transfer.waiting',
  'handover',
  'voicemail',
  'voicemail.cadence',
  'digits',
  'idle',
  'inactivity',
  'duration',
  'closing',
  'hold',
  'press',
  'recording',
  'participant',
] as const;

export type HistoryEntry = UserEntry | AssistantEntry | AddedEntry | ParticipantEntry;

/** What a participant has said. */
export interface ParticipantEntry {
  role: 'participant';
  name: string;
  /** The user did not hear it: it is for the model. */
  whispered: boolean;
  content: string;
  atMs: number;
}

/** A message that a program has added. */
export interface AddedEntry {
  role: 'added';
  as: AddedRole;
  content: string;
  atMs: number;
}

export interface UserEntry {
  role: 'user';
  content: string;
  atMs: number;
}

export interface AssistantEntry {
  role: 'assistant';
  parts: SpokenPart[];
  calls: CallEntry[];
  /** The user interrupted it. */
  interrupted: boolean;
  /** Who speaks; left out until there is a hand-over. */
  agent?: string;
  atMs: number;
}

export interface SpokenPart {
  utteranceId: number;
  text: string;
  /** Null until the utterance is over; then the number of heard characters. */
  heardChars: number | null;
}

export interface CallEntry {
  call: ToolCall;
  /** Null while it runs. */
  result: string | null;
}

/** What the user is saying, without an answer yet. */
export interface TurnState {
  /** A turn that was answered too soon and continues keeps its number. */
  number: number;
  /** Segments up to this one belong to earlier turns: late transcripts for them are ignored. */
  lastSegment: number;
  speaking: boolean;
  /** Start of the turn, null = no speech yet. */
  startMs: number | null;
  /** Start of the latest stretch of speech, null = the VAD has detected none. */
  speechStartMs: number | null;
  /** How much the agent had said when the turn began over its words; null = the agent was silent. */
  overChars: number | null;
  /** End of the latest speech; meaningless while speaking. */
  endMs: number;
  /** Total speech in this turn up to the latest end. */
  speechMs: number;
  /** The longest pause after which this turn continued. */
  longestPauseMs: number;
  /** An audio model's result for the silence since `endMs`: the probability that the turn is over. */
  judged: number | null;
  /** Its last score, 0 to 1. */
  completeness: number;
  /** Number of speculative answers to it that were begun at a pause. */
  speculations: number;
  /** The words that were last considered for one while they were not final. */
  considered: string;
  /** What those begun while the user spoke have cost, in estimated tokens of the prompt and of the answer. */
  earlyTokens: { prompt: number; completion: number };
  /** When the latest final transcript came. */
  finalMs: number | null;
  /** It has interrupted the agent. */
  interrupts: boolean;
  /** The speech that it interrupted, which is repeated if the turn turns out to be nothing. */
  cutOff: CutOff | null;
  /** It is over, but the agent finishes first. */
  waiting: boolean;
  segments: Segment[];
  /** Words before the segments: of a turn that was answered too soon, or typed. */
  carried: string;
}

export interface CutOff {
  /** Utterances that were not heard completely. */
  texts: string[];
  /** The model had not finished its answer. */
  unfinished: boolean;
  /** It was the opening, of which up to a half was heard, or more. */
  opening: 'early' | 'late' | null;
}

export interface Segment {
  segment: number;
  text: string;
  isFinal: boolean;
  understood: boolean;
}

export interface SpeechState {
  /** In playing order; the first may be playing. */
  queue: Utterance[];
  held: boolean;
  /** End of a pause that the model asked for. */
  pausedUntilMs: number;
  /** The heard text of past utterances: its end, its total length, and when it ended. */
  said: { text: string; chars: number; endMs: number | null };
}

export interface Utterance {
  id: number;
  /** As it is shown and kept. */
  text: string;
  /** With its speech mark-up, if it has any. */
  marked?: string;
  kind: UtteranceKind;
  interruptible: boolean;
  playing: boolean;
  /** Silence after it that the model asked for; 0 = the usual pause. */
  pauseMs: number;
  /** Index of its message in the history. */
  entry: number;
  /** It is said for the second time, because the voice failed. */
  again: boolean;
  /** The model speaks it itself: its words arrive while it plays. */
  own: boolean;
  /** Nothing may cut it off, no program either. */
  whole: boolean;
}

/** A text, or instructions for the model. `answers`: meanwhile the model is asked for what is still open. */
export type ToSay =
  | { id: number | null; text: string; whole: boolean; answers?: true }
  | { id: number | null; instructions: string; tools: readonly string[] | null };

export interface CommandedEnd {
  target: string | null;
  /** A step of the flow wants it, and may name any target. */
  own?: boolean;
  /** A program waits for the outcome, and may name any target. */
  id?: number;
  /** Null = as the agent is set. */
  attended?: boolean | null;
  summary?: string | null;
}

/** A participant has taken over from the agent. */
export function isTakenOver({ participants }: Pick<ConversationState, 'participants'>): boolean {
  return participants.some(({ mode, held, toMs }) => mode === 'take_over' && !held && toMs === null);
}

/** The user hears a participant speak: the agent waits, as for the user. */
export function isTalkedOver({ participants }: Pick<ConversationState, 'participants'>): boolean {
  return participants.some(({ mode, speaking, toMs }) => mode === 'barge_in' && speaking && toMs === null);
}

export interface OpenCommand {
  id: number;
  /** `say` has no utterance until it is said; `generate` is over when its reply is. */
  kind: 'say' | 'generate' | 'other';
  isBegun: boolean;
  /** What was said of it. */
  parts: { entry: number; utteranceId: number }[];
}

/** A reply that a program has asked for. */
export interface AskedReply {
  /** Null = nobody waits for its outcome. */
  id: number | null;
  instructions: string;
  tools: readonly string[] | null;
}

export interface Again {
  text: string;
  marked?: string;
  kind: UtteranceKind;
  interruptible: boolean;
}

export interface ReplyState {
  requestId: number;
  /**
   * The model has a request (`thinking`), streams the answer (`streaming`), waits for its tools (`tools`), or has
   * finished (`done`) while its words may still be playing.
   */
  phase: 'thinking' | 'streaming' | 'tools' | 'done';
  /** Text that is not a complete sentence yet. */
  pending: string;
  /** Pieces of this round that the voice has got. */
  pieces: number;
  /** The utterance that the model itself speaks in this round; null = none. */
  ownUtterance: number | null;
  /** The message in the history for this round's words, if there is one. */
  entry: number | null;
  /** Requests for this turn: 1, and one more after each round of tools. */
  round: number;
  /** The turn's text as committed, to be taken back if the user resumes. */
  turnText: string;
  turnNumber: number;
  /** Index of the user's message in the history, null if the agent speaks without one. */
  userEntry: number | null;
  calls: ToolCall[];
  /** Something irreversible was done. */
  acted: boolean;
  /** The turn interrupted the agent: no filler follows. */
  afterInterruption: boolean;
  /** It has pressed keys, and may stay silent after them. */
  pressed: boolean;
  /** The model was asked before the user's words were known. */
  wordless: boolean;
  /** A program has asked for it; null = the conversation has. */
  asked: AskedReply | null;
}

export interface SpeculationState {
  /**
   * Becomes the reply if the turn ends with these words. Until then nothing of it is spoken, executed or in the
   * history.
   */
  reply: ReplyState;
  /** The words that it answers, in comparable form; for a model that hears the user, the speech. */
  words: string;
  /** The model's own words so far; null = it does not speak itself. */
  voiced: string | null;
  /** The model's sentences so far; with the id under which the voice prepares one. */
  sentences: { text: string; utteranceId: number | null; pauseMs: number }[];
  /** Text that is not a complete sentence yet. */
  pending: string;
  /** The model has finished. */
  done: boolean;
  /** Number of messages in the history and of calls at the time of the request: with others the answer would differ. */
  history: number;
  tools: number;
  startMs: number;
  promptChars: number;
  modelChars: number;
  /** It was begun while the user still spoke. */
  early: boolean;
}

export interface RunningTool {
  call: ToolCall;
  /** The request that made the call. */
  requestId: number;
  /** Starts when this utterance is over; null = started. */
  afterUtterance: number | null;
  /** Index of the message with the call in the history. */
  entry: number;
}

export interface InterruptionState {
  sinceMs: number;
}

export interface VoicemailState {
  /**
   * Undecided who has answered (`listening`), a mailbox greets (`greeting`), or the message is being left (`message`).
   */
  phase: 'listening' | 'greeting' | 'message';
  /** Transcripts since the call was answered. */
  segments: { segment: number; text: string }[];
  speaking: boolean;
  /** Start of the current or last uninterrupted speech; null = no speech in this phase. */
  stretchMs: number | null;
  /** End of the latest speech. */
  endMs: number | null;
  /** The greeting is short, like a person's. */
  personal: boolean;
  /** A call screener is asking who calls … */
  screening: boolean;
  /** … or has asked. */
  screened: boolean;
  /** Start of speech longer than that of people who answer; null = none. */
  suspectMs: number | null;
  /** The latest time at which the other side let the agent finish after the greeting; null = not yet. */
  listenedMs: number | null;
  beeped: boolean;
  /** What the words indicate, and since when. */
  phrase: { found: MachinePhrase | AnnouncedEnd; sinceMs: number } | null;
  /** How the call ends after an announcement, unless it goes on to offer to take a message; null = no announcement. */
  announced: AnnouncedEnd | null;
  /** Index of the message in the history, once it is being left. */
  entry: number | null;
}

export interface TransferState {
  /** The notice is playing (`notice`), or the line is connecting. */
  phase: 'notice' | 'connecting';
  target: string;
  /** What the target of an attended transfer hears about the user; null = nothing. */
  summary: string | null;
  /** The index of the message in the history with the call that requested it. */
  entry: number;
  callId: string;
  requestId: number;
  /** How the target is asked first; null = it is not. */
  attended: AttendedTransferConfig | null;
  /** The program's command; null = the model's call. */
  command: number | null;
}

export interface HandoverState extends HandoverContext {
  agent: AgentRef;
  /** Back to an agent that had the conversation before. */
  back: boolean;
  announcement: string | null;
  reason: string | null;
  mayReturn: boolean;
  /** The index of the message in the history with the call that requested it. */
  entry: number;
  callId: string;
  /** Null = a program has asked for it. */
  requestId: number | null;
  command: number | null;
  /** Null = the agent is being prepared. */
  ready: NextAgent | null;
}

/** A hand-over that has happened. */
export interface Handover {
  from: AgentRef;
  to: AgentRef;
  back: boolean;
  /** Index of the message with the call. */
  entry: number;
  callId: string;
  /** The user's turn in which it happened. */
  turn: number;
  /** What the next agent sees of the history before that message: from this index on. */
  since: number;
  /** … or only this message of the user, which waits for an answer; null = it sees what `since` says. */
  only: number | null;
  /** What it is told. */
  note: string;
  /** Where `from` was in its steps; null = it has none. */
  steps: StepsState | null;
  /** The agents that it may hand the conversation back to, the last one first in line. */
  returns: readonly AgentRef[];
  atMs: number;
}

export interface EndingState {
  status: EndStatus;
  /** The user's words can still reopen the conversation. */
  reversible: boolean;
  /** The call that requested it. */
  call: { entry: number; callId: string } | null;
}

export function initialState(): ConversationState {
  return {
    line: 'waiting',
    nowMs: 0,
    deadlines: noDeadlines(),
    language: null,
    doNotCall: false,
    history: [],
    turn: newTurn(1),
    pace: { pausesMs: [], endMs: null },
    digits: '',
    speech: { queue: [], held: false, pausedUntilMs: 0, said: { text: '', chars: 0, endMs: null } },
    reply: null,
    speculation: null,
    early: { begun: 0, right: 0 },
    interruption: null,
    noisyUntilMs: 0,
    ending: null,
    transfer: null,
    handover: null,
    handovers: [],
    agentConfig: null,
    commanded: null,
    voicemail: null,
    filler: { lastMs: null, text: null, turn: null },
    expected: null,
    rotation: {},
    inactivity: { prompts: 0, sinceMs: 0 },
    lastActiveMs: 0,
    tools: [],
    background: [],
    hasUnreportedResults: false,
    toSay: [],
    commands: [],
    updates: [],
    settings: {},
    muted: { user: false, agent: false },
    hold: null,
    press: null,
    recordingPaused: false,
    participants: [],
    steps: null,
    listeners: [],
    failures: { model: 0, voice: 0, voiceEntry: null, unheard: false, again: null },
    nextId: 1,
  };
}

export function noDeadlines(): ConversationDeadlines {
  return Object.fromEntries(DEADLINES.map((name) => [name, null])) as ConversationDeadlines;
}

export function newTurn(number: number, lastSegment = -1): TurnState {
  return {
    number,
    lastSegment,
    speaking: false,
    startMs: null,
    speechStartMs: null,
    overChars: null,
    endMs: 0,
    speechMs: 0,
    longestPauseMs: 0,
    judged: null,
    completeness: 0,
    speculations: 0,
    considered: '',
    earlyTokens: { prompt: 0, completion: 0 },
    finalMs: null,
    interrupts: false,
    cutOff: null,
    waiting: false,
    segments: [],
    carried: '',
  };
}
