import { el } from '../../shared/elements.js';
import { Loaded, type View, type ViewOptions } from '../view.js';
import { wholeTime } from '../words.js';

/** A daemon, from `GET /nodes`. */
interface Node {
  id: string;
  address: string;
  version: string;
  state: 'live' | 'draining' | 'silent';
  sessions: number;
  capacity: number;
  started_at: number;
  heartbeat_ago: number;
  this_node: boolean;
}

/** How often it is shown anew. */
const REFRESH_MS = 3_000;

const PILLS = { live: '', draining: 'running', silent: 'failed' } as const;

const FIGURES: ReadonlySet<string> = new Set(['Sessions', 'Heartbeat']);

const ABOUT =
  'The daemons that share this database. Any of them answers any request; a call stays on the one that took it. The calls ' +
  'of a silent one are closed by another.';

/** The daemons that share the database. */
export function nodesView({ api }: ViewOptions): View {
  const list = new Loaded('Loading nodes', async () => [table(await api.get<Node[]>('/nodes'))]);
  const timer = setInterval(() => void list.refresh(), REFRESH_MS);
  const element = el('div', { class: 'stack' }, el('h1', {}, 'Nodes'), el('p', { class: 'soft' }, ABOUT), list.element);
  return { element, title: 'Nodes', close: () => clearInterval(timer) };
}

function table(nodes: readonly Node[]): HTMLElement {
  const heads = ['State', 'Sessions', 'Version', 'Address', 'Heartbeat', 'Since', 'Id'];
  return el(
    'div',
    { class: 'scroll-x' },
    el(
      'table',
      { class: 'nodes' },
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          ...heads.map((head) => el('th', { scope: 'col', class: `soft ${FIGURES.has(head) ? 'figure' : ''}` }, head)),
        ),
      ),
      el('tbody', {}, ...nodes.map(row)),
    ),
  );
}

function row(node: Node): HTMLElement {
  const { id, address, version, state, sessions, capacity, started_at: since, heartbeat_ago: ago } = node;
  return el(
    'tr',
    {},
    el('td', {}, el('span', { class: `pill ${PILLS[state]}` }, state)),
    el('td', { class: 'figure' }, `${String(sessions)} of ${String(capacity)}`),
    el('td', {}, version),
    el(
      'td',
      {},
      el('code', {}, address),
      ...(node.this_node ? [' ', el('span', { class: 'soft' }, 'answers you')] : []),
    ),
    el('td', { class: 'figure' }, `${ago.toFixed(1)} s ago`),
    el('td', {}, wholeTime(since)),
    el('td', {}, el('code', { class: 'soft' }, id)),
  );
}
