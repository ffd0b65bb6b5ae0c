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
