export type CampaignStatusName = 'idle' | 'started' | 'paused' | 'finished' | 'failed';

/** A campaign of `/campaigns`. */
export interface Campaign {
  id: string;
  name: string;
  status: CampaignStatusName;
  /** Unix seconds. */
  created_at: number;
  caller: string | null;
  include_metadata_in_prompt: boolean;
}

/** Progress from `GET /campaigns/{id}/progress`. */
export interface CampaignProgressReply {
  status: CampaignStatusName;
  /** The reason of a failure. */
  reason: string | null;
  total: number;
  not_started: number;
  started: number;
  finished: number;
  failed: number;
  rejected: number;
  /** Calls in progress. */
  calls: number;
  /** Unix seconds; null = depends on events. */
  next_call_at: number | null;
  /** Why the next call waits; null = it does not, or there is none. */
  next_call_reason: string | null;
}

/** A person to call, with progress. */
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

/** The CSS class of a status. */
export function pillOf(status: CampaignStatusName): string {
  return status === 'started' ? 'running' : status === 'failed' ? 'failed' : '';
}

/** A record's metadata, for people. */
export function metadataText(metadata: CampaignRecord['metadata']): string {
  const values = Object.values(metadata).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return values.filter((value) => value !== '').join(', ');
}
