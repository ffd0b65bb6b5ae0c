import { Document, LineCounter, parseDocument, stringify } from 'yaml';
import { parseSuite } from '../../eval/suite/load-suite.js';
import type { EvalSuite } from '../../eval/suite/suite-schema.js';
import { reasonOf } from '../../base/errors.js';
import { isTurnName } from './recorded-turns.js';
import { InvalidConfigError, type Location, placed, type ValidationIssue } from '../../schema/issues.js';
import { yamlOffset } from '../../schema/yaml-source.js';

/** A suite with the text that it is read from. */
export interface SuiteText {
  suite: EvalSuite;
  /** YAML or JSON. */
  text: string;
}

/** How texts are written: long lines are prompts and sentences, which stay in one piece. */
export const STYLE = { lineWidth: 0 };

/** A text that has been read, with the lines of its parts. */
interface ReadText {
  document: Document.Parsed;
  value: unknown;
  /** The fault with its line in front. @param path of the part within the text */
  atLine: (issue: ValidationIssue, path: Location) => ValidationIssue;
}

/**
 * Reads a suite from YAML or JSON text, or from the value of such a text. Faults of a text begin with their line:
 * `Line 12: Unknown field: expects`.
 * @param loc the place of the suite in the request
 * @throws InvalidConfigError with all faults
 */
export function readSuite(given: unknown, loc: Location): SuiteText {
  if (typeof given !== 'string') return { suite: checkedSuite(given, loc), text: stringify(given, STYLE) };
  const { value, atLine } = readText(given, loc);
  try {
    return { suite: checkedSuite(value, loc), text: given };
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error;
    throw new InvalidConfigError(error.issues.map((issue) => atLine(issue, issue.loc.slice(loc.length))));
  }
}

/** One case of a suite's text, as YAML. Null = the suite has none of this name. */
export function caseText(text: string, name: string): string | null {
  const { document, value } = readText(text, []);
  const at = casesOf(value).findIndex((one) => one.name === name);
  return at === -1 ? null : new Document(document.getIn(['cases', at], true)).toString(STYLE);
}

/**
 * A suite with one case more, or another one. All else of its text stays as it is.
 * @param given the case as YAML or JSON text, or its value
 * @param replaced the name of the case that it replaces; null = it is a new one
 * @param loc the place of the case in the request
 * @throws InvalidConfigError with all faults; faults of a text begin with their line in it
 */
export function withCase(text: string, given: unknown, replaced: string | null, loc: Location): SuiteText {
  const { document, value } = readText(text, []);
  const one = readText(typeof given === 'string' ? given : stringify(given, STYLE), loc);
  const cases = casesOf(value);
  const found = cases.findIndex(({ name }) => name === replaced);
  const at = found === -1 ? cases.length : found;
  document.setIn(['cases', at], one.document.contents);
  try {
    return { suite: checkedSuite(document.toJS(), []), text: document.toString(STYLE) };
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error;
    throw new InvalidConfigError(
      error.issues.map((issue) => {
        const path = issue.loc.slice(2);
        if (issue.loc[0] !== 'cases' || issue.loc[1] !== at) return { ...issue, loc: [...loc, ...issue.loc] };
        const inCase = { ...issue, loc: [...loc, ...path] };
        return typeof given === 'string' ? one.atLine(inCase, path) : inCase;
      }),
    );
  }
}

function casesOf(value: unknown): readonly { name?: unknown }[] {
  return (value as { cases: { name?: unknown }[] }).cases;
}

/** @throws InvalidConfigError for a text that cannot be read */
function readText(text: string, loc: Location): ReadText {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number, { msg, ...issue }: ValidationIssue): ValidationIssue => ({
    ...issue,
    msg: `Line ${String(lines.linePos(offset).line)}: ${msg}`,
  });
  if (document.errors.length > 0) {
    throw new InvalidConfigError(
      document.errors.map(({ message, pos: [offset] }) => at(offset, { loc, msg: message, type: 'yaml_invalid' })),
    );
  }
  try {
    const value: unknown = document.toJS();
    return { document, value, atLine: (issue, path) => at(yamlOffset(document, path), issue) };
  } catch (error) {
    // Too many aliases: a small text could become a huge value.
    throw new InvalidConfigError([{ loc, msg: reasonOf(error), type: 'yaml_invalid' }]);
  }
}

/** @throws InvalidConfigError */
function checkedSuite(value: unknown, loc: Location): EvalSuite {
  const suite = placed(loc, () => parseSuite(value));
  const issues = fileIssues(suite, loc);
  if (issues.length > 0) throw new InvalidConfigError(issues);
  return suite;
}

const NO_FILES = 'The daemon has no files of suites: run this case with parley eval';

/**
 * Faults of members that name files: a suite in the daemon has none, and must not read those of the machine. Recordings
 * of calls are no such files. Its `agent`
 * is never read: the agent of the run replaces it.
 */
function fileIssues(suite: EvalSuite, loc: Location): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  const refuse = (place: Location): void => {
    issues.push({ loc: [...loc, ...place], msg: NO_FILES, type: 'value_error' });
  };
  const parts = [
    { place: ['defaults'], part: suite.defaults ?? {} },
    ...suite.cases.map((part, at) => ({ place: ['cases', at], part })),
  ];
  for (const { place, part } of parts) {
    const { caller, line } = part;
    if (caller !== undefined && 'recording' in caller) refuse([...place, 'caller', 'recording']);
    if (caller !== undefined && 'script' in caller) {
      caller.script.forEach((step, at) => {
        if ('play' in step && !isTurnName(step.play)) refuse([...place, 'caller', 'script', at, 'play']);
      });
    }
    if (line?.noise?.file !== undefined) refuse([...place, 'line', 'noise', 'file']);
  }
  suite.cases.forEach(({ expect }, at) =>
    expect.forEach((each, n) => 'check' in each && refuse(['cases', at, 'expect', n, 'check'])),
  );
  return issues;
}
