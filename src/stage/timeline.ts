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
