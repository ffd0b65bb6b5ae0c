import type { ConversationEffect, ConversationEvent, PlayoutPosition } from '../../../conversation/events.js';
import type { LogEntry } from '../../../session/record/event-log.js';
import { SessionMetrics, type TurnMetrics } from '../../../session/record/session-metrics.js';
import { lineOpenedMs } from './timeline.js';

/** A speculative answer. Times since the line opened. */
export interface Attempt {
  fromMs: number;
  /** Time at which it was used or dropped. */
  toMs: number;
  /** Null = it became the answer. */
  droppedFor: string | null;
  text: string;
}

/** A turn of the user, with the history of its answer. */
export interface TurnStory extends TurnMetrics {
  attempts: readonly Attempt[];
}

/**
 * The turns of a session and their speculative answers, computed from the event log as the session did. Times are
 * milliseconds since the line opened.
 */
export function turnStories(entries: readonly LogEntry[]): TurnStory[] {
  const zeroMs = lineOpenedMs(entries);
  const metrics = new SessionMetrics(() => undefined);
  const attempts = new Attempts(zeroMs);
  const texts = new Map<number, string>();
  for (const entry of entries) {
    const { t } = entry;
    if (entry.kind === 'note' && entry.name === 'voice.first') {
      metrics.turns.firstAudio(Number(entry.data['utteranceId']), t);
    } else if (entry.kind === 'event') {
      const { event } = entry;
      if (event.type === 'utterance.started') metrics.turns.audible(event.utteranceId, t);
      else if (event.type === 'utterance.finished') {
        metrics.turns.said(event.utteranceId, texts.get(event.utteranceId) ?? '');
      }
      metrics.onEvent(event, t);
      attempts.onEvent(event);
      if (entry.position.utteranceId !== null) attempts.position = entry.position;
    } else if (entry.kind === 'effect') {
      const { effect } = entry;
      if (effect.type === 'speak') texts.set(effect.utteranceId, effect.text);
      if (effect.type === 'speak.more') {
        texts.set(effect.utteranceId, (texts.get(effect.utteranceId) ?? '') + effect.text);
      }
      if (effect.type === 'playout.drop') {
        const { utteranceId, heardChars } = attempts.position;
        if (utteranceId !== null) metrics.turns.said(utteranceId, texts.get(utteranceId)?.slice(0, heardChars) ?? '');
      }
      metrics.onEffect(effect, t);
      attempts.onEffect(effect, t);
    }
  }
  return metrics.turns.turns.map((turn) => ({
    ...turn,
    speechEndMs: turn.speechEndMs === null ? null : turn.speechEndMs - zeroMs,
    audioStartMs: turn.audioStartMs === null ? null : turn.audioStartMs - zeroMs,
    attempts: attempts.of(turn.turn),
  }));
}

/** Which answers were begun early for which turn. */
class Attempts {
  /** Of the last utterance that was playing. */
  position: PlayoutPosition = { utteranceId: null, heardChars: 0 };
  readonly #zeroMs: number;
  readonly #byRequest = new Map<number, Attempt>();
  readonly #byTurn = new Map<number, Attempt[]>();
  /** Of the current turn. */
  #waiting: Attempt[] = [];

  constructor(zeroMs: number) {
    this.#zeroMs = zeroMs;
  }

  of(turn: number): readonly Attempt[] {
    return this.#byTurn.get(turn) ?? [];
  }

  onEvent(event: ConversationEvent): void {
    if (event.type !== 'llm.text' && event.type !== 'llm.voice') return;
    const attempt = this.#byRequest.get(event.requestId);
    if (attempt !== undefined) attempt.text += event.text;
  }

  onEffect(effect: ConversationEffect, t: number): void {
    if (effect.type === 'user.said') {
      this.#byTurn.set(effect.turn, [...this.of(effect.turn), ...this.#waiting]);
      this.#waiting = [];
      return;
    }
    if (effect.type !== 'trace') return;
    const { name, data } = effect;
    const requestId = Number(data['requestId']);
    const nowMs = t - this.#zeroMs;
    if (name === 'speculation.started') {
      const attempt: Attempt = { fromMs: nowMs, toMs: nowMs, droppedFor: null, text: '' };
      this.#byRequest.set(requestId, attempt);
      this.#waiting.push(attempt);
      return;
    }
    const attempt = this.#byRequest.get(requestId);
    if (attempt === undefined) return;
    if (name === 'speculation.confirmed') attempt.toMs = nowMs;
    else if (name === 'speculation.dropped') {
      attempt.toMs = nowMs;
      attempt.droppedFor = String(data['reason'] ?? '') || 'not needed';
    }
  }
}
