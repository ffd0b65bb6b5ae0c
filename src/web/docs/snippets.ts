import type { DocumentedEndpoint } from './document.js';

/** A request to show as code. `body` is JSON text; null = none. */
export interface SnippetRequest {
  endpoint: Pick<DocumentedEndpoint, 'method' | 'security' | 'responses'>;
  address: string;
  body: string | null;
}

/** The same request in each language; the key comes from the environment. */
export const SNIPPETS: Readonly<Record<string, (request: SnippetRequest) => string>> = {
  curl,
  JavaScript: javaScript,
  Python: python,
};

function curl({ endpoint, address, body }: SnippetRequest): string {
  const { method } = endpoint;
  const parts = [
    `curl${isStream(endpoint) ? ' -N' : ''}${method === 'GET' ? '' : ` -X ${method}`} ${quoted(address)}`,
    ...(needsKey(endpoint) ? ['-H "authorization: $PARLEY_API_KEY"'] : []),
    ...(body === null ? [] : ["-H 'content-type: application/json'", `-d ${quoted(body)}`]),
  ];
  return parts.join(' \\\n  ');
}

/** A module for Node 18 and later; in a page the key would be visible. */
function javaScript({ endpoint, address, body }: SnippetRequest): string {
  const headers = [
    ...(needsKey(endpoint) ? ['authorization: process.env.PARLEY_API_KEY'] : []),
    ...(body === null ? [] : ["'content-type': 'application/json'"]),
  ];
  const options = [
    ...(endpoint.method === 'GET' ? [] : [`  method: '${endpoint.method}',`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...(body === null ? [] : [`  body: JSON.stringify(${indented(pretty(body))}),`]),
  ];
  const call = options.length === 0 ? '' : `, {\n${options.join('\n')}\n}`;
  const read = isStream(endpoint)
    ? [
        'for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {',
        '  process.stdout.write(piece);',
        '}',
      ]
    : ['console.log(response.status, await response.text());'];
  return [`const response = await fetch(${JSON.stringify(address)}${call});`, ...read].join('\n');
}

function python({ endpoint, address, body }: SnippetRequest): string {
  const headers = [
    ...(needsKey(endpoint) ? ['"authorization": os.environ["PARLEY_API_KEY"]'] : []),
    ...(body === null ? [] : ['"content-type": "application/json"']),
  ];
  const read = isStream(endpoint)
    ? ['        for line in response:', '            print(line.decode(), end="", flush=True)']
    : ['        print(response.status, response.read().decode())'];
  return [
    'import json, os, urllib.error, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(address)},`,
    `    method="${endpoint.method}",`,
    ...(headers.length === 0 ? [] : [`    headers={${headers.join(', ')}},`]),
    ...(body === null ? [] : [`    data=json.dumps(${pythonBody(body)}).encode(),`]),
    ')',
    'try:',
    '    with urllib.request.urlopen(request) as response:',
    ...read,
    'except urllib.error.HTTPError as error:',
    '    print(error.code, error.read().decode())',
  ].join('\n');
}

function needsKey({ security }: SnippetRequest['endpoint']): boolean {
  return security?.length !== 0;
}

function isStream({ responses }: SnippetRequest['endpoint']): boolean {
  return Object.keys(responses['200']?.content ?? {}).includes('text/event-stream');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Invalid JSON, while it is edited, stays unchanged. */
function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function pythonBody(body: string): string {
  try {
    return indented(indented(pythonOf(JSON.parse(body), '')));
  } catch {
    return body;
  }
}

function indented(text: string): string {
  return text.replaceAll('\n', '\n  ');
}

/** Python has other words for three of JSON's values; strings are equal. */
function pythonOf(value: unknown, indent: string): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}  `;
  const items = Array.isArray(value)
    ? value.map((item) => pythonOf(item, inner))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${pythonOf(member, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return items.length === 0
    ? `${open}${close}`
    : `${open}\n${items.map((item) => inner + item).join(',\n')}\n${indent}${close}`;
}
