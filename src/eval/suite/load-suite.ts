import { dirname, resolve } from 'node:path';
import { readTextFile } from '../../schema/json-file.js';
import { isJson, jsonSource, placedIn } from '../../schema/source.js';
import { yamlSource } from '../../schema/yaml-source.js';
import { textTest } from '../pattern.js';
import { InvalidConfigError, type Location, parseWith, type ValidationIssue } from '../../schema/issues.js';
import { type EvalCase, type EvalSuite, suiteSchema, type LineConditions } from './suite-schema.js';

/** A suite with the folder that its paths are relative to. */
export interface LoadedSuite {
  suite: EvalSuite;
  folder: string;
}

/**
 * Reads and checks a suite file, YAML or JSON with comments.
 * @throws InvalidConfigError with the line of each fault; ParleyError CONFIG_INVALID for a file that cannot be read
 */
export async function loadSuite(path: string): Promise<LoadedSuite> {
  const text = await readTextFile(path);
  return { suite: parseSuiteText(text, path), folder: dirname(resolve(path)) };
}

/**
 * Checks the text of a suite, YAML or JSON with comments.
 * @param name what faults call it, such as its path
 * @throws InvalidConfigError with the line of each fault
 */
export function parseSuiteText(text: string, name: string): EvalSuite {
  const source = isJson(text, name) ? jsonSource(text, name) : yamlSource(text, name);
  return placedIn(source, () => parseSuite(source.value));
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
