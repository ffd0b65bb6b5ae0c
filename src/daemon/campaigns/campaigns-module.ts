import { CampaignCallStore } from '../../store/campaign-calls.js';
import { CampaignRecordStore } from '../../store/campaign-records.js';
import { CampaignStore, type StoredCampaign } from '../../store/campaigns.js';
import type { CampaignSchedule } from '../../settings/campaign-schedule.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { RecordStarts } from '../calls/dial.js';
import { type Dialer, isAllowed } from '../calls/dialer.js';
import type { CallBacks } from '../queues/call-backs.js';
import { readPhoneNumber } from './upload.js';
import type { DaemonContext } from '../context.js';
import type { DaemonModule } from '../module.js';
import { CampaignCalls } from './campaign-calls.js';
import { campaignRoutes } from './campaign-routes.js';
import { Campaigns } from './campaigns.js';

/** Campaigns. */
export interface CampaignsModule extends DaemonModule {
  /** For the transaction that places a call. */
  readonly records: RecordStarts;
  readonly callBacks: CallBacks;
}

/** How often a node looks for what others have changed and notifications have not told, ms. */
const POLL_MS = 1_000;

/** Campaigns. They recover after the call log has closed the open calls of an earlier process, which count as attempts. */
export function campaignsModule(
  context: DaemonContext,
  { agents, dialer }: { agents: AgentRegistry; dialer: Dialer },
): CampaignsModule {
  const { settings, clock, nowUnixMs, database, stores, faults, events, changes, admission } = context;
  const defaults: CampaignSchedule = { ...settings.campaigns, timezone: settings.timezone };
  const scheduleOf = ({ overrides }: StoredCampaign): CampaignSchedule => ({ ...defaults, ...overrides });
  const calls = new CampaignCallStore(database, context.node);
  const parts = new CampaignCalls({ calls, scheduleOf });
  const isShared = database.dialect !== 'sqlite';
  const campaigns = new Campaigns({
    agents,
    clock,
    calls,
    parts,
    scheduleOf,
    phones: stores.phones,
    onError: faults.report,
    campaigns: new CampaignStore(database),
    records: new CampaignRecordStore(database),
    nowUnixMs,
    pollMs: isShared ? POLL_MS : null,
    dial: (request) => dialer.dial(request),
    isOpen: () => admission.isOpen,
    endOf: async (sessionId) => {
      const call = await stores.calls.get(sessionId);
      if (call === null) return null;
      return call.endedUs === null ? 'open' : { status: call.status, error: call.item.error_message };
    },
  });
  events.within((call) => parts.ended(call));
  events.on('call.ended', (call) => campaigns.callEnded(call));
  const unwatch = changes.on('campaigns', async () => campaigns.changedElsewhere());
  return {
    name: 'campaigns',
    records: parts,
    callBacks: {
      read: async (text, near) => {
        const read = await readPhoneNumber(text.replace(/^(?:00|011)/, '+'), near);
        if (!('number' in read) || (await stores.doNotCall.has(read.number))) return null;
        return isAllowed(read.number, settings.calls.allowedPrefixes) ? read.number : null;
      },
      add: ({ queueId, campaign, from, to, metadata }) =>
        campaigns.callSoon(campaign, { name: `Call backs of ${queueId}`, caller: from, to, metadata }),
      wake: () => campaigns.wake(),
    },
    routes: (api) => campaignRoutes(api, campaigns, clock),
    recover: () => (isShared ? undefined : campaigns.recover()),
    takeOver: (nodeId) => campaigns.recoverOf(nodeId),
    resume: () => campaigns.resume(),
    stop: () => campaigns.shut(),
    close: () => {
      unwatch();
      return campaigns.close();
    },
  };
}
