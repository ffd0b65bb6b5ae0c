import * as dagre from '@dagrejs/dagre';
import { factsOf, type PlacedStep, type Way } from './graph.js';

/** Sizes of cards, which the style sheet shares: width, the title's and each line's height, and the space around both. */
export const CARD = { width: 232, title: 26, line: 20, around: 18 } as const;
const GAP = 28;
/** The longest text of an arrow, in characters; the whole of it is in the tooltip and in the list. */
const LABEL_CHARS = 30;
const LABEL = { char: 6.4, around: 14, height: 22 } as const;

/** Above this many steps a layout of 1.8 s (200 steps) takes 0.7 s, with arrows that are a little longer. */
const LARGE = 80;

/** What is used of dagre, whose own types cannot be resolved: they import each other without file extensions. */
interface LayoutGraph {
  setGraph(options: Readonly<Record<string, string | number>>): void;
  setNode(id: string, size: { width: number; height: number }): void;
  setEdge(from: string, to: string, label: Readonly<Record<string, string | number>>, name: string): void;
  /** With its middle. */
  node(id: string): Box;
  edge(from: string, to: string, name: string): { points?: Point[] } & Partial<Point>;
}
const LayoutGraph = dagre.Graph as unknown as new (options: { multigraph: boolean }) => LayoutGraph;
const layOutGraph = dagre.layout as unknown as (graph: LayoutGraph) => void;

export interface Point {
  x: number;
  y: number;
}

export interface Box extends Point {
  width: number;
  height: number;
}

export interface Arrow {
  way: Way;
  /** From the border of one card to that of the other. */
  points: readonly Point[];
  /** The middle of its text. */
  label: Point;
  text: string;
}

export interface FlowLayout {
  /** By the ids of steps; x and y of the upper left corner. */
  boxes: ReadonlyMap<string, Box>;
  lines: readonly Arrow[];
  width: number;
  height: number;
  /** Where the steps beside it begin; null = there is none. */
  globals: Point | null;
}

/** Lays a flow out from top to bottom, with the global steps that no way touches beside it. @param more lines that each card has besides */
export function layOut(steps: readonly PlacedStep[], ways: readonly Way[], more = 0): FlowLayout {
  const sizeOf = ({ step }: PlacedStep): { width: number; height: number } => {
    return { width: CARD.width, height: CARD.title + (factsOf(step).length + more) * CARD.line + CARD.around };
  };
  const graph = new LayoutGraph({ multigraph: true });
  const ranker = steps.length > LARGE ? 'longest-path' : 'network-simplex';
  graph.setGraph({ rankdir: 'TB', ranker, nodesep: GAP, ranksep: 34, edgesep: 16 });
  const touched = new Set(ways.flatMap(({ from, to }) => [from, to]));
  const isAside = ({ step, isGlobal }: PlacedStep): boolean => isGlobal && !touched.has(step.id);
  const own = steps.filter((placed) => !isAside(placed));
  for (const placed of own) graph.setNode(placed.step.id, sizeOf(placed));
  for (const { from, to, words, key } of ways) {
    const width = textWidth(shortWords(words));
    graph.setEdge(from, to, { width, height: width === 0 ? 0 : LABEL.height, labelpos: 'c' }, key);
  }
  layOutGraph(graph);
  const boxes = new Map<string, Box>();
  for (const { step } of own) {
    const { x, y, width, height } = graph.node(step.id);
    boxes.set(step.id, { x: x - width / 2, y: y - height / 2, width, height });
  }
  const lines = ways.map((way): Arrow => {
    const { points = [], x, y } = graph.edge(way.from, way.to, way.key);
    const middle = points[Math.floor(points.length / 2)] ?? { x: 0, y: 0 };
    return { way, points, label: { x: x ?? middle.x, y: y ?? middle.y }, text: shortWords(way.words) };
  });
  const globals = steps.filter(isAside);
  const at = besides([...boxes.values()], lines);
  let y = at.y;
  for (const placed of globals) {
    const size = sizeOf(placed);
    boxes.set(placed.step.id, { x: at.x, y, ...size });
    y += size.height + GAP;
  }
  return {
    boxes,
    lines,
    width: extent(boxes, lines, 'x'),
    height: extent(boxes, lines, 'y'),
    globals: globals.length === 0 ? null : at,
  };
}

function shortWords(words: string): string {
  return words.length <= LABEL_CHARS ? words : `${words.slice(0, LABEL_CHARS - 1).trimEnd()}…`;
}

function textWidth(text: string): number {
  return text === '' ? 0 : text.length * LABEL.char + LABEL.around;
}

/** Right of all that is drawn, below the heading of the global steps. */
function besides(boxes: readonly Box[], lines: readonly Arrow[]): Point {
  const ends = [...boxes.map(({ x, width }) => x + width), ...lines.flatMap(rightOf)];
  return { x: Math.max(0, ...ends) + 3 * GAP, y: LABEL.height + GAP / 2 };
}

function rightOf({ label, text, points }: Arrow): number[] {
  return [label.x + textWidth(text) / 2, ...points.map(({ x }) => x)];
}

function extent(boxes: ReadonlyMap<string, Box>, lines: readonly Arrow[], axis: 'x' | 'y'): number {
  const ends = [...boxes.values()].map((box) => box[axis] + (axis === 'x' ? box.width : box.height));
  const points = lines.flatMap((line) => (axis === 'x' ? rightOf(line) : line.points.map(({ y }) => y)));
  return Math.max(0, ...ends, ...points);
}

/** The path of an SVG: smooth through the middles between its points. */
export function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return '';
  const at = ({ x, y }: Point): string => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const middle = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  const bends = rest.slice(0, -1).map((point, index) => `Q${at(point)} ${at(middle(point, rest[index + 1] ?? last))}`);
  return `M${at(first)} L${at(middle(first, rest[0] ?? last))} ${bends.join(' ')} L${at(last)}`;
}
