import type { ToolCall } from '../agent/chat.js';
import type { EndStatus, UtteranceKind } from './events.js';
import type { AnnouncedEnd } from './voicemail/announcements.js';
import type { MachinePhrase } from './voicemail/voicemail-phrases.js';

/** Number of the turn that the model opens the conversation with. */
export const OPENING_TURN = 0;

/** Everything a conversation knows, as plain data (it survives JSON): one slice a machine. */
export interface ConversationState {
  /** `line` is opened once and closed once. */
  line: 'waiting' | 'open' | 'closed';
  /** Time of the latest step. */
  nowMs: number;
  /** Due times by name; the earliest is when the conversation wants to be stepped next. */
  deadlines: ConversationDeadlines;
  /** What is spoken since the conversation changed its language; null = as configured. */
  language: string | null;
  /** The user has asked not to be called again. */
  doNotCall: boolean;
  history: HistoryEntry[];
  turn: TurnState;
  /** The user's latest pauses inside turns, ms; and where the speech of the turn before this one ended. */
  pace: { pausesMs: number[]; endMs: number | null };
  /** Keys pressed so far of a row that goes on. */
  digits: string;
  speech: SpeechState;
  reply: ReplyState | null;
  /** An answer that was begun before the turn is over. */
  speculation: SpeculationState | null;
  interruption: InterruptionState | null;
  /** Noise has held the agent for long: until then, sound alone does not hold it. */
  noisyUntilMs: number;
  ending: EndingState | null;
  /** The call is being handed to somebody else. */
  transfer: TransferState | null;
  /** Somebody outside wants the user connected to this target, or (null) the call ended, when all has been said. */
  commanded: { target: string | null } | null;
  /** A machine may have answered, or has; null = a person has. */
  voicemail: VoicemailState | null;
  /** The last one: when, what, and for which turn. */
  filler: { lastMs: number | null; text: string | null; turn: number | null };
  /** How often something was chosen from each list of phrases, so that it is chosen in turn. */
  rotation: Record<string, number>;
  /** `prompts`: times in a row that the agent asked whether the user is there; `sinceMs`: neither side spoke since. */
  inactivity: { prompts: number; sinceMs: number };
  /** Last moment that was not idle: a sign of the user, or the end of something the agent said to them. */
  lastActiveMs: number;
  /** Calls that run, or wait for their phrase. */
  tools: RunningTool[];
  /** A result came that no request has told the model about yet. */
  resultsUntold: boolean;
  /** What others want said, waiting for the user to finish. */
  toSay: string[];
  /**
   * Failures one after another: of the model's replies, and of messages that the voice should have spoken. `unheard`:
   * nothing has been heard since the voice failed; `again`: what has to be said again then.
   */
  failures: { model: number; voice: number; voiceEntry: number | null; unheard: boolean; again: Again | null };
  nextId: number;
}

export type ConversationDeadlines = Record<DeadlineName, number | null>;

export type DeadlineName = (typeof DEADLINES)[number];

/** Of deadlines that are due at the same moment, the one named first comes first. */
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
  'voicemail',
  'voicemail.cadence',
  'digits',
  'idle',
  'inactivity',
  'duration',
  'closing',
] as const;

export type HistoryEntry = UserEntry | AssistantEntry;

export interface UserEntry {
  role: 'user';
  content: string;
  atMs: number;
}

export interface AssistantEntry {
  role: 'assistant';
  parts: SpokenPart[];
  calls: CallEntry[];
  /** The user cut it off. */
  interrupted: boolean;
  atMs: number;
}

export interface SpokenPart {
  utteranceId: number;
  text: string;
  /** Null until the utterance is over; then how much of it was heard. */
  heardChars: number | null;
}

export interface CallEntry {
  call: ToolCall;
  /** Null while it runs. */
  result: string | null;
}

/** What the user is saying and has not been answered yet. */
export interface TurnState {
  /** A turn that was answered too soon and goes on keeps its number. */
  number: number;
  /** Segments up to this one belong to earlier turns: what comes late for them is no news. */
  lastSegment: number;
  speaking: boolean;
  /** Start of the turn, null = nothing said yet. */
  startMs: number | null;
  /** Start of the latest stretch of speech, null = the VAD has heard none. */
  speechStartMs: number | null;
  /** How much the agent had said in all when it began over the agent's words; null = the agent was silent. */
  overChars: number | null;
  /** End of the latest speech; meaningless while speaking. */
  endMs: number;
  /** Speech that this turn holds in all, up to the latest end. */
  speechMs: number;
  /** The longest pause after which this turn went on. */
  longestPauseMs: number;
  /** What an audio model makes of the silence since `endMs`: the probability that the turn is over. */
  judged: number | null;
  /** How complete it was when it was last scored, 0..1. */
  completeness: number;
  /** Answers to it that were begun before it is over. */
  speculations: number;
  /** When the latest final transcript came. */
  finalMs: number | null;
  /** It cut the agent off. */
  interrupts: boolean;
  /** What it cut the agent off from, to be taken up again if it comes to nothing. */
  cutOff: CutOff | null;
  /** It is over, but is taken up only when the agent has finished. */
  waiting: boolean;
  segments: Segment[];
  /** Words that came before the segments: of a turn that was answered too soon, or typed. */
  carried: string;
}

export interface CutOff {
  /** Utterances that were not heard whole. */
  texts: string[];
  /** The model had not finished its answer. */
  unfinished: boolean;
}

export interface Segment {
  segment: number;
  text: string;
  isFinal: boolean;
  understood: boolean;
}

export interface SpeechState {
  /** In the order of playing; the first may be playing. */
  queue: Utterance[];
  held: boolean;
  /** A pause that the model asked for goes on until then. */
  pausedUntilMs: number;
  /** What of the utterances that are over was heard: the end of it, its length in all, and when it ended. */
  said: { text: string; chars: number; endMs: number | null };
}

export interface Utterance {
  id: number;
  text: string;
  kind: UtteranceKind;
  interruptible: boolean;
  playing: boolean;
  /** Silence that the model wants behind it; 0 = the usual breath. */
  pauseMs: number;
  /** Index of its message in the history. */
  entry: number;
  /** It is said for the second time, because the voice failed. */
  again: boolean;
  /** The model speaks it itself: its words come while it is heard. */
  own: boolean;
}

export interface Again {
  text: string;
  kind: UtteranceKind;
  interruptible: boolean;
}

export interface ReplyState {
  requestId: number;
  /**
   * The model is being asked (`thinking`), answers (`streaming`), waits for its tools (`tools`), or has said all
   * (`done`) while what it said is still being played.
   */
  phase: 'thinking' | 'streaming' | 'tools' | 'done';
  /** Text that is no whole sentence yet. */
  pending: string;
  /** Pieces of this round that were handed to the voice. */
  pieces: number;
  /** What the model itself speaks in this round; null = nothing. */
  ownUtterance: number | null;
  /** The message in the history that this round's words go to, once there is one. */
  entry: number | null;
  /** Requests made for this turn: 1, and one more after each round of tools. */
  round: number;
  /** Text of this turn as it was committed, to be taken back if the user goes on. */
  turnText: string;
  turnNumber: number;
  /** Index of the user's message in the history, null where the agent speaks unasked. */
  userEntry: number | null;
  calls: ToolCall[];
  /** Something was done that cannot be taken back. */
  acted: boolean;
  /** The turn cut the agent off: no filler answers it. */
  afterInterruption: boolean;
  /** It has pressed keys, and may listen to what follows without a word. */
  pressed: boolean;
  /** The model was asked before the user's words were known. */
  wordless: boolean;
}

export interface SpeculationState {
  /** What becomes the reply if the turn ends with these words. Nothing of it is said, done or in the history. */
  reply: ReplyState;
  /** The words that it answers, in a form that can be compared; where the model hears, which speech. */
  words: string;
  /** What the model itself has said so far; null = it does not speak itself. */
  voiced: string | null;
  /** What the model has said; with the id under which the voice makes a sentence ready. */
  sentences: { text: string; utteranceId: number | null; pauseMs: number }[];
  /** Text that is no whole sentence yet. */
  pending: string;
  /** The model has said all. */
  done: boolean;
  /** Messages in the history and calls that ran as the model was asked: with others it would answer otherwise. */
  history: number;
  tools: number;
  startMs: number;
  promptChars: number;
  modelChars: number;
}

export interface RunningTool {
  call: ToolCall;
  /** The request whose reply asked for it. */
  requestId: number;
  /** Starts when this utterance is over; null = started. */
  afterUtterance: number | null;
  /** Index of the message in the history that holds the call. */
  entry: number;
}

export interface InterruptionState {
  sinceMs: number;
}

export interface VoicemailState {
  /** It is open who has answered (`listening`), a mailbox greets, or the message is being left. */
  phase: 'listening' | 'greeting' | 'message';
  /** What was said since the answer. */
  segments: { segment: number; text: string }[];
  speaking: boolean;
  /** Start of the speech that goes on, or was the last, without a pause; null = nobody has spoken in this phase. */
  stretchMs: number | null;
  /** End of the latest speech. */
  endMs: number | null;
  /** Greets like a person: briefly. */
  personal: boolean;
  /** A machine is asking who calls … */
  screening: boolean;
  /** … or has asked. */
  screened: boolean;
  /** Start of the speech that went on for longer than people talk who answer; null = none has. */
  suspectMs: number | null;
  /** Has let the agent finish after the greeting, the latest time; null = not yet. */
  listenedMs: number | null;
  beeped: boolean;
  /** What the words tell, and since when. */
  phrase: { found: MachinePhrase | AnnouncedEnd; sinceMs: number } | null;
  /** How the call ends after an announcement, unless the rest of it offers to take a message; null = no announcement. */
  announced: AnnouncedEnd | null;
  /** The message in the history, once it is being left. */
  entry: number | null;
}

export interface TransferState {
  /** The user is told (`notice`), then the line is connecting. */
  phase: 'notice' | 'connecting';
  target: string;
  /** What whoever is asked first is told of the user; null = nothing. */
  summary: string | null;
  /** The call by which the model decided it, and the message in the history that holds it. */
  entry: number;
  callId: string;
  requestId: number;
}

export interface EndingState {
  status: EndStatus;
  /** The user's words can still reopen the conversation. */
  reversible: boolean;
  /** The call by which the model decided it. */
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
    interruption: null,
    noisyUntilMs: 0,
    ending: null,
    transfer: null,
    commanded: null,
    voicemail: null,
    filler: { lastMs: null, text: null, turn: null },
    rotation: {},
    inactivity: { prompts: 0, sinceMs: 0 },
    lastActiveMs: 0,
    tools: [],
    resultsUntold: false,
    toSay: [],
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
    finalMs: null,
    interrupts: false,
    cutOff: null,
    waiting: false,
    segments: [],
    carried: '',
  };
}
