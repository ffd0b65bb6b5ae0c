/** Makes one word sayable for an English voice that takes plain ASCII, after `verbalWords`. Pure. */

const FOLDED: readonly [RegExp, string][] = [
  [/[‘’ʼ´`]/gu, "'"],
  [/[“”„«»]/gu, '"'],
  [/…/gu, '...'],
  [/[—―]|--+/gu, ', '],
  [/[–‐‑−]/gu, '-'],
  [/[。｡]/gu, '. '],
  [/[，、]/gu, ', '],
  [/ß/gu, 'ss'],
  [/æ/giu, 'ae'],
  [/œ/giu, 'oe'],
  [/ø/giu, 'o'],
  [/ł/giu, 'l'],
  [/đ|ð/giu, 'd'],
  [/þ/giu, 'th'],
];

/** @returns pieces parted by single spaces, each with a letter or digit; '' if nothing of the word can be said */
export function pronounceEnglish(word: string): string {
  if (!word.includes(PHONEMES[0])) return inAscii(word);
  const parts = word.split(/(\ue000[^\ue002]*\ue002)/u);
  return parts
    .map((part) => (part.startsWith(PHONEMES[0]) ? part : inAscii(part)))
    .join('')
    .trim();
}

/** Around what is said by its phonemes, which stays. */
const PHONEMES = ['\ue000', '\ue002'] as const;

function inAscii(word: string): string {
  let said = word.replace(/[/_~#<>^|*\\]/gu, ' ');
  for (const [letter, plain] of FOLDED) said = said.replace(letter, plain);
  said = said.normalize('NFKD').replace(/[^\x20-\x7e]/gu, '');
  return joinPieces(said.split(' '));
}

/** Punctuation that stands alone goes to the piece before it, so that its pause is kept. */
function joinPieces(pieces: readonly string[]): string {
  const said: string[] = [];
  for (const piece of pieces) {
    if (/[A-Za-z0-9]/.test(piece)) said.push(piece);
    else if (said.length > 0 && /^[.,;:!?]+$/.test(piece)) said.push(`${said.pop() ?? ''}${piece}`);
  }
  return said.join(' ');
}
