import type Database from 'better-sqlite3';
import type { Settings } from '../../settings/settings.js';
import type { Engine } from '../../engine/engine.js';
import { CampaignRecordStore } from '../../store/campaign-records.js';
import { CampaignStore } from '../../store/campaigns.js';
import type { CallStore } from '../../store/calls.js';
import type { PhoneStore } from '../../store/phones.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { Dialer } from '../calls/dialer.js';
import type { AdmissionGate } from '../http/admission-gate.js';
import { Campaigns } from './campaigns.js';

export interface OpenCampaignsOptions {
  settings: Pick<Settings, 'campaigns' | 'timezone'>;
  database: Database.Database;
  engine: Pick<Engine, 'clock'>;
  agents: AgentRegistry;
  phones: PhoneStore;
  /** Those of an earlier process must have been closed in it. */
  calls: CallStore;
  dialer: Dialer;
  doors: AdmissionGate;
  nowUnixMs: () => number;
  onError: (error: Error) => void;
}

/** The daemon's campaigns, on its database and its dialer. */
export function openCampaigns(options: OpenCampaignsOptions): Campaigns {
  const { settings, database, engine, agents, phones, calls, dialer, doors, nowUnixMs, onError } = options;
  return new Campaigns({
    agents,
    phones,
    onError,
    campaigns: new CampaignStore(database),
    records: new CampaignRecordStore(database),
    clock: engine.clock,
    nowUnixMs,
    schedule: { ...settings.campaigns, timezone: settings.timezone },
    dial: (request) => dialer.dial(request),
    isOpen: () => doors.isOpen,
    endOf: (sessionId) => {
      const call = calls.get(sessionId);
      return call === null ? null : { status: call.status, error: call.item.error_message };
    },
  });
}
