import { el } from '../../shared/elements.js';
import { actionForm, labelled } from '../actions.js';
import { card, empty, Loaded, type View, type ViewOptions } from '../view.js';
import { wholeTime } from '../words.js';
import { type Campaign, type CampaignStatusName, pillOf, CampaignProgressBar } from './campaign.js';

/** All campaigns, with their progress. */
export function campaignsView({ api }: ViewOptions): View {
  const bars: CampaignProgressBar[] = [];
  const closeBars = (): void => {
    for (const bar of bars.splice(0)) bar.close();
  };
  const list = new Loaded('Loading campaigns', async () => {
    const campaigns = await api.get<Campaign[]>('/campaigns');
    closeBars();
    if (campaigns.length === 0)
      return [empty('No campaigns yet. A campaign has an agent call a list of people. Make one below.')];
    const items = campaigns.map((campaign) => {
      const pill = el('span', {});
      showStatus(pill, campaign.status);
      // Only running campaigns change by themselves.
      if (campaign.status !== 'started') return campaignItem(campaign, pill);
      const bar = new CampaignProgressBar(api, campaign.id, ({ status }) => showStatus(pill, status));
      bars.push(bar);
      return campaignItem(campaign, pill, bar.element);
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
    close: closeBars,
  };
}

function showStatus(pill: HTMLElement, status: CampaignStatusName): void {
  pill.className = `pill ${pillOf(status)}`;
  pill.textContent = status;
}

function campaignItem(
  { id, name, caller, created_at: at }: Campaign,
  pill: HTMLElement,
  ...more: HTMLElement[]
): HTMLElement {
  const from = caller === null ? 'no caller number yet' : `calls from ${caller}`;
  return el(
    'li',
    { class: 'item' },
    el('div', {}, el('a', { href: `#/campaigns/${encodeURIComponent(id)}` }, el('b', {}, name))),
    pill,
    el('p', { class: 'soft' }, `${from} · made ${wholeTime(at)}`),
    ...more,
  );
}
