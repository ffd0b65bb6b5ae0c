import type { EndpointingConfig } from '../../agent/flow/turn-taking.js';
import { completenessOf } from './completeness.js';
import { dictationOf } from './dictation.js';
import { QUESTION_MARK } from './turn-words.js';

/** The evidence for scoring the end of a turn. */
export interface TurnEvidence {
  /** The words so far, divided by pauses. */
  parts: readonly string[];
  language: string;
  /** Whether the recogniser has given its final transcript. */
  isFinal: boolean;
  /** The agent's last words, empty = none yet. */
  agentSaid: string;
  /** An audio model's probability that the turn is over, 0 to 1; null = no model, or no result yet. */
  audio: number | null;
  /** The longest pause so far after which this turn continued, in ms; 0 = none. */
  longestPauseMs: number;
  /** This user's usual pause inside turns, from earlier turns, in ms; 0 = unknown. */
  usualPauseMs: number;
}

export interface TurnScore {
  /** From 0 (surely continues) to 1 (surely complete). */
  completeness: number;
  /** The user is dictating a number or an identifier. */
  dictating: boolean;
  /** A silence that is usual inside this turn, with a margin: no sign of its end. */
  rhythmMs: number;
  /** How much longer this user's pauses are than usual: 1 (not longer) to 1.5. */
  slowness: number;
}

/** Weight of the audio model relative to the words; during dictation the words are more reliable. */
const AUDIO_WEIGHT = 0.6;
const AUDIO_WEIGHT_DICTATING = 0.25;
/** Completeness from which a turn is surely complete. */
const SURE = 0.9;
/** How fast the required silence falls with completeness: words of medium completeness are answered soon. */
const STEEPNESS = 2;
/** Below this completeness the user's earlier pauses count; for a dictated number up to a higher one. */
const UNSURE = 0.6;
const UNSURE_DICTATING = 0.7;
/** A silence must be this many times as long as the earlier pauses. */
const RHYTHM_FACTOR = 1.25;
/** Most people's pauses inside a turn are shorter. */
const COMMON_PAUSE_MS = 700;
const MOST_SLOWNESS = 1.5;
/** An open question: the answer may be long. */
const OPEN_QUESTION =
  /(?:can|may|could) i (?:help|do for)|help you|wie kann ich|puis-je vous aider|en qué puedo|em que posso|come posso|waarmee kan|कैसे मदद|ご用件|有什么可以帮/iu;

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

/** After a question, words that can be an answer are complete sooner. */
function byQuestion(agentSaid: string): number {
  return QUESTION_MARK.test(agentSaid) && !OPEN_QUESTION.test(agentSaid) ? 0.15 : 0;
}

/**
 * The silence after which a turn with this score is over. The required score falls as the silence grows, from sure
 * completeness at `minSilenceMs` to 0 at `maxSilenceMs`; this is the time at which the score meets it.
 */
export function silenceNeededMs(score: TurnScore, config: EndpointingConfig): number {
  const { minSilenceMs, maxSilenceMs, responseDelayMs, numberInputDelayMs } = config;
  const openness = (1 - Math.min(1, score.completeness / SURE)) ** STEEPNESS;
  const scored = minSilenceMs + Math.max(0, maxSilenceMs - minSilenceMs) * openness * score.slowness;
  const paced = Math.min(Math.max(scored, score.rhythmMs), Math.max(minSilenceMs, maxSilenceMs));
  return Math.round(Math.max(paced, responseDelayMs)) + (score.dictating ? numberInputDelayMs : 0);
}
