import { CampaignRecordStore } from '../../store/campaign-records.js';
import { CampaignStore } from '../../store/campaigns.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { RecordStarts } from '../calls/dial.js';
import type { Dialer } from '../calls/dialer.js';
import { type DaemonContext, sqliteOf } from '../context.js';
import type { DaemonModule } from '../module.js';
import { campaignRoutes } from './campaign-routes.js';
import { Campaigns } from './campaigns.js';

export interface CampaignsModule extends DaemonModule {
  readonly records: RecordStarts;
}

/** Campaigns. They recover after the call log has closed the open calls of an earlier process, which count as attempts. */
export function campaignsModule(
  context: DaemonContext,
  { agents, dialer }: { agents: AgentRegistry; dialer: Dialer },
): CampaignsModule {
  const { settings, clock, nowUnixMs, stores, faults, events, admission } = context;
  const sqlite = sqliteOf(context);
  const campaigns = new Campaigns({
    agents,
    clock,
    phones: stores.phones,
    onError: faults.report,
    campaigns: new CampaignStore(sqlite),
    records: new CampaignRecordStore(sqlite),
    nowUnixMs,
    schedule: { ...settings.campaigns, timezone: settings.timezone },
    dial: (request) => dialer.dial(request),
    isOpen: () => admission.isOpen,
    endOf: async (sessionId) => {
      const call = await stores.calls.get(sessionId);
      return call === null ? null : { status: call.status, error: call.item.error_message };
    },
  });
  // oxlint-disable-next-line require-yield -- the stores of campaigns write to SQLite at once
  events.within(function* (call) {
    if (call.endedUs !== null) campaigns.callEnded(call);
  });
  return {
    name: 'campaigns',
    records: {
      // oxlint-disable-next-line require-yield -- as above
      begin: function* (seq, sessionId) {
        return campaigns.begin(seq, sessionId);
      },
    },
    routes: (api) => campaignRoutes(api, campaigns, clock),
    recover: () => campaigns.recover(),
    resume: () => campaigns.resume(),
    stop: () => campaigns.shut(),
    close: () => campaigns.close(),
  };
}
