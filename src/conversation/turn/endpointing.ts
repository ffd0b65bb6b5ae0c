import type { EndpointingConfig } from '../../agent/flow/turn-taking.js';
import { completenessOf } from './completeness.js';
import { dictationOf } from './dictation.js';
import { QUESTION_MARK } from './turn-words.js';

/** What is known about a turn when its end is scored. */
export interface TurnEvidence {
  /** The words so far, stretch by stretch as pauses divide them. */
  parts: readonly string[];
  language: string;
  /** Whether the engine has given its final transcript for what was said. */
  isFinal: boolean;
  /** What the agent said last, empty = nothing yet. */
  agentSaid: string;
  /** An audio model's probability that the turn is over, 0..1; null = none was asked, or it has not answered. */
  audio: number | null;
  /** The longest pause after which this turn went on so far, in ms; 0 = none. */
  longestPauseMs: number;
  /** How long this user pauses inside turns, from the turns before this one, in ms; 0 = not known. */
  usualPauseMs: number;
}

export interface TurnScore {
  /** How complete the turn is, 0 (surely goes on) to 1 (surely done). */
  completeness: number;
  /** The user is dictating a number or an identifier. */
  dictating: boolean;
  /** Silence that this user leaves inside this turn, and some more: no sign of its end. */
  rhythmMs: number;
  /** How much longer than most this user pauses: 1 (no longer) to 1.5. */
  slowness: number;
}

/** Weight of the audio model beside the words; while something is dictated the words know better. */
const AUDIO_WEIGHT = 0.6;
const AUDIO_WEIGHT_DICTATING = 0.25;
/** Completeness from which a turn is surely complete. */
const SURE = 0.9;
/** How fast the silence needed falls as words become complete: words that tell little are soon answered. */
const STEEPNESS = 2;
/** Below this the pauses that the user has made before count; a number goes on in its rhythm up to a higher one. */
const UNSURE = 0.6;
const UNSURE_DICTATING = 0.7;
/** How much longer than the pauses before it a silence must be. */
const RHYTHM_FACTOR = 1.25;
/** Most people's pauses inside a turn are shorter than this. */
const COMMON_PAUSE_MS = 700;
const MOST_SLOWNESS = 1.5;
/** Asks for nothing in particular: the answer may be long. */
const OPEN_QUESTION =
  /(?:can|may|could) i (?:help|do for)|help you|wie kann ich|puis-je vous aider|en qué puedo|em que posso|come posso|waarmee kan|कैसे मदद|ご用件|有什么可以帮/iu;

/** Scores a turn as it is known now. Pure. */
export function scoreTurn(evidence: TurnEvidence): TurnScore {
  const { parts, language, agentSaid, audio, longestPauseMs, usualPauseMs } = evidence;
  const dictation = dictationOf(parts, language, agentSaid);
  let completeness = dictation?.completeness ?? completenessOf(parts.join(' '), language);
  if (dictation === null && completeness > 0.5) completeness += byQuestion(agentSaid);
  if (!evidence.isFinal) completeness -= 0.1;
  if (audio !== null) {
    const weight = dictation === null ? AUDIO_WEIGHT : AUDIO_WEIGHT_DICTATING;
    completeness += weight * (audio - completeness);
  }
  const unsure = completeness < (dictation === null ? UNSURE : UNSURE_DICTATING);
  return {
    completeness: Math.max(0, Math.min(0.95, completeness)),
    dictating: dictation !== null && dictation.kind !== 'address',
    rhythmMs: unsure ? longestPauseMs * RHYTHM_FACTOR : 0,
    slowness: Math.max(1, Math.min(MOST_SLOWNESS, usualPauseMs / COMMON_PAUSE_MS)),
  };
}

/** After a question, words that can be an answer are sooner complete. */
function byQuestion(agentSaid: string): number {
  return QUESTION_MARK.test(agentSaid) && !OPEN_QUESTION.test(agentSaid) ? 0.15 : 0;
}

/**
 * The silence after which a turn with this score is over. The threshold falls as silence grows, from sure
 * completeness at `minSilenceMs` to none at `maxSilenceMs`; this is the moment at which the score meets it.
 */
export function silenceNeededMs(score: TurnScore, config: EndpointingConfig): number {
  const { minSilenceMs, maxSilenceMs, responseDelayMs, numberInputDelayMs } = config;
  const openness = (1 - Math.min(1, score.completeness / SURE)) ** STEEPNESS;
  const scored = minSilenceMs + Math.max(0, maxSilenceMs - minSilenceMs) * openness * score.slowness;
  const paced = Math.min(Math.max(scored, score.rhythmMs), Math.max(minSilenceMs, maxSilenceMs));
  return Math.round(Math.max(paced, responseDelayMs)) + (score.dictating ? numberInputDelayMs : 0);
}
