import { patternWords } from '../../../base/spoken/words.js';

/**
 * A pattern as a tree. The notation: words; `(a|b)` one of several; `[please]` optional; `{party}` a slot; `*` any
 * words or none; `^` and `$` the beginning and end of the utterance.
 */
export type PatternNode =
  | { kind: 'word'; word: string }
  | { kind: 'slot'; slot: string }
  | { kind: 'any' }
  | { kind: 'sequence'; items: readonly PatternNode[] }
  | { kind: 'choice'; options: readonly PatternNode[] };

export interface Pattern {
  source: string;
  root: PatternNode;
  fromStart: boolean;
  toEnd: boolean;
  /** Names of its slots. */
  slots: readonly string[];
}

const MAX_DEPTH = 8;
const EMPTY: PatternNode = { kind: 'sequence', items: [] };

/** Parses a pattern. Throws a RangeError that describes the error. */
export function parsePattern(source: string): Pattern {
  const fromStart = source.startsWith('^');
  const toEnd = source.endsWith('$');
  const reader = new Reader(source.slice(fromStart ? 1 : 0, toEnd ? -1 : undefined));
  const root = reader.choice(0);
  reader.expectEnd();
  if (canBeEmpty(root)) throw new RangeError(`"${source}" matches any text; add a required word`);
  return { source, root, fromStart, toEnd, slots: [...new Set(reader.slots)] };
}

class Reader {
  readonly slots: string[] = [];
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(source: string) {
    this.#tokens = source.match(/\{[^{}]*\}|[()[\]|*]|[^\s()[\]|*{}]+|[{}]/g) ?? [];
  }

  /** Alternatives up to a closing bracket or the end. */
  choice(depth: number): PatternNode {
    if (depth > MAX_DEPTH) throw new RangeError('brackets are nested too deep');
    const options = [this.#sequence(depth)];
    while (this.#tokens[this.#at] === '|') {
      this.#at++;
      options.push(this.#sequence(depth));
    }
    return options.length === 1 ? (options[0] as PatternNode) : { kind: 'choice', options };
  }

  expectEnd(): void {
    const token = this.#tokens[this.#at];
    if (token !== undefined) throw new RangeError(`unexpected "${token}"`);
  }

  #sequence(depth: number): PatternNode {
    const items: PatternNode[] = [];
    for (let token = this.#tokens[this.#at]; token !== undefined; token = this.#tokens[this.#at]) {
      if (token === '|' || token === ')' || token === ']') break;
      this.#at++;
      if (token === '(') items.push(this.#group(depth, ')'));
      else if (token === '[') items.push({ kind: 'choice', options: [this.#group(depth, ']'), EMPTY] });
      else if (token === '*') items.push({ kind: 'any' });
      else if (token.startsWith('{')) items.push(this.#slot(token));
      else if (token === '}') throw new RangeError('a "}" without its "{"');
      else items.push(...patternWords(token).map(({ text }): PatternNode => ({ kind: 'word', word: text })));
    }
    return items.length === 1 ? (items[0] as PatternNode) : { kind: 'sequence', items };
  }

  #group(depth: number, closing: string): PatternNode {
    const inside = this.choice(depth + 1);
    if (this.#tokens[this.#at] !== closing) throw new RangeError(`a "${closing}" is missing`);
    this.#at++;
    return inside;
  }

  #slot(token: string): PatternNode {
    const name = /^\{\s*([a-z][a-zA-Z0-9_]*)\s*\}$/.exec(token)?.[1];
    if (name === undefined) throw new RangeError(`"${token}" is not a slot such as {party}`);
    this.slots.push(name);
    return { kind: 'slot', slot: name };
  }
}

function canBeEmpty(node: PatternNode): boolean {
  if (node.kind === 'any') return true;
  if (node.kind === 'sequence') return node.items.every(canBeEmpty);
  return node.kind === 'choice' && node.options.some(canBeEmpty);
}
