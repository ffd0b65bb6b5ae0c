import type * as z from 'zod';
import { ParleyError } from '../base/errors.js';
import { similar } from '../base/similar.js';

/** The place of a fault: member names, and array indexes as integers. */
export type Location = readonly (string | number)[];

/** One fault of a value, in the form of the REST API's 422 replies. */
export interface ValidationIssue {
  readonly loc: Location;
  /** A sentence for people. */
  readonly msg: string;
  /** A stable identifier for programs: `missing`, `extra_forbidden`, `string_type`, `enum` and so on. */
  readonly type: string;
}

/** An invalid value, with all its faults. Code CONFIG_INVALID. */
export class InvalidConfigError extends ParleyError {
  readonly issues: readonly ValidationIssue[];

  /** @param cause the original error. Default none */
  constructor(issues: readonly ValidationIssue[], cause?: Error) {
    super('CONFIG_INVALID', { reason: summaryOf(issues) }, { cause });
    this.name = 'InvalidConfigError';
    this.issues = issues;
  }
}

/** The error for one fault that the schemas do not cover. */
export function faultOf(loc: Location, msg: string): InvalidConfigError {
  return new InvalidConfigError([{ loc, msg, type: 'value_error' }]);
}

/** Runs `work` and adds `prefix` to the locations of faults that it throws. */
export function placed<T>(prefix: Location, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error;
    throw new InvalidConfigError(error.issues.map((issue) => ({ ...issue, loc: [...prefix, ...issue.loc] })));
  }
}

/**
 * Parses a value by its schema.
 * @param prefix precedes each fault's location, such as `['body', 'agent_config']`
 * @throws InvalidConfigError with all faults
 */
export function parseWith<T extends z.ZodType>(schema: T, value: unknown, prefix: Location = []): z.output<T> {
  const unusable = unusableParts(value, prefix);
  if (unusable.length > 0) throw new InvalidConfigError(unusable);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = issuesOf(result.error.issues, value, prefix);
  throw new InvalidConfigError(issues.map((issue) => withSuggestion(issue, schema, prefix.length)));
}

/** An unknown member's fault, with the known one that may be meant. */
function withSuggestion(issue: ValidationIssue, schema: z.ZodType, prefixLength: number): ValidationIssue {
  const name = issue.loc.at(-1);
  if (issue.type !== 'extra_forbidden' || typeof name !== 'string') return issue;
  const meant = similar(name, membersAt(schema, issue.loc.slice(prefixLength, -1)));
  return meant === null ? issue : { ...issue, msg: `${issue.msg}. Did you mean ${meant}?` };
}

/** The members that an object at a place may have, in any form that the schema allows there. */
function membersAt(schema: z.core.$ZodType, [step, ...rest]: Location): readonly string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const place: Location = step === undefined ? [] : [step, ...rest];
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'readonly':
      return membersAt(def.innerType, place);
    case 'pipe':
      return membersAt(def.out, place);
    case 'union':
      return def.options.flatMap((option) => membersAt(option, place));
    case 'array':
      return step === undefined ? [] : membersAt(def.element, rest);
    case 'record':
      return step === undefined ? [] : membersAt(def.valueType, rest);
    case 'object': {
      if (step === undefined) return Object.keys(def.shape);
      const member = def.shape[step];
      return member === undefined ? [] : membersAt(member, rest);
    }
    default:
      return [];
  }
}

/** Most faults in one reply, which limits the size of the reply. */
const MAX_ISSUES = 100;

/** The first 100 faults, and one that counts the others. */
export function boundedIssues(issues: readonly ValidationIssue[]): readonly ValidationIssue[] {
  const others = issues.length - MAX_ISSUES;
  if (others <= 0) return issues;
  const place = issues[0]?.loc.slice(0, 1) ?? [];
  const last = { loc: place, msg: `There are ${String(others)} more faults`, type: 'too_many_faults' };
  return [...issues.slice(0, MAX_ISSUES), last];
}

/** Zod's issues in the REST API's form. `value`, the input, distinguishes missing members from wrong ones. */
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

/** The faults of the branch with the value's type; if there is none, one fault that lists the types. */
function unionIssues(
  issue: z.core.$ZodIssueInvalidUnion,
  value: unknown,
  path: Location,
  prefix: Location,
  found: unknown,
): readonly ValidationIssue[] {
  const kinds: string[] = [];
  const chosen = branchOfObject(issue.errors, found);
  if (chosen !== null && 'unknown' in chosen) {
    const options = chosen.known.length === 0 ? '' : `; expected one of: ${chosen.known.join(', ')}`;
    return chosen.unknown.map((key) => ({
      loc: [...prefix, ...path, key],
      msg: `Unknown field: ${printable(key)}${options}`,
      type: 'extra_forbidden',
    }));
  }
  for (const branch of chosen === null ? issue.errors : [chosen.issues]) {
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

/**
 * The branch of a union that an object was meant for: the one that knows most of its members. Members that no branch
 * knows are what is wrong with the object.
 * @returns null where the found value is no object, or the first branch is as good as any
 */
function branchOfObject(
  branches: readonly (readonly z.core.$ZodIssue[])[],
  found: unknown,
): { issues: readonly z.core.$ZodIssue[] } | { unknown: readonly string[]; known: readonly string[] } | null {
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return null;
  const objects = branches.filter(([first]) => !(first?.code === 'invalid_type' && first.path.length === 0));
  if (objects.length < 2) return null;
  const scored = objects.map((issues) => {
    const root = issues.filter(({ path }) => path.length === 0);
    const unknown = root.flatMap((one) => (one.code === 'unrecognized_keys' ? one.keys : []));
    const missing = issues.flatMap(({ path }) =>
      path.length === 1 && !Object.hasOwn(found, path[0] as string) ? [String(path[0])] : [],
    );
    return { issues, unknown, missing };
  });
  const [best] = scored.toSorted(
    (a, b) => a.unknown.length - b.unknown.length || a.missing.length - b.missing.length,
  ) as [(typeof scored)[number]];
  if (best.unknown.length === 0) return { issues: best.issues };
  const unknown = best.unknown.filter((key) => scored.every((one) => one.unknown.includes(key)));
  const known = [...new Set(scored.flatMap(({ missing }) => missing))];
  return unknown.length > 0 && known.length > 1 ? { unknown, known } : { issues: best.issues };
}

/** Whether a number with a fraction was found in place of an integer: the right type, but a wrong value. */
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

/** The member of a value at a location; undefined = none. */
export function valueAt(value: unknown, path: Location): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string | number, unknown>)[part];
  }
  return at;
}

/** Deepest nesting of a configuration, far above what any needs. */
const MAX_DEPTH = 32;

/**
 * Faults that schemas cannot find: nesting that could exhaust the stack, the member name `__proto__`, and texts with a
 * lone surrogate, which have no UTF-8 form (RFC 3629, section 3).
 */
function unusableParts(value: unknown, prefix: Location): readonly ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  /** The current location; one list for the whole walk, because bodies have many parts and few faults. */
  const place: (string | number)[] = [...prefix];
  /** Returns whether to continue the walk. */
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
    const isContinued = look(inner);
    place.pop();
    return isContinued;
  };
  look(value);
  return issues;
}

/** A fault that makes further walking unsafe; null = none. */
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
  return { loc, msg: 'The text contains a lone surrogate, which is not a character', type: 'string_unicode' };
}

/** Up to five faults in one sentence. */
function summaryOf(issues: readonly ValidationIssue[]): string {
  const shown = issues.slice(0, 5).map(({ loc, msg }) => (loc.length === 0 ? msg : `${placeOf(loc)}: ${msg}`));
  const rest = issues.length - shown.length;
  return shown.join('; ') + (rest > 0 ? `; and ${String(rest)} more` : '');
}

/** Formats `['tools', 0, 'name']` as `tools[0].name`, and in a file as `agent.json:4:7: tools[0].name`. */
export function placeOf(loc: Location): string {
  let place = '';
  for (const part of loc) {
    if (typeof part === 'number') place += `[${String(part)}]`;
    else if (place === '' && /:\d+:\d+$/.test(part)) place = loc.length > 1 ? `${part}: ` : part;
    else if (place === '' && /[./\\]/.test(part) && loc.length > 1) place = `${part}: `;
    else place += (place === '' || place.endsWith(' ') ? '' : '.') + printable(part);
  }
  return place;
}

function printable(key: string): string {
  const short = key.length > 60 ? `${key.slice(0, 60)}…` : key;
  return /^[\w$-]+$/.test(short) ? short : JSON.stringify(short);
}
