import { el } from '../../shared/elements.js';
import { actionButton } from '../actions.js';
import type { ConsoleApi } from '../api.js';
import { card, Loaded } from '../view.js';

/** A server of the settings, from `GET /mcp/servers`. */
interface Server {
  server: string;
  url: string;
  state: 'open' | 'authorized' | 'needed';
  grant: 'authorization_code' | 'client_credentials';
  scopes: readonly string[];
  wanted: readonly string[] | null;
}

const STATES = { open: 'no authorization asked', authorized: 'authorized', needed: 'needs authorization' } as const;

const ABOUT = 'Their tools are the agents’. Some want that you let parley use them: you agree on their page, once.';

/** The MCP servers that may want authorization; nothing is shown where there are none. */
export function mcpServers(api: ConsoleApi): HTMLElement {
  const section = el('div', { hidden: '' });
  const list = new Loaded('Loading MCP servers', async () => {
    const servers = await api.get<Server[]>('/mcp/servers');
    section.hidden = servers.length === 0;
    return [el('ol', { class: 'calls' }, ...servers.map(item))];
  });
  section.append(card('MCP servers', el('p', { class: 'soft' }, ABOUT), list.element));

  function item({ server, url, state, grant, scopes, wanted }: Server): HTMLElement {
    const path = `/mcp/servers/${encodeURIComponent(server)}`;
    const words = [url, ...(wanted ?? scopes)].join(' · ');
    const authorize = async (): Promise<void> => {
      const { url: place } = await api.send<{ url: string }>('POST', `${path}/authorize`);
      location.assign(place);
    };
    const forget = async (): Promise<void> => {
      await api.send('DELETE', `${path}/authorization`);
      await list.refresh();
    };
    const actions = [
      ...(grant === 'authorization_code' && state !== 'authorized'
        ? [actionButton('Authorize', authorize, { label: `Authorize at ${server}` })]
        : []),
      ...(state === 'open'
        ? []
        : [
            actionButton('Forget', forget, {
              class: 'quiet-button danger',
              confirm: 'Really forget?',
              label: `Forget the authorization at ${server}`,
            }),
          ]),
    ];
    return el(
      'li',
      { class: 'item' },
      el('div', {}, el('b', {}, server)),
      el('span', { class: state === 'needed' ? 'pill failed' : 'pill' }, STATES[state]),
      el('p', { class: 'soft' }, words),
      ...actions,
    );
  }

  return section;
}
