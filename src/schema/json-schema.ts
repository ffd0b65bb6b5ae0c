import * as z from 'zod';

/** A JSON Schema: an object of keywords, or true (anything) or false (nothing). */
export type JsonSchema = Readonly<Record<string, unknown>> | boolean;

/** A value with the schema's defaults filled in, or what is wrong with it, in sentences that a model can act on. */
export type CheckedJson = { ok: true; value: unknown } | { ok: false; problems: readonly string[] };

/** Deepest nesting of schemas; also ends references that lead back to themselves. */
const MAX_DEPTH = 64;
/** Longest text that patterns are tried on, so that no pattern takes long. */
const MAX_PATTERN_CHARS = 2_000;
/** More problems than these do not help a model. */
const MAX_PROBLEMS = 10;

export const JSON_TYPE_NAMES = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'] as const;

/**
 * Checks a value against a JSON Schema (draft 2020-12: types, enum, const, numbers, texts, arrays, objects, anyOf, oneOf,
 * allOf, not, if, local `$ref`), and fills in the defaults of members that are missing. Nothing is coerced. Unknown
 * keywords and formats have no effect. A member that is null where null is not allowed counts as left out: models send
 * null for "not known".
 * @param name what the value is called in problems; '' = problems name its members only
 */
export function checkJson(schema: JsonSchema, value: unknown, name = ''): CheckedJson {
  const check = new Check(schema);
  const result = check.value(schema, value, name, 0);
  if (result.problems.length > 0) return { ok: false, problems: result.problems.slice(0, MAX_PROBLEMS) };
  return { ok: true, value: result.value };
}

interface Outcome {
  value: unknown;
  problems: string[];
}

type Keywords = Readonly<Record<string, unknown>>;
type Members = Readonly<Record<string, unknown>>;

/** One check of one value. */
class Check {
  readonly #root: JsonSchema;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  value(schema: JsonSchema, value: unknown, at: string, depth: number): Outcome {
    if (schema === true) return { value, problems: [] };
    if (schema === false) return { value, problems: [`${subject(at)} is not allowed.`] };
    if (depth > MAX_DEPTH) return { value, problems: [`${subject(at)} is nested too deeply.`] };
    const own = this.#own(schema, value, at, depth);
    if (own.problems.length > 0) return own;
    return this.#combined(schema, own.value, at, depth);
  }

  /** The keywords of the schema itself, without those that combine schemas. */
  #own(schema: Keywords, value: unknown, at: string, depth: number): Outcome {
    const types = typesOf(schema);
    if (types.length > 0 && !types.some((type) => hasJsonType(value, type))) {
      return { value, problems: [`${subject(at)} should be ${types.map(typeWords).join(' or ')}.`] };
    }
    const problems: string[] = [];
    const options = 'const' in schema ? [schema['const']] : schema['enum'];
    if (Array.isArray(options) && !options.some((option) => isSameJson(option, value))) {
      problems.push(`${subject(at)} should be ${options.length === 1 ? '' : 'one of '}${listed(options)}.`);
    }
    if (typeof value === 'number')
      problems.push(...numberProblems(schema, value).map((text) => `${subject(at)} ${text}.`));
    if (typeof value === 'string')
      problems.push(...textProblems(schema, value).map((text) => `${subject(at)} ${text}.`));
    if (problems.length > 0) return { value, problems };
    if (Array.isArray(value)) return this.#array(schema, value, at, depth);
    if (isMembers(value)) return this.#object(schema, value, at, depth);
    return { value, problems };
  }

  #array(schema: Keywords, value: readonly unknown[], at: string, depth: number): Outcome {
    const problems = arrayProblems(schema, value).map((text) => `${subject(at)} ${text}.`);
    const first = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as readonly JsonSchema[]) : [];
    const rest = isSchema(schema['items']) ? schema['items'] : true;
    const items = value.map((item, index) => {
      const result = this.value(first[index] ?? rest, item, `${at}[${String(index)}]`, depth + 1);
      problems.push(...result.problems);
      return result.value;
    });
    const { contains } = schema;
    if (isSchema(contains)) {
      const count = items.filter((item) => this.value(contains, item, at, depth + 1).problems.length === 0).length;
      const least = numberOr(schema['minContains'], 1);
      const most = numberOr(schema['maxContains'], Infinity);
      if (count < least || count > most) problems.push(`${subject(at)} does not have the items that it should.`);
    }
    return { value: items, problems };
  }

  #object(schema: Keywords, value: Members, at: string, depth: number): Outcome {
    const properties = membersOf(schema['properties']) as Readonly<Record<string, JsonSchema>>;
    const patterns = Object.entries(membersOf(schema['patternProperties'])) as [string, JsonSchema][];
    const required = new Set(namesIn(schema['required']));
    const extra = isSchema(schema['additionalProperties']) ? schema['additionalProperties'] : true;
    const problems: string[] = [];
    const members: [string, unknown][] = [];
    for (const [name, member] of Object.entries(value)) {
      const place = at === '' ? name : `${at}.${name}`;
      const known = Object.hasOwn(properties, name) ? [properties[name] as JsonSchema] : [];
      const matching = [...known, ...patterns.flatMap(([pattern, one]) => (matches(pattern, name) ? [one] : []))];
      if (matching.length === 0 && extra === false) {
        problems.push(`There is no ${at === '' ? 'argument' : 'member'} ${JSON.stringify(place.slice(0, 64))}.`);
        continue;
      }
      if (matching.length === 0) matching.push(extra);
      if (member === null && !this.#allowsNull(matching, depth)) continue;
      let checked = member;
      for (const one of matching) {
        const result = this.value(one, checked, place, depth + 1);
        problems.push(...result.problems);
        checked = result.value;
      }
      members.push([name, checked]);
    }
    const given = new Set(members.map(([name]) => name));
    for (const [name, one] of Object.entries(properties)) {
      if (given.has(name) || typeof one !== 'object' || one['default'] === undefined) continue;
      members.push([name, structuredClone(one['default'])]);
      given.add(name);
    }
    for (const name of required)
      if (!given.has(name)) problems.push(`${at === '' ? name : `${at}.${name}`} is missing.`);
    problems.push(...this.#objectProblems(schema, members, at, depth));
    return { value: Object.fromEntries(members), problems };
  }

  #objectProblems(schema: Keywords, members: readonly [string, unknown][], at: string, depth: number): string[] {
    const problems: string[] = [];
    const least = numberOr(schema['minProperties'], 0);
    const most = numberOr(schema['maxProperties'], Infinity);
    if (members.length < least) problems.push(`${subject(at)} should have at least ${String(least)} members.`);
    if (members.length > most) problems.push(`${subject(at)} should have at most ${String(most)} members.`);
    const names = schema['propertyNames'];
    const given = new Set(members.map(([name]) => name));
    if (isSchema(names)) {
      for (const name of given) problems.push(...this.value(names, name, `the name ${name}`, depth + 1).problems);
    }
    for (const [name, others] of Object.entries(membersOf(schema['dependentRequired']))) {
      if (!given.has(name)) continue;
      for (const other of namesIn(others))
        if (!given.has(other)) problems.push(`${other} is missing: ${name} needs it.`);
    }
    return problems;
  }

  #allowsNull(schemas: readonly JsonSchema[], depth: number): boolean {
    return schemas.every((schema) => this.value(schema, null, '', depth + 1).problems.length === 0);
  }

  /** `$ref` and the keywords that combine schemas. */
  #combined(schema: Keywords, given: unknown, at: string, depth: number): Outcome {
    let value = given;
    const { $ref } = schema;
    const all = [
      ...(typeof $ref === 'string' ? [resolveRef(this.#root, $ref) ?? false] : []),
      ...schemasIn(schema['allOf']),
    ];
    for (const one of all) {
      const result = this.value(one, value, at, depth + 1);
      if (result.problems.length > 0) return result;
      value = result.value;
    }
    for (const keyword of ['anyOf', 'oneOf']) {
      const choices = schemasIn(schema[keyword]);
      if (choices.length === 0) continue;
      const results = choices.map((one) => this.value(one, value, at, depth + 1));
      const fitting = results.filter(({ problems }) => problems.length === 0);
      if (fitting.length === 0) return { value, problems: [noChoice(results, at)] };
      if (keyword === 'oneOf' && fitting.length > 1) {
        return { value, problems: [`${subject(at)} fits more than one of the forms that it can have.`] };
      }
      ({ value } = fitting[0] as Outcome);
    }
    const { not } = schema;
    if (isSchema(not) && this.value(not, value, at, depth + 1).problems.length === 0) {
      return { value, problems: [`${subject(at)} has a form that is not allowed.`] };
    }
    if (!isSchema(schema['if'])) return { value, problems: [] };
    const holds = this.value(schema['if'], value, at, depth + 1).problems.length === 0;
    const then = schema[holds ? 'then' : 'else'];
    return isSchema(then) ? this.value(then, value, at, depth + 1) : { value, problems: [] };
  }
}

/** What is wrong where no choice fits: the shortest account is the one of the choice that was meant. */
function noChoice(results: readonly Outcome[], at: string): string {
  const [best] = results.toSorted((one, other) => one.problems.length - other.problems.length);
  const isOnly = results.length === 1;
  const account = (best?.problems ?? []).join(' ');
  if (isOnly) return account;
  return `${subject(at)} fits none of the ${String(results.length)} forms that it can have (${account})`.replace(
    /\.?\)$/,
    ').',
  );
}

function numberProblems(schema: Keywords, value: number): string[] {
  const is = (keyword: string, holds: (limit: number) => boolean): boolean => {
    const limit = schema[keyword];
    return typeof limit !== 'number' || holds(limit);
  };
  return [
    is('minimum', (limit) => value >= limit) ? '' : `should be ${String(schema['minimum'])} or more`,
    is('maximum', (limit) => value <= limit) ? '' : `should be ${String(schema['maximum'])} or less`,
    is('exclusiveMinimum', (limit) => value > limit) ? '' : `should be more than ${String(schema['exclusiveMinimum'])}`,
    is('exclusiveMaximum', (limit) => value < limit) ? '' : `should be less than ${String(schema['exclusiveMaximum'])}`,
    is('multipleOf', (step) => isMultiple(value, step))
      ? ''
      : `should be a multiple of ${String(schema['multipleOf'])}`,
  ].filter((text) => text !== '');
}

/** Fractions such as 0.1 have no exact form: a quotient within the rounding of a double is whole. */
function isMultiple(value: number, step: number): boolean {
  const quotient = value / step;
  return Math.abs(quotient - Math.round(quotient)) <= Number.EPSILON * Math.max(1, Math.abs(quotient));
}

function textProblems(schema: Keywords, value: string): string[] {
  const problems: string[] = [];
  const chars = [...value].length;
  const least = numberOr(schema['minLength'], 0);
  const most = numberOr(schema['maxLength'], Infinity);
  if (chars < least) problems.push(`should have at least ${String(least)} characters`);
  if (chars > most) problems.push(`should have at most ${String(most)} characters`);
  const { pattern, format } = schema;
  if (typeof pattern === 'string' && !matches(pattern, value)) problems.push(`should match ${pattern}`);
  if (typeof format === 'string' && FORMATS.get(format)?.test(value) === false) {
    problems.push(`should be ${FORMATS.get(format)?.words ?? format}`);
  }
  return problems;
}

function arrayProblems(schema: Keywords, value: readonly unknown[]): string[] {
  const problems: string[] = [];
  const least = numberOr(schema['minItems'], 0);
  const most = numberOr(schema['maxItems'], Infinity);
  if (value.length < least) problems.push(`should have at least ${String(least)} items`);
  if (value.length > most) problems.push(`should have at most ${String(most)} items`);
  const isRepeated = (item: unknown, index: number): boolean =>
    value.findIndex((other) => isSameJson(other, item)) !== index;
  if (schema['uniqueItems'] === true && value.some(isRepeated)) problems.push('should have no item twice');
  return problems;
}

interface Format {
  words: string;
  test: (text: string) => boolean;
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;

const IPV4 = z.ipv4();
const IPV6 = z.ipv6();

const FORMATS: ReadonlyMap<string, Format> = new Map([
  ['date', { words: 'a date such as 2026-11-30', test: isDate }],
  ['time', { words: 'a time with its zone, such as 09:30:00Z', test: (text) => TIME.test(text) }],
  [
    'date-time',
    {
      words: 'a date and time such as 2026-11-30T09:30:00Z',
      test: (text) => /^.{10}[Tt ]/.test(text) && isDate(text.slice(0, 10)) && TIME.test(text.slice(11)),
    },
  ],
  [
    'email',
    {
      words: 'an email address such as name@example.com',
      test: (text) => text.length <= 254 && /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/.test(text),
    },
  ],
  [
    'uri',
    {
      words: 'an address such as https://example.com',
      test: (text) => /^[a-z][a-z0-9+.-]*:/i.test(text) && URL.canParse(text),
    },
  ],
  ['uuid', { words: 'a UUID', test: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) }],
  ['ipv4', { words: 'an IPv4 address', test: (text) => IPV4.safeParse(text).success }],
  ['ipv6', { words: 'an IPv6 address', test: (text) => IPV6.safeParse(text).success }],
]);

function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (year === undefined) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day);
}

/**
 * Why a JSON Schema cannot be used: a keyword of the wrong kind, a pattern that is no regular expression, a reference
 * that leads nowhere. Null = it can be.
 */
export function schemaFault(schema: unknown): string | null {
  return isSchema(schema) ? faultAt(schema, '', schema, 0) : 'it should be an object of JSON Schema keywords';
}

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = ['items', 'contains', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else'];
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const BY_NAME = ['properties', 'patternProperties', '$defs', 'definitions'];
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];

function faultAt(schema: JsonSchema, at: string, root: JsonSchema, depth: number): string | null {
  if (typeof schema === 'boolean') return null;
  if (depth > MAX_DEPTH) return `${at}: it is nested deeper than ${String(MAX_DEPTH)} levels`;
  const place = (keyword: string): string => (at === '' ? keyword : `${at}.${keyword}`);
  const own = keywordFault(schema, root);
  if (own !== null) return `${place(own.keyword)}: ${own.msg}`;
  const inner: [string, unknown][] = [
    ...ONE.flatMap((keyword): [string, unknown][] => (keyword in schema ? [[keyword, schema[keyword]]] : [])),
    ...LISTS.flatMap((keyword) =>
      listOf(schema[keyword]).map((one, n): [string, unknown] => [`${keyword}[${String(n)}]`, one]),
    ),
    ...BY_NAME.flatMap((keyword) =>
      Object.entries(membersOf(schema[keyword])).map(([name, one]): [string, unknown] => [`${keyword}.${name}`, one]),
    ),
  ];
  for (const [keyword, one] of inner) {
    if (!isSchema(one)) return `${place(keyword)}: it should be a schema`;
    const fault = faultAt(one, place(keyword), root, depth + 1);
    if (fault !== null) return fault;
  }
  return null;
}

function keywordFault(schema: Keywords, root: JsonSchema): { keyword: string; msg: string } | null {
  const wrong = (keywords: readonly string[], fits: (value: unknown) => boolean, msg: string) => {
    const keyword = keywords.find((name) => schema[name] !== undefined && !fits(schema[name]));
    return keyword === undefined ? null : { keyword, msg };
  };
  const isType = (type: unknown): boolean => (JSON_TYPE_NAMES as readonly unknown[]).includes(type);
  const { $ref } = schema;
  return (
    wrong(
      ['type'],
      (type) => isType(type) || (Array.isArray(type) && type.length > 0 && type.every(isType)),
      `it should be one of ${JSON_TYPE_NAMES.join(', ')}, or a list of them`,
    ) ??
    wrong(['enum'], (options) => Array.isArray(options) && options.length > 0, 'it should be a list of values') ??
    wrong(NUMBERS, (value) => Number.isFinite(value), 'it should be a number') ??
    wrong(['multipleOf'], (value) => typeof value === 'number' && value > 0, 'it should be a number above 0') ??
    wrong(COUNTS, (value) => Number.isSafeInteger(value) && Number(value) >= 0, 'it should be a whole number') ??
    wrong(['required'], isNameList, 'it should be a list of names') ??
    wrong(['pattern'], (text) => typeof text === 'string' && regExp(text) !== null, 'it is not a regular expression') ??
    wrong(LISTS, (list) => Array.isArray(list) && list.length > 0, 'it should be a list of schemas') ??
    wrong(BY_NAME, isMembers, 'it should be an object of schemas') ??
    (typeof $ref === 'string' && resolveRef(root, $ref) === null
      ? {
          keyword: '$ref',
          msg: `there is no ${$ref}; references lead to a place in the same schema, such as #/$defs/name`,
        }
      : null)
  );
}

/** The schema that a local reference names; null = there is none. */
function resolveRef(root: JsonSchema, ref: string): JsonSchema | null {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return null;
  let at: unknown = root;
  for (const part of ref.slice(2).split('/')) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return null;
    at = (at as Members)[name];
  }
  return isSchema(at) ? at : null;
}

const patterns = new Map<string, RegExp | null>();
const MAX_PATTERNS = 500;

/** Null = it is not one. */
function regExp(pattern: string): RegExp | null {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  let made: RegExp | null;
  try {
    made = new RegExp(pattern, 'u');
  } catch {
    made = null;
  }
  if (patterns.size >= MAX_PATTERNS) patterns.clear();
  patterns.set(pattern, made);
  return made;
}

function matches(pattern: string, text: string): boolean {
  return text.length <= MAX_PATTERN_CHARS && (regExp(pattern)?.test(text) ?? true);
}

/** The types that a schema allows; empty = all. */
export function typesOf(schema: Keywords): readonly string[] {
  const { type } = schema;
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? type.filter((one) => typeof one === 'string') : [];
}

/** Whether a value is of a JSON Schema type. */
export function hasJsonType(value: unknown, type: string): boolean {
  switch (type) {
    case 'integer':
      return Number.isSafeInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isMembers(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
};

function typeWords(type: string): string {
  return TYPE_WORDS[type] ?? type;
}

function subject(at: string): string {
  return at === '' ? 'The value' : at;
}

function listed(options: readonly unknown[]): string {
  const shown = options.slice(0, 20).map((option) => JSON.stringify(option));
  return options.length > shown.length ? `${shown.join(', ')} …` : shown.join(', ');
}

/** JSON Schema compares values, not the order of members. */
function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => isSameJson(item, other[index]));
  }
  if (!isMembers(one) || !isMembers(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSameJson(one[name], other[name]))
  );
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function membersOf(value: unknown): Members {
  return isMembers(value) ? value : {};
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'boolean' || isMembers(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function schemasIn(value: unknown): readonly JsonSchema[] {
  return listOf(value).filter(isSchema);
}

function isNameList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

function namesIn(value: unknown): readonly string[] {
  return isNameList(value) ? value : [];
}

function numberOr(value: unknown, other: number): number {
  return typeof value === 'number' ? value : other;
}
