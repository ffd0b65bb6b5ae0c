import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { reasonOf } from '../../base/errors.js';
import type { Embedder } from '../../tools/knowledge/embeddings.js';
import type { EvalModels } from '../ask-model.js';
import type { EvalSuite } from '../suite/suite-schema.js';
import type { CheckedCall, Deciders, CheckOutcome } from './check.js';
import { judge } from './judge.js';
import { saidLike } from './said-like.js';

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

function error(reason: string): CheckOutcome {
  return { outcome: 'error', reason, line: null };
}

async function userCheck(place: string, folder: string, call: CheckedCall): Promise<CheckOutcome> {
  const [path = '', name = 'default'] = place.split('#');
  let check: unknown;
  try {
    const loaded = (await import(pathToFileURL(resolve(folder, path)).href)) as Record<string, unknown>;
    check = loaded[name];
  } catch (cause) {
    return error(`${path} cannot be loaded: ${reasonOf(cause)}`);
  }
  if (typeof check !== 'function') return error(`${path} exports no function ${name}`);
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
