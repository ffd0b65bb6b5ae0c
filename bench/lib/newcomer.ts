import { Random } from '../../dist/base/random.js';
import { delay } from '../../dist/base/clock.js';
import type { SttEvents, SttOptions, SttProvider, SttStream } from '../../dist/providers/stt/stt.js';
import type { CallerMove, CallerView, SimulatedCaller } from '../../dist/eval/caller/caller.js';
import {
  ANSWERS,
  CORRECTIONS,
  HELLO_AGAIN,
  NOTHING_ELSE,
  OPENINGS,
  phrased,
  PLAIN_OPENINGS,
  spelled,
  YES,
  type Group,
  type Slot,
  type Wish,
} from './newcomer-phrases.js';

/** In ms: a person's reaction, and how long they wait for an answer. */
const REACTION_MS = 700;
const PATIENCE_MS = 7_000;
const MAX_TURNS = 24;
const SILENCES = 4;
const MAX_CORRECTIONS = 4;

const IS_GOODBYE = /\b(good ?bye|see you|lovely evening|call us any time)\b/i;
const ANYTHING_ELSE = /\b(anything else|something else|what else|else I can)\b/i;
const CONFIRMATION = /\b(is (that|it) (right|correct)|right so|shall I book|book it like that|all correct)\b/i;
const READ_BACK = /\btable for\b.*\bname\b/i;
const OFFER = /\bwould a (smaller )?table do|do you want a table|table for you\?/i;
const HELP = /\b(help you|can I do for you|book a table, or)\b/i;
const SPELL = /\bletter by letter|spell (it|the name|your name|that)\b/i;
const MAY_SPELL = /\bmay spell\b/i;
const ASKED: readonly (readonly [Slot, RegExp])[] = [
  ['name', /\bname\b/i],
  ['time', /\b(what|which) time|at what time|Seven, perhaps|what hour|time (would|should|is)/i],
  ['day', /\b(which|what) day|what date|just the day|tonight, perhaps/i],
  ['party', /\bhow many|number of people|any number will do|for how many|party size/i],
];

/** Somebody who has never called before, and books a table in their own words. */
export class Newcomer implements SimulatedCaller {
  readonly reactionMs = REACTION_MS;
  readonly patienceMs = PATIENCE_MS;
  readonly wish: Wish;
  /** How often the agent said nothing after the caller's words. */
  silences = 0;
  readonly #random: Random;
  readonly #group: Group;
  #hasOpened = false;
  #readBack = '';
  /** Says the last thing again, in other words. */
  #again: () => string;
  readonly #corrections = new Map<Slot, number>();
  readonly #said = new Set<string>();
  #silentInARow = 0;

  constructor(wish: Wish, group: Group, seed: number) {
    this.wish = wish;
    this.#random = new Random(seed);
    this.#group = group;
    this.#again = () => this.#phrase(PLAIN_OPENINGS);
  }

  next(view: CallerView): readonly CallerMove[] {
    if (view.turn >= MAX_TURNS) return [{ hangUp: true }];
    if (view.agentIsSilent && this.#hasOpened) {
      this.silences++;
      if (++this.#silentInARow > SILENCES) return [{ hangUp: true }];
      return this.#say(this.#silentInARow % 2 === 1 ? this.#again() : HELLO_AGAIN);
    }
    this.#silentInARow = 0;
    return this.#answer(view.agentSaid);
  }

  #answer(agentSaid: string): readonly CallerMove[] {
    const sentences = agentSaid.split(/(?<=[.?!])\s+/);
    const read = sentences.findLast((sentence) => READ_BACK.test(sentence));
    if (read !== undefined) this.#readBack = ` ${read.toLowerCase()} `;
    if (IS_GOODBYE.test(agentSaid) && !agentSaid.trim().endsWith('?')) return [{ hangUp: true }];
    if (!this.#hasOpened) return this.#open();
    if (ANYTHING_ELSE.test(agentSaid)) return this.#repeatable(() => this.#phrase(NOTHING_ELSE));
    if (CONFIRMATION.test(agentSaid)) return this.#confirm();
    if (OFFER.test(agentSaid)) return this.#repeatable(() => this.#phrase(YES));
    const question = sentences.slice(-2).join(' ');
    if (SPELL.test(question) && (!MAY_SPELL.test(question) || this.#random.chance(0.5))) {
      return this.#repeatable(() => spelled(String(this.wish.name.words[0])));
    }
    const slot = ASKED.find(([, asked]) => asked.test(question))?.[0] ?? null;
    if (slot !== null) return this.#repeatable(() => this.#phrase(ANSWERS[slot]));
    if (HELP.test(question) && this.#said.size < 2) return this.#repeatable(() => this.#phrase(PLAIN_OPENINGS));
    // It asks nothing that the caller knows: they were not understood, or the agent goes on in a moment.
    if (/\b(sorry|hear|once more|get that|went past|simple words|follow|tricks|speak up|try:)\b/i.test(agentSaid)) {
      return this.#say(this.#again());
    }
    return agentSaid.includes('?') ? this.#say(this.#again()) : [];
  }

  #open(): readonly CallerMove[] {
    this.#hasOpened = true;
    return this.#say(this.#phrase(OPENINGS));
  }

  #confirm(): readonly CallerMove[] {
    const wrong = (['party', 'day', 'time', 'name'] as const).find((slot) => {
      return !this.wish[slot].readBack.some((form) => hasValue(this.#partOf(slot), form));
    });
    if (wrong === undefined) return this.#repeatable(() => this.#phrase(YES));
    const corrections = this.#corrections.get(wrong) ?? 0;
    // Nobody agrees to what is wrong.
    if (corrections >= MAX_CORRECTIONS) return [{ hangUp: true }];
    this.#corrections.set(wrong, corrections + 1);
    return this.#repeatable(() => this.#phrase(CORRECTIONS[wrong]));
  }

  /** The part of the read-back that names this value. */
  #partOf(slot: Slot): string {
    const said = this.#readBack;
    if (slot === 'party') return /table for ([^,]*)/.exec(said)?.[1] ?? said;
    if (slot === 'name') return /name (.*)/.exec(said)?.[1] ?? said;
    const rest = said.replace(/table for [^,]*,/, ' ').replace(/under the name.*/, ' ');
    return ` ${rest} `;
  }

  #repeatable(words: () => string): readonly CallerMove[] {
    this.#again = words;
    return this.#say(words());
  }

  #phrase(phrases: readonly string[]): string {
    return phrased(this.#random, phrases, this.wish, this.#group);
  }

  #say(words: string): readonly CallerMove[] {
    this.#said.add(words);
    return [{ say: words }];
  }
}

/** Whether a read-back names this value, and not a longer number that begins with it. */
function hasValue(said: string, form: string): boolean {
  return new RegExp(String.raw`\b${form}(?! (one|two|three|four|five|six|seven|eight|nine)\b)(?!\w)`).test(said);
}

/** A recogniser that knows what the caller says, in plain words as a recogniser writes them. */
export class PerfectEars implements SttProvider {
  readonly name = 'perfect';
  readonly virtualTime = true;
  #words: readonly string[] = [];
  #samples = 0;
  #startSample: number | null = null;

  /** @param samples how long the caller takes to say it, at 16 kHz */
  says(words: string, samples: number): void {
    this.#words = (words.toLowerCase().match(/[a-z']+/g) ?? []).filter((word) => word !== "'");
    this.#samples = samples;
    this.#startSample = null;
  }

  warmUp(): Promise<void> {
    return Promise.resolve();
  }

  open({ clock, signal }: SttOptions, events: SttEvents): Promise<SttStream> {
    let segment = 0;
    let from = 0;
    let to = 0;
    let utterance = this.#words;
    const heard = async (): Promise<void> => {
      const text = utterance.slice(from, to).join(' ');
      const transcript = { segment, text, isFinal: true, understood: text !== '', confidence: 1 };
      await delay(clock, FINAL_MS, signal);
      events.onTranscript(transcript);
    };
    return Promise.resolve({
      push: () => undefined,
      speechStarted: (sample) => {
        if (utterance !== this.#words) [utterance, from, to] = [this.#words, 0, 0];
        this.#startSample ??= sample;
      },
      speechStopped: (sample) => {
        // Words come evenly; the last ones are not held back by a voice that fades.
        const share = (sample - (this.#startSample ?? 0)) / this.#samples;
        to = share > 0.85 ? utterance.length : Math.max(to, Math.floor(share * utterance.length));
        void heard().catch(() => undefined);
      },
      endTurn: () => {
        segment++;
        from = to;
      },
      close: () => Promise.resolve(),
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

const FINAL_MS = 10;
