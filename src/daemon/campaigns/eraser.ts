import type { Database } from 'better-sqlite3';
import { CampaignRecordStore } from '../../store/campaign-records.js';
import type { Eraser } from '../erasure.js';

/** Records of a number in all campaigns, and refusals of it; one that is being called stays. */
export function campaignEraser(database: Database): Eraser {
  const records = new CampaignRecordStore(database);
  return (number) => Promise.resolve({ campaign_records: records.erase(number) });
}
