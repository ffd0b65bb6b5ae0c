import type { ConversationEffect, ConversationEvent } from '../../conversation/events.js';
import { AgentPeriods, UsageBook, type UsageNote } from './usage.js';

/**
 * Times of an answer by stage, in milliseconds from the end of the user's speech. Null = the turn did not have that
 * stage.
 */
export interface TurnMetrics {
  turn: number;
  /** Who answered; left out until there is a hand-over. */
  agent?: string;
  /** The user's words, null if the agent spoke without a turn. */
  heard: string | null;
  /** The answer, as far as it was heard. */
  said: string;
  /** End of the user's speech on the session's clock. */
  speechEndMs: number | null;
  /** From the end of speech to the decision that the turn is over. */
  endOfTurnMs: number | null;
  /** From that decision to the model's first piece. */
  llmFirstMs: number | null;
  /** From that decision to the first sentence for the voice. */
  firstSentenceMs: number | null;
  /** From the first sentence to its first audio. */
  ttsFirstMs: number | null;
  /** From the end of the user's speech to the first audio at the line: the user's wait. */
  responseMs: number | null;
  /** Time of that first audio on the session's clock. */
  audioStartMs: number | null;
  interrupted: boolean;
  /** The answer started before the decision; stages that were complete by then took 0. */
  speculative: boolean;
}

interface Open {
  metrics: TurnMetrics;
  decidedMs: number;
  sentenceMs: number | null;
  utterances: Set<number>;
  requests: Set<number>;
}

/** Collects the times of a session's turns. */
export class TurnClock {
  readonly turns: TurnMetrics[] = [];
  readonly #onAnswered: (metrics: TurnMetrics) => void;
  #open: Open | null = null;
  #agent: string | null = null;
  /** Requests and utterances of an undecided answer, with whether their first result has arrived. */
  readonly #early = { requests: new Map<number, boolean>(), utterances: new Map<number, boolean>() };

  constructor(onAnswered: (metrics: TurnMetrics) => void) {
    this.#onAnswered = onAnswered;
  }

  /** Another agent answers from now on, also the turn that is open. */
  answers(agent: string): void {
    this.#agent = agent;
    if (this.#open !== null) this.#open.metrics.agent = agent;
  }

  /** The user's turn is over and gets an answer. The number of the previous turn again: that turn had not been over. */
  decided(turn: number, heard: string, speechEndMs: number | null, nowMs: number): void {
    const metrics: TurnMetrics = {
      turn,
      heard,
      said: '',
      speechEndMs,
      endOfTurnMs: speechEndMs === null ? null : nowMs - speechEndMs,
      llmFirstMs: null,
      firstSentenceMs: null,
      ttsFirstMs: null,
      responseMs: null,
      audioStartMs: null,
      interrupted: false,
      speculative: false,
    };
    if (this.#agent !== null) metrics.agent = this.#agent;
    if (this.#open?.metrics.turn === turn) this.turns.pop();
    this.turns.push(metrics);
    this.#open = { metrics, decidedMs: nowMs, sentenceMs: null, utterances: new Set(), requests: new Set() };
  }

  /** @param speculative the turn is not decided: `confirmed` or `givenUp` follows */
  asked(requestId: number, speculative = false): void {
    if (speculative) this.#early.requests.set(requestId, false);
    else this.#open?.requests.add(requestId);
  }

  /** The voice prepares an utterance: `spoken` or `unspoken` follows. */
  prepared(utteranceId: number): void {
    this.#early.utterances.set(utteranceId, false);
  }

  givenUp(requestId: number): void {
    this.#early.requests.delete(requestId);
  }

  unspoken(utteranceId: number): void {
    this.#early.utterances.delete(utteranceId);
  }

  /** The speculative request is the answer. */
  confirmed(requestId: number): void {
    const open = this.#open;
    const spoke = this.#early.requests.get(requestId) === true;
    this.#early.requests.delete(requestId);
    if (open === null) return;
    open.requests.add(requestId);
    open.metrics.speculative = true;
    if (spoke) open.metrics.llmFirstMs = 0;
  }

  modelSpoke(requestId: number, nowMs: number): void {
    const open = this.#open;
    if (open?.requests.has(requestId) === true) open.metrics.llmFirstMs ??= nowMs - open.decidedMs;
    else if (this.#early.requests.has(requestId)) this.#early.requests.set(requestId, true);
  }

  spoken(utteranceId: number, nowMs: number): void {
    const open = this.#open;
    const sounds = this.#early.utterances.get(utteranceId) === true;
    this.#early.utterances.delete(utteranceId);
    if (open === null) return;
    open.utterances.add(utteranceId);
    if (open.sentenceMs !== null) return;
    open.sentenceMs = nowMs;
    open.metrics.firstSentenceMs = nowMs - open.decidedMs;
    if (sounds) open.metrics.ttsFirstMs = 0;
  }

  firstAudio(utteranceId: number, nowMs: number): void {
    const open = this.#open;
    if (open?.sentenceMs == null || !open.utterances.has(utteranceId)) {
      if (this.#early.utterances.has(utteranceId)) this.#early.utterances.set(utteranceId, true);
      return;
    }
    open.metrics.ttsFirstMs ??= nowMs - open.sentenceMs;
  }

  /** The first audio of an utterance is sent to the line. */
  audible(utteranceId: number, nowMs: number): void {
    const open = this.#open;
    if (open === null || !open.utterances.has(utteranceId) || open.metrics.audioStartMs !== null) return;
    const { metrics } = open;
    metrics.audioStartMs = nowMs;
    metrics.responseMs = nowMs - (metrics.speechEndMs ?? open.decidedMs);
    this.#onAnswered(metrics);
  }

  /** Number of undecided speculative answers in memory. */
  get undecided(): number {
    return this.#early.requests.size + this.#early.utterances.size;
  }

  interrupted(): void {
    if (this.#open?.metrics.audioStartMs != null) this.#open.metrics.interrupted = true;
  }

  /** A machine spoke last: the message after its beep is not an answer. */
  unanswered(): void {
    if (this.#open?.metrics.audioStartMs === null) this.turns.pop();
    this.#open = null;
  }

  /** Heard words of the agent. */
  said(utteranceId: number, text: string): void {
    const open = this.#open;
    if (open === null || !open.utterances.has(utteranceId) || text === '') return;
    open.metrics.said = open.metrics.said === '' ? text : `${open.metrics.said} ${text}`;
  }
}

/** Computes a session's figures from the conversation's events and effects. */
export class SessionMetrics {
  readonly turns: TurnClock;
  readonly speculation = noSpeculations();
  readonly usage = new UsageBook();
  readonly agents = new AgentPeriods();
  #speechEndMs: number | null = null;

  /** @param onAnswered called at the first audio of an answer */
  constructor(onAnswered: (metrics: TurnMetrics) => void) {
    this.turns = new TurnClock(onAnswered);
  }

  /** Returns whether that changes anything. */
  used(note: UsageNote, nowMs: number): boolean {
    this.agents.used(note, nowMs);
    return this.usage.take(note, nowMs);
  }

  onEvent(event: ConversationEvent, nowMs: number): void {
    if (event.type === 'speech.stopped') this.#speechEndMs = event.endMs;
    else if (event.type === 'llm.text' || event.type === 'llm.voice' || event.type === 'llm.toolCall')
      this.turns.modelSpoke(event.requestId, nowMs);
  }

  onEffect(effect: ConversationEffect, nowMs: number): void {
    if (effect.type === 'llm.start') this.turns.asked(effect.requestId, effect.speculative);
    else if (effect.type === 'agent.handover') {
      this.turns.answers(effect.to.name);
      this.agents.handedOver(effect, nowMs);
    } else if (effect.type === 'llm.cancel') this.turns.givenUp(effect.requestId);
    else if (effect.type === 'speak.prepare') this.turns.prepared(effect.utteranceId);
    else if (effect.type === 'speak.cancel') this.turns.unspoken(effect.utteranceId);
    else if (effect.type === 'llm.confirm') this.turns.confirmed(effect.requestId);
    else if (effect.type === 'speak') {
      // What a program has the agent say is no answer to the user.
      if (effect.kind !== 'announcement') this.turns.spoken(effect.utteranceId, nowMs);
    } else if (effect.type === 'user.said') {
      this.turns.decided(effect.turn, effect.text, this.#speechEndMs, nowMs);
      this.#speechEndMs = null;
    } else if (effect.type === 'trace') {
      if (effect.name === 'interruption') this.turns.interrupted();
      else if (effect.name === 'voicemail.detected') this.turns.unanswered();
      else countSpeculation(this.speculation, effect);
    }
  }
}

/** Milliseconds. */
export interface Percentiles {
  avg: number;
  p50: number;
  p95: number;
  p99: number;
}

/** The measured stages of an answer, as in TurnMetrics. */
const STAGES = ['responseMs', 'endOfTurnMs', 'llmFirstMs', 'firstSentenceMs', 'ttsFirstMs'] as const;

/** Distribution of each stage over a session's turns; null if no turn had it. */
export type LatencySummary = Record<(typeof STAGES)[number], Percentiles | null>;

export function latencySummary(turns: readonly TurnMetrics[]): LatencySummary {
  const summary = STAGES.map((stage) => [stage, percentiles(turns.flatMap((turn) => turn[stage] ?? []))] as const);
  return Object.fromEntries(summary) as LatencySummary;
}

/** Average and percentiles by nearest rank, so that each percentile is an actual value. Null for no values. */
export function percentiles(values: readonly number[]): Percentiles | null {
  if (values.length === 0) return null;
  const at = nearestRank(values);
  const avg = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { avg, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** Quantiles by nearest rank, of at least one value: maps a share above 0 and up to 1 to the value. */
export function nearestRank(values: readonly number[]): (share: number) => number {
  const sorted = [...values].sort((a, b) => a - b);
  return (share) => sorted[Math.ceil(share * sorted.length) - 1] as number;
}

/** Speculative answers, and the cost of those that were wrong. */
export interface SpeculationReport {
  started: number;
  /** The turn ended with these words: the answer was used. */
  confirmed: number;
  /** The user resumed or said something else: the answer was dropped unheard. */
  dropped: number;
  /** Of the dropped ones: characters sent to the model, received from it, and sent to the voice. */
  wastedPromptChars: number;
  wastedModelChars: number;
  wastedVoiceChars: number;
}

export function noSpeculations(): SpeculationReport {
  return { started: 0, confirmed: 0, dropped: 0, wastedPromptChars: 0, wastedModelChars: 0, wastedVoiceChars: 0 };
}

/** Counts the speculations in a conversation's trace. */
export function countSpeculation(
  report: SpeculationReport,
  { name, data }: Pick<Extract<ConversationEffect, { type: 'trace' }>, 'name' | 'data'>,
): void {
  const chars = (key: string): number => Number(data[key] ?? 0);
  if (name === 'speculation.started') report.started++;
  else if (name === 'speculation.confirmed') report.confirmed++;
  else if (name === 'speculation.dropped') {
    report.dropped++;
    report.wastedPromptChars += chars('promptChars');
    report.wastedModelChars += chars('modelChars');
    report.wastedVoiceChars += chars('voiceChars');
  }
}
