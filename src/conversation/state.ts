import type { ToolCall } from '../config/chat.js';
import type { EndStatus, UtteranceKind } from './events.js';

/** Everything a conversation knows, as plain data: one slice a machine. */
export interface ConversationState {
  /** `line` is opened once and closed once. */
  line: 'waiting' | 'open' | 'closed';
  openedMs: number;
  /** Due times by name; the earliest is when the conversation wants to be stepped next. */
  deadlines: Partial<Record<DeadlineName, number>>;
  history: HistoryEntry[];
  turn: TurnState;
  digits: string;
  speech: SpeechState;
  reply: ReplyState | null;
  interruption: InterruptionState | null;
  ending: EndingState | null;
  filler: { next: number };
  /** Times in a row that the agent asked whether the user is there. */
  inactivity: { prompts: number };
  /** Last moment that was not idle: a sign of the user, or the end of something the agent said to them. */
  lastActiveMs: number;
  /** Calls that run, by id. */
  tools: Record<string, RunningTool>;
  /** A result came that no request has told the model about yet. */
  resultsUntold: boolean;
  /** Failures one after another: of the model's replies, and of the voice. */
  failures: { model: number; voice: number };
  nextId: number;
}

export type DeadlineName =
  | 'turn.end'
  | 'turn.stuck'
  | 'interruption'
  | 'opening'
  | 'filler'
  | 'llm.first'
  | 'llm.gap'
  | 'speech.start'
  | 'speech.end'
  | 'tools'
  | 'digits'
  | 'inactivity'
  | 'idle'
  | 'duration'
  | 'closing';

export type HistoryEntry =
  | { role: 'user'; content: string; atMs: number }
  | {
      role: 'assistant';
      parts: SpokenPart[];
      toolCalls: ToolCall[];
      interrupted: boolean;
      atMs: number;
    }
  | { role: 'tool'; callId: string; content: string | null; atMs: number };

export interface SpokenPart {
  utteranceId: number;
  text: string;
  /** Null until the utterance is over; then how much of it was heard. */
  heardChars: number | null;
}

/** What the user is saying and has not been answered yet. */
export interface TurnState {
  number: number;
  /** Segments up to this one belong to earlier turns: what comes late for them is no news. */
  lastSegment: number;
  speaking: boolean;
  /** Start of the first speech of this turn, null = nothing said yet. */
  startMs: number | null;
  /** Start of the latest stretch of speech. */
  speechStartMs: number;
  /** End of the latest speech; meaningless while speaking. */
  endMs: number;
  /** Speech that this turn holds in all, up to the latest end. */
  speechMs: number;
  /** It cut the agent off. */
  interrupts: boolean;
  /** It is over, but the agent may not be interrupted: it is taken up when the agent has finished. */
  waiting: boolean;
  segments: Segment[];
  /** Words of a turn that was answered too soon and has been taken back. */
  carried: string;
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
}

export interface Utterance {
  id: number;
  text: string;
  kind: UtteranceKind;
  interruptible: boolean;
  playing: boolean;
  /** Index of its message in the history. */
  entry: number;
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
  /** The reply's message in the history, once it has one. */
  entry: number | null;
  /** Requests made for this turn: 1, and one more after each round of tools. */
  round: number;
  /** Text of this turn as it was committed, to be taken back if the user goes on. */
  turnText: string;
  turnNumber: number;
  /** Index of the user's message in the history, null where the agent speaks unasked. */
  userEntry: number | null;
  calls: ToolCall[];
  /** Some tool of this turn was started: it cannot be taken back. */
  acted: boolean;
  /** Something of this turn's answer has been heard. */
  audible: boolean;
  /** The turn cut the agent off: no filler answers it. */
  afterInterruption: boolean;
}

export interface RunningTool {
  call: ToolCall;
  /** The request whose reply asked for it. */
  requestId: number;
  /** Starts when this utterance is over; null = started. */
  afterUtterance: number | null;
  /** Index of its result in the history. */
  entry: number;
}

export interface InterruptionState {
  sinceMs: number;
}

export interface EndingState {
  status: EndStatus;
  /** The user's words can still reopen the conversation. */
  reversible: boolean;
}

export function initialState(): ConversationState {
  return {
    line: 'waiting',
    openedMs: 0,
    deadlines: {},
    history: [],
    turn: newTurn(1),
    digits: '',
    speech: { queue: [], held: false },
    reply: null,
    interruption: null,
    ending: null,
    filler: { next: 0 },
    inactivity: { prompts: 0 },
    lastActiveMs: 0,
    tools: {},
    resultsUntold: false,
    failures: { model: 0, voice: 0 },
    nextId: 1,
  };
}

export function newTurn(number: number, lastSegment = -1): TurnState {
  return {
    number,
    lastSegment,
    speaking: false,
    startMs: null,
    speechStartMs: 0,
    endMs: 0,
    speechMs: 0,
    interrupts: false,
    waiting: false,
    segments: [],
    carried: '',
  };
}
