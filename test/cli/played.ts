import type { LogEntry } from '../../src/session/record/event-log.js';

/** An utterance as the line played it. */
export interface Played {
  text: string;
  fromMs: number;
  toMs: number;
  /** It was played to its end. */
  whole: boolean;
}

/** The utterances that were played, from the event log. */
export function utterancesOf(trace: string): Played[] {
  const entries = trace
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LogEntry);
  const texts = new Map<number, string>();
  const played: Played[] = [];
  for (const entry of entries) {
    const last = played.at(-1);
    if (entry.kind === 'effect' && entry.effect.type === 'speak')
      texts.set(entry.effect.utteranceId, entry.effect.text);
    // A cut fades out in the frame after it, and the line may be a frame ahead.
    if (entry.kind === 'effect' && entry.effect.type === 'playout.drop' && last?.whole === false)
      last.toMs = entry.t + 60;
    if (entry.kind !== 'event') continue;
    const { event, t } = entry;
    if (event.type === 'utterance.started') {
      played.push({ text: texts.get(event.utteranceId) ?? '', fromMs: t, toMs: t, whole: false });
    }
    // Its last frame may have been given a tick early.
    if (event.type === 'utterance.finished' && last !== undefined) Object.assign(last, { toMs: t + 40, whole: true });
  }
  return played;
}
