import type { Random } from '../../base/random.js';
import { plainWords, textTest, type TextTest } from '../pattern.js';
import type { Manner, Persona } from '../suite/caller-schema.js';
import type { BargeIn, SimulatedCaller, CallerMove, CallerView } from './caller.js';
import type { CallerPhrases } from './phrases.js';

/** Reaction and patience of a person, in ms, by manner. */
const REACTION_MS: Readonly<Record<'usual' | 'impatient' | 'hesitant', number>> = {
  usual: 700,
  impatient: 350,
  hesitant: 1_200,
};
const PATIENCE_MS = 10_000;
const IMPATIENT_PATIENCE_MS = 5_000;
const MAX_TURNS = 30;
/** Questions in a row without a known answer, or for the same fact, after which the caller gives up. */
const GIVES_UP_AFTER = 4;
/** Corrections of one fact before the caller lets it be. */
const MAX_CORRECTIONS = 2;
const PAUSE_MS = 900;

interface KnownFact {
  name: string;
  /** How the caller says it. */
  words: string;
  asked: TextTest;
  /** What a right repetition contains, one of these; in plain words. */
  forms: readonly string[];
  changesTo: string | null;
  stated: boolean;
  corrections: number;
}

export interface RulePersonaOptions {
  persona: Persona;
  phrases: CallerPhrases;
  random: Random;
  isCalled: boolean;
}

/** A persona without a model: its facts and its goal answer the agent's questions, by rules. */
export class RulePersona implements SimulatedCaller {
  readonly reactionMs: number;
  readonly patienceMs: number;
  readonly #persona: Persona;
  readonly #phrases: CallerPhrases;
  readonly #random: Random;
  readonly #manner: ReadonlySet<Manner>;
  readonly #facts: KnownFact[];
  readonly #answers: readonly (readonly [test: TextTest, answer: string])[];
  readonly #keys: readonly (readonly [test: TextTest, keys: string])[];
  readonly #isDone: TextTest | null;
  readonly #isCalled: boolean;
  #hasOpened = false;
  #lastFact: KnownFact | null = null;
  #hasDigressed = false;
  #unknowns = 0;
  /** How often the last fact was told again. */
  #repeats = 0;
  /** The agent knows all facts, and has last said something without a question. */
  #isServed = false;
  #done = false;
  #last = '';
  #silences = 0;
  #said = new Map<string, number>();

  constructor({ persona, phrases, random, isCalled }: RulePersonaOptions) {
    this.#persona = persona;
    this.#phrases = phrases;
    this.#random = random;
    this.#isCalled = isCalled;
    this.#manner = new Set(persona.manner ?? []);
    const pace = this.#manner.has('impatient') ? 'impatient' : this.#manner.has('hesitant') ? 'hesitant' : 'usual';
    this.reactionMs = REACTION_MS[pace];
    this.patienceMs = pace === 'impatient' ? IMPATIENT_PATIENCE_MS : PATIENCE_MS;
    this.#facts = factsOf(persona, phrases);
    this.#answers = Object.entries(persona.answers ?? {}).map(([pattern, answer]) => [textTest(pattern), answer]);
    this.#keys = Object.entries(persona.keys ?? {}).map(([pattern, keys]) => [textTest(pattern), keys]);
    const whenSaid = persona.stop?.when_said;
    this.#isDone = whenSaid === undefined ? null : textTest(whenSaid);
  }

  next(view: CallerView): readonly CallerMove[] {
    const { stop, silent } = this.#persona;
    if (silent === true) return [];
    if (this.#isDone?.(view.agentSaid) === true) this.#done = true;
    if (this.#done && stop?.hang_up === true) return [{ hangUp: true }];
    if (view.turn >= (stop?.max_turns ?? MAX_TURNS)) return [{ hangUp: true }];
    if (view.agentIsSilent) return this.#onSilence();
    const moves = this.#answer(view.agentSaid);
    // Words that ask nothing, such as "You are welcome.", do not take the call further.
    if (moves.length > 0) this.#silences = 0;
    return moves;
  }

  bargeIn(view: CallerView): BargeIn | null {
    if (!this.#manner.has('talks_over') || !this.#hasOpened || this.#done) return null;
    if (view.turn === 0 || !this.#random.chance(0.35)) return null;
    return { say: this.#pick('overAgent'), afterMs: this.#random.int(600, 1600) };
  }

  #onSilence(): readonly CallerMove[] {
    if (!this.#hasOpened) {
      if (this.#isCalled) {
        this.#hasOpened = true;
        return [{ say: this.#phrases.hello }];
      }
      return this.#open();
    }
    if (this.#isServed) return this.#giveUp();
    if (++this.#silences > 2) return [{ hangUp: true }];
    return this.#say(this.#silences === 1 && this.#last !== '' ? this.#last : this.#phrases.silence);
  }

  #answer(agentSaid: string): readonly CallerMove[] {
    const { recognises } = this.#phrases;
    this.#isServed = false;
    const keys = this.#keys.find(([test]) => test(agentSaid));
    if (keys !== undefined) return [{ press: keys[1] }];
    const own = this.#answers.find(([test]) => test(agentSaid));
    if (own !== undefined) return this.#say(own[1]);
    if (!this.#hasOpened) return this.#open();
    if (recognises.goodbye.test(agentSaid) && !recognises.question.test(lastSentence(agentSaid))) return this.#leave();
    if (recognises.stillThere.test(agentSaid) && this.#last !== '') return this.#say(this.#last);
    if (recognises.repeat.test(agentSaid) && this.#last !== '') return this.#repeat();
    if (recognises.confirmation.test(agentSaid)) return this.#confirm(agentSaid);
    if (this.#done || recognises.anythingElse.test(agentSaid)) return this.#leaveOr(agentSaid);
    const asks = recognises.question.test(agentSaid) || this.#facts.some(({ asked }) => asked(agentSaid));
    if (asks && !this.#isReadBack(agentSaid)) return this.#tell(agentSaid);
    // The agent said something without asking: people wait for what comes, for a moment.
    this.#isServed = this.#facts.length > 0 && this.#facts.every(({ stated }) => stated);
    return [];
  }

  /** Whether the agent only says what it has understood, rightly: a question mark, or a fact to tell, makes it a question. */
  #isReadBack(agentSaid: string): boolean {
    if (agentSaid.includes('?')) return false;
    if (this.#facts.some(({ stated, asked }) => !stated && asked(agentSaid))) return false;
    const said = ` ${plainWords(agentSaid)} `;
    return this.#facts.some(({ stated, forms }) => stated && forms.some((form) => said.includes(` ${form} `)));
  }

  #giveUp(): readonly CallerMove[] {
    return [...this.#say(this.#pick('goodbye')), { hangUp: true }];
  }

  #open(): readonly CallerMove[] {
    this.#hasOpened = true;
    const { goal, opening } = this.#persona;
    if (opening !== undefined) return this.#say(opening);
    const isSentence = /[.?!]$/.test(goal) || /^(i|we|my|hello|hi|ich|wir|je|quiero|yo)\b/i.test(goal);
    return this.#say(isSentence ? goal : this.#phrases.goal.replace('{goal}', goal));
  }

  #tell(agentSaid: string): readonly CallerMove[] {
    const question = questionOf(agentSaid);
    const asked = this.#facts.filter(({ asked: test }) => test(question));
    const fact = asked.find(({ stated }) => !stated) ?? asked[0];
    if (fact !== undefined) {
      this.#unknowns = 0;
      return this.#again(fact);
    }
    const other = this.#facts.find(({ asked: test }) => test(agentSaid));
    if (other !== undefined && question !== agentSaid) return this.#tell(statements(agentSaid));
    if (this.#phrases.recognises.offerHelp.test(question)) return this.#open();
    // A question without a known word, after an answer: the agent has not understood the answer.
    if (this.#unknowns === 0 && this.#lastFact !== null) return this.#again(this.#lastFact);
    if (++this.#unknowns >= GIVES_UP_AFTER) return this.#giveUp();
    return this.#say(this.#pick(this.#unknowns === 1 ? 'unknown' : 'no'));
  }

  /** Tells a fact; the second time in a row in a sentence, as people do who were not understood. */
  #again(fact: KnownFact): readonly CallerMove[] {
    const isRepeated = this.#lastFact === fact;
    if (isRepeated) this.#unknowns++;
    this.#repeats = isRepeated ? this.#repeats + 1 : 0;
    if (this.#repeats >= GIVES_UP_AFTER) return this.#giveUp();
    fact.stated = true;
    this.#lastFact = fact;
    return this.#say(isRepeated ? this.#phrases.inSentence.replace('{value}', fact.words) : fact.words);
  }

  /** The agent repeats what it has understood: a wrong value is corrected, and a changed mind comes out now. */
  #confirm(agentSaid: string): readonly CallerMove[] {
    this.#unknowns = 0;
    const said = ` ${plainWords(agentSaid)} `;
    if (this.#manner.has('changes_mind')) {
      const changing = this.#facts.find(({ changesTo, stated }) => changesTo !== null && stated);
      if (changing?.changesTo != null) {
        const value = changing.changesTo;
        changing.words = value;
        changing.forms = formsOf(value, this.#phrases);
        changing.changesTo = null;
        return this.#say(this.#phrases.mindChanged.replace('{value}', value));
      }
    }
    const wrong = this.#wrongFact(said);
    if (wrong !== undefined) {
      wrong.corrections++;
      return this.#say(this.#phrases.correction.replace('{value}', wrong.words));
    }
    return this.#say(this.#pick('yes'));
  }

  /**
   * A number that the agent has got wrong: it repeats as many numbers as it was given, and this one is not among them. An
   * agent that leaves a value out has not got it wrong.
   */
  #wrongFact(said: string): KnownFact | undefined {
    const phrases = this.#phrases;
    const stated = this.#facts.filter((fact) => fact.stated && isNumber(fact, phrases));
    if (numbersIn(said, phrases) < stated.length) return undefined;
    return stated.find(
      ({ corrections, forms }) => corrections < MAX_CORRECTIONS && !forms.some((form) => said.includes(` ${form} `)),
    );
  }

  #repeat(): readonly CallerMove[] {
    const times = (this.#said.get(this.#last) ?? 0) + 1;
    this.#said.set(this.#last, times);
    if (this.#lastFact?.words === this.#last && times <= 4) return this.#again(this.#lastFact);
    if (times > 4) return this.#giveUp();
    return this.#say(this.#last);
  }

  /** Nothing else is wanted, unless the goal has not been asked about yet. */
  #leaveOr(agentSaid: string): readonly CallerMove[] {
    this.#done = true;
    const { recognises } = this.#phrases;
    if (recognises.anythingElse.test(agentSaid)) return this.#say(this.#pick('thatIsAll'));
    return this.#leave();
  }

  /** The agent says goodbye: so does the caller, once; then they hang up. */
  #leave(): readonly CallerMove[] {
    const farewell = this.#said.get('farewell') ?? 0;
    this.#said.set('farewell', farewell + 1);
    this.#done = true;
    if (farewell > 0) return [{ hangUp: true }];
    return [...this.#say(this.#pick('goodbye')), { waitMs: 2_500 }, { hangUp: true }];
  }

  #say(words: string): readonly CallerMove[] {
    const { hesitations, digression, impatient } = this.#phrases;
    this.#last = words;
    let text = words;
    let pauseMs: number | undefined;
    if (this.#manner.has('hesitant') && this.#random.chance(0.5)) {
      text = `${this.#random.pick(hesitations)} ${text}`;
      pauseMs = PAUSE_MS;
    }
    if (this.#manner.has('impatient') && this.#lastFact?.words === words && this.#random.chance(0.3)) {
      text = `${asSentence(text)} ${this.#random.pick(impatient)}`;
    }
    if (this.#manner.has('digresses') && !this.#hasDigressed && this.#facts.some(({ stated }) => stated)) {
      this.#hasDigressed = true;
      text = `${asSentence(text)} ${this.#random.pick(digression)}`;
    }
    const mumbled = this.#manner.has('mumbles_numbers') && this.#hasNumber(words);
    return [{ say: text, pauseMs, mumbled }];
  }

  #hasNumber(words: string): boolean {
    return (
      /\d/.test(words) ||
      plainWords(words)
        .split(' ')
        .some((word) => this.#phrases.numbers.includes(word))
    );
  }

  #pick(name: 'yes' | 'no' | 'thatIsAll' | 'goodbye' | 'unknown' | 'overAgent'): string {
    return this.#random.pick(this.#phrases[name]);
  }
}

function factsOf({ facts = {} }: Persona, phrases: CallerPhrases): KnownFact[] {
  return Object.entries(facts).map(([name, fact]): KnownFact => {
    const given = typeof fact === 'object' ? fact : { value: fact };
    const words = given.say ?? spoken(given.value);
    const tests = given.asked?.map((pattern) => textTest(pattern)) ?? null;
    const usual = phrases.asked[name] ?? new RegExp(name.split('_').join('\\W+'), 'i');
    return {
      name,
      words,
      asked: (text) => (tests === null ? usual.test(text) : tests.some((test) => test(text))),
      forms: [...new Set([...formsOf(words, phrases), ...formsOf(spoken(given.value), phrases)])],
      changesTo: given.changes_to === undefined ? null : spoken(given.changes_to),
      stated: false,
      corrections: 0,
    };
  });
}

function spoken(value: string | number | boolean): string {
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
}

/** The ways in which an agent may repeat a value: as said, and with numbers as words or as digits. */
function formsOf(value: string, { numbers }: CallerPhrases): string[] {
  const plain = plainWords(value);
  const asWords = plain.replaceAll(/\b\d+\b/g, (digits) => numbers[Number(digits)] ?? digits);
  const asDigits = plain
    .split(' ')
    .map((word) => (numbers.includes(word) ? String(numbers.indexOf(word)) : word))
    .join(' ');
  return [plain, asWords, asDigits].filter((form) => form !== '');
}

function isNumber({ forms }: KnownFact, { numbers }: CallerPhrases): boolean {
  return forms.some((form) => /^\d+$/.test(form) || numbers.includes(form));
}

/** How many numbers a text has. */
function numbersIn(said: string, { numbers }: CallerPhrases): number {
  return said.split(' ').filter((word) => /^\d+$/.test(word) || numbers.includes(word)).length;
}

/** Words with the end of a sentence. */
function asSentence(words: string): string {
  return /[.?!…]$/.test(words) ? words : `${words}.`;
}

function lastSentence(text: string): string {
  return sentencesOf(text).at(-1) ?? '';
}

function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.?!])\s+/).filter((sentence) => sentence.trim() !== '');
}

/** All but the questions. */
function statements(text: string): string {
  return sentencesOf(text)
    .filter((sentence) => !sentence.trim().endsWith('?'))
    .join(' ');
}

/** The agent's questions; all that it said where it asked none. */
function questionOf(text: string): string {
  const questions = sentencesOf(text).filter((sentence) => sentence.trim().endsWith('?'));
  return questions.length === 0 ? text : questions.join(' ');
}
