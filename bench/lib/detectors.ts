import { DEFAULT_CONVERSATION, type ConversationConfig } from '../../dist/agent/flow/conversation-config.js';
import { Conversation } from '../../dist/conversation/conversation.js';
import type { ConversationEvent } from '../../dist/conversation/events.js';
import type { Judged } from './ears.js';
import { quantile } from './numbers.js';
import type { Stretch, Turn } from './turns.js';

/** A turn, and what of it was heard when. */
export interface HeardTurn {
  turn: Turn;
  /** Silences inside the turn that must not end it. */
  pauses: readonly Stretch[];
  reported: readonly Judged[];
}

/** When a turn was taken for over, in order; the last time at or after its true end. */
export type Detector = (heard: HeardTurn) => number[];

export interface Point {
  name: string;
  /** Of the labelled pauses inside turns, those in which the turn was closed; 0..1. */
  cut: number;
  /** Delays after true ends, ms. */
  p50: number;
  mean: number;
  p90: number;
}

/** A turn counts as over from so long before its labelled end: voices fade. */
const EARLY_MS = 50;
/** The VAD hears that a pause is over so much later. */
const ONSET_MS = 100;

/** Closes a turn after so much silence, and waits for no words. */
export function plainSilence(silenceMs: number): Detector {
  return ({ reported }) => {
    const edges = reported.filter(({ event }) => event.type === 'speech.started' || event.type === 'speech.stopped');
    return edges.flatMap(({ atMs, event }, at) => {
      if (event.type !== 'speech.stopped') return [];
      const closeMs = Math.max(atMs, event.endMs + silenceMs);
      return closeMs < (edges[at + 1]?.atMs ?? Infinity) ? [closeMs] : [];
    });
  };
}

/**
 * The conversation core, with `scale` times the silence that it waits for by default; never more than the most that it
 * waits by default, in which hardly anybody goes on.
 */
export function core(scale = 1): Detector {
  const { endpointing } = DEFAULT_CONVERSATION;
  return ({ turn, reported }) => {
    const config: ConversationConfig = {
      ...DEFAULT_CONVERSATION,
      language: turn.language,
      opening:
        turn.after === ''
          ? { ...DEFAULT_CONVERSATION.opening, userStarts: true, userStartTimeoutMs: 1e9 }
          : { ...DEFAULT_CONVERSATION.opening, firstMessage: turn.after },
      speculation: { ...DEFAULT_CONVERSATION.speculation, enabled: false },
      endpointing: {
        ...endpointing,
        minSilenceMs: endpointing.minSilenceMs * scale,
        maxSilenceMs: endpointing.maxSilenceMs * Math.min(scale, 1),
      },
    };
    const conversation = new Conversation(config);
    const closes: number[] = [];
    const step = (event: ConversationEvent, atMs: number): void => {
      for (const effect of conversation.step(event, atMs)) {
        if (effect.type === 'stt.endTurn' && atMs > 0) closes.push(atMs);
        if (effect.type === 'speak') {
          step({ type: 'utterance.started', utteranceId: effect.utteranceId }, atMs);
          step({ type: 'utterance.finished', utteranceId: effect.utteranceId }, atMs);
        }
      }
    };
    const wait = (untilMs: number): void => {
      for (
        let due = conversation.nextDeadlineMs;
        due !== undefined && due < untilMs;
        due = conversation.nextDeadlineMs
      ) {
        step({ type: 'time' }, due);
      }
    };
    step({ type: 'line.opened' }, 0);
    for (const { atMs, event } of reported) {
      wait(atMs);
      step(event, atMs);
    }
    wait(turn.endMs + 5000);
    return closes;
  };
}

export function measure(name: string, of: readonly HeardTurn[], detector: Detector): Point {
  let inside = 0;
  let cut = 0;
  const delays: number[] = [];
  for (const heard of of) {
    const closes = detector(heard);
    const { pauses } = heard;
    inside += pauses.length;
    cut += pauses.filter((pause) => isCut(pause, closes)).length;
    const delayMs = delayOf(heard.turn, closes);
    if (delayMs !== null) delays.push(delayMs);
  }
  const mean = delays.reduce((sum, ms) => sum + ms, 0) / delays.length;
  return { name, cut: inside === 0 ? 0 : cut / inside, p50: quantile(delays, 0.5), mean, p90: quantile(delays, 0.9) };
}

/** From the turn's end to its being taken for over, null = it never was. */
export function delayOf(turn: Turn, closes: readonly number[]): number | null {
  const closeMs = closes.find((atMs) => atMs >= turn.endMs - EARLY_MS);
  return closeMs === undefined ? null : closeMs - turn.endMs;
}

/** Closed in the pause, or before the VAD could know that it was over. */
export function isCut(pause: Stretch, closes: readonly number[]): boolean {
  return closes.some((atMs) => atMs > pause.startMs && atMs < pause.endMs + ONSET_MS);
}

/** Plain silence of the longest wait, to the millisecond, whose mean delay is no longer. */
export function silenceAsFast(of: readonly HeardTurn[], meanMs: number): Point {
  let [ms, above] = [0, 4000];
  while (above - ms > 1) {
    const middle = Math.floor((ms + above) / 2);
    if (measure('', of, plainSilence(middle)).mean <= meanMs) ms = middle;
    else above = middle;
  }
  return measure(String(ms), of, plainSilence(ms));
}

/** Where a curve has as many false cut-offs, between its points. Null beyond its ends. */
export function atCut(curve: readonly Point[], cut: number): Point | null {
  const after = curve.findIndex((point) => point.cut <= cut);
  const [low, high] = [curve[after - 1], curve[after]];
  if (high === undefined) return null;
  if (low === undefined || low.cut === high.cut) return high;
  const share = (low.cut - cut) / (low.cut - high.cut);
  const between = (of: 'p50' | 'mean' | 'p90'): number => low[of] + share * (high[of] - low[of]);
  return { name: high.name, cut, p50: between('p50'), mean: between('mean'), p90: between('p90') };
}
