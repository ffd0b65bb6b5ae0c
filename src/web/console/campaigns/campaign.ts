export type CampaignStatusName = 'idle' | 'started' | 'paused' | 'finished' | 'failed';

/** A campaign as `/campaigns` lists it. */
export interface Campaign {
  id: string;
  name: string;
  status: CampaignStatusName;
  /** Unix seconds. */
  created_at: number;
  caller: string | null;
  include_metadata_in_prompt: boolean;
}

/** How far it is, as `GET /campaigns/{id}/progress` tells. */
export interface CampaignProgressReply {
  status: CampaignStatusName;
  /** Why it has failed. */
  reason: string | null;
  total: number;
  not_started: number;
  started: number;
  finished: number;
  failed: number;
  rejected: number;
  /** Calls that are under way. */
  calls: number;
  /** Unix seconds; null = that depends on what happens. */
  next_call_at: number | null;
  /** Why it is not placed now; null = it is, or none is to be. */
  next_call_reason: string | null;
}

/** Somebody whom it calls, and how far that is. */
export interface CampaignRecord {
  phone: string;
  metadata: Readonly<Record<string, unknown>>;
  session_id: string | null;
  call_status: 'not_started' | 'started' | 'finished' | 'failed' | 'rejected';
  attempts: number;
  next_call_at: number | null;
  reason: string | null;
}

export function campaignPath(id: string): string {
  return `/campaigns/${encodeURIComponent(id)}`;
}

/** The class of a pill. */
export function pillOf(status: CampaignStatusName): string {
  return status === 'started' ? 'running' : status === 'failed' ? 'failed' : '';
}

/** Values of a record's metadata, for people. */
export function metadataText(metadata: CampaignRecord['metadata']): string {
  const values = Object.values(metadata).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return values.filter((value) => value !== '').join(', ');
}
