import parameters from './parameters.json' with { type: 'json' };

interface Field {
  type: string;
  enum?: string[];
}

interface Operation {
  query: Partial<Record<string, Field>>;
  form: Partial<Record<string, Field>>;
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
 * What is wrong with a request by Twilio's OpenAPI description (`parameters.json` holds the parameters of the
 * operations that parley uses); null = nothing, and the status of its success.
 *
 * @param path below the account
 */
export function violation(
  method: string,
  path: string,
  query: URLSearchParams,
  form: readonly (readonly [string, string])[],
): { reason: string } | { answer: number } {
  const found = OPERATIONS.find((one) => one.method === method && one.pattern.test(path));
  if (found === undefined) return { reason: `no operation ${method} ${path}` };
  const { operation } = found;
  const wrong = [
    ...[...query].map(([name, value]) => fault(name, [value], operation.query[name])),
    ...[...new Set(form.map(([name]) => name))].map((name) =>
      fault(
        name,
        form.filter(([other]) => other === name).map(([, value]) => value),
        operation.form[name],
      ),
    ),
    ...operation.required.map((name) => (form.some(([other]) => other === name) ? null : `${name} is required`)),
  ].find((one) => one !== null);
  return wrong == null ? { answer: operation.answer } : { reason: wrong };
}

function fault(name: string, values: readonly string[], field: Field | undefined): string | null {
  if (field === undefined) return `${name} is not known`;
  if (field.type !== 'array' && values.length > 1) return `${name} comes ${String(values.length)} times`;
  for (const value of values) {
    if (field.type === 'integer' && !/^-?\d+$/.test(value)) return `${name} is no integer`;
    if (field.type === 'boolean' && !/^(true|false)$/.test(value)) return `${name} is no boolean`;
    if (field.enum !== undefined && !field.enum.includes(value)) return `${name} cannot be ${value}`;
  }
  return null;
}
