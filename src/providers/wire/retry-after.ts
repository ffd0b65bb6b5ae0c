type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** `Date.parse` would also read a plain number as a year. */
const HTTP_DATE = /^[a-z]{3}, \d{2} [a-z]{3} \d{4} [\d:]{8} GMT$/i;

/**
 * How long a server asks its client to wait, in ms: `retry-after-ms` (OpenAI, Azure), or `retry-after` in seconds or as
 * a date (RFC 9110, section 10.2.3). Null = it does not say.
 * @param nowUnixMs milliseconds since 1970, for dates
 */
export function retryAfterMs(headers: Headers, nowUnixMs: number): number | null {
  const exact = numberIn(headers['retry-after-ms']);
  if (exact !== null) return exact;
  const seconds = numberIn(headers['retry-after']);
  if (seconds !== null) return seconds * 1000;
  const date = headers['retry-after'];
  if (typeof date !== 'string' || !HTTP_DATE.test(date)) return null;
  const atMs = Date.parse(date);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowUnixMs);
}

function numberIn(value: string | string[] | undefined): number | null {
  if (typeof value !== 'string' || !/^\s*\d+(\.\d+)?\s*$/.test(value)) return null;
  return Number(value);
}
