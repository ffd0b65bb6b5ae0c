import { agentsView } from './agents/agents-view.js';
import { ConsoleApi } from './api.js';
import { callView } from './calls/call-view.js';
import { callsView } from './calls/calls-view.js';
import { campaignView } from './campaigns/campaign-view.js';
import { campaignsView } from './campaigns/campaigns-view.js';
import { keysView } from './keys/keys-view.js';
import { knowledgeView } from './knowledge/knowledge-view.js';
import { nodesView } from './nodes/nodes-view.js';
import { numbersView } from './numbers/numbers-view.js';
import { laterView, type View, type ViewOptions } from './view.js';
import { el } from '../shared/elements.js';

const EVALS = 'console-evals.css';
const PLACES: Readonly<Record<string, { list: (options: ViewOptions) => View; one: (options: ViewOptions) => View }>> =
  {
    calls: { list: callsView, one: callView },
    agents: { list: agentsView, one: laterAgentView },
    active: { list: laterActiveView, one: laterActiveView },
    live: { list: laterLiveView, one: laterLiveView },
    evals: {
      list: (options) =>
        laterView('Evals', async () => (await import('./evals/evals-view.js')).evalsView(options), EVALS),
      one: (options) =>
        laterView('Evals', async () => (await import('./evals/evals-view.js')).evalView(options), EVALS),
    },
    campaigns: { list: campaignsView, one: campaignView },
    numbers: { list: numbersView, one: numbersView },
    knowledge: { list: knowledgeView, one: knowledgeView },
    nodes: { list: nodesView, one: nodesView },
    keys: { list: keysView, one: keysView },
  };

function laterAgentView(options: ViewOptions): View {
  return laterView('Agent', async () => (await import('./agents/agent-view.js')).agentView(options));
}

/** With the code of calls, which most visits do not need. */
function laterLiveView(options: ViewOptions): View {
  return laterView('Live', async () => (await import('./live/live-view.js')).liveView(options));
}

function laterActiveView(options: ViewOptions): View {
  const load = async (): Promise<View> => (await import('./active/active-view.js')).activeView(options);
  return laterView('Active calls', load, 'console-active.css');
}

/** The console: shows one view, by the address after `#`. */
class Console {
  readonly #api = new ConsoleApi();
  readonly #root = byId('view');
  readonly #forget = byId('forget');
  #view: View | null = null;
  /** The address of the current view. */
  #hash = '';

  constructor() {
    this.#api.onLocked = () => this.#lock(this.#api.key === '' ? null : 'The daemon does not know this key.');
    this.#forget.addEventListener('click', () => {
      this.#api.key = '';
      this.#lock(null);
    });
    addEventListener('hashchange', () => this.#onHash());
    addEventListener('pagehide', () => this.#view?.close());
    this.#go();
  }

  /** Leaving unsaved changes asks for confirmation; staying restores the address. */
  #onHash(): void {
    if (location.hash === this.#hash) return;
    if (this.#view?.isUnsaved?.() === true && !confirm('Your changes are not saved. Leave and lose them?')) {
      history.pushState(null, '', this.#hash);
      return;
    }
    this.#go();
  }

  #go(): void {
    this.#hash = location.hash;
    if (this.#api.key === '') {
      this.#lock(null);
      return;
    }
    const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?');
    const [place = '', ...rest] = path.split('/');
    const views = PLACES[place];
    if (views === undefined) {
      location.replace('#/calls');
      return;
    }
    const id = decodeURIComponent(rest.join('/'));
    const options = { api: this.#api, path: id, search };
    this.#show(id === '' ? views.list(options) : views.one(options), place);
  }

  #lock(problem: string | null): void {
    this.#show(
      keyGate(problem, (key) => {
        this.#api.key = key;
        this.#go();
      }),
      null,
    );
  }

  #show(view: View, place: string | null): void {
    this.#view?.close();
    this.#view = view;
    document.title = `${view.title} – parley`;
    this.#forget.hidden = place === null;
    for (const link of document.querySelectorAll<HTMLAnchorElement>('#places a')) {
      link.toggleAttribute('aria-current', link.hash === `#/${place ?? ''}`);
    }
    byId('places').hidden = place === null;
    const hadFocus = this.#root.contains(document.activeElement);
    this.#root.replaceChildren(view.element);
    // The followed link is gone: the keyboard focus moves to the top of the new view.
    if (hadFocus && !this.#root.contains(document.activeElement)) this.#root.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

new Console();

/** Asks for the operator's private key. */
function keyGate(problem: string | null, onKey: (key: string) => void): View {
  const field = el('input', {
    id: 'key-field',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'sk_…',
    required: '',
    'aria-describedby': 'key-about',
  });
  const form = el(
    'form',
    { class: 'gate' },
    el('h1', {}, 'Console'),
    el('label', { for: 'key-field' }, 'Private key'),
    field,
    ...(problem === null ? [] : [el('p', { class: 'fault', role: 'alert' }, problem)]),
    el('button', { type: 'submit', class: 'main-button' }, 'Open'),
    el(
      'p',
      { class: 'soft', id: 'key-about' },
      'The daemon printed it at its first start; PARLEY_API_KEY sets one. It stays in this tab.',
    ),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (field.value.trim() !== '') onKey(field.value.trim());
  });
  queueMicrotask(() => field.focus());
  return { element: form, title: 'Console', close: () => undefined };
}
