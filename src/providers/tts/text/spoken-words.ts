import type { PronunciationSettings, PronunciationWord } from '../../../agent/extensions/pronunciation.js';
import { baseLanguage } from '../../../base/language.js';
import type { SpeechSpan } from '../../../base/speech-markup.js';
import { respellingOf } from './phonemes.js';
import { type Replacement, spokenText, spokenWords, type SpokenWord, URL } from './speakable.js';
import { spelledOut, verbalised, verbalWords } from './verbal/verbalise.js';

/** What is asked of a voice: the part of a request that decides what is said. */
export interface SpeechText {
  text: string;
  /** A code of the interface's language list. */
  language: string;
  /** How parts of the text are to be said. */
  spans?: readonly SpeechSpan[] | undefined;
  pronunciation?: PronunciationSettings | null | undefined;
}

/**
 * The words of a text with what a voice is to say for them, by its mark-up, the agent's dictionary and the rules of the
 * language, in this order. Each word keeps its text and place.
 * @param takesPhonemes whether the voice takes phonemes: they come as `phonemesIn` reads them
 */
export function speechWords(
  { text, language, spans = [], pronunciation }: SpeechText,
  takesPhonemes: boolean,
): SpokenWord[] {
  const region = pronunciation?.region ?? undefined;
  if (spans.length === 0 && (pronunciation?.words ?? []).length === 0) return verbalWords(text, language, region);
  const said: string[] = [];
  const replace = (start: number, end: number, spoken: string): Replacement => {
    said.push(spoken);
    return { start, end, placeholder: String.fromCharCode(PLACEHOLDER + said.length - 1) };
  };
  const inLetters = (alias: string): string => spokenText(verbalWords(alias, language, region));
  const withIpa = (word: string, ipa: string, otherwise: string | null): string =>
    takesPhonemes
      ? `${OPEN}${word.replace(/\s+/gu, '\u00a0')}${MIDDLE}${ipa}${CLOSE}`
      : (otherwise ?? respellingOf(ipa, language));
  const replacements = spans.slice(0, MOST).map(({ start, end, as, value }) => {
    const part = text.slice(start, end);
    const spoken =
      as === 'spell'
        ? spelledOut(part, language, region)
        : as === 'alias'
          ? inLetters(value)
          : withIpa(part, value, null);
    return replace(start, end, spoken);
  });
  for (const { start, end, entry } of dictionaryMatches(text, language, pronunciation?.words ?? [])) {
    const isTaken = replacements.some((one) => start < one.end && end > one.start);
    if (isTaken || said.length >= MOST) continue;
    const { alias, respelling, ipa } = entry;
    const letters = respelling ?? (alias == null ? null : inLetters(alias));
    replacements.push(
      replace(start, end, ipa == null ? (letters ?? '') : withIpa(text.slice(start, end), ipa, letters)),
    );
  }
  if (replacements.length === 0) return verbalWords(text, language, region);
  const words = verbalised(spokenWords(text, replacements), language, region);
  return words.map((word) => ({
    ...word,
    spoken: word.spoken.replace(PLACEHOLDERS, (sign) => said[sign.charCodeAt(0) - PLACEHOLDER] ?? ''),
  }));
}

/** Private-use characters that stand for what the rules must not change. */
const PLACEHOLDER = 0xe100;
const MOST = 1000;
const PLACEHOLDERS = /[\ue100-\ue4ff]/gu;

/** Around a word that is said by its phonemes, and between the two. */
const [OPEN, MIDDLE, CLOSE] = ['\ue000', '\ue001', '\ue002'];
const PHONEMES = /\ue000([^\ue000-\ue002]*)\ue001([^\ue000-\ue002]*)\ue002/gu;

/**
 * A text for a voice in its own notation.
 * @param write the notation of a word and its phonemes
 * @param escape of the text between them
 */
export function withPhonemes(
  text: string,
  write: (word: string, ipa: string) => string,
  escape: (text: string) => string = (plain) => plain,
): string {
  let out = '';
  let from = 0;
  for (const { index, 0: whole, 1: word = '', 2: ipa = '' } of text.matchAll(PHONEMES)) {
    out += escape(text.slice(from, index)) + write(word.replaceAll('\u00a0', ' '), ipa);
    from = index + whole.length;
  }
  return out + escape(text.slice(from));
}

/** The words without phonemes, as a vendor times them. */
export function withoutPhonemes(text: string): string {
  return text.includes(OPEN) ? withPhonemes(text, (word) => word) : text;
}

interface Pattern {
  entry: PronunciationWord;
  pattern: RegExp;
}

/** The patterns of a dictionary, longest words first; made once for each. */
const PATTERNS = new WeakMap<readonly PronunciationWord[], readonly Pattern[]>();

function patternsOf(words: readonly PronunciationWord[]): readonly Pattern[] {
  const made = PATTERNS.get(words);
  if (made !== undefined) return made;
  const patterns = words
    .toSorted((a, b) => b.word.length - a.word.length)
    .map((entry) => {
      const letters = entry.word
        .trim()
        .replace(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`)
        .replace(/\s+/gu, String.raw`\s{1,5}`);
      const whole = entry.whole_word === false ? letters : String.raw`(?<![\p{L}\p{N}])${letters}(?![\p{L}\p{N}])`;
      return { entry, pattern: new RegExp(whole, entry.case_sensitive === true ? 'gu' : 'giu') };
    });
  PATTERNS.set(words, patterns);
  return patterns;
}

/** "acme.com", "ann@acme.com". */
const ADDRESS = /(?<![\w.@+-])[\w.+-]{1,64}(?:@[\w-]{1,63})?(?:\.[\w-]{1,63}){0,8}\.[a-z]{2,24}(?![\w-])/gu;

/** Where the words of a dictionary stand in a text; none overlap. */
function dictionaryMatches(
  text: string,
  language: string,
  words: readonly PronunciationWord[],
): { start: number; end: number; entry: PronunciationWord }[] {
  const base = baseLanguage(language);
  const found: { start: number; end: number; entry: PronunciationWord }[] = [];
  const addresses = [...text.matchAll(URL), ...text.matchAll(ADDRESS)].map(({ index, 0: whole }) => ({
    start: index,
    end: index + whole.length,
  }));
  for (const { entry, pattern } of patternsOf(words)) {
    if (entry.languages != null && !entry.languages.some((code) => code === language || code === base)) continue;
    for (const { index: start, 0: match } of text.matchAll(pattern)) {
      const end = start + match.length;
      const isTaken = found.some((one) => start < one.end && end > one.start);
      // Within an address it would leave a rest that is none.
      const isPart = addresses.some(
        (one) => start < one.end && end > one.start && (start > one.start || end < one.end),
      );
      if (!isTaken && !isPart) found.push({ start, end, entry });
    }
  }
  return found;
}
