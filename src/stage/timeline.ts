import type {
  ConversationEffect,
  ConversationEvent,
  EndStatus,
  PlayoutPosition,
  UtteranceKind,
} from '../conversation/events.js';
import { TICK_MS } from './voice.js';
import type { Stretch } from './user.js';

/** An utterance of the agent, and when it played. */
export interface StageUtterance {
  utteranceId: number;
  text: string;
  kind: UtteranceKind;
  askedMs: number;
  /** When it played; several stretches if it was held. */
  played: Stretch[];
  /** It played to its end. */
  isWhole: boolean;
}

/** The record of a scenario, for expectations and error messages. */
export class Timeline {
  /** The input of every step. The same events lead to the same effects. */
  readonly events: { atMs: number; event: ConversationEvent; position: PlayoutPosition }[] = [];
  readonly effects: { atMs: number; effect: ConversationEffect }[] = [];
  readonly utterances: StageUtterance[] = [];
  /** The user's turns; a continued turn replaces its first version. */
  readonly turns: { atMs: number; turn: number; text: string }[] = [];
  end: { atMs: number; status: EndStatus } | null = null;

  onEvent(atMs: number, event: ConversationEvent, position: PlayoutPosition): void {
    this.events.push({ atMs, event, position });
    if (event.type !== 'utterance.finished') return;
    const utterance = this.#find(event.utteranceId);
    if (utterance !== undefined) utterance.isWhole = utterance.played.length > 0;
  }

  onEffect(atMs: number, effect: ConversationEffect): void {
    this.effects.push({ atMs, effect });
    if (effect.type === 'speak') {
      const { utteranceId, text, kind } = effect;
      this.utterances.push({ utteranceId, text, kind, askedMs: atMs, played: [], isWhole: false });
    } else if (effect.type === 'speak.more') {
      const utterance = this.#find(effect.utteranceId);
      if (utterance !== undefined) utterance.text += effect.text;
    } else if (effect.type === 'user.said') {
      if (this.turns.at(-1)?.turn === effect.turn) this.turns.pop();
      this.turns.push({ atMs, turn: effect.turn, text: effect.text });
    }
  }

  onPlayed(utteranceId: number, from: number, to: number): void {
    const utterance = this.#find(utteranceId);
    const last = utterance?.played.at(-1);
    if (last !== undefined && from - last.to < TICK_MS) last.to = to;
    else utterance?.played.push({ from, to });
  }

  /** One line per event and effect. */
  toString(): string {
    const lines = [
      ...this.events.map(({ atMs, event }) => ({ atMs, text: `> ${describe(event)}` })),
      ...this.effects.map(({ atMs, effect }) => ({ atMs, text: `    < ${describe(effect)}` })),
    ];
    const sorted = lines
      .map((line, order) => ({ ...line, order }))
      .sort((a, b) => a.atMs - b.atMs || a.order - b.order);
    return sorted.map(({ atMs, text }) => `${atMs.toFixed(0).padStart(7)}  ${text}`).join('\n');
  }

  #find(utteranceId: number): StageUtterance | undefined {
    return this.utterances.find((utterance) => utterance.utteranceId === utteranceId);
  }
}

function describe({ type, ...rest }: ConversationEvent | ConversationEffect): string {
  const data = JSON.stringify(rest, (key, value: unknown) => (key === 'messages' || key === 'tools' ? '…' : value));
  return `${type} ${data}`;
}

/** Expectations about one utterance of the agent. Each method throws an error with the whole timeline on failure. */
export class AgentExpectation {
  readonly #timeline: Timeline;
  readonly #words: string;

  /** @param words part of the utterance's text; the first utterance with these words counts */
  constructor(timeline: Timeline, words: string) {
    this.#timeline = timeline;
    this.#words = words;
  }

  /** Playback starts at `atMs`, or at most `withinMs` later. */
  startsAt(atMs: number, withinMs = 0): this {
    const start = this.#utterance.played[0]?.from;
    return this.#that(
      start !== undefined && start >= atMs && start <= atMs + withinMs,
      `starts at ${String(atMs)} (within ${String(withinMs)} ms)`,
      start === undefined ? 'it is never heard' : `it starts at ${String(start)}`,
    );
  }

  isHeardWhole(): this {
    return this.#that(this.#utterance.isWhole, 'is heard whole', 'it is not');
  }

  isNeverHeard(): this {
    const { played } = this.#utterance;
    return this.#that(played.length === 0, 'is never heard', `it is heard at ${String(played[0]?.from)}`);
  }

  isNeverSaid(): this {
    const found = this.#timeline.utterances.find(({ text }) => text.includes(this.#words));
    return this.#that(found === undefined, 'is never said', `it is requested at ${String(found?.askedMs)}`);
  }

  /** Playback stops at `atMs`, or at most `withinMs` later, and does not resume. */
  isCutAt(atMs: number, withinMs = 0): this {
    const { played, isWhole } = this.#utterance;
    const end = played.at(-1)?.to ?? Number.NaN;
    const isSo = !isWhole && end >= atMs && end <= atMs + withinMs;
    return this.#that(isSo, `is cut at ${String(atMs)} (within ${String(withinMs)} ms)`, `it ends at ${String(end)}`);
  }

  /** Playback pauses once, from `fromMs` until `untilMs`, each at most `withinMs` later. */
  pauses(fromMs: number, untilMs: number, withinMs = 0): this {
    const { played } = this.#utterance;
    const [before, after] = played;
    const near = (atMs: number | undefined, wanted: number): boolean =>
      atMs !== undefined && atMs >= wanted && atMs <= wanted + withinMs;
    return this.#that(
      played.length === 2 && near(before?.to, fromMs) && near(after?.from, untilMs),
      `pauses from ${String(fromMs)} until ${String(untilMs)} (within ${String(withinMs)} ms)`,
      `it sounds ${JSON.stringify(played)}`,
    );
  }

  /** Playback starts right after another utterance ends: without overlap, and with a gap of at most `withinMs`. */
  follows(words: string, withinMs = 20): this {
    const before = new AgentExpectation(this.#timeline, words).#utterance.played.at(-1)?.to ?? Number.NaN;
    return this.startsAt(before, withinMs);
  }

  get #utterance(): StageUtterance {
    const found = this.#timeline.utterances.find(({ text }) => text.includes(this.#words));
    if (found === undefined) throw new Error(`The agent never says "${this.#words}".\n${this.#timeline.toString()}`);
    return found;
  }

  #that(isSo: boolean, wanted: string, instead: string): this {
    if (isSo) return this;
    throw new Error(`Expected that "${this.#words}" ${wanted}, but ${instead}.\n${this.#timeline.toString()}`);
  }
}
