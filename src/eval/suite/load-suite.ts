import { dirname, resolve } from 'node:path';
import { isNode, LineCounter, parseDocument } from 'yaml';
import { readTextFile } from '../../schema/json-file.js';
import { textTest } from '../pattern.js';
import { InvalidConfigError, type Location, parseWith, type ValidationIssue } from '../../schema/issues.js';
import { type EvalCase, type EvalSuite, suiteSchema, type LineConditions } from './suite-schema.js';

/** A suite with the folder that its paths are relative to. */
export interface LoadedSuite {
  suite: EvalSuite;
  folder: string;
}

/**
 * Reads and checks a suite file, YAML or JSON.
 * @throws InvalidConfigError with the line of each fault; ParleyError CONFIG_INVALID for a file that cannot be read
 */
export async function loadSuite(path: string): Promise<LoadedSuite> {
  const text = await readTextFile(path);
  return { suite: parseSuiteText(text, path), folder: dirname(resolve(path)) };
}

/**
 * Checks the text of a suite, YAML or JSON.
 * @param name what faults call it, such as its path
 * @throws InvalidConfigError with the line of each fault
 */
export function parseSuiteText(text: string, name: string): EvalSuite {
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, uniqueKeys: true, maxAliasCount: 100 } as never);
  const lineAt = (offset: number): string => {
    const { line, col } = counter.linePos(offset);
    return `${name}:${String(line)}:${String(col)}`;
  };
  if (document.errors.length > 0) {
    throw new InvalidConfigError(
      document.errors.map(({ message, pos }) => ({
        loc: [lineAt(pos[0])],
        msg: message.split('\n')[0] ?? message,
        type: 'syntax_error',
      })),
    );
  }
  try {
    return parseSuite(document.toJS({ maxAliasCount: 100 }) as unknown);
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error;
    throw new InvalidConfigError(
      error.issues.map((issue) => ({ ...issue, loc: [lineAt(offsetOf(document, issue.loc)), ...issue.loc] })),
      error,
    );
  }
}

/**
 * Checks a suite.
 * @throws InvalidConfigError with all faults
 */
export function parseSuite(value: unknown): EvalSuite {
  const suite = parseWith(suiteSchema, value);
  const issues = faultsOf(suite);
  if (issues.length > 0) throw new InvalidConfigError(issues);
  return suite;
}

/** The offset of a member, or of the nearest one around it that exists. An unknown key is found by itself. */
function offsetOf(document: ReturnType<typeof parseDocument>, loc: Location): number {
  for (let length = loc.length; length > 0; length--) {
    const parent: unknown = document.getIn(loc.slice(0, length - 1), true);
    const pair = pairsOf(parent).find(({ key }) => isNode(key) && keyOf(key) === loc[length - 1]);
    if (pair !== undefined && isNode(pair.key) && pair.key.range != null) return pair.key.range[0];
    const node: unknown = document.getIn(loc.slice(0, length), true);
    if (isNode(node) && node.range != null) return node.range[0];
  }
  return 0;
}

function pairsOf(node: unknown): readonly { key: unknown }[] {
  const items = (node as { items?: unknown } | null | undefined)?.items;
  return Array.isArray(items)
    ? items.filter((item): item is { key: unknown } => item !== null && typeof item === 'object' && 'key' in item)
    : [];
}

function keyOf(node: unknown): unknown {
  return (node as { value?: unknown }).value;
}

/** Faults that the schema does not know. */
function faultsOf(suite: EvalSuite): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  const names = new Set<string>();
  issues.push(...lineFaults({}, suite.defaults?.line));
  for (const [index, one] of suite.cases.entries()) {
    const loc = ['cases', index];
    if (names.has(one.name)) {
      issues.push({
        loc: [...loc, 'name'],
        msg: `Another case is called ${JSON.stringify(one.name)}`,
        type: 'value_error',
      });
    }
    names.add(one.name);
    if (one.caller === undefined && suite.defaults?.caller === undefined) {
      issues.push({ loc: [...loc, 'caller'], msg: 'Field required', type: 'missing' });
    }
    if (one.line !== undefined) issues.push(...lineFaults(one.line, suite.defaults?.line, loc));
    issues.push(...expectationFaults(one, suite, loc));
  }
  return issues;
}

function expectationFaults(one: EvalCase, suite: EvalSuite, loc: Location): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  for (const [index, expectation] of one.expect.entries()) {
    const place = [...loc, 'expect', index];
    const [kind = '', value] = Object.entries(expectation)[0] ?? [];
    if (['said', 'not_said', 'understood'].includes(kind)) {
      issues.push(...patternFaults(String(value), [...place, kind]));
    }
    if ('judge' in expectation && expectation.judge.model === undefined && suite.judge === undefined) {
      const msg = 'No judge: name a model here or in the suite’s `judge`';
      issues.push({ loc: [...place, 'judge', 'model'], msg, type: 'missing' });
    }
  }
  return issues;
}

function patternFaults(pattern: string, loc: Location): readonly ValidationIssue[] {
  try {
    textTest(pattern, loc);
    return [];
  } catch (error) {
    if (error instanceof InvalidConfigError) return error.issues;
    throw error;
  }
}

/** A case with the suite's defaults in place. */
export function withDefaults(suite: EvalSuite, one: EvalCase): EvalCase {
  const { defaults = {} } = suite;
  return {
    ...defaults,
    ...one,
    tools: { ...defaults.tools, ...one.tools },
    line: { ...defaults.line, ...one.line },
    voice: { ...defaults.voice, ...one.voice },
    metadata: { ...defaults.metadata, ...one.metadata },
    transfers: { ...defaults.transfers, ...one.transfers },
  };
}

type Codec = NonNullable<LineConditions['codec']>;
type Impairing = 'loss' | 'delay_ms' | 'jitter_ms' | 'buffer_ms';

/** What each transport can carry and have done to it. */
const TRANSPORTS: Readonly<
  Record<NonNullable<LineConditions['transport']>, { codecs: readonly Codec[]; impaired: readonly Impairing[] }>
> = {
  simulated: {
    codecs: ['mulaw', 'alaw', 'g722', 'opus', 'pcm'],
    impaired: ['loss', 'delay_ms', 'jitter_ms', 'buffer_ms'],
  },
  rtp: { codecs: ['mulaw', 'alaw', 'g722', 'opus'], impaired: ['loss', 'delay_ms', 'jitter_ms'] },
  webrtc: { codecs: ['opus'], impaired: [] },
  'talk-socket': { codecs: ['pcm'], impaired: [] },
};

/**
 * Settings that a case's transport cannot have.
 * @param own the case's line
 * @param defaults the suite's line
 * @param loc of the case
 */
export function lineFaults(
  own: LineConditions = {},
  defaults: LineConditions = {},
  loc: Location = [],
): ValidationIssue[] {
  const line = { ...defaults, ...own };
  const { transport = 'simulated', codec } = line;
  const { codecs, impaired } = TRANSPORTS[transport];
  const fault = (name: keyof LineConditions, why: string): ValidationIssue => {
    const place = Object.hasOwn(own, name) ? [...loc, 'line', name] : ['defaults', 'line', name];
    return { loc: place, msg: `The transport ${transport} ${why}`, type: 'value_error' };
  };
  const issues = (['loss', 'delay_ms', 'jitter_ms', 'buffer_ms'] as const)
    .filter((name) => line[name] !== undefined && line[name] !== 0 && !impaired.includes(name))
    .map((name) => fault(name, `has no ${name}`));
  if (codec === undefined || codecs.includes(codec)) return issues;
  return [...issues, fault('codec', `carries ${codecs.join(', ')} and not ${codec}`)];
}
