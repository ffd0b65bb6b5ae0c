import type { z } from 'zod';
import { ParleyError } from '../base/errors.js';

/** Where a fault lies: member names, and array indexes as integers. */
export type Location = readonly (string | number)[];

/** One fault of a value, in the form that the interface's 422 answers have. */
export interface ValidationIssue {
  readonly loc: Location;
  /** A sentence for people. */
  readonly msg: string;
  /** A stable word for programs: `missing`, `extra_forbidden`, `string_type`, `enum` and so on. */
  readonly type: string;
}

/** A value that is refused, with every fault found in it. Code CONFIG_INVALID. */
export class InvalidConfigError extends ParleyError {
  readonly issues: readonly ValidationIssue[];

  /** @param cause the error that the faults were made of. Default none */
  constructor(issues: readonly ValidationIssue[], cause?: Error) {
    super('CONFIG_INVALID', { reason: summaryOf(issues) }, { cause });
    this.name = 'InvalidConfigError';
    this.issues = issues;
  }
}

/** One fault that no schema can find, at one place. */
export function faultOf(loc: Location, msg: string): InvalidConfigError {
  return new InvalidConfigError([{ loc, msg, type: 'value_error' }]);
}

/** What `work` gives. Faults that it throws are put below `prefix`. */
export function placed<T>(prefix: Location, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error;
    throw new InvalidConfigError(error.issues.map((issue) => ({ ...issue, loc: [...prefix, ...issue.loc] })));
  }
}

/**
 * The value as `schema` takes it.
 * @param prefix goes before each fault's location, such as `['body', 'agent_config']`.
 * @throws InvalidConfigError naming every fault.
 */
export function parseWith<T extends z.ZodType>(schema: T, value: unknown, prefix: Location = []): z.output<T> {
  const unusable = unusableParts(value, prefix);
  if (unusable.length > 0) throw new InvalidConfigError(unusable);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new InvalidConfigError(issuesOf(result.error.issues, value, prefix));
}

/** The most faults in one answer, so that an answer is not larger than its request. */
const MAX_ISSUES = 100;

/** At most 100 faults; one more says how many others there are. */
export function boundedIssues(issues: readonly ValidationIssue[]): readonly ValidationIssue[] {
  const others = issues.length - MAX_ISSUES;
  if (others <= 0) return issues;
  const place = issues[0]?.loc.slice(0, 1) ?? [];
  const last = { loc: place, msg: `There are ${String(others)} more faults`, type: 'too_many_faults' };
  return [...issues.slice(0, MAX_ISSUES), last];
}

/** Zod's issues in the interface's form. `value` is what was parsed: it tells a missing member from a wrong one. */
export function issuesOf(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  prefix: Location = [],
): readonly ValidationIssue[] {
  return issues.flatMap((issue) => translate(issue, value, prefix));
}

function translate(issue: z.core.$ZodIssue, value: unknown, prefix: Location): readonly ValidationIssue[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  const loc = [...prefix, ...path];
  const found = valueAt(value, path);
  switch (issue.code) {
    case 'invalid_type':
      if (found === undefined && path.length > 0) return [{ loc, msg: 'Field required', type: 'missing' }];
      return [typeIssue(loc, issue.expected, found)];
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        loc: [...loc, key],
        msg: `Unknown field: ${printable(key)}`,
        type: 'extra_forbidden',
      }));
    case 'invalid_value':
      if (found === undefined && path.length > 0) return [{ loc, msg: 'Field required', type: 'missing' }];
      return [{ loc, msg: `Input should be one of: ${issue.values.map(String).join(', ')}`, type: 'enum' }];
    case 'too_small':
    case 'too_big':
      return [boundIssue(loc, issue)];
    case 'invalid_key':
      return [
        { loc, msg: `The key is not allowed: ${issue.issues[0]?.message ?? 'it is malformed'}`, type: 'key_error' },
      ];
    case 'invalid_union':
      return unionIssues(issue, value, path, prefix, found);
    case 'invalid_format':
      return [{ loc, msg: issue.message, type: 'string_pattern_mismatch' }];
    case 'custom': {
      const type: unknown = issue.params?.['type'];
      return [{ loc, msg: issue.message, type: typeof type === 'string' ? type : 'value_error' }];
    }
    default:
      return [{ loc, msg: issue.message, type: 'value_error' }];
  }
}

/** The faults of the branch whose kind the value has; where it has none's, one fault that names the kinds. */
function unionIssues(
  issue: z.core.$ZodIssueInvalidUnion,
  value: unknown,
  path: Location,
  prefix: Location,
  found: unknown,
): readonly ValidationIssue[] {
  const kinds: string[] = [];
  for (const branch of issue.errors) {
    const first = branch[0];
    if (first?.code === 'invalid_type' && first.path.length === 0 && !isFraction(first, found)) {
      kinds.push(KINDS[first.expected]?.words ?? first.expected);
      continue;
    }
    const nested = branch.map((inner) => ({ ...inner, path: [...path, ...inner.path] }));
    return issuesOf(nested, value, prefix);
  }
  const loc = [...prefix, ...path];
  if (found === undefined && path.length > 0) return [{ loc, msg: 'Field required', type: 'missing' }];
  const options = (issue as { options?: readonly unknown[] }).options;
  if (kinds.length === 0 && options !== undefined) {
    return [{ loc, msg: `Input should be one of: ${options.map(String).join(', ')}`, type: 'enum' }];
  }
  return [{ loc, msg: `Input should be ${kinds.join(' or ')}`, type: 'union_type' }];
}

/** A number where an integer is wanted: its kind is right, its value is not. */
function isFraction(issue: z.core.$ZodIssueInvalidType, found: unknown): boolean {
  return issue.expected === 'int' && typeof found === 'number';
}

const KINDS: Readonly<Record<string, { words: string; type: string }>> = {
  string: { words: 'a string', type: 'string_type' },
  number: { words: 'a number', type: 'float_type' },
  int: { words: 'an integer', type: 'int_type' },
  boolean: { words: 'true or false', type: 'bool_type' },
  array: { words: 'an array', type: 'list_type' },
  object: { words: 'an object', type: 'dict_type' },
  record: { words: 'an object', type: 'dict_type' },
};

function typeIssue(loc: Location, expected: string, found: unknown): ValidationIssue {
  if (expected === 'int' && typeof found === 'number') {
    return { loc, msg: 'Input should be an integer, without a fraction', type: 'int_from_float' };
  }
  const kind = KINDS[expected] ?? { words: expected, type: `${expected}_type` };
  return { loc, msg: `Input should be ${kind.words}`, type: kind.type };
}

function boundIssue(loc: Location, issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): ValidationIssue {
  const small = issue.code === 'too_small';
  const limit = String(small ? issue.minimum : issue.maximum);
  if (issue.origin === 'string') {
    const msg = `String should have ${small ? 'at least' : 'at most'} ${limit} characters`;
    return { loc, msg, type: small ? 'string_too_short' : 'string_too_long' };
  }
  if (issue.origin === 'array') {
    const msg = `Array should have ${small ? 'at least' : 'at most'} ${limit} items`;
    return { loc, msg, type: small ? 'too_short' : 'too_long' };
  }
  const inclusive = issue.inclusive !== false;
  const side = small ? 'greater' : 'less';
  return {
    loc,
    msg: `Input should be ${side} than ${inclusive ? 'or equal to ' : ''}${limit}`,
    type: `${side}_than${inclusive ? '_equal' : ''}`,
  };
}

/** The member of a value at a place; undefined where there is none. */
export function valueAt(value: unknown, path: Location): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string | number, unknown>)[part];
  }
  return at;
}

/** Deepest nesting that any configuration needs, with a wide margin. */
const MAX_DEPTH = 32;

/**
 * What no schema can judge: nesting that could exhaust the stack, the one member name that JavaScript objects cannot
 * hold, and texts with half a surrogate pair, which have no UTF-8 form (RFC 3629, section 3).
 */
function unusableParts(value: unknown, prefix: Location): readonly ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  /** The place of what `look` looks at: one list for the whole walk, as bodies have many parts and few faults. */
  const place: (string | number)[] = [...prefix];
  /** Returns whether the walk goes on. */
  const look = (found: unknown): boolean => {
    if (typeof found === 'string' && !found.isWellFormed()) issues.push(surrogateIssue([...place]));
    if (typeof found !== 'object' || found === null) return true;
    const fatal = fatalFault(found, place, place.length - prefix.length);
    if (fatal !== null) {
      issues.splice(0, issues.length, fatal);
      return false;
    }
    if (Array.isArray(found)) return found.every((inner, at) => lookAt(at, inner));
    return Object.entries(found).every(([key, inner]) => {
      const name = key.toWellFormed();
      if (name !== key) issues.push(surrogateIssue([...place, name]));
      return lookAt(name, inner);
    });
  };
  const lookAt = (key: string | number, inner: unknown): boolean => {
    place.push(key);
    const goesOn = look(inner);
    place.pop();
    return goesOn;
  };
  look(value);
  return issues;
}

/** What makes a walk through the value itself unsafe. */
function fatalFault(found: object, place: Location, depth: number): ValidationIssue | null {
  if (depth >= MAX_DEPTH) {
    return { loc: [...place], msg: `Nested deeper than ${String(MAX_DEPTH)} levels`, type: 'recursion_loop' };
  }
  if (Object.hasOwn(found, '__proto__')) {
    return { loc: [...place, '__proto__'], msg: 'Unknown field: __proto__', type: 'extra_forbidden' };
  }
  return null;
}

function surrogateIssue(loc: Location): ValidationIssue {
  return { loc, msg: 'The text holds half of a surrogate pair, which is no character', type: 'string_unicode' };
}

/** At most five faults in one sentence. */
function summaryOf(issues: readonly ValidationIssue[]): string {
  const shown = issues.slice(0, 5).map(({ loc, msg }) => (loc.length === 0 ? msg : `${placeOf(loc)}: ${msg}`));
  const rest = issues.length - shown.length;
  return shown.join('; ') + (rest > 0 ? `; and ${String(rest)} more` : '');
}

/** `['tools', 0, 'name']` as `tools[0].name`, below a file as `agent.json: tools[0].name`. */
function placeOf(loc: Location): string {
  let place = '';
  for (const part of loc) {
    if (typeof part === 'number') place += `[${String(part)}]`;
    else if (place === '' && /[./\\]/.test(part) && loc.length > 1) place = `${part}: `;
    else place += (place === '' || place.endsWith(' ') ? '' : '.') + printable(part);
  }
  return place;
}

function printable(key: string): string {
  const short = key.length > 60 ? `${key.slice(0, 60)}…` : key;
  return /^[\w$-]+$/.test(short) ? short : JSON.stringify(short);
}
