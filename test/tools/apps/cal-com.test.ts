import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { GuardedClient } from '../../../src/net/guarded-client.js';
import { AppTool } from '../../../src/tools/apps/app-tool.js';
import type { ToolResult } from '../../../src/tools/tool.js';
import { CalCom } from '../../vendors/cal-com.js';

let cal: CalCom;
let client: GuardedClient;
beforeEach(async () => {
  cal = await CalCom.start('cal_test_1', 77);
  // Two on a Monday, one on the Tuesday; 23:30 in Berlin is still the Monday.
  for (const slot of ['2026-11-23T08:00', '2026-11-23T22:30', '2026-11-24T09:15']) cal.free.add(`${slot}:00.000Z`);
  client = new GuardedClient({ clock: new RealClock(), allowUrls: [cal.origin] });
});
afterEach(async () => {
  await client.close();
  await cal.close();
});

const ACCOUNT = { api_key: 'cal_test_1', event_type_id: '77' };

function tool(name: string, credentials: Record<string, string> = {}, timezone = 'Europe/Berlin'): AppTool {
  const fn = { name, credentials: { ...ACCOUNT, ...credentials } };
  return new AppTool(fn, {
    client,
    clock: new RealClock(),
    timezone,
    language: 'de-CH',
    baseUrls: { 'cal.com': `${cal.origin}/` },
  });
}

function run(made: AppTool, args: unknown): Promise<ToolResult> {
  const { signal } = new AbortController();
  return made.run(
    { id: 'c', name: made.spec.name, arguments: JSON.stringify(args) },
    { sessionId: 's', metadata: {}, signal },
  );
}

describe('get_available_meeting_slots', () => {
  const slots = (args: unknown, credentials = {}, timezone = 'Europe/Berlin'): Promise<ToolResult> =>
    run(tool('get_available_meeting_slots', credentials, timezone), args);

  it("tells the free times of a day of the agent's time zone", async () => {
    const { ok, content } = await slots({ start_date: '2026-11-23' });
    expect([ok, JSON.parse(content)]).toEqual([
      true,
      { timezone: 'Europe/Berlin', slots: ['2026-11-23T09:00', '2026-11-23T23:30'] },
    ]);
    const tokyo = await slots({ start_date: '2026-11-24', end_date: '2026-11-24' }, {}, 'Asia/Tokyo');
    expect(JSON.parse(tokyo.content)).toMatchObject({ slots: ['2026-11-24T07:30', '2026-11-24T18:15'] });
    expect(JSON.parse((await slots({ start_date: '2026-12-01' })).content)).toMatchObject({ slots: [] });
  });

  it('offers no more than a model can use', async () => {
    for (let minute = 0; minute < 60; minute++) {
      cal.free.add(`2026-11-25T10:${String(minute).padStart(2, '0')}:00.000Z`);
    }
    const { content } = await slots({ start_date: '2026-11-23', end_date: '2026-11-25' });
    expect(JSON.parse(content)).toMatchObject({ slots: { length: 60 }, and_more: 3 });
  });

  it.each([
    [{ start_date: 'Monday' }, /dates as YYYY-MM-DD/],
    [{ start_date: '2026-11-23', end_date: '2026-11-22' }, /last not before the first/],
    [{ start_date: '2026-11-23', end_date: '2027-11-22' }, /31 days at most/],
    [{}, /start_date is missing.*again/],
  ])('tells the model what is wrong with %j', async (args, words) => {
    expect(await slots(args)).toMatchObject({ ok: false, content: expect.stringMatching(words) as string });
    expect(cal.requests).toEqual([]);
  });

  it('says what the calendar said', async () => {
    const day = { start_date: '2026-11-23' };
    expect((await slots(day, { api_key: 'cal_wrong' })).content).toContain('refused the key');
    expect((await slots(day, { event_type_id: '1' })).content).toContain('status 404 and said: no event type');
    await cal.close();
    expect(await slots(day)).toMatchObject({ ok: false, content: expect.stringContaining('failed.') as string });
  });
});

describe('book_meeting_slot', () => {
  const args = { start: '2026-11-23T09:00', name: ' Ann ' };

  it('books by email', async () => {
    const book = tool('book_meeting_slot', { contact_method: 'email' });
    expect(book.spec.parameters['required']).toEqual(['start', 'name', 'email']);
    const { ok, content } = await run(book, { ...args, email: 'ann@example.com' });
    expect([ok, JSON.parse(content)]).toEqual([
      true,
      { booked: '2026-11-23T09:00', timezone: 'Europe/Berlin', uid: 'uid-1', status: 'accepted' },
    ]);
    const attendee = { name: 'Ann', timeZone: 'Europe/Berlin', language: 'de', email: 'ann@example.com' };
    expect(cal.bookings).toEqual([{ start: '2026-11-23T08:00:00Z', attendee }]);
    const again = await run(book, { ...args, email: 'ann@example.com' });
    expect(again.content).toContain('already has booking at this time or is not available');
  });

  it('books by phone', async () => {
    const book = tool('book_meeting_slot', { contact_method: 'phone' });
    expect(await run(book, { ...args, phone: '+1 (202) 555-0123' })).toMatchObject({ ok: true });
    expect(cal.bookings[0]?.attendee).toMatchObject({ phoneNumber: '+12025550123' });
  });

  it.each([
    ['email', { ...args, email: 'ann' }, /email address/],
    ['email', { ...args, start: 'at nine', email: 'a@example.com' }, /YYYY-MM-DDTHH:MM/],
    ['email', { ...args, start: '2026-02-30T09:00', email: 'a@example.com' }, /YYYY-MM-DDTHH:MM/],
    ['phone', { ...args, phone: '12345' }, /\+12025550123/],
  ])('by %s with %j is not tried', async (method, given, words) => {
    const result = await run(tool('book_meeting_slot', { contact_method: method }), given);
    expect(result).toMatchObject({ ok: false, content: expect.stringMatching(words) as string });
    expect(cal.requests).toEqual([]);
  });
});

it.each([
  ['no_such_app', {}, /there is no "no_such_app". Known: get_available_meeting_slots, book_meeting_slot/],
  ['get_available_meeting_slots', { api_key: ' ' }, /needs the credentials api_key/],
  ['book_meeting_slot', {}, /needs the credentials contact_method/],
  ['get_available_meeting_slots', { token: 'x' }, /has no credentials token/],
])('an app function %s with %j is refused', (name, credentials, words) => {
  expect(() => tool(name, credentials)).toThrow(words);
});
