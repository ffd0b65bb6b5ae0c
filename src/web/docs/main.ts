import {
  byTag,
  type DocumentedEndpoint,
  kindOf,
  nameOf,
  type OpenApiDocument,
  resolve,
  type Schema,
  withoutNull,
} from './document.js';
import { el, prose } from '../shared/elements.js';
import { home } from '../shared/home.js';
import { SNIPPETS } from './snippets.js';

const KEY = 'parley.key';

function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

const keyField = byId('key') as HTMLInputElement;
keyField.value = sessionStorage.getItem(KEY) ?? '';
keyField.addEventListener('input', () => sessionStorage.setItem(KEY, keyField.value));

async function showPage(): Promise<void> {
  const response = await fetch('openapi.json');
  if (!response.ok) throw new Error(`The daemon answered ${String(response.status)}.`);
  const api = (await response.json()) as OpenApiDocument;
  const sections: HTMLElement[] = [];
  const contents: HTMLElement[] = [];
  for (const [tag, endpoints] of byTag(api)) {
    const links = endpoints.map((endpoint) =>
      el('a', { href: `#${endpoint.operationId}` }, badge(endpoint.method), el('span', {}, endpoint.path)),
    );
    contents.push(el('section', {}, el('h2', {}, tag), ...links));
    sections.push(el('section', {}, el('h2', {}, tag), ...endpoints.map((endpoint) => card(endpoint, api))));
  }
  byId('contents').replaceChildren(...contents);
  byId('endpoints').replaceChildren(...sections);
  if (location.hash !== '') open(location.hash.slice(1));
}

function badge(method: string): HTMLElement {
  return el('span', { class: `method ${method.toLowerCase()}` }, method);
}

function card(endpoint: DocumentedEndpoint, api: OpenApiDocument): HTMLElement {
  const { operationId, method, path, summary, security } = endpoint;
  const details = el(
    'details',
    { class: 'endpoint', id: operationId },
    el(
      'summary',
      {},
      badge(method),
      el('code', {}, path),
      el('span', { class: 'what' }, ...prose(summary)),
      ...(security?.length === 0 ? [el('span', { class: 'quiet' }, 'no private key')] : []),
    ),
  );
  details.addEventListener('toggle', () => details.append(inside(endpoint, api)), { once: true });
  return details;
}

function inside(endpoint: DocumentedEndpoint, api: OpenApiDocument): HTMLElement {
  const { description, parameters = [], requestBody, responses } = endpoint;
  const parts: HTMLElement[] = [];
  if (description !== undefined) parts.push(el('p', {}, ...prose(description)));
  if (parameters.length > 0) {
    const properties = Object.fromEntries(
      parameters.map(({ name, schema, description: text, in: place }): [string, Schema] => [
        name,
        { ...schema, description: [place === 'query' ? '' : `In the ${place}.`, text].filter(Boolean).join(' ') },
      ]),
    );
    const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
    parts.push(el('h3', {}, 'Parameters'), schemaView({ type: 'object', properties, required }, api));
  }
  for (const [type, { schema }] of Object.entries(requestBody?.content ?? {})) {
    parts.push(el('h3', {}, 'Body ', el('span', { class: 'quiet' }, type)), schemaView(schema, api));
  }
  parts.push(el('h3', {}, 'Answers'));
  for (const [status, { description: text, content = {} }] of Object.entries(responses)) {
    const [type, media] = Object.entries(content)[0] ?? ['', {}];
    const shown = status === '200' && media.schema !== undefined ? [schemaView(media.schema, api)] : [];
    const kind = media.schema === undefined ? type : status === '200' ? kindOf(media.schema) : '';
    parts.push(
      el('p', { class: 'answer-kind' }, el('b', {}, status), ` ${text} `, el('span', { class: 'kind' }, kind)),
      ...shown,
      ...(status === '200' && media.example !== undefined ? [exampleView(media.example)] : []),
    );
  }
  if (requestBody === undefined || 'application/json' in requestBody.content) {
    parts.push(
      el('h3', {}, 'Try it'),
      tryOut(endpoint, () => keyField.value),
    );
  }
  return el('div', { class: 'inside' }, ...parts);
}

/** An example answer, collapsed because it may be long. */
function exampleView(example: unknown): HTMLElement {
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
  return el('details', {}, el('summary', { class: 'quiet' }, 'Example'), el('pre', { class: 'answer' }, text));
}

function open(id: string): void {
  const found = document.getElementById(id);
  if (!(found instanceof HTMLDetailsElement)) return;
  found.open = true;
  found.scrollIntoView();
}

window.addEventListener('hashchange', () => open(location.hash.slice(1)));
byId('filter').addEventListener('input', (event) => {
  const wanted = (event.target as HTMLInputElement).value.trim().toLowerCase();
  for (const link of document.querySelectorAll<HTMLElement>('#contents a, details.endpoint')) {
    const text = (link.matches('a') ? link : link.querySelector('summary'))?.textContent.toLowerCase() ?? '';
    link.hidden = !text.includes(wanted);
  }
  for (const group of document.querySelectorAll<HTMLElement>('#contents section, #endpoints section')) {
    group.hidden = group.querySelector('a:not([hidden]), details.endpoint:not([hidden])') === null;
  }
});

/** Shows the document, or an error with a way to retry. */
async function load(): Promise<void> {
  const place = byId('endpoints');
  place.replaceChildren(el('p', { class: 'quiet', role: 'status' }, 'Loading …'));
  try {
    await showPage();
  } catch (error) {
    // The messages of `fetch` errors are not for people.
    const isAnswered = error instanceof Error && !(error instanceof TypeError);
    const why = isAnswered ? error.message : 'The daemon does not answer.';
    const again = el('button', { type: 'button' }, 'Try again');
    again.addEventListener('click', () => void load());
    place.replaceChildren(el('p', { role: 'alert' }, why), again);
  }
}

void load();

/** An object's members as a table; nested objects open on demand. */
function schemaView(raw: Schema, document: OpenApiDocument): HTMLElement {
  const schema = resolve(withoutNull(raw).schema, document);
  if (schema.type === 'array' && schema.items !== undefined) {
    return el('div', {}, el('p', { class: 'quiet' }, kindOf(raw)), schemaView(schema.items, document));
  }
  const members = Object.entries(schema.properties ?? {});
  if (members.length === 0) return el('p', {}, el('code', {}, kindOf(raw)), ' ', ...prose(schema.description ?? ''));
  const required = new Set(schema.required);
  const rows = members.map(([name, member]) => row(name, member, required.has(name), document));
  return el('div', { class: 'members' }, ...rows);
}

function row(name: string, member: Schema, isRequired: boolean, document: OpenApiDocument): HTMLElement {
  const notes = [
    ...(member['x-unit'] === undefined ? [] : [`unit: ${member['x-unit']}`]),
    ...(member['x-default'] === undefined ? [] : [`default: ${String(member['x-default'])}`]),
  ];
  const head = [
    el('code', { class: 'name' }, name),
    ' ',
    el('span', { class: 'kind' }, kindOf(member)),
    ...(isRequired ? [' ', el('span', { class: 'required' }, 'required')] : []),
    el(
      'span',
      { class: 'effect' },
      ...prose(member.description ?? ''),
      notes.length > 0 ? ` (${notes.join('; ')})` : '',
    ),
  ];
  const inner = below(member, document);
  if (inner === null) return el('div', { class: 'member' }, ...head);
  const details = el('details', { class: 'member' }, el('summary', {}, ...head));
  // Nested objects are created when they are opened, because a configuration is deep.
  details.addEventListener('toggle', () => details.append(schemaView(inner, document)), { once: true });
  return details;
}

/** The object of a member, if any. */
function below(member: Schema, document: OpenApiDocument): Schema | null {
  const { schema } = withoutNull(member);
  for (const choice of schema.anyOf ?? schema.oneOf ?? [schema]) {
    const found = resolve(choice, document);
    if (found.type === 'array' && found.items !== undefined) return below(found.items, document);
    if (found.properties !== undefined) return nameOf(choice) === null ? found : choice;
  }
  return null;
}

/** A form that sends a request, shows it as code, and shows the answer as it arrives. */
function tryOut(endpoint: DocumentedEndpoint, key: () => string): HTMLElement {
  const fields = (endpoint.parameters ?? [])
    .filter(({ in: place }) => place !== 'header')
    .map((parameter) => ({
      parameter,
      input: el('input', { placeholder: parameter.required ? 'required' : '', spellcheck: 'false' }),
    }));
  const json = endpoint.requestBody?.content['application/json'];
  const body = json === undefined ? null : el('textarea', { rows: '8', spellcheck: 'false' });
  if (body !== null) body.value = JSON.stringify(json?.example, null, 2);
  const command = el('pre', { class: 'curl' });
  const language = el(
    'select',
    { 'aria-label': 'Language of the code' },
    ...Object.keys(SNIPPETS).map((name) => el('option', {}, name)),
  );
  const send = el('button', { type: 'submit' }, 'Send');
  const stop = el('button', { type: 'button', hidden: '' }, 'Stop');
  const status = el('p', { class: 'status', role: 'status' });
  const answer = el('pre', { class: 'answer', hidden: '' });

  const address = (): string => {
    let path = endpoint.path;
    const query = new URLSearchParams();
    for (const { parameter, input } of fields) {
      if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
      else if (input.value !== '') query.set(parameter.name, input.value);
    }
    return home() + path + (query.size === 0 ? '' : `?${query.toString()}`);
  };
  const show = (): void => {
    command.textContent = SNIPPETS[language.value]?.({ endpoint, address: address(), body: body?.value ?? null }) ?? '';
  };
  let abort = new AbortController();
  stop.addEventListener('click', () => abort.abort());

  const form = el(
    'form',
    { class: 'try' },
    ...fields.map(({ parameter, input }) => el('label', {}, parameter.name, input)),
    ...(body === null ? [] : [el('label', {}, 'body', body)]),
    language,
    command,
    el('div', { class: 'actions' }, send, stop),
    status,
    answer,
  );
  form.addEventListener('input', show);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    abort = new AbortController();
    send.disabled = true;
    stop.hidden = false;
    answer.hidden = false;
    answer.textContent = '';
    status.textContent = '…';
    const headers = new Headers();
    if (endpoint.security?.length !== 0) headers.set('authorization', key());
    if (body !== null) headers.set('content-type', 'application/json');
    const init = { method: endpoint.method, headers, body: body?.value ?? null, signal: abort.signal };
    const request = new Request(address(), init);
    void run(request, status, answer).finally(() => {
      send.disabled = false;
      stop.hidden = true;
    });
  });
  show();
  return form;
}

async function run(request: Request, status: HTMLElement, answer: HTMLElement): Promise<void> {
  try {
    const response = await fetch(request);
    status.textContent = `${String(response.status)} ${response.statusText}`;
    const type = response.headers.get('content-type') ?? '';
    if (type.startsWith('application/json')) {
      answer.textContent = JSON.stringify(await response.json(), null, 2);
    } else if (type.startsWith('audio/')) {
      const url = URL.createObjectURL(await response.blob());
      answer.replaceChildren(el('audio', { controls: '', src: url }));
    } else if (response.body !== null) {
      const text = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await text.read(); !piece.done; piece = await text.read()) answer.append(piece.value);
    }
  } catch (error) {
    const stopped = error instanceof DOMException && error.name === 'AbortError';
    status.textContent = stopped ? 'stopped' : `The daemon could not be reached: ${String(error)}`;
  }
}
