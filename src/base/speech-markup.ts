/**
 * Speech mark-up in what an agent says, as SSML writes it: `<break time="500ms"/>`, `<spell>…</spell>`,
 * `<say-as interpret-as="characters">…</say-as>`, `<phoneme ph="…">…</phoneme>`, `<sub alias="…">…</sub>`. Other tags
 * are taken out. Pure; takes time linear in the text.
 */

/** How a part of a text is to be said. */
export interface SpeechSpan {
  /** From `start` to before `end`, in UTF-16 units. */
  start: number;
  end: number;
  /** `spell`: letter by letter; `ipa`: with these phonemes; `alias`: with this text in its place. */
  as: 'spell' | 'ipa' | 'alias';
  /** The phonemes or the text; '' for `spell`. */
  value: string;
}

export interface MarkedText {
  /** Without mark-up: what is shown and kept. */
  text: string;
  spans: SpeechSpan[];
  /** Silences before the character at a position, in order. */
  pauses: { at: number; ms: number }[];
}

/** A longer pause would seem like a lost line. */
const MAX_PAUSE_MS = 10_000;
/** Azure's lengths of SSML's strengths, which the standard leaves open. */
const STRENGTH_MS: Readonly<Record<string, number>> = {
  none: 0, 'x-weak': 250, weak: 500, medium: 750, strong: 1000, 'x-strong': 1250,
}; // prettier-ignore

const TAG =
  /<(\/?)([a-z][\w:-]{0,30})((?:\s{1,20}[\w:-]{1,40}\s{0,5}=\s{0,5}(?:"[^"<>]{0,300}"|'[^'<>]{0,300}')){0,8})\s{0,20}(\/?)>/giu;
const ATTRIBUTE = /([\w:-]{1,40})\s{0,5}=\s{0,5}(?:"([^"]*)"|'([^']*)')/gu;
const SPELLED = /^(?:characters|character|spell-out|verbatim|digits)$/;

/** Reads the mark-up of a text and takes it out. */
export function readMarkup(marked: string): MarkedText {
  const spans: SpeechSpan[] = [];
  const pauses: { at: number; ms: number }[] = [];
  if (!marked.includes('<')) return { text: marked, spans, pauses };
  const open: { name: string; span: SpeechSpan | null }[] = [];
  let text = '';
  let from = 0;
  const append = (piece: string): void => {
    // The spaces around a tag become one.
    text += /\s$/u.test(text) || (text === '' && from > 0) ? piece.replace(/^[ \t]+/u, '') : piece;
  };
  for (const match of marked.matchAll(TAG)) {
    append(marked.slice(from, match.index));
    from = match.index + match[0].length;
    const [, closes, given = '', attributes = '', isEmpty] = match;
    const name = given.toLowerCase();
    if (closes !== '') {
      const index = open.findLastIndex((one) => one.name === name);
      for (const { span } of index < 0 ? [] : open.splice(index)) if (span !== null) span.end = text.length;
      continue;
    }
    const values = new Map(
      [...attributes.matchAll(ATTRIBUTE)].map(([, key = '', a, b]) => [key.toLowerCase(), a ?? b ?? '']),
    );
    if (name === 'break') {
      const ms = pauseOf(values);
      if (ms > 0) pauses.push({ at: text.length, ms });
    } else if (isEmpty === '') {
      const span = spanOf(name, values, text.length);
      if (span !== null) spans.push(span);
      open.push({ name, span });
    }
  }
  append(marked.slice(from));
  // What is not closed goes on to the end.
  for (const { span } of open) if (span !== null) span.end = text.length;
  return { text, spans: spans.filter(({ start, end }) => end > start), pauses };
}

/** A text as it is shown and kept. */
export function withoutMarkup(marked: string): string {
  return marked.includes('<') ? readMarkup(marked).text : marked;
}

const UNFINISHED = /<\/?[a-z][^<>]{0,300}$|<\/?$/iu;

/** Where a tag or an element begins that a text does not finish; -1 for none. No text is cut behind it. */
export function unfinishedMarkup(text: string): number {
  if (!text.includes('<')) return -1;
  const open: { name: string; at: number }[] = [];
  for (const { index, 1: closes, 2: name = '', 4: isEmpty } of text.matchAll(TAG)) {
    if (closes === '' && isEmpty === '' && /^(?:spell|say-as|phoneme|sub)$/i.test(name)) open.push({ name, at: index });
    const opened = closes === '' ? -1 : open.findLastIndex((one) => one.name === name);
    if (opened >= 0) open.splice(opened);
  }
  return open[0]?.at ?? UNFINISHED.exec(text)?.index ?? -1;
}

function pauseOf(values: ReadonlyMap<string, string>): number {
  const [, count = '', unit] =
    /^\s*(\d{1,6}(?:\.\d{1,6})?|\.\d{1,6})\s*(ms|s)\s*$/iu.exec(values.get('time') ?? '') ?? [];
  if (count !== '') return Math.min(MAX_PAUSE_MS, Number(count) * (unit?.toLowerCase() === 's' ? 1000 : 1));
  return STRENGTH_MS[values.get('strength') ?? 'medium'] ?? 750;
}

function spanOf(name: string, values: ReadonlyMap<string, string>, start: number): SpeechSpan | null {
  const span = (as: SpeechSpan['as'], value = ''): SpeechSpan => ({ start, end: start, as, value });
  if (name === 'spell') return span('spell');
  if (name === 'say-as') return SPELLED.test(values.get('interpret-as') ?? '') ? span('spell') : null;
  const [phonemes, alias] = [values.get('ph') ?? '', values.get('alias') ?? ''];
  if (name === 'phoneme' && (values.get('alphabet') ?? 'ipa') === 'ipa' && phonemes !== '')
    return span('ipa', phonemes);
  return name === 'sub' && alias !== '' ? span('alias', alias) : null;
}
