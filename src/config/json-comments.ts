const LINE = String.raw`//[^\n]*(?:\n|$)`;
const BLOCK = String.raw`/\*(?:[^*]|\*(?!/))*(?:\*/|$)`;
/** A JSON text, a comment, a comma that nothing follows: the last two may stand where JSON has none. */
const PIECE = new RegExp(
  [String.raw`"(?:[^"\\\n]|\\.)*"?`, LINE, BLOCK, String.raw`,(?=(?:\s|${LINE}|${BLOCK})*[}\]])`].join('|'),
  'g',
);

/**
 * JSON as people write it, as JSON: without comments and without commas behind the last member. What is left stays in
 * its place, so that a parser's complaint names the right line and column.
 */
export function withoutComments(text: string): string {
  return text.replace(PIECE, (piece) => (piece.startsWith('"') ? piece : piece.replace(/[^\n]/g, ' ')));
}
