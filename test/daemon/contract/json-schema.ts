import fc from 'fast-check';

/** The part of JSON Schema that the OpenAPI document uses. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  items?: JsonSchema | boolean;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
}

export interface ArbitraryOptions {
  schemas: Readonly<Record<string, JsonSchema>>;
  /** Values that mean something to the daemon, by the member's name: they are given every second time. */
  known: Readonly<Record<string, readonly unknown[]>>;
}

/** Made once for each schema: a configuration has hundreds. */
const made = new WeakMap<ArbitraryOptions, Map<JsonSchema, fc.Arbitrary<unknown>>>();

/** Values that a schema takes. Of many optional members only a few are there at a time. */
export function valuesOf(schema: JsonSchema, options: ArbitraryOptions): fc.Arbitrary<unknown> {
  const known = made.get(options) ?? new Map<JsonSchema, fc.Arbitrary<unknown>>();
  made.set(options, known);
  const values = known.get(schema) ?? makeValues(schema, options);
  known.set(schema, values);
  return values;
}

function makeValues(schema: JsonSchema, options: ArbitraryOptions): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valuesOfRef(resolved(schema, options), options);
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => valuesOf(choice, options)));
  if (Array.isArray(schema.type)) {
    return fc.oneof(...schema.type.map((type) => valuesOf({ ...schema, type }, options)));
  }
  switch (schema.type) {
    case 'string':
      return textOf(schema);
    case 'integer':
      return fc.integer({ min: Math.ceil(lowest(schema)), max: Math.floor(highest(schema)) });
    case 'number':
      return fc.double({ min: lowest(schema), max: highest(schema), noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(typeof schema.items === 'object' ? valuesOf(schema.items, options) : fc.jsonValue(), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.max(schema.minItems ?? 0, Math.min(schema.maxItems ?? 3, 3)),
      });
    case 'object':
      return objectOf(schema, options);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

export function resolved(schema: JsonSchema, { schemas }: ArbitraryOptions): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const found = schemas[schema.$ref.replace('#/components/schemas/', '')];
  if (found === undefined) throw new Error(`the document has no ${schema.$ref}`);
  return found;
}

/** The schemas that references lead to, while their values are made. */
const open = new Set<JsonSchema>();

/** Inside itself, a schema of an object takes one without optional members: that ends the recursion. */
function valuesOfRef(schema: JsonSchema, options: ArbitraryOptions): fc.Arbitrary<unknown> {
  if (open.has(schema) && (schema.required ?? []).length === 0) return fc.constant({});
  open.add(schema);
  try {
    return valuesOf(schema, options);
  } finally {
    open.delete(schema);
  }
}

function objectOf(schema: JsonSchema, options: ArbitraryOptions): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  const values = Object.fromEntries(
    [...new Set([...required, ...optional])].map((name) => [name, member(name, properties[name] ?? {}, options)]),
  );
  const members = fc.subarray(optional, { maxLength: Math.min(optional.length, 4) }).chain((chosen) => {
    const names = [...required, ...chosen];
    return fc.record(Object.fromEntries(names.flatMap((name) => (values[name] ? [[name, values[name]]] : []))));
  });
  if (typeof additionalProperties !== 'object') return members;
  const names = schema.propertyNames === undefined ? fc.string() : textOf(schema.propertyNames);
  const more = fc.dictionary(
    names.filter((name) => name !== '__proto__'),
    valuesOf(additionalProperties, options),
    { maxKeys: 3 },
  );
  return fc.tuple(members, more).map(([some, others]) => ({ ...others, ...(some as object) }));
}

function member(name: string, schema: JsonSchema, options: ArbitraryOptions): fc.Arbitrary<unknown> {
  const known = Object.hasOwn(options.known, name) ? options.known[name] : undefined;
  const any = valuesOf(schema, options);
  return known === undefined || known.length === 0 ? any : fc.oneof(any, fc.constantFrom(...known));
}

function textOf({ pattern, minLength = 0, maxLength = 1_000 }: JsonSchema): fc.Arbitrary<string> {
  const limits = { minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) };
  if (pattern === undefined) return fc.oneof(fc.string(limits), fc.string({ ...limits, unit: 'binary' }));
  return fc.stringMatching(new RegExp(pattern)).filter((text) => text.length >= minLength && text.length <= maxLength);
}

function lowest({ minimum, exclusiveMinimum }: JsonSchema): number {
  return Math.max(minimum ?? -1e6, exclusiveMinimum === undefined ? -1e6 : exclusiveMinimum + 1e-3);
}

function highest({ maximum, exclusiveMaximum }: JsonSchema): number {
  return Math.min(maximum ?? 1e6, exclusiveMaximum === undefined ? 1e6 : exclusiveMaximum - 1e-3);
}
