/** The filters of the call list, as in the page's address. */
export interface CallFilters {
  agent: string;
  status: string;
  number: string;
  /** A campaign's id; set only by links. */
  campaign: string;
  /** Local days, `2026-11-21`, inclusive. */
  from: string;
  to: string;
}

export const NO_FILTERS: CallFilters = { agent: '', status: '', number: '', campaign: '', from: '', to: '' };

export function filtersOf(search: string): CallFilters {
  const params = new URLSearchParams(search);
  const entries = Object.keys(NO_FILTERS).map((name) => [name, params.get(name) ?? '']);
  return Object.fromEntries(entries) as CallFilters;
}

/** For the page's address; empty = no filter. */
export function searchOf(filters: CallFilters): string {
  return new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== '')).toString();
}

/** For `GET /call-logs`. */
export function queryOf({
  agent,
  status,
  number,
  campaign,
  from,
  to,
}: CallFilters): Record<string, string | number | undefined> {
  const start = dayMs(from, 0);
  const end = dayMs(to, 1);
  return {
    agent_id: given(agent),
    call_status: given(status),
    phone_number: given(number.trim()),
    campaign_id: given(campaign),
    start_time: start === null ? undefined : start / 1000,
    end_time: end === null ? undefined : (end - 1) / 1000,
  };
}

function given(text: string): string | undefined {
  return text === '' ? undefined : text;
}

/** Start of a local day, or (`later` = 1) of the next day. */
function dayMs(day: string, later: number): number | null {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day);
  if (match === null) return null;
  return new Date(Number(match[1]), Number(match[2]) - 1, Number(match[3]) + later).getTime();
}

/** The calls of both lists, newest first; the fresh page wins. */
export function mergedCalls<T extends { session_id: string; ts: number }>(
  known: readonly T[],
  fresh: readonly T[],
): T[] {
  const ids = new Set(fresh.map(({ session_id: id }) => id));
  return [...fresh, ...known.filter(({ session_id: id }) => !ids.has(id))].sort((a, b) => b.ts - a.ts);
}
