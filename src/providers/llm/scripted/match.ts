import type { Pattern, PatternNode } from './pattern.js';
import type { DayNumber } from '../../../base/spoken/date.js';
import type { Slot, SlotValue } from './slots/slot.js';
import { likeness, type Word } from '../../../base/spoken/words.js';

/**
 * Pattern matching. A pattern becomes a small acyclic graph; memoising the best path from every (node, position) bounds
 * the work by their product for any input. A pattern may begin and end anywhere in the utterance, and up to two extra
 * words may stand between two of its own.
 */
interface Edge {
  to: number;
  word?: string;
  slot?: string;
  /** Consumes any one word and stays at the node. */
  any?: true;
}

export interface Matcher {
  readonly pattern: Pattern;
  readonly nodes: readonly (readonly Edge[])[];
}

export interface Capture {
  slot: string;
  value: SlotValue;
  /** Positions in the utterance; `end` is exclusive. */
  start: number;
  end: number;
}

export interface PatternMatch {
  score: number;
  start: number;
  end: number;
  captures: readonly Capture[];
}

const WORD_SCORE = 2;
const SLOT_SCORE = 2.5;
const SLOT_WORD_SCORE = 0.3;
const TEXT_SCORE = 0.5;
const SKIP_COST = 0.7;
const MAX_SKIP = 2;
/** Words that negate the meaning are never skipped. */
const NEVER_SKIPPED = new Set(['not', 'no', 'never', 'wait', 'without']);
/** Words that may follow a pattern anchored at the end. */
const POLITE = new Set(['please', 'thanks', 'thank', 'you', 'very', 'much', 'then', 'now']);

/** Compiles a pattern to its graph. Node 0 is the start, node 1 the end. */
export function compilePattern(pattern: Pattern): Matcher {
  const nodes: Edge[][] = [[], []];
  const add = (node: PatternNode, from: number, to: number): void => {
    switch (node.kind) {
      case 'word':
        nodes[from]?.push({ to, word: node.word });
        break;
      case 'slot':
        nodes[from]?.push({ to, slot: node.slot });
        break;
      case 'any': {
        const middle = nodes.push([{ to: 0, any: true }, { to }]) - 1;
        (nodes[middle] as Edge[])[0] = { to: middle, any: true };
        nodes[from]?.push({ to: middle });
        break;
      }
      case 'choice':
        for (const option of node.options) add(option, from, to);
        break;
      case 'sequence': {
        let at = from;
        for (const [index, item] of node.items.entries()) {
          const next = index === node.items.length - 1 ? to : nodes.push([]) - 1;
          add(item, at, next);
          at = next;
        }
        if (node.items.length === 0) nodes[from]?.push({ to });
      }
    }
  };
  add(pattern.root, 0, 1);
  return { pattern, nodes };
}

interface Path {
  score: number;
  end: number;
  /** Captures from here on, as a linked list: paths share their tails. */
  captures: CaptureList | null;
}

interface CaptureList {
  capture: Capture;
  rest: CaptureList | null;
}

/** The best match of a pattern at each position, best first. */
export function matchAll(
  matcher: Matcher,
  words: readonly Word[],
  slots: ReadonlyMap<string, Slot>,
  today: DayNumber | null,
): PatternMatch[] {
  const run = new Run(matcher, words, slots, today);
  const matches: PatternMatch[] = [];
  const lastStart = matcher.pattern.fromStart ? 0 : words.length - 1;
  for (let start = 0; start <= lastStart; start++) {
    const path = run.best(0, start, false);
    if (path === null) continue;
    const captures: Capture[] = [];
    for (let list = path.captures; list !== null; list = list.rest) captures.push(list.capture);
    matches.push({ score: path.score, start, end: path.end, captures });
  }
  return matches.sort((a, b) => b.score - a.score || a.start - b.start);
}

class Run {
  readonly #matcher: Matcher;
  readonly #words: readonly Word[];
  readonly #slots: ReadonlyMap<string, Slot>;
  readonly #today: DayNumber | null;
  readonly #known = new Map<number, Path | null>();

  constructor(matcher: Matcher, words: readonly Word[], slots: ReadonlyMap<string, Slot>, today: DayNumber | null) {
    this.#matcher = matcher;
    this.#words = words;
    this.#slots = slots;
    this.#today = today;
  }

  /** The best path from a node to the end of the pattern. `maySkip`: part of the pattern has already matched. */
  best(node: number, position: number, maySkip: boolean): Path | null {
    const key = (node * (this.#words.length + 1) + position) * 2 + (maySkip ? 1 : 0);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    let best: Path | null = node === 1 && this.#mayEnd(position) ? { score: 0, end: position, captures: null } : null;
    const consider = (path: Path | null): void => {
      if (path !== null && (best === null || path.score > best.score)) best = path;
    };
    for (const edge of this.#matcher.nodes[node] ?? []) {
      if (edge.any === true) {
        if (position < this.#words.length) consider(this.best(edge.to, position + 1, maySkip));
      } else if (edge.word === undefined && edge.slot === undefined) {
        consider(this.best(edge.to, position, maySkip));
      } else {
        for (let skip = 0; skip <= (maySkip ? MAX_SKIP : 0); skip++) {
          const at = position + skip;
          if (skip > 0 && NEVER_SKIPPED.has(this.#words[at - 1]?.text ?? '')) break;
          if (at >= this.#words.length) break;
          this.#take(edge, at, skip * SKIP_COST, consider);
        }
      }
    }
    this.#known.set(key, best);
    return best;
  }

  #take(edge: Edge, at: number, cost: number, consider: (path: Path | null) => void): void {
    if (edge.word !== undefined) {
      const alike = likeness(this.#words[at]?.text ?? '', edge.word);
      const rest = alike > 0 ? this.best(edge.to, at + 1, true) : null;
      if (rest !== null) consider({ ...rest, score: rest.score + WORD_SCORE * alike - cost });
      return;
    }
    const slot = this.#slots.get(edge.slot ?? '');
    for (const { end, value } of slot?.matchesAt(this.#words, at, this.#today) ?? []) {
      const rest = this.best(edge.to, end, true);
      if (rest === null) continue;
      const gain = slot?.definition.type === 'text' ? TEXT_SCORE : SLOT_SCORE + SLOT_WORD_SCORE * (end - at);
      const capture: Capture = { slot: edge.slot ?? '', value, start: at, end };
      consider({ score: rest.score + gain - cost, end: rest.end, captures: { capture, rest: rest.captures } });
    }
  }

  #mayEnd(position: number): boolean {
    return !this.#matcher.pattern.toEnd || this.#words.slice(position).every((word) => POLITE.has(word.text));
  }
}
