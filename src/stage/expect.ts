import type { Timeline, StageUtterance } from './timeline.js';

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
    return this.#that(found === undefined, 'is never said', `it is asked for at ${String(found?.askedMs)}`);
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
