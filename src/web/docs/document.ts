/** The shown part of the OpenAPI document. */
export interface OpenApiDocument {
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security?: unknown[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema; example?: unknown }> };
  responses: Record<string, { description: string; content?: Record<string, { schema?: Schema; example?: unknown }> }>;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
}

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  'x-unit'?: string;
  'x-default'?: string | number | boolean;
}

export interface DocumentedEndpoint extends Operation {
  method: string;
  path: string;
}

/** All operations by their first tag, in the document's order. */
export function byTag({ paths }: OpenApiDocument): Map<string, DocumentedEndpoint[]> {
  const tags = new Map<string, DocumentedEndpoint[]>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags[0] ?? 'other';
      tags.set(tag, [...(tags.get(tag) ?? []), { ...operation, method: method.toUpperCase(), path }]);
    }
  }
  return new Map([...tags].sort(([a], [b]) => a.localeCompare(b)));
}

/** The name of a referenced schema, such as `Agent`. */
export function nameOf({ $ref }: Schema): string | null {
  return $ref === undefined ? null : ($ref.split('/').pop() ?? null);
}

export function resolve(schema: Schema, document: OpenApiDocument): Schema {
  const name = nameOf(schema);
  return name === null ? schema : (document.components.schemas[name] ?? {});
}

/** The schema without null, and whether null is allowed. */
export function withoutNull(schema: Schema): { schema: Schema; nullable: boolean } {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== 'null');
    return { schema: { ...schema, type: types[0] ?? 'null' }, nullable: types.length < schema.type.length };
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices === undefined) return { schema, nullable: false };
  const rest = choices.filter(({ type }) => type !== 'null');
  const nullable = rest.length < choices.length;
  const [only] = rest;
  if (rest.length === 1 && only !== undefined)
    return { schema: { ...schema, anyOf: undefined, ...only } as Schema, nullable };
  return { schema: { ...schema, anyOf: rest }, nullable };
}

/** Briefly: `string`, `integer 1..100`, `"a" or "b"`, `array of Agent`. */
export function kindOf(raw: Schema): string {
  const { schema, nullable } = withoutNull(raw);
  return plainKind(schema) + (nullable ? ' or null' : '');
}

function plainKind(schema: Schema): string {
  const name = nameOf(schema);
  if (name !== null) return name;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) {
    const shown = schema.enum.slice(0, 6).map((value) => JSON.stringify(value));
    return shown.join(' | ') + (schema.enum.length > 6 ? ` | … ${String(schema.enum.length)} in all` : '');
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map(plainKind).join(' or ');
  if (schema.type === 'array') return `array of ${plainKind(schema.items ?? {})}`;
  if (schema.type === 'integer' || schema.type === 'number') return `${schema.type}${rangeOf(schema)}`;
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') {
    return `object of ${plainKind(schema.additionalProperties)}`;
  }
  return String(schema.type ?? 'any value');
}

function rangeOf({ minimum, maximum }: Schema): string {
  const low = minimum === undefined || Math.abs(minimum) > 1e15 ? '' : String(minimum);
  const high = maximum === undefined || Math.abs(maximum) > 1e15 ? '' : String(maximum);
  return low === '' && high === '' ? '' : ` ${low}..${high}`;
}

/** A simple initial value with the required members. */
export function exampleOf(raw: Schema, document: OpenApiDocument, depth = 0): unknown {
  const schema = resolve(withoutNull(resolve(raw, document)).schema, document);
  if ('const' in schema) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const [first] = schema.anyOf ?? schema.oneOf ?? [];
  if (first !== undefined) return exampleOf(first, document, depth);
  if (schema.type === 'array')
    return depth > 3 || schema.items === undefined ? [] : [exampleOf(schema.items, document, depth + 1)];
  if (schema.type === 'object') {
    return Object.fromEntries(
      (schema.required ?? []).map((name) => [name, exampleOf(schema.properties?.[name] ?? {}, document, depth + 1)]),
    );
  }
  return (
    { string: '', integer: schema.minimum ?? 0, number: schema.minimum ?? 0, boolean: false }[String(schema.type)] ?? {}
  );
}
