import { byTag, type DocumentedEndpoint, kindOf, type OpenApiDocument, type Schema } from './document.js';
import { el, prose } from '../shared/elements.js';
import { schemaView } from './schema-view.js';
import { tryOut } from './try-out.js';

const KEY = 'parley.key';

function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

const keyField = byId('key') as HTMLInputElement;
keyField.value = sessionStorage.getItem(KEY) ?? '';
keyField.addEventListener('input', () => sessionStorage.setItem(KEY, keyField.value));

async function show(): Promise<void> {
  const response = await fetch('/openapi.json');
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
    await show();
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
