import type { DocumentedEndpoint } from './document.js';
import { el } from '../shared/elements.js';
import { SNIPPETS } from './snippets.js';

/** A form that sends a request, shows it as code, and shows the answer as it arrives. */
export function tryOut(endpoint: DocumentedEndpoint, key: () => string): HTMLElement {
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
    return location.origin + path + (query.size === 0 ? '' : `?${query.toString()}`);
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
