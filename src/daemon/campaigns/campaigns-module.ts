import { CampaignRecordStore } from '../../store/campaign-records.js';
import { CampaignStore } from '../../store/campaigns.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { Dialer } from '../calls/dialer.js';
import type { DaemonContext } from '../context.js';
import type { DaemonModule } from '../module.js';
import { campaignRoutes } from './campaign-routes.js';
import { Campaigns } from './campaigns.js';

/** Campaigns. They recover after the call log has closed the open calls of an earlier process, which count as attempts. */
export function campaignsModule(
  context: DaemonContext,
  { agents, dialer }: { agents: AgentRegistry; dialer: Dialer },
): DaemonModule {
  const { settings, clock, nowUnixMs, database, stores, faults, events, admission } = context;
  const campaigns = new Campaigns({
    agents,
    clock,
    phones: stores.phones,
    onError: faults.report,
    campaigns: new CampaignStore(database),
    records: new CampaignRecordStore(database),
    nowUnixMs,
    schedule: { ...settings.campaigns, timezone: settings.timezone },
    dial: (request) => dialer.dial(request),
    isOpen: () => admission.isOpen,
    endOf: (sessionId) => {
      const call = stores.calls.get(sessionId);
      return call === null ? null : { status: call.status, error: call.item.error_message };
    },
  });
  events.on('call.ended', (call) => campaigns.callEnded(call));
  return {
    name: 'campaigns',
    routes: (api) => campaignRoutes(api, campaigns, clock),
    recover: () => campaigns.recover(),
    resume: () => campaigns.resume(),
    stop: () => campaigns.shut(),
    close: () => campaigns.close(),
  };
}
