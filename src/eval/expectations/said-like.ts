import { reasonOf } from '../../base/errors.js';
import { EMBEDDING_BATCH, type Embedder } from '../../tools/knowledge/embeddings.js';
import type { EvalLine } from '../result.js';
import type { CheckOutcome } from './check.js';

export interface SaidLikeOptions {
  /** The meaning that the agent has to express. */
  text: string;
  /** Least cosine similarity, 0 to 1. Default 0.7. */
  atLeast?: number | undefined;
  lines: readonly EvalLine[];
  /** Null = no embedding model is configured, which is an error. */
  embedder: Pick<Embedder, 'embed'> | null;
  signal: AbortSignal;
}

const AT_LEAST = 0.7;
/** For one request to the embedding server. */
const TIMEOUT_MS = 30_000;

const NOT_CONFIGURED =
  'no embedding model is configured; set embeddingModel (PARLEY_EMBEDDING_MODEL) to an id of `models` or one of OpenAI’s, such as text-embedding-3-small (in the library: `embedding`)';

/**
 * Whether the agent says something of a meaning: the similarity of the embedding of each answer, and of each sentence in
 * it, to that of the text.
 * @throws the signal's reason when it is aborted
 */
export async function saidLike({ text, atLeast, lines, embedder, signal }: SaidLikeOptions): Promise<CheckOutcome> {
  if (embedder === null) return { outcome: 'error', reason: NOT_CONFIGURED, line: null };
  const said = utterances(lines);
  if (said.length === 0) return { outcome: 'fail', reason: 'the agent says nothing', line: null };
  try {
    const [wanted, ...vectors] = await embedded([text, ...said.map((one) => one.text)], embedder, signal);
    const scores = vectors.map((vector) => cosine(wanted as Float32Array, vector));
    const best = scores.indexOf(Math.max(...scores));
    const { line, text: closest } = said[best] as Utterance;
    const needed = atLeast ?? AT_LEAST;
    const score = scores[best] as number;
    const similarity = `similarity ${score.toFixed(2)}: ${JSON.stringify(closest)}`;
    if (score >= needed) return { outcome: 'pass', reason: similarity, line };
    return { outcome: 'fail', reason: `at least ${String(needed)} is needed; the closest has ${similarity}`, line };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return { outcome: 'error', reason: `the embedding model failed: ${reasonOf(error)}`, line: null };
  }
}

interface Utterance {
  text: string;
  /** Index in the call's lines. */
  line: number;
}

/** What the agent says: whole answers, and their sentences where there are several. */
export function utterances(lines: readonly EvalLine[]): Utterance[] {
  return lines.flatMap((line, index) => {
    if (line.type !== 'agent' || line.text.trim() === '') return [];
    const parts = [...sentences.segment(line.text)].map(({ segment }) => segment.trim()).filter((part) => part !== '');
    const texts = parts.length > 1 ? [line.text.trim(), ...parts] : [line.text.trim()];
    return texts.map((text) => ({ text, line: index }));
  });
}

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

async function embedded(
  texts: readonly string[],
  embedder: Pick<Embedder, 'embed'>,
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let start = 0; start < texts.length; start += EMBEDDING_BATCH) {
    vectors.push(...(await embedder.embed(texts.slice(start, start + EMBEDDING_BATCH), TIMEOUT_MS, signal)));
  }
  return vectors;
}

/** Of vectors of length 1. @throws Error for vectors of different models */
function cosine(one: Float32Array, other: Float32Array): number {
  if (one.length !== other.length) throw new Error('its vectors have different lengths');
  return one.reduce((sum, value, index) => sum + value * (other[index] as number), 0);
}
