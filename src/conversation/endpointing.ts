import type { EndpointingConfig } from './config.js';
import { baseLanguage, wordsOf } from './words.js';

/** What is known about a turn when its end is scored. */
export interface TurnEvidence {
  text: string;
  language: string;
  /** Whether the engine has given its final transcript for what was said. */
  isFinal: boolean;
  /** The agent's last words were a question. */
  answersQuestion: boolean;
}

export interface TurnScore {
  /** How complete the words are, 0 (surely goes on) to 1 (surely done). */
  completeness: number;
  /** The user is dictating digits or letters. */
  digits: boolean;
}

const OPEN_ENDINGS: Readonly<Record<string, ReadonlySet<string>>> = {
  en: new Set(
    (
      'and but or so because cause if when while that which who whose than then as like with without for from to of in ' +
      'on at by about into over under between the a an my your our his her their its this these those is are was were am ' +
      "be been i'm i'd i'll we're we'd we'll it's that's there's i we you he she they would could should can will may might " +
      'must do does did have has had not very really just also maybe some any no. number please um uh er erm hmm well let'
    ).split(' '),
  ),
};

/** Endings of the list above that are whole answers when they stand alone. */
const WHOLE_ALONE = new Set(['please', 'well', 'hmm', 'that', 'this', 'these', 'those', 'you', 'her', 'him']);

const DIGIT_WORDS = new Set(
  'zero oh one two three four five six seven eight nine double triple hundred dash dot'.split(' '),
);

const SHORT_ANSWERS = new Set(
  'yes no yeah yep nope sure okay ok right correct exactly thanks goodbye bye hello hi hey stop cancel'.split(' '),
);

/** Scores a transcript. Pure; a better judge (an audio model, say) can replace it. */
export function scoreTurn(evidence: TurnEvidence): TurnScore {
  const words = wordsOf(evidence.text);
  const last = words.at(-1);
  if (last === undefined) return { completeness: 0.3, digits: false };
  const digits = endsInDigits(words);
  if (/[?!]["'”’)]*\s*$/.test(evidence.text)) return { completeness: 0.95, digits };
  const open = OPEN_ENDINGS[baseLanguage(evidence.language)] ?? OPEN_ENDINGS['en'];
  if (open?.has(last) === true && !(words.length === 1 && WHOLE_ALONE.has(last))) return { completeness: 0.1, digits };
  if (digits) return { completeness: 0.45, digits };
  if (/[,;:–—-]\s*$/.test(evidence.text)) return { completeness: 0.3, digits };
  if (words.length <= 3 && words.every((word) => SHORT_ANSWERS.has(word))) return { completeness: 0.95, digits };
  let completeness = 0.65;
  if (/[.。！？]\s*$/.test(evidence.text)) completeness += 0.15;
  if (evidence.answersQuestion) completeness += 0.15;
  if (words.length >= 4) completeness += 0.1;
  if (!evidence.isFinal) completeness -= 0.1;
  return { completeness: Math.min(0.95, completeness), digits };
}

/**
 * The silence after which a turn with this score is over. The threshold falls as silence grows, from sure
 * completeness at `minSilenceMs` to none at `maxSilenceMs`; this is the moment at which the score meets it.
 */
export function silenceNeededMs(score: TurnScore, config: EndpointingConfig): number {
  const openness = 1 - Math.min(1, score.completeness / 0.9);
  const scored = config.minSilenceMs + (config.maxSilenceMs - config.minSilenceMs) * openness;
  return Math.max(scored, config.responseDelayMs) + (score.digits ? config.numberInputDelayMs : 0);
}

function endsInDigits(words: readonly string[]): boolean {
  const isDigit = (word: string | undefined): boolean =>
    word !== undefined && (DIGIT_WORDS.has(word) || /^\d+$/.test(word));
  if (!isDigit(words.at(-1))) return false;
  // "for four" is a party size, "five five five" a number being dictated.
  return isDigit(words.at(-2)) || /^\d{3,}$/.test(words.at(-1) ?? '');
}
