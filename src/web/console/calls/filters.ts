/** What is asked of the list of calls, as it stands in the address. */
export interface CallFilters {
  agent: string;
  status: string;
  number: string;
  /** The id of one; only links set it. */
  campaign: string;
  /** Local days, `2026-11-21`, both included. */
  from: string;
  to: string;
}

export const NO_FILTERS: CallFilters = { agent: '', status: '', number: '', campaign: '', from: '', to: '' };

export function filtersOf(search: string): CallFilters {
  const params = new URLSearchParams(search);
  const entries = Object.keys(NO_FILTERS).map((name) => [name, params.get(name) ?? '']);
  return Object.fromEntries(entries) as CallFilters;
}

/** As it stands in the address; empty = everything. */
export function searchOf(filters: CallFilters): string {
  return new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== '')).toString();
}

/** As `GET /call-logs` takes it. */
export function queryOf({ agent, status, number, campaign, from, to }: CallFilters): Record<string, string | number> {
  const start = dayMs(from, 0);
  const end = dayMs(to, 1);
  return {
    ...(agent !== '' && { agent_id: agent }),
    ...(status !== '' && { call_status: status }),
    ...(number.trim() !== '' && { phone_number: number.trim() }),
    ...(campaign !== '' && { campaign_id: campaign }),
    ...(start !== null && { start_time: start / 1000 }),
    ...(end !== null && { end_time: (end - 1) / 1000 }),
  };
}

/** When a local day begins, or (`later` = 1) the day after it. */
function dayMs(day: string, later: number): number | null {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day);
  if (match === null) return null;
  return new Date(Number(match[1]), Number(match[2]) - 1, Number(match[3]) + later).getTime();
}
