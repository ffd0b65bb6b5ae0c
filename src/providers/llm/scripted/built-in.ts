import { compilePattern, type Matcher } from './match.js';
import { parsePattern } from './pattern.js';
import type { ScriptAction, PhraseValues } from './schema.js';

/** A compiled rule: a match of any pattern runs its action. */
export interface CompiledRule {
  readonly matchers: readonly Matcher[];
  readonly action: ScriptAction;
  /** Does not repeat the open question afterwards. */
  readonly quiet?: true;
  /** Small talk: applies only if no other rule matches. */
  readonly last?: true;
}

/** Rules of every script. On an equal match the script's own rules win. */
const PATTERNS = {
  repeat: [
    '(say|repeat) that again',
    '(can|could) you (repeat|say that)',
    'repeat that',
    '(say|come) again',
    '^[sorry] pardon [me]$',
    'what did you say',
    '^[sorry] what$',
    '^(sorry|excuse me)$',
    'did not (hear|catch|understand|get) (you|that)',
  ],
  wait: [
    '(hold|hang) on',
    '(one|a) (moment|minute|second)',
    'just a (moment|minute|second)',
    '^wait$',
    'let me (think|check|see)',
  ],
  cancel: [
    '^cancel',
    'cancel (that|it|everything|the)',
    'forget (it|about it|that)',
    'never mind',
    'start over',
    'changed my mind',
  ],
  help: ['^help', 'help me', 'what can (you|i) (do|say|ask)'],
  thanks: ['(thanks|thank you)', 'thank you [very|so] much', 'thanks a lot', '^cheers'],
  goodbye: [
    '(goodbye|bye|farewell)',
    'good bye',
    // "To see whether you have room" is not a goodbye.
    'see you [soon|later|then]$',
    '^[great|okay|thanks|thank you] see you (tomorrow|tonight|on|at)',
    'have a (good|nice|great|lovely) (day|evening|night|one|weekend)',
    'that (is|will be|would be|was) (all|everything|it)$',
    'hang up',
  ],
} as const;

/** The rules of every script, with the script's wordings. */
export function builtInRules(phrases: PhraseValues): CompiledRule[] {
  const rule = (patterns: readonly string[], action: ScriptAction): CompiledRule => ({
    matchers: patterns.map((pattern) => compilePattern(parsePattern(pattern))),
    action,
  });
  return [
    rule(PATTERNS.repeat, { repeat: true }),
    { ...rule(PATTERNS.wait, { say: phrases.wait }), quiet: true },
    rule(PATTERNS.cancel, { cancel: true }),
    rule(PATTERNS.help, { say: phrases.help }),
    { ...rule(PATTERNS.thanks, { say: phrases.thanks }), last: true },
    rule(PATTERNS.goodbye, { say: phrases.goodbye, end: true }),
  ];
}

/** Patterns as recognition hints. */
export const BUILT_IN_PATTERNS: readonly string[] = Object.values(PATTERNS).flat();
