/** Why an engine's process cannot go on, from what it and its system say, for people. */
import { SHERPA_INSTALL, SHERPA_PACKAGE } from './sherpa-package.js';

/** Signals whose cause is not in what was said before them. */
export const CRASHES: Readonly<Record<string, string>> = {
  SIGSEGV: 'its process crashed (SIGSEGV): its files may not belong together',
  SIGKILL: 'its process was killed (SIGKILL): for want of memory, perhaps',
};

/** Why the package could not be loaded. */
export function missing(reason: string): string {
  return /Cannot find (?:package|module)/u.test(reason)
    ? `the package ${SHERPA_PACKAGE} is not installed: ${SHERPA_INSTALL}`
    : `${SHERPA_PACKAGE} has no build for this machine (${reason.split('\n')[0] ?? ''})`;
}

/** What sherpa-onnx says of a computation that could not be made; null = nothing. */
export function thrownIn(said: string): string | null {
  const [, thrown] = /Caught exception:\s*([^\n]+)/u.exec(said) ?? [];
  return thrown === undefined ? null : thrown.trim().slice(0, 300);
}

/** The last thing that sherpa-onnx said, without the place in its source. */
export function reasonIn(said: string): string {
  const lines = said.split('\n').map((line) => line.trim().replace(/^\S+\.(?:cc|h):\S+:\d+\s*/u, ''));
  const told = lines.filter((line) => line !== '' && !TELLS_NOTHING.test(line));
  // What an exception says first names the fault; more lines may follow.
  const thrown = told.findLast((line) => line.startsWith('what():'));
  return inClearWords((thrown ?? told.at(-1) ?? '').replace(/^what\(\):\s*/u, ''));
}

const TELLS_NOTHING = /^(?:terminate called|Node\.js v|at |Errors in config|Please check your config)/u;

/** What a library of C++ says where a token's number is in no list. */
export function inClearWords(reason: string): string {
  return /_Map_base::at|unordered_map::at|map::at/u.test(reason)
    ? 'its tokens.txt does not belong to it: a token is not there'
    : reason.slice(0, 300);
}
