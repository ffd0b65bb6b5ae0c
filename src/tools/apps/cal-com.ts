import { parseJson } from '../../base/json.js';
import type { GuardedReply } from '../../net/guarded-client.js';
import { isMissing, readValue } from '../web-form.js';
import type { ToolResult } from '../tool.js';
import type { App, AppCall } from './app.js';

/** Conversion between instants and local times of a time zone, such as `2026-11-23T09:30`. */

const WALL = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?(Z|[+-]\d{2}:?\d{2})?$/;

/** The local time in `timezone` at an instant, to the minute; null for invalid text. */
export function wallTime(instant: string, timezone: string): string | null {
  const unixMs = Date.parse(instant);
  if (Number.isNaN(unixMs)) return null;
  return new Date(unixMs + offsetMs(unixMs, timezone)).toISOString().slice(0, 16);
}

/**
 * The instant of a local time as ISO 8601 in UTC; null if invalid. An explicit offset takes precedence. A time in a DST
 * gap moves to after the gap; of an ambiguous time the first is taken.
 */
export function utcOf(wall: string, timezone: string): string | null {
  const [text, year, month, day, hour, minute, second = '0', zone] = WALL.exec(wall.trim()) ?? [];
  if (text === undefined) return null;
  if (zone !== undefined) return isoOf(Date.parse(text));
  const [y, mo, d, h, mi, s] = [year, month, day, hour, minute, second].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const asUtcMs = Date.UTC(y, mo - 1, d, h, mi, s);
  const back = new Date(asUtcMs);
  if (back.getUTCMonth() !== mo - 1 || back.getUTCDate() !== d || h > 23 || mi > 59 || s > 59) return null;
  const offsets = [asUtcMs - 86_400_000, asUtcMs + 86_400_000].map((unixMs) => offsetMs(unixMs, timezone));
  const candidates = offsets.map((offset) => asUtcMs - offset);
  const exact = candidates.filter((unixMs) => unixMs + offsetMs(unixMs, timezone) === asUtcMs);
  return isoOf(exact.length > 0 ? Math.min(...exact) : Math.max(...candidates));
}

function isoOf(unixMs: number): string | null {
  return Number.isNaN(unixMs) ? null : new Date(unixMs).toISOString().replace('.000Z', 'Z');
}

/** The zone's offset from UTC. */
function offsetMs(unixMs: number, timezone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const parts = new Map(format.formatToParts(unixMs).map(({ type, value }) => [type, Number(value)]));
  const get = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const shown = Date.UTC(get('year'), get('month') - 1, get('day'), get('hour'), get('minute'), get('second'));
  return shown - Math.floor(unixMs / 1000) * 1000;
}

/**
 * The calendar of cal.com, API v2: slots (version 2024-09-04, https://cal.com/docs/api-reference/v2/slots) and bookings
 * (version 2024-08-13, https://cal.com/docs/api-reference/v2/bookings/create-a-booking).
 */

const BASE_URL = 'https://api.cal.com';
const TIMEOUT_MS = 10_000;
/** Latency of a reply in virtual time. */
const VIRTUAL_LATENCY_MS = 300;
/** Limit on slots: the model reads out a few and has no use for hundreds. */
const MAX_SLOTS = 60;
const MAX_DAYS = 31;
/** Longest error text for the model, in characters. */
const MAX_FAULT_CHARS = 300;

const DATE = /^\d{4}-\d{2}-\d{2}$/;

const shared = { service: 'cal.com', baseUrl: BASE_URL, optionalCredentials: ['contact_method'] } as const;

export const getAvailableMeetingSlots: App = {
  ...shared,
  name: 'get_available_meeting_slots',
  credentials: ['api_key', 'event_type_id'],
  describe: ({ timezone }) => ({
    description: `Finds the free times for a meeting. All times are local to ${timezone}. Offer two or three, not all.`,
    params: [
      { name: 'start_date', type: 'string', required: true, description: 'The first day to look at, as YYYY-MM-DD.' },
      { name: 'end_date', type: 'string', description: 'The last day, as YYYY-MM-DD. Left out: the same day.' },
    ],
  }),
  async run({ start_date: from, end_date: to = from }, { credentials, timezone }, call) {
    const days = daysBetween(from, to);
    if (days === null) return wrong('The days should be dates as YYYY-MM-DD, the last not before the first.');
    if (days > MAX_DAYS) return wrong(`Ask for ${String(MAX_DAYS)} days at most.`);
    const url = new URL(`${call.baseUrl}/v2/slots`);
    url.searchParams.set('eventTypeId', credentials['event_type_id'] ?? '');
    url.searchParams.set('start', utcOf(`${String(from)}T00:00:00`, timezone) ?? '');
    url.searchParams.set('end', utcOf(`${String(to)}T23:59:59`, timezone) ?? '');
    url.searchParams.set('timeZone', timezone);
    const reply = await ask(call, { url: url.href, version: '2024-09-04', key: credentials['api_key'] ?? '' });
    const data = dataOf(reply);
    if (data === null) return failure(reply);
    const slots = Object.values(data)
      .flat()
      .map((slot) => (isObject(slot) && typeof slot['start'] === 'string' ? wallTime(slot['start'], timezone) : null))
      .filter((slot) => slot !== null)
      .sort();
    const more = slots.length > MAX_SLOTS ? { and_more: slots.length - MAX_SLOTS } : {};
    return { ok: true, content: JSON.stringify({ timezone, slots: slots.slice(0, MAX_SLOTS), ...more }) };
  },
};

export const bookMeetingSlot: App = {
  ...shared,
  name: 'book_meeting_slot',
  credentials: ['api_key', 'event_type_id', 'contact_method'],
  optionalCredentials: [],
  describe: ({ credentials, timezone }) => ({
    description: `Books a meeting at a free time. Read the time and the contact back before you call it.`,
    params: [
      {
        name: 'start',
        type: 'string',
        required: true,
        description: `Begin, local to ${timezone}, as YYYY-MM-DDTHH:MM; one of the free times.`,
      },
      { name: 'name', type: 'string', required: true, description: "The attendee's name." },
      byPhone(credentials)
        ? {
            name: 'phone',
            type: 'string',
            required: true,
            description: "The attendee's number with its country code, as +12025550123.",
          }
        : { name: 'email', type: 'email', required: true, description: "The attendee's email address." },
    ],
  }),
  async run(values, { credentials, timezone, language }, call) {
    const start = utcOf(String(values['start']), timezone);
    if (start === null) return wrong('start should be a date and time as YYYY-MM-DDTHH:MM.');
    if (isMissing(values['name'])) return wrong('The name is missing.');
    const contact = contactOf(values, credentials);
    if (typeof contact === 'string') return wrong(contact);
    const eventTypeId = Number(credentials['event_type_id']);
    const attendee = { name: String(values['name']).trim(), timeZone: timezone, language, ...contact };
    const reply = await ask(call, {
      url: `${call.baseUrl}/v2/bookings`,
      version: '2024-08-13',
      key: credentials['api_key'] ?? '',
      body: { start, eventTypeId, attendee },
    });
    const booking = dataOf(reply);
    if (booking === null) return failure(reply);
    const { uid, status } = booking;
    const begins = typeof booking['start'] === 'string' ? wallTime(booking['start'], timezone) : null;
    return { ok: true, content: JSON.stringify({ booked: begins ?? values['start'], timezone, uid, status }) };
  },
};

function byPhone(credentials: Readonly<Record<string, string>>): boolean {
  return credentials['contact_method']?.trim().toLowerCase() === 'phone';
}

/** The attendee's contact, or an error. */
function contactOf(
  values: Readonly<Record<string, unknown>>,
  credentials: Readonly<Record<string, string>>,
): { email: string } | { phoneNumber: string } | string {
  if (byPhone(credentials)) {
    const phoneNumber = String(values['phone']).replaceAll(/[\s().-]/g, '');
    return /^\+[1-9]\d{6,14}$/.test(phoneNumber) ? { phoneNumber } : 'phone should be a number such as +12025550123.';
  }
  const email = readValue({ name: 'email', type: 'email' }, values['email']);
  return email.ok ? { email: String(email.value) } : email.problem;
}

interface Request {
  url: string;
  version: string;
  key: string;
  body?: unknown;
}

function ask({ client, clock, signal }: AppCall, { url, version, key, body }: Request): Promise<GuardedReply> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${key}`,
    'cal-api-version': version,
    accept: 'application/json',
  };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const reply = client.request({
    url,
    method: body === undefined ? 'GET' : 'POST',
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    timeoutMs: TIMEOUT_MS,
    signal,
  });
  return clock.settle(reply, clock.nowMs() + VIRTUAL_LATENCY_MS);
}

/** The `data` of a successful reply, else null. */
function dataOf({ status, body }: GuardedReply): Readonly<Record<string, unknown>> | null {
  if (status < 200 || status > 299) return null;
  const reply = parse(body.toString('utf8'));
  return isObject(reply) && reply['status'] === 'success' && isObject(reply['data']) ? reply['data'] : null;
}

function failure({ status, body }: GuardedReply): ToolResult {
  const reply = parse(body.toString('utf8'));
  const error = isObject(reply) && isObject(reply['error']) ? reply['error'] : {};
  const words = typeof error['message'] === 'string' ? ` and said: ${error['message'].slice(0, MAX_FAULT_CHARS)}` : '';
  if (status === 401 || status === 403) return wrong('The calendar refused the key: this cannot be done now.');
  return wrong(`The calendar answered with status ${String(status)}${words}`);
}

function wrong(content: string): ToolResult {
  return { ok: false, content };
}

function daysBetween(from: unknown, to: unknown): number | null {
  if (typeof from !== 'string' || typeof to !== 'string' || !DATE.test(from) || !DATE.test(to)) return null;
  const days = (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1;
  return Number.isFinite(days) && days >= 1 ? days : null;
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
