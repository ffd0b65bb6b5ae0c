import type { EndpointingConfig } from './config.js';
import { completenessOf, endsInDigits } from './completeness.js';

/** What is known about a turn when its end is scored. */
export interface TurnEvidence {
  text: string;
  language: string;
  /** Whether the engine has given its final transcript for what was said. */
  isFinal: boolean;
  /** What the agent said last, empty = nothing yet. */
  agentSaid: string;
}

export interface TurnScore {
  /** How complete the words are, 0 (surely goes on) to 1 (surely done). */
  completeness: number;
  /** The user is dictating digits. */
  digits: boolean;
}

/** A question for something that is spoken digit by digit, in the languages that have a word list. */
const ASKS_FOR_DIGITS =
  /(?:number|nummer|numéro|número|numero|digit|\bcode|código|codice|\bpin\b|\bzip\b|post ?code)/iu;

/** Scores a transcript. Pure; a better judge (an audio model, say) can replace it. */
export function scoreTurn(evidence: TurnEvidence): TurnScore {
  const { text, language, agentSaid } = evidence;
  const digits = endsInDigits(text, ASKS_FOR_DIGITS.test(agentSaid));
  let completeness = completenessOf(text, language, digits);
  if (completeness > 0.5 && /[?？]["'”’)]*$/.test(agentSaid)) completeness += 0.15;
  if (!evidence.isFinal) completeness -= 0.1;
  return { completeness: Math.max(0, Math.min(0.95, completeness)), digits };
}

/**
 * The silence after which a turn with this score is over. The threshold falls as silence grows, from sure
 * completeness at `minSilenceMs` to none at `maxSilenceMs`; this is the moment at which the score meets it.
 */
export function silenceNeededMs(score: TurnScore, config: EndpointingConfig): number {
  const openness = 1 - Math.min(1, score.completeness / 0.9);
  const scored = config.minSilenceMs + Math.max(0, config.maxSilenceMs - config.minSilenceMs) * openness;
  return Math.round(Math.max(scored, config.responseDelayMs)) + (score.digits ? config.numberInputDelayMs : 0);
}
