import parameters from './parameters.json' with { type: 'json' };

interface Field {
  type: string;
  enum?: (string | number)[];
}

interface Operation {
  query: Partial<Record<string, Field>>;
  json: Partial<Record<string, Field>>;
  required: string[];
  answer: number;
}

const OPERATIONS = Object.entries(parameters.operations as unknown as Record<string, Operation>).map(
  ([name, operation]) => {
    const [method = '', template = ''] = name.split(' ');
    return { method, pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`), operation };
  },
);

/**
 * What is wrong with a request by Telnyx's OpenAPI description (`parameters.json` holds the parameters of the
 * operations that parley uses); null = nothing.
 */
export function violation(
  method: string,
  path: string,
  query: URLSearchParams,
  json: Readonly<Record<string, unknown>>,
): string | null {
  const found = OPERATIONS.find((one) => one.method === method && one.pattern.test(path));
  if (found === undefined) return `no operation ${method} ${path}`;
  const { operation } = found;
  const wrong = [
    ...[...query].map(([name, value]) =>
      fault(name, operation.query[name], value, typeOf(value, operation.query[name])),
    ),
    ...Object.entries(json).map(([name, value]) => fault(name, operation.json[name], value, typeOfJson(value))),
    ...operation.required.map((name) => (json[name] === undefined ? `${name} is required` : null)),
  ].find((one) => one !== null);
  return wrong ?? null;
}

function fault(name: string, field: Field | undefined, value: unknown, type: string): string | null {
  if (field === undefined) return `${name} is not known`;
  if (type !== field.type) return `${name} is no ${field.type}`;
  if (field.enum !== undefined && !field.enum.includes(value as string)) return `${name} cannot be ${String(value)}`;
  return null;
}

/** All of a query is text. */
function typeOf(value: string, field: Field | undefined): string {
  if (field?.type === 'number' && /^\d+$/.test(value)) return 'number';
  return field?.type === 'boolean' && /^(true|false)$/.test(value) ? 'boolean' : 'string';
}

function typeOfJson(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}
