/** What an agent's question asks for. */
export type ExpectedAnswer = 'number' | 'date' | 'time' | 'yes-no' | 'name' | 'letters' | 'digits';

/** The more specific first. */
const QUESTIONS: readonly (readonly [ExpectedAnswer, RegExp])[] = [
  ['letters', /\bspell|letter by letter/i],
  ['digits', /\b(?:phone|mobile|telephone|card|account|pin|zip|post(?:al)? code)\b|\bdigits?\b/i],
  ['name', /\bname\b|\bwho (?:is (?:calling|speaking|this)|am i (?:speaking|talking))/i],
  ['time', /\b(?:what|which) (?:time|hour)\b|\bat what time\b|\bo'?clock\b/i],
  ['date', /\b(?:what|which) (?:day|date)\b|\bthe (?:day|date)\b|\bwhen\b/i],
  ['number', /\bhow (?:many|old|much|likely|satisfied)\b|\bnumber\b|\bfrom (?:zero|one|\d+) to \w+/i],
  ['time', /\btime\b/i],
];

/** A question that begins like this can be answered with yes or no. */
const YES_NO =
  /^(?:(?:and|so|or|but|well|okay|then)[ ,]+)*(?:is|are|was|do|does|did|shall|should|would|will|can|could|may|have|has|right|correct|anything|ok(?:ay)?)\b/i;
const REQUEST = /\b(?:please|say|tell|give|spell|enter)\b/i;
/** The end of a read-back, which may name anything. */
const CONFIRMATION = /\b(?:right|correct|ok(?:ay)?)\?$/i;

/** What the last question of these English words of an agent asks for; null = no question, or one for anything. */
export function expectedAnswer(agentSaid: string): ExpectedAnswer | null {
  const sentences = agentSaid.split(/(?<=[.?!])\s+/).filter((sentence) => sentence !== '');
  const at = sentences.findLastIndex((sentence) => sentence.endsWith('?'));
  // A request without a question mark: "Just the number of people, please."
  if (at < 0) {
    const request = sentences.findLast((sentence) => REQUEST.test(sentence));
    return request === undefined ? null : asksFor(request);
  }
  const question = sentences[at] ?? '';
  if (CONFIRMATION.test(question)) return 'yes-no';
  const specific = asksFor(question) ?? asksFor(sentences.slice(at + 1).join(' '));
  return specific ?? (YES_NO.test(question) ? 'yes-no' : null);
}

function asksFor(text: string): ExpectedAnswer | null {
  return QUESTIONS.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}
