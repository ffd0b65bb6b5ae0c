import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { reasonOf } from '../../base/errors.js';
import type { Engine } from '../../engine/engine.js';
import type { EvalSuite } from '../suite/suite-schema.js';
import type { CheckedCall, Deciders, CheckOutcome } from './check.js';

export interface DecidersOptions {
  suite: EvalSuite;
  /** Paths of checks are relative to it. */
  folder: string;
  /** Asks models, in real time. */
  engine: Engine;
}

/** What a user's check gets. It passes by returning true or nothing; false, a text or an error fails the case. */
export type UserCheck = (call: CheckedCall) => unknown;

/** Decides what needs a model or code of the user. */
export function userDeciders({ folder }: DecidersOptions): (call: CheckedCall, signal: AbortSignal) => Deciders {
  return (call) => ({
    judge: () => Promise.resolve(error('there is no judge here yet')),
    saidLike: () => Promise.resolve(error('there are no embeddings here yet')),
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
