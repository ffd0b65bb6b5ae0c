import type { Word } from './words.js';

const YES = new Set(
  'yes yeah yep yup yah aye correct right exactly sure okay perfect absolutely definitely certainly fine great good indeed mmhm huh lovely'.split(
    ' ',
  ),
);
const NO = new Set('no nope nah wrong incorrect negative'.split(' '));
/** Backchannels that say "go on" rather than answer the question. */
const GO_ON = new Set(
  'okay right mmhm mm huh aha oh i see got it sure all good fine great nice cool and go on'.split(' '),
);
const NO_REFUSAL = ['no problem', 'no worries'];

/** Yes, no, or neither; the first clear word decides, "not right" is a no. */
export function answerOf(words: readonly Word[]): 'yes' | 'no' | null {
  const texts = words.map((word) => word.text);
  const sentence = texts.join(' ');
  if (NO_REFUSAL.some((phrase) => sentence.startsWith(phrase))) return 'yes';
  if (sentence === 'go ahead' || sentence.startsWith('please do') || sentence.startsWith('of course')) return 'yes';
  for (const [index, text] of texts.slice(0, 5).entries()) {
    if (NO.has(text)) return 'no';
    if (text === 'not') return 'no';
    if (YES.has(text)) return texts[index + 1] === 'not' && text !== 'yes' ? 'no' : 'yes';
  }
  return null;
}

const DECLINE_START = new Set('no nope nah nothing none not skip never i'.split(' '));
const DECLINE = new Set(
  (
    'no nope nah nothing none not skip never i do that is it all thank thanks you very much really am good fine have we any ' +
    'special wishes need else for now rather would prefer want to give leave one please okay this time mind'
  ).split(' '),
);

/** A plain refusal: "no thank you", "nothing, that is all", "I'd rather not". "No onions" is not one. */
export function isRefusal(words: readonly Word[]): boolean {
  if (!DECLINE_START.has(words[0]?.text ?? '')) return false;
  return (
    words.every((word) => DECLINE.has(word.text)) &&
    (words[0]?.text !== 'i' || words.some((word) => word.text === 'not'))
  );
}

const QUESTION = new Set(
  'what when where who which how why do does did can could may is are will would have'.split(' '),
);

/** Starts like a question, after at most a polite word or two. */
export function isQuestion(words: readonly Word[]): boolean {
  return words
    .slice(0, 3)
    .some(
      (word, index) =>
        QUESTION.has(word.text) &&
        (index === 0 || /^(and|so|but|okay|oh|also|sorry)$/.test(words[index - 1]?.text ?? '')),
    );
}

/** Only backchannels: "mm-hm", "okay", "I see". */
export function isAcknowledgement(words: readonly Word[]): boolean {
  return words.length > 0 && words.length <= 4 && words.every((word) => GO_ON.has(word.text));
}
