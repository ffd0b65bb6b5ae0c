import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { reasonOf } from '../../base/errors.js';
import { type Embedder, EMBEDDING_BATCH } from '../../tools/knowledge/embeddings.js';
import type { EvalModels } from '../ask-model.js';
import type { EvalSuite } from '../suite/suite-schema.js';
import type { CheckedCall, Deciders, CheckOutcome } from './check.js';
import { judge } from './judge.js';
import type { EvalLine } from '../result.js';

export interface DecidersOptions {
  suite: EvalSuite;
  /** Paths of checks are relative to it. */
  folder: string;
  /** Null = no embedding model is configured. */
  embedder: Embedder | null;
}

/** What a user's check gets. It passes by returning true or nothing; false, a text or an error fails the case. */
export type UserCheck = (call: CheckedCall) => unknown;

/** Decides what needs a model or code of the user. */
export function userDeciders({
  suite,
  folder,
  embedder,
}: DecidersOptions): (call: CheckedCall, models: EvalModels, signal: AbortSignal) => Deciders {
  return (call, models, signal) => ({
    judge: ({ rubric, model = suite.judge?.model ?? null, votes = suite.judge?.votes }) =>
      judge({ rubric, model, votes, lines: call.lines, models, signal }),
    saidLike: ({ text, at_least: atLeast }) => saidLike({ text, atLeast, lines: call.lines, embedder, signal }),
    check: (path) => userCheck(path, folder, call),
  });
}

function noVerdict(reason: string): CheckOutcome {
  return { outcome: 'error', reason, line: null };
}

async function userCheck(place: string, folder: string, call: CheckedCall): Promise<CheckOutcome> {
  const [path = '', name = 'default'] = place.split('#');
  let check: unknown;
  try {
    const loaded = (await import(pathToFileURL(resolve(folder, path)).href)) as Record<string, unknown>;
    check = loaded[name];
  } catch (cause) {
    return noVerdict(`${path} cannot be loaded: ${reasonOf(cause)}`);
  }
  if (typeof check !== 'function') return noVerdict(`${path} exports no function ${name}`);
  try {
    const answer: unknown = await (check as UserCheck)(call);
    if (answer === undefined || answer === true) return { outcome: 'pass', reason: '', line: null };
    return {
      outcome: 'fail',
      reason: typeof answer === 'string' ? answer : `${place} returns ${JSON.stringify(answer)}`,
      line: null,
    };
  } catch (cause) {
    return { outcome: 'fail', reason: reasonOf(cause), line: null };
  }
}

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
