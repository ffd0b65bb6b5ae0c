import { el } from '../../docs/elements.js';
import { actionForm, labelled } from '../actions.js';
import { card, empty, Loaded, type View, type ViewOptions } from '../view.js';
import { wholeTime } from '../words.js';
import { type Campaign, pillOf } from './campaign.js';
import { ProgressBar } from './progress-bar.js';

/** All campaigns, each with how far it is. */
export function campaignsView({ api }: ViewOptions): View {
  let bars: ProgressBar[] = [];
  const closeBars = (): void => {
    for (const bar of bars.splice(0)) bar.close();
  };
  const list = new Loaded('Loading campaigns', async () => {
    const campaigns = await api.get<Campaign[]>('/campaigns');
    closeBars();
    if (campaigns.length === 0) return [empty('No campaigns yet. Make one below: it calls a list of people.')];
    // Only those that call change by themselves.
    const items = campaigns.map((campaign) => {
      const bar = campaign.status === 'started' ? new ProgressBar(api, campaign.id) : null;
      if (bar !== null) bars.push(bar);
      return campaignItem(campaign, bar);
    });
    return [el('ol', { class: 'calls' }, ...items)];
  });

  const name = el('input', { type: 'text', required: '', maxlength: '200' });
  const form = actionForm('Make a campaign', [labelled('Name', name)], 'Make', async () => {
    const { id } = await api.send<{ id: string }>('POST', '/campaigns', { name: name.value.trim() });
    location.hash = `#/campaigns/${encodeURIComponent(id)}`;
  });
  const element = el('div', { class: 'stack' }, el('h1', {}, 'Campaigns'), list.element, card('Make a campaign', form));
  return {
    element,
    title: 'Campaigns',
    close: () => {
      closeBars();
      bars = [];
    },
  };
}

function campaignItem({ id, name, status, caller, created_at: at }: Campaign, bar: ProgressBar | null): HTMLElement {
  return el(
    'li',
    { class: 'item' },
    el('div', {}, el('a', { href: `#/campaigns/${encodeURIComponent(id)}` }, el('b', {}, name))),
    el('span', { class: `pill ${pillOf(status)}` }, status),
    el(
      'p',
      { class: 'soft' },
      `${caller === null ? 'no caller number yet' : `calls from ${caller}`} · made ${wholeTime(at)}`,
    ),
    ...(bar === null ? [] : [bar.element]),
  );
}
