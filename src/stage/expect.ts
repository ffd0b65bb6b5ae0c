import type { Timeline, StageUtterance } from './timeline.js';

/** What a scenario expects of something the agent says. Each throws with the whole timeline if it is not so. */
export class AgentExpectation {
  readonly #timeline: Timeline;
  readonly #words: string;

  /** @param words part of the utterance's text; the first that holds it is meant */
  constructor(timeline: Timeline, words: string) {
    this.#timeline = timeline;
    this.#words = words;
  }

  /** The user begins to hear it at this moment, or within so many milliseconds after it. */
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

  /** It falls silent for good at this moment, or within so many milliseconds after it. */
  isCutAt(atMs: number, withinMs = 0): this {
    const { played, isWhole } = this.#utterance;
    const end = played.at(-1)?.to ?? Number.NaN;
    const isSo = !isWhole && end >= atMs && end <= atMs + withinMs;
    return this.#that(isSo, `is cut at ${String(atMs)} (within ${String(withinMs)} ms)`, `it ends at ${String(end)}`);
  }

  /** It is held once, from one moment until another, or within so many milliseconds after each. */
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

  /** It begins right after another ends: no overlap, and no gap above `withinMs`. */
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
