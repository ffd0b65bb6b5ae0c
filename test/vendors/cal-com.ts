import type { IncomingMessage } from 'node:http';
import { httpServer, type LocalServer } from '../net/local-server.js';

/**
 * cal.com's API v2 as far as parley uses it, written on 2026-11-21 from the published reference:
 * - GET /v2/slots, https://cal.com/docs/api-reference/v2/slots: header `cal-api-version: 2024-09-04`; `eventTypeId`,
 *   `start` and `end` (UTC, ISO 8601), `timeZone`; `{status: "success", data: {"YYYY-MM-DD": [{start}]}}`, the starts with
 *   the zone's offset.
 * - POST /v2/bookings, https://cal.com/docs/api-reference/v2/bookings/create-a-booking: header
 *   `cal-api-version: 2024-08-13`; `start` (UTC), `eventTypeId`, `attendee {name, timeZone, email?, phoneNumber?,
 *   language?}`; 201 `{status: "success", data: {uid, status, start, end …}}`.
 * - Both take `Authorization: Bearer cal_…`. A fault is `{status: "error", error: {code, message}}`.
 * It is strict: what the reference does not name, or names as required and is missing, is a fault.
 */
export class CalCom {
  /** Free slots as UTC instants. */
  readonly free = new Set<string>();
  readonly bookings: { start: string; attendee: Record<string, unknown> }[] = [];
  readonly requests: string[] = [];
  readonly origin: string;
  readonly #server: LocalServer;

  private constructor(server: LocalServer) {
    this.#server = server;
    this.origin = server.origin;
  }

  static async start(key: string, eventTypeId: number): Promise<CalCom> {
    const server = await httpServer((request, response, body) => {
      const { status, value } = cal.#answer(request, body, key, eventTypeId);
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));
    });
    const cal: CalCom = new CalCom(server);
    return cal;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #answer(request: IncomingMessage, body: string, key: string, eventTypeId: number): Answer {
    const url = new URL(request.url ?? '', this.origin);
    this.requests.push(`${String(request.method)} ${url.pathname}`);
    if (request.headers.authorization !== `Bearer ${key}`)
      return fault(401, 'UnauthorizedException', 'Invalid API Key');
    const route = `${String(request.method)} ${url.pathname}`;
    const version = request.headers['cal-api-version'];
    if (route === 'GET /v2/slots' && version === '2024-09-04') return this.#slots(url, eventTypeId);
    if (route === 'POST /v2/bookings' && version === '2024-08-13') return this.#book(JSON.parse(body), eventTypeId);
    return fault(404, 'NotFoundException', `Cannot ${route}`);
  }

  #slots({ searchParams }: URL, eventTypeId: number): Answer {
    const known = ['eventTypeId', 'start', 'end', 'timeZone'];
    if ([...searchParams.keys()].sort().join() !== [...known].sort().join()) return bad('unexpected query');
    if (searchParams.get('eventTypeId') !== String(eventTypeId))
      return fault(404, 'NotFoundException', 'no event type');
    const [start, end] = [searchParams.get('start') ?? '', searchParams.get('end') ?? ''];
    if (!INSTANT.test(start) || !INSTANT.test(end)) return bad('start and end must be UTC dates');
    const timeZone = searchParams.get('timeZone') ?? '';
    const data: Record<string, { start: string }[]> = {};
    for (const slot of [...this.free].sort()) {
      if (Date.parse(slot) < Date.parse(start) || Date.parse(slot) > Date.parse(end)) continue;
      const local = withOffset(slot, timeZone);
      (data[local.slice(0, 10)] ??= []).push({ start: local });
    }
    return { status: 200, value: { status: 'success', data } };
  }

  #book(body: unknown, eventTypeId: number): Answer {
    const { start, eventTypeId: id, attendee, ...rest } = body as Record<string, unknown>;
    if (Object.keys(rest).length > 0) return bad(`property ${Object.keys(rest).join()} should not exist`);
    if (typeof start !== 'string' || !INSTANT.test(start)) return bad('start must be a UTC date');
    if (id !== eventTypeId) return fault(404, 'NotFoundException', `Event type with id ${String(id)} not found`);
    const who = (attendee ?? {}) as Record<string, unknown>;
    const unknown = Object.keys(who).filter((key) => !ATTENDEE.has(key));
    if (unknown.length > 0) return bad(`attendee.${unknown.join()} should not exist`);
    if (typeof who['name'] !== 'string' || typeof who['timeZone'] !== 'string') return bad('attendee is not complete');
    if (who['email'] === undefined && who['phoneNumber'] === undefined) return bad('attendee has no contact');
    const slot = new Date(start).toISOString();
    if (!this.free.delete(slot)) return bad('User either already has booking at this time or is not available');
    this.bookings.push({ start, attendee: who });
    const end = new Date(Date.parse(slot) + 1_800_000).toISOString();
    const uid = `uid-${String(this.bookings.length)}`;
    const data = { id: this.bookings.length, uid, status: 'accepted', start: slot, end, duration: 30, eventTypeId };
    return { status: 201, value: { status: 'success', data } };
  }
}

interface Answer {
  status: number;
  value: unknown;
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$/;
const ATTENDEE = new Set(['name', 'timeZone', 'email', 'phoneNumber', 'language']);

function bad(message: string): Answer {
  return fault(400, 'BadRequestException', message);
}

function fault(status: number, code: string, message: string): Answer {
  return { status, value: { status: 'error', error: { code, message, details: { message, statusCode: status } } } };
}

/** `2026-11-23T08:00:00.000Z` in Berlin is `2026-11-23T09:00:00.000+01:00`. */
function withOffset(instant: string, timeZone: string): string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  const wall = format.format(new Date(instant)).replace(' ', 'T');
  const offset = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
    .formatToParts(new Date(instant))
    .find(({ type }) => type === 'timeZoneName')
    ?.value.replace('GMT', '');
  return `${wall}.000${offset === '' || offset === undefined ? '+00:00' : offset}`;
}
