/**
 * Finds the speakable words in a language model's text, which may contain mark-up. Pure and language-neutral; takes
 * time linear in any text.
 */

/** One word of a text, and what a voice is to say for it. */
export interface SpokenWord {
  /** Verbatim, with punctuation: the words in order, with the spaces between, are the text. */
  text: string;
  /** Its position in the text: from `start` to before `end`, in UTF-16 units. */
  start: number;
  end: number;
  /** What to say; '' for what is not said (mark-up, emoji). Has a letter or digit otherwise. */
  spoken: string;
}

/** Longer runs without a space are cut, so that no input makes a word of endless length. */
const MAX_WORD_CHARS = 60;
/** Letters, digits, and signs that are read as words. */
const SAYABLE = /[\p{L}\p{N}&%@+=€$£¥₹°§×÷±\ue100-\ue4ff]/u;
const ENDS_IN_SAYABLE = /[\p{L}\p{N}\ue100-\ue4ff]$/u;
const LONE_DASH = /^(?:[-–—]|--)$/u;
/** Behind a space, as French writes it. */
const LONE_PUNCTUATION = /^[!?:;…]{1,3}$/u;
/** Scripts that are written without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
export const URL = /\b(?:https?:\/\/|www\.)[^\s<>()[\]"'`*|]{1,2000}/giu;

/** Mark-up of which only the first group (if there is one) is said. Every quantifier is bounded or cannot overlap. */
const MARK_UP: readonly RegExp[] = [
  /!?\[([^[\]\n]{0,300})\]\([^()\s]{0,2000}\)/dgu, // link or picture
  /<\/?[a-z][^<>\n]{0,300}>/dgiu, // tag
  /^[ \t]{0,20}(?:#{1,6}|>|[-*+•])(?=[ \t])/dgmu, // heading, quotation, bullet
  /^[ \t]{0,20}(?:[-*_=]{3,200}|`{3}\w{0,30})[ \t]*$/dgmu, // rule, fence
  /[*`~|#_]{2,}|[*`|{}[\]<>\\^]/dgu, // emphasis, code, table
  /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/dgu, // emphasis by underscores
  /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\u{FE0F}\u{20E3}\u{E0020}-\u{E007F}]/dgu, // emoji
  /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/dgu, // control, invisible, private, half a character
];

/** A part of a text that is said in another way, which a private-use character stands for. */
export interface Replacement {
  start: number;
  end: number;
  placeholder: string;
}

/** Splits a text into its words and cleans each. */
export function spokenWords(text: string, replacements: readonly Replacement[] = []): SpokenWord[] {
  const said = sayWhat(text);
  for (const { start, end, placeholder } of replacements) {
    said.fill('', start, end);
    // On a blank it would be lost.
    let at = start;
    while (at < end - 1 && /\s/u.test(text[at] ?? '')) at++;
    said[at] = placeholder;
  }
  const words: SpokenWord[] = [];
  for (const { start, end } of wordSpans(text)) {
    const spoken = said.slice(start, end).join('').trim();
    const last = words.at(-1);
    // A dash that stands alone is a pause after the word before it.
    const isAfterWord = last !== undefined && ENDS_IN_SAYABLE.test(last.spoken);
    if (isAfterWord && LONE_DASH.test(spoken)) last.spoken += ',';
    // What is left of a word that was said with the one before it.
    const isRest = /^[.,!?:;…]{1,3}$/u.test(spoken) && end - start > spoken.length;
    if (isAfterWord && (LONE_PUNCTUATION.test(spoken) || isRest)) last.spoken += spoken;
    words.push({ text: text.slice(start, end), start, end, spoken: SAYABLE.test(spoken) ? spoken : '' });
  }
  return words;
}

/** What is said for the words, with spaces where the text has some. */
export function spokenText(words: readonly SpokenWord[]): string {
  let text = '';
  let lastEnd = 0;
  for (const { spoken, start, end } of words) {
    if (spoken === '') continue;
    text += text !== '' && start > lastEnd ? ` ${spoken}` : spoken;
    lastEnd = end;
  }
  return text;
}

/** For every UTF-16 unit of the text what is said for it. */
function sayWhat(text: string): string[] {
  const said = text.split('');
  for (const match of text.matchAll(URL)) {
    const at = match.index;
    said.fill('', at, at + match[0].length);
    said[at] = hostOf(match[0]);
  }
  const blank = (start: number, end: number): void => {
    said.fill('', start, end);
  };
  for (const rule of MARK_UP) {
    for (const match of text.matchAll(rule)) {
      const end = match.index + match[0].length;
      const [keepStart, keepEnd] = match.indices?.[1] ?? [end, end];
      blank(match.index, keepStart);
      blank(keepEnd, end);
    }
  }
  return said;
}

/** Of an address only the host is worth hearing; punctuation after it belongs to the sentence. */
function hostOf(url: string): string {
  const host = url.replace(/^https?:\/\//i, '').replace(/^www\./i, '');
  const name = /^[^/?#:]{0,200}/.exec(host)?.[0] ?? '';
  const tail = /[.,;:!?]*$/.exec(url)?.[0] ?? '';
  return name.replace(/[.,;!?]+$/, '') + tail;
}

function wordSpans(text: string): { start: number; end: number }[] {
  const spans: { start: number; end: number }[] = [];
  for (const match of text.matchAll(/\S+/gu)) {
    const pieces = UNSPACED.test(match[0]) ? unspacedPieces(match[0]) : [match[0]];
    let start = match.index;
    for (const piece of pieces.flatMap(cutLong)) {
      spans.push({ start, end: start + piece.length });
      start += piece.length;
    }
  }
  return spans;
}

let segmenter: Intl.Segmenter | null = null;

/** Words by dictionary; punctuation stays with the word before it. */
function unspacedPieces(run: string): string[] {
  const pieces: string[] = [];
  for (const part of cutLong(run)) {
    for (const { segment, isWordLike } of (segmenter ??= new Intl.Segmenter(undefined, {
      granularity: 'word',
    })).segment(part)) {
      if (isWordLike === true || pieces.length === 0) pieces.push(segment);
      else pieces.push(`${pieces.pop() ?? ''}${segment}`);
    }
  }
  return pieces;
}

/** Cuts between characters, never inside a surrogate pair. */
function cutLong(run: string): string[] {
  if (run.length <= MAX_WORD_CHARS) return [run];
  const pieces: string[] = [];
  let piece = '';
  for (const character of run) {
    if (piece.length + character.length > MAX_WORD_CHARS) {
      pieces.push(piece);
      piece = '';
    }
    piece += character;
  }
  return [...pieces, piece];
}
