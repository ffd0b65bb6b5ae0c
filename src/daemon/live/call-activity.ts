import { INAUDIBLE } from '../../conversation/speech/history.js';
import { setOr } from '../../schema/field.js';
import type { SessionEvent } from '../../session/session-options.js';
import type { StoredCall } from '../../store/calls.js';
import { PROGRESS } from './live-events.js';
import { type CallActivity, type Sentiment, type WarningKind, WARNINGS } from './running-call.js';
import { asksForHuman, contentWords, repeats, sentimentOf, topicOf } from './user-words.js';

/** Inaudible turns running. */
const MISUNDERSTOOD_TURNS = 2;
/** Negative turns running. */
const UNHAPPY_TURNS = 2;
/** Earlier turns with which a turn is compared, and whose words make the topic. */
const COMPARED_TURNS = 4;
/** Louder than this, and than the user's own median by so much, is shouting. It needs as many earlier stretches. */
const LOUD_DBFS = -20;
const LOUDER_DB = 8;
const USUAL_STRETCHES = 3;
/** Stretches of speech that count for what is usual. */
const MOST_STRETCHES = 20;
/** Stretches at the usual level after which the user is calm again. */
const CALM_STRETCHES = 2;
const SILENCE_MS = 10_000;
/** Of the last answer, of the median of the latest answers, and of one that is awaited. */
const SLOW_MS = 3_000;
const SLOW_MEDIAN_MS = 2_000;
const MEDIAN_ANSWERS = 3;
const MOST_ANSWERS = 50;
/** For how long a failure is a warning. */
const RECENT_MS = 60_000;
/** Who has thought for so long will not answer. */
const THINKING_MS = 30_000;
const MOST_CHARS = 280;

interface Turn {
  number: number;
  words: readonly string[];
  isInaudible: boolean;
  isNegative: boolean;
  repeats: boolean;
}

interface Failure {
  name: string;
  atMs: number;
}

/**
 * What is going on in one call, and what is wrong with it, computed from its events by rules. What it keeps is bounded.
 * Of calls whose agent opts out of data collection it keeps no words, and none of what words tell.
 */
export class ActivityTracker {
  readonly #language: string;
  readonly #isDiscreet: boolean;
  readonly #isInbound: boolean;
  #status = '';
  #isAnswered = false;
  #isOver = false;
  readonly #speaking = { user: false, agent: false };
  readonly #muted = { user: false, agent: false };
  #isHeld = false;
  #isTransferring = false;
  /** People in the call, by their id. */
  readonly #participants = new Map<string, CallActivity['participants'][number]>();
  /** Running tools by the id of their call. */
  readonly #tools = new Map<string, string>();
  #step: string | null = null;
  /** Where agents have left their steps that have handed the call over, by id. */
  readonly #steps = new Map<string | null, string | null>();
  #lastTool: string | null = null;
  #thinkingFromMs: number | null = null;
  #quietFromMs: number;
  #state: CallActivity['state'] = 'ringing';
  #stateFromMs: number;
  /** The latest, newest last. */
  readonly #turns: Turn[] = [];
  #turnCount = 0;
  #sentiment: Sentiment | null = null;
  readonly #said: { user: string | null; agent: string | null } = { user: null, agent: null };
  readonly #levels: number[] = [];
  #calmStretches = 0;
  #isLoud = false;
  readonly #responses: number[] = [];
  #failedTool: Failure | null = null;
  #fault: Failure | null = null;
  #hasAskedForHuman = false;
  readonly #warnedFromMs = new Map<WarningKind, number>();

  /** @param defaultLanguage of agents without one */
  constructor(call: StoredCall, defaultLanguage: string, nowMs: number) {
    const { language, privacy_settings: privacy } = call.item.agent_config;
    this.#language = setOr(language, defaultLanguage);
    this.#isInbound = call.direction === 'inbound';
    this.#isDiscreet = privacy?.opt_out_data_collection === true;
    this.#quietFromMs = nowMs;
    this.#stateFromMs = nowMs;
    this.status(call.status, nowMs);
  }

  /** The status of the call in the log. */
  status(status: string, nowMs: number): void {
    this.#status = status;
    this.#isOver ||= !PROGRESS.has(status);
    if (status === 'in-progress' && !this.#isAnswered) {
      this.#isAnswered = true;
      this.#quietFromMs = nowMs;
    }
    this.look(nowMs);
  }

  /** An event of the call's session. */
  take(event: SessionEvent, nowMs: number): void {
    switch (event.type) {
      case 'participant':
        this.#joined(event.participant);
        this.#quietFromMs = nowMs;
        break;
      case 'participantSaid':
        if (!event.whispered) this.#quietFromMs = nowMs;
        break;
      case 'transcript':
        if (!event.isFinal) this.#said.user = this.#kept(event.text);
        break;
      case 'user':
        this.#userTurn(event.turn, event.text);
        if (!this.#muted.agent && !this.#isTakenOver) this.#thinkingFromMs = nowMs;
        break;
      case 'agent':
        this.#said.agent = this.#kept(event.text);
        break;
      case 'speaking':
        this.#speaks(event, nowMs);
        break;
      case 'toolStarted':
        this.#tools.set(event.call.id, event.call.name);
        this.#lastTool = event.call.name;
        break;
      case 'tool':
        this.#tools.delete(event.call.id);
        this.#lastTool = event.call.name;
        if (!event.ok) this.#failedTool = { name: event.call.name, atMs: nowMs };
        break;
      case 'answered':
        this.#answered(event.metrics.responseMs);
        break;
      case 'muted':
        this.#muted[event.side] = event.on;
        if (event.side === 'agent' && event.on) this.#thinkingFromMs = null;
        break;
      case 'held':
        this.#isHeld = event.on;
        this.#quietFromMs = nowMs;
        break;
      case 'transferring':
        this.#isTransferring = event.on;
        this.#quietFromMs = nowMs;
        break;
      case 'fault':
        // A tool that fails has its own warning.
        if (!event.name.startsWith('tool.')) this.#fault = { name: event.name, atMs: nowMs };
        break;
      case 'ended':
        this.#isOver = true;
        break;
      case 'step':
        this.#step = event.step;
        break;
      case 'handover':
        this.#steps.set(event.from.id, this.#step);
        this.#step = event.back ? (this.#steps.get(event.to.id) ?? null) : null;
        break;
      case 'interrupted':
      case 'agentUpdated':
      case 'toolProgress':
      case 'provider':
        break;
    }
    this.look(nowMs);
  }

  /** Notices what time alone has changed. Returns whether something has. */
  look(nowMs: number): boolean {
    let hasChanged = false;
    const state = this.#stateAt(nowMs);
    if (state !== this.#state) {
      this.#state = state;
      this.#stateFromMs = nowMs;
      hasChanged = true;
    }
    for (const kind of WARNINGS) {
      const isOn = this.#isAnswered && !this.#isOver && this.#warns(kind, nowMs);
      if (isOn === this.#warnedFromMs.has(kind)) continue;
      if (isOn) this.#warnedFromMs.set(kind, nowMs);
      else this.#warnedFromMs.delete(kind);
      hasChanged = true;
    }
    return hasChanged;
  }

  activity(): CallActivity {
    const words = this.#isDiscreet ? null : topicOf(this.#turns.map((turn) => turn.words));
    return {
      state: this.#state,
      state_since: this.#stateFromMs / 1000,
      user_muted: this.#muted.user,
      agent_muted: this.#muted.agent,
      participants: [...this.#participants.values()],
      step: this.#step,
      tool: [...this.#tools.values()].at(-1) ?? null,
      topic: { tool: this.#lastTool, words },
      user_said: this.#said.user,
      agent_said: this.#said.agent,
      sentiment: this.#sentiment,
      turns: this.#turnCount,
      response_ms: roundedOf(this.#responses.at(-1)),
      median_response_ms: roundedOf(medianOf(this.#responses)),
      warnings: WARNINGS.flatMap((kind) => {
        const fromMs = this.#warnedFromMs.get(kind);
        return fromMs === undefined ? [] : [{ kind, since: fromMs / 1000, detail: this.#detailOf(kind) }];
      }),
    };
  }

  #stateAt(nowMs: number): CallActivity['state'] {
    if (this.#isOver) return 'after_call';
    if (!this.#isAnswered) return this.#isInbound && this.#status === 'queued' ? 'waiting' : 'ringing';
    if (this.#isTransferring) return 'transferring';
    if (this.#isHeld) return 'held';
    if (this.#isTakenOver) return 'taken_over';
    if (this.#speaking.user) return 'user_speaking';
    if (this.#speaking.agent) return 'agent_speaking';
    if (this.#tools.size > 0) return 'tool';
    if (this.#thinkingFromMs !== null && nowMs - this.#thinkingFromMs < THINKING_MS) return 'thinking';
    return 'listening';
  }

  #warns(kind: WarningKind, nowMs: number): boolean {
    const isRecent = (failure: Failure | null): boolean => failure !== null && nowMs - failure.atMs < RECENT_MS;
    switch (kind) {
      case 'asks_for_human':
        return this.#hasAskedForHuman;
      case 'shouting':
        return this.#isLoud;
      case 'misunderstood':
        return this.#lastTurns(MISUNDERSTOOD_TURNS, (turn) => turn.isInaudible);
      case 'fault':
        return isRecent(this.#fault);
      case 'unhappy':
        return this.#lastTurns(UNHAPPY_TURNS, (turn) => turn.isNegative);
      case 'repeats':
        return this.#turns.at(-1)?.repeats === true;
      case 'tool_failed':
        return isRecent(this.#failedTool);
      case 'silence':
        return this.#isQuiet && nowMs - this.#quietFromMs >= SILENCE_MS;
      case 'slow':
        return this.#isSlow(nowMs);
    }
  }

  /** Nobody speaks, and somebody should. */
  get #isQuiet(): boolean {
    const isSomebodyElses = this.#isHeld || this.#isTransferring || this.#isTakenOver;
    return !this.#speaking.user && !this.#speaking.agent && !isSomebodyElses;
  }

  /** A person speaks with the user in place of the agent. */
  get #isTakenOver(): boolean {
    return [...this.#participants.values()].some(({ mode, held }) => mode === 'take_over' && !held);
  }

  #isSlow(nowMs: number): boolean {
    if (this.#thinkingFromMs !== null && nowMs - this.#thinkingFromMs >= SLOW_MS) return this.#isQuiet;
    if ((this.#responses.at(-1) ?? 0) >= SLOW_MS) return true;
    const latest = this.#responses.slice(-MEDIAN_ANSWERS);
    return latest.length === MEDIAN_ANSWERS && (medianOf(latest) ?? 0) >= SLOW_MEDIAN_MS;
  }

  #detailOf(kind: WarningKind): string | null {
    if (kind === 'tool_failed') return this.#failedTool?.name ?? null;
    return kind === 'fault' ? (this.#fault?.name ?? null) : null;
  }

  #lastTurns(count: number, is: (turn: Turn) => boolean): boolean {
    const last = this.#turns.slice(-count);
    return last.length === count && last.every(is);
  }

  /** The same number again replaces the turn: it had not been over. */
  #userTurn(number: number, text: string): void {
    if (this.#turns.at(-1)?.number === number) this.#turns.pop();
    else this.#turnCount++;
    const isInaudible = text.trim() === INAUDIBLE;
    this.#said.user = this.#kept(text);
    const words = this.#isDiscreet || isInaudible ? [] : contentWords(text, this.#language);
    this.#sentiment = this.#isDiscreet || isInaudible ? null : sentimentOf(text, this.#language);
    this.#turns.push({
      number,
      words,
      isInaudible,
      isNegative: this.#sentiment?.label === 'negative',
      repeats: this.#turns.some((earlier) => repeats(words, earlier.words)),
    });
    if (this.#turns.length > COMPARED_TURNS) this.#turns.shift();
    if (!this.#isDiscreet && asksForHuman(text, this.#language)) this.#hasAskedForHuman = true;
  }

  #speaks({ who, isSpeaking, levelDbfs }: Extract<SessionEvent, { type: 'speaking' }>, nowMs: number): void {
    this.#speaking[who] = isSpeaking;
    this.#quietFromMs = nowMs;
    if (isSpeaking) this.#thinkingFromMs = null;
    else if (who === 'user' && levelDbfs !== undefined) this.#spokeAt(levelDbfs);
  }

  #spokeAt(levelDbfs: number): void {
    const usual = this.#levels.length >= USUAL_STRETCHES ? medianOf(this.#levels) : undefined;
    if (usual !== undefined && levelDbfs >= LOUD_DBFS && levelDbfs >= usual + LOUDER_DB) {
      this.#isLoud = true;
      this.#calmStretches = 0;
    } else if (++this.#calmStretches >= CALM_STRETCHES) this.#isLoud = false;
    this.#levels.push(levelDbfs);
    if (this.#levels.length > MOST_STRETCHES) this.#levels.shift();
  }

  #joined({ id, name, mode, held, toMs }: Extract<SessionEvent, { type: 'participant' }>['participant']): void {
    if (toMs === null) this.#participants.set(id, { id, name, mode, held });
    else this.#participants.delete(id);
    // They have got whom they asked for.
    if (this.#isTakenOver) this.#hasAskedForHuman = false;
    this.#thinkingFromMs = null;
  }

  #answered(responseMs: number | null): void {
    this.#thinkingFromMs = null;
    if (responseMs === null) return;
    this.#responses.push(responseMs);
    if (this.#responses.length > MOST_ANSWERS) this.#responses.shift();
  }

  #kept(text: string): string | null {
    if (this.#isDiscreet) return null;
    return text.length > MOST_CHARS ? `…${text.slice(-MOST_CHARS)}` : text;
  }
}

function medianOf(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  return upper === undefined || sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

function roundedOf(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}
