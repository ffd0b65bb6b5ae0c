import type { RestRequest } from '../../../src/telephony/carriers/media-socket/rest.js';

interface Field {
  type: string;
  enum?: (string | number)[];
}

interface Operation {
  /** Fields of the query, of the form and of the body in JSON, by name. */
  query: Partial<Record<string, Field>>;
  form?: Partial<Record<string, Field>>;
  json?: Partial<Record<string, Field>>;
  required: string[];
  /** The status of its success. */
  answer: number;
}

/**
 * The operations of a carrier's REST API that parley uses, with their parameters as the carrier's own OpenAPI
 * description has them; the `parameters.json` beside each double says from where.
 */
export class RestOperations {
  readonly #operations: { method: string; pattern: RegExp; operation: Operation }[];

  /** @param parameters by method and path, such as `GET /calls/{id}` */
  constructor(parameters: object) {
    this.#operations = Object.entries(parameters as Record<string, Operation>).map(([name, operation]) => {
      const [method = '', template = ''] = name.split(' ');
      return { method, pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`), operation };
    });
  }

  /** What is wrong with a request by the description, or the status of its success. */
  check({ method, path: whole, form = [], json }: RestRequest): { wrong: string } | { answer: number } {
    const [path = '', query = ''] = whole.split('?');
    const found = this.#operations.find((one) => one.method === method && one.pattern.test(path));
    if (found === undefined) return { wrong: `no operation ${method} ${path}` };
    const { operation } = found;
    const body = (json ?? {}) as Readonly<Record<string, unknown>>;
    const wrong = [
      ...textFaults([...new URLSearchParams(query)], operation.query),
      ...textFaults(form, operation.form ?? {}),
      ...Object.entries(body).map(([name, value]) => jsonFault(name, value, operation.json?.[name])),
      ...operation.required.map((name) =>
        name in body || form.some(([other]) => other === name) ? null : `${name} is required`,
      ),
    ].find((one) => one !== null);
    return wrong == null ? { answer: operation.answer } : { wrong };
  }
}

/** All of a query and of a form is text. */
function textFaults(
  pairs: readonly (readonly [string, string])[],
  fields: Partial<Record<string, Field>>,
): (string | null)[] {
  return [...new Set(pairs.map(([name]) => name))].map((name) => {
    const values = pairs.filter(([other]) => other === name).map(([, value]) => value);
    const field = fields[name];
    if (field === undefined) return `${name} is not known`;
    if (field.type !== 'array' && values.length > 1) return `${name} comes ${String(values.length)} times`;
    return values.map((value) => textFault(name, value, field)).find((one) => one !== null) ?? null;
  });
}

function textFault(name: string, value: string, field: Field): string | null {
  if (field.type === 'integer' && !/^-?\d+$/.test(value)) return `${name} is no integer`;
  if (field.type === 'number' && !/^-?\d+(\.\d+)?$/.test(value)) return `${name} is no number`;
  if (field.type === 'boolean' && !/^(true|false)$/.test(value)) return `${name} is no boolean`;
  return field.enum?.map(String).includes(value) === false ? `${name} cannot be ${value}` : null;
}

function jsonFault(name: string, value: unknown, field: Field | undefined): string | null {
  if (field === undefined) return `${name} is not known`;
  const type = Array.isArray(value)
    ? 'array'
    : field.type === 'integer' && Number.isInteger(value)
      ? 'integer'
      : typeof value;
  if (type !== field.type) return `${name} is no ${field.type}`;
  return field.enum?.includes(value as string) === false ? `${name} cannot be ${String(value)}` : null;
}
