import type { CompiledForm, CompiledFormSlot, CompiledScript } from './compile.js';
import { extract, type Candidate } from './extract.js';
import type { PatternMatch } from './match.js';
import type { RuleHit } from './rules.js';
import type { ScriptAction, Say } from './schema.js';
import { answerOf, isAcknowledgement, isQuestion, isRefusal } from '../../../base/spoken/answer.js';
import type { DayNumber } from '../../../base/spoken/date.js';
import type { SlotValue } from './slots/slot.js';
import { variants } from './text.js';
import type { Word } from '../../../base/spoken/words.js';

/** What a form needs from its conversation. */
export interface FormTalk {
  readonly script: CompiledScript;
  readonly today: DayNumber | null;
  readonly values: Map<string, SlotValue>;
  say(say: Say, value?: string): string;
  sayNth(say: Say, times: number, value?: string): string;
  run(action: ScriptAction, hit?: RuleHit, words?: readonly Word[]): string;
  runRule(hit: RuleHit, words: readonly Word[]): string;
  complete(action: ScriptAction): string;
}

/** How a form reads a turn of the user. */
type Answer =
  | { kind: 'values'; found: readonly Candidate[] }
  | { kind: 'change'; slot: CompiledFormSlot }
  | { kind: 'yes' | 'no' | 'keep' | 'again' };

const CHANGE = new Set('change wrong different another correct other incorrect'.split(' '));
const CORRECTING = new Set('no nope actually make wait sorry change not wrong rather instead mean'.split(' '));
const TIMES_BEFORE_SPELLING = 2;
const NOT_POSSIBLE = 'I am sorry, {value} is not possible.';

/**
 * A form in progress: asks for missing values, accepts values in any order, reads them back, takes corrections, and
 * then runs its action.
 */
export class FormFilling {
  readonly #talk: FormTalk;
  readonly #form: CompiledForm;
  readonly #timesAsked = new Map<string, number>();
  readonly #declined = new Set<string>();
  #phase: 'asking' | 'confirming' | 'changing' = 'asking';
  #asked: CompiledFormSlot | null = null;
  #timesConfirmed = 0;

  constructor(talk: FormTalk, form: CompiledForm) {
    this.#talk = talk;
    this.#form = form;
  }

  get name(): string {
    return this.#form.name;
  }

  /** The values of its slots in the words. */
  valuesIn(words: readonly Word[]): readonly Candidate[] {
    return this.#extract(words, null);
  }

  /** Takes the values in the words that opened the form, and asks for the rest. `opening`: the rule that did. */
  begin(words: readonly Word[], opening: PatternMatch | null): string {
    return this.#accept(this.#extract(words, null, opening));
  }

  /** Handles a turn of the user. Null if nothing in it matched. */
  take(words: readonly Word[], hit: RuleHit | null): string | null {
    const asked = this.#phase === 'asking' ? this.#asked : null;
    if (asked?.optional === true && isRefusal(words)) {
      this.#declined.add(asked.slot);
      return this.#next();
    }
    if (hit?.rule.action.cancel === true) return this.#talk.runRule(hit, words);
    const question = this.#questionIn(words, hit, asked);
    const found = this.#extract(words, question);
    const inside = found.some(
      (one) => question !== null && one.from <= question.match.start && one.to >= question.match.end,
    );
    return this.#respond(words, inside ? null : question, this.#read(words, found, inside ? null : question, hit));
  }

  /** The open question, in the next wording. */
  question(): string {
    if (this.#phase === 'changing') return this.#talk.say(this.#talk.script.source.phrases.change);
    if (this.#phase === 'confirming') {
      const { confirm } = this.#form.source;
      return confirm === undefined ? '' : this.#talk.sayNth(confirm, this.#timesConfirmed++);
    }
    if (this.#asked?.ask === undefined) return '';
    const times = this.#timesAsked.get(this.#asked.slot) ?? 0;
    this.#timesAsked.set(this.#asked.slot, times + 1);
    const { ask } = this.#asked;
    const { spell } = this.#talk.script.source.phrases;
    // A name that was not understood twice is easier to understand by its letters.
    const wordings = Math.max(variants(ask).length, TIMES_BEFORE_SPELLING);
    const asksForLetters = this.#typeOf(this.#asked) === 'name' && times >= wordings;
    return asksForLetters ? this.#talk.sayNth(spell, times - wordings) : this.#talk.sayNth(ask, times);
  }

  #typeOf({ slot }: CompiledFormSlot): string | undefined {
    return this.#talk.script.slots.get(slot)?.definition.type;
  }

  /** The built-in rule that gives a reply of its own, if the hit is one. */
  #questionIn(words: readonly Word[], hit: RuleHit | null, asked: CompiledFormSlot | null): RuleHit | null {
    if (hit === null || hit.rule.action.form === this.name) return null;
    // A free-text answer may contain the words of any rule.
    const free = asked !== null && this.#typeOf(asked) === 'text';
    return free && !hit.builtIn && !isQuestion(words) ? null : hit;
  }

  #read(
    words: readonly Word[],
    found: readonly Candidate[],
    question: RuleHit | null,
    hit: RuleHit | null,
  ): Answer | null {
    const own =
      question === null || question.builtIn
        ? words
        : words.filter((_word, index) => index < question.match.start || index >= question.match.end);
    const answer = answerOf(own);
    const news = found.filter(({ slot, value }) => this.#talk.values.get(slot)?.value !== value.value);
    if (news.length > 0) return { kind: 'values', found: news };
    const slot = this.#slotToChange(words, answer);
    if (slot !== null && question === null) return { kind: 'change', slot };
    if (this.#phase === 'confirming') {
      if (answer === 'no') return { kind: 'no' };
      if (answer === 'yes' || found.length > 0) return { kind: 'yes' };
    }
    if (this.#phase === 'changing' && (answer !== null || isRefusal(own))) return { kind: 'keep' };
    if (found.length > 0 && this.#phase === 'asking') return { kind: 'values', found };
    const reopened = hit?.rule.action.form === this.name;
    return reopened || isAcknowledgement(words) || words.length === 0 ? { kind: 'again' } : null;
  }

  #respond(words: readonly Word[], question: RuleHit | null, answer: Answer | null): string | null {
    if (question === null) return answer === null ? null : this.#act(answer);
    if (answer === null || answer.kind === 'again') return this.#talk.runRule(question, words);
    const { say, end, goto, form, call, repeat } = question.rule.action;
    const leaves = end ?? goto ?? form ?? call ?? repeat;
    // "Yes, thank you", "no, goodbye": small talk next to an answer is ignored; but a no with a goodbye is a goodbye.
    if (question.builtIn)
      return end === true && answer.kind === 'no' ? this.#talk.runRule(question, words) : this.#act(answer);
    if (leaves !== undefined) return this.#talk.runRule(question, words);
    const aside = say === undefined ? '' : this.#talk.say(say);
    return `${aside} ${this.#act(answer)}`.trim();
  }

  #act(answer: Answer): string {
    switch (answer.kind) {
      case 'values':
        return this.#accept(answer.found);
      case 'change':
        this.#phase = 'asking';
        this.#asked = answer.slot;
        return this.question();
      case 'yes':
        return this.#talk.complete(this.#form.source.done);
      case 'no':
        this.#phase = 'changing';
        return this.question();
      case 'keep':
        return this.#next();
      case 'again':
        return this.question();
    }
  }

  #accept(found: readonly Candidate[]): string {
    const taken: CompiledFormSlot[] = [];
    for (const { slot, value } of found) {
      const formSlot = this.#form.slots.find((candidate) => candidate.slot === slot);
      if (formSlot === undefined) continue;
      if (!value.allowed) {
        const invalid = this.#talk.script.slots.get(slot)?.definition.invalid ?? NOT_POSSIBLE;
        const complaint = this.#talk.say(invalid, value.spoken);
        for (const other of found) if (other.value.allowed) this.#talk.values.set(other.slot, other.value);
        if (formSlot.ask === undefined) return `${complaint} ${this.#next()}`.trim();
        this.#phase = 'asking';
        this.#asked = formSlot;
        return `${complaint} ${this.question()}`.trim();
      }
      this.#talk.values.set(slot, value);
      this.#declined.delete(slot);
      taken.push(formSlot);
    }
    const thanks = taken.length === 1 && this.#phase === 'asking' ? taken[0]?.thanks : undefined;
    return `${thanks === undefined ? '' : this.#talk.say(thanks)} ${this.#next()}`.trim();
  }

  /** Asks for the next missing value, then reads back, then runs the form's action. */
  #next(): string {
    const missing = this.#form.slots.find(
      ({ slot, ask }) => ask !== undefined && !this.#talk.values.has(slot) && !this.#declined.has(slot),
    );
    this.#asked = missing ?? null;
    this.#phase = missing === undefined ? 'confirming' : 'asking';
    this.#timesConfirmed = 0;
    if (missing === undefined && this.#form.source.confirm === undefined) {
      return this.#talk.complete(this.#form.source.done);
    }
    return this.question();
  }

  /** The slot that "change the time" or "the name is wrong" refers to. */
  #slotToChange(words: readonly Word[], answer: 'yes' | 'no' | null): CompiledFormSlot | null {
    const asksForChange = words.some((word) => CHANGE.has(word.text)) || (this.#phase !== 'asking' && answer === 'no');
    if (!asksForChange && this.#phase !== 'changing') return null;
    const texts = ` ${words.map((word) => word.text).join(' ')} `;
    const named = this.#form.slots.find((slot) =>
      slot.words.some((called) => texts.includes(` ${called.map((word) => word.text).join(' ')} `)),
    );
    return named?.ask === undefined ? null : named;
  }

  #extract(words: readonly Word[], question: RuleHit | null, opening: PatternMatch | null = null): Candidate[] {
    const asked = this.#phase === 'asking' ? (this.#asked?.slot ?? null) : null;
    const correcting = this.#phase === 'changing' || words.some((word) => CORRECTING.has(word.text));
    return extract({
      form: this.#form,
      slots: this.#talk.script.slots,
      memory: this.#talk.script.memory,
      words,
      today: this.#talk.today,
      asked,
      known: this.#talk.values,
      correcting,
      excluded: question === null ? null : [question.match.start, question.match.end],
      opening,
    });
  }
}
