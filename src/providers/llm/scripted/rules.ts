import type { CompiledRule } from './built-in.js';
import type { CompiledScript } from './compile.js';
import type { PatternMatch } from './match.js';
import type { DayNumber } from '../../../base/spoken/date.js';
import type { Word } from '../../../base/spoken/words.js';

/** A matching rule, with its match. */
export interface RuleHit {
  rule: CompiledRule;
  match: PatternMatch;
  score: number;
  /** One of the rules that every script has. */
  builtIn: boolean;
}

/** Score bonus of the current state's rules and of the script's over equally good matches. */
const STATE_BONUS = 2.5;
const SCRIPT_BONUS = 0.25;
/** Ranks small talk last: "thank you very much, goodbye" is a goodbye. */
const LAST_COST = 100;

/** The best match: the rule that covers the most words; the first of equals. */
export function bestRule(
  words: readonly Word[],
  script: CompiledScript,
  stateRules: readonly CompiledRule[],
  today: DayNumber | null,
): RuleHit | null {
  let best: RuleHit | null = null;
  const consider = (rules: readonly CompiledRule[], bonus: number, builtIn: boolean): void => {
    for (const rule of rules) {
      for (const matcher of rule.matchers) {
        const match = script.memory.matchAll(matcher, words, today)[0];
        if (match === undefined) continue;
        const score = match.score + bonus - (rule.last === true ? LAST_COST : 0);
        if (best === null || score > best.score) best = { rule, match, score, builtIn };
      }
    }
  };
  consider(stateRules, STATE_BONUS, false);
  consider(script.rules, SCRIPT_BONUS, false);
  consider(script.builtIn, 0, true);
  return best;
}
