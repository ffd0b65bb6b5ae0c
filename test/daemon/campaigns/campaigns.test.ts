import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, Callers } from '../callers.js';
import { PRIVATE_KEY } from '../house.js';

const ANN = '+12025550101';
const BUSY = '+12025550107';
const NOBODY_HOME = '+12025550108';
const OUT_OF_ORDER = '+12025550115';
const ALWAYS = { start: '00:00', end: '24:00', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] };

let callers: Callers;

afterEach(async () => {
  await callers.close();
  expect(callers.house.faults).toEqual([]);
});

const ask = (method: string, path: string, body?: unknown): Promise<Answer> => callers.ask(method, path, body);

/** A campaign that calls at any time, as fast as it can. */
async function campaign(schedule: Record<string, unknown> = {}): Promise<string> {
  const { body } = await ask('POST', '/campaigns', { name: 'Autumn' });
  const path = `/campaigns/${String(body['id'])}`;
  const fast = { calling_hours: ALWAYS, calls_per_minute: 60_000, max_concurrent_calls: 100 };
  expect((await ask('POST', `${path}/schedule`, { ...fast, ...schedule })).status).toBe(200);
  expect((await ask('POST', `${path}/set_caller`, { phone: callers.ours })).status).toBe(200);
  return path;
}

async function records(path: string, query = ''): Promise<Record<string, unknown>[]> {
  return (await ask('GET', `${path}/records${query}`)).body['records'] as Record<string, unknown>[];
}

/** Resolves with how far the campaign is when that is as `isIt` says. */
async function progress(path: string, isIt: (data: Record<string, unknown>) => boolean) {
  for await (const { event, data } of callers.events(`${path}/progress`)) {
    expect(event).toBe('progress');
    if (isIt(data)) return data;
  }
  throw new Error('the stream has ended');
}

const finished = (path: string) => progress(path, ({ status }) => status === 'finished');

describe('a campaign', () => {
  it('is made, changed, listed and deleted', async () => {
    callers = await Callers.open();
    const made = await ask('POST', '/campaigns', { name: 'Autumn' });
    const id = String(made.body['id']);
    const created = expect.any(Number) as number;
    expect(made).toMatchObject({
      status: 200,
      body: { id, name: 'Autumn', status: 'idle', records: [], created_at: created },
    });
    expect(Object.keys(made.body).toSorted()).toEqual(['created_at', 'id', 'name', 'records', 'status']);
    const info = {
      id,
      name: 'Autumn',
      status: 'idle',
      created_at: created,
      caller: null,
      agent_version: null,
      include_metadata_in_prompt: false,
    };
    expect((await ask('GET', `/campaigns/${id}/info`)).body).toEqual(info);
    const changed = { ...info, name: 'Winter', include_metadata_in_prompt: true };
    const change = { name: 'Winter', include_metadata_in_prompt: true };
    expect((await ask('PUT', `/campaigns/${id}/info`, change)).body).toEqual(changed);
    expect((await ask('POST', `/campaigns/${id}/set_caller`, { phone: callers.ours })).body).toEqual({
      ...changed,
      caller: callers.ours,
    });
    expect((await ask('GET', '/campaigns')).body).toEqual([{ ...changed, caller: callers.ours }]);
    expect((await ask('DELETE', `/campaigns/${id}`)).body).toEqual({ success: true });
    expect((await ask('GET', `/campaigns/${id}/info`)).status).toBe(404);
    expect((await ask('GET', '/campaigns')).body).toEqual([]);
  });

  it.each([
    ['POST', '/campaigns', {}, ['body', 'name'], 'missing'],
    ['POST', '/campaigns', { name: 7 }, ['body', 'name'], 'string_type'],
    ['POST', '/campaigns', { name: 'x', caller: '+1' }, ['body', 'caller'], 'extra_forbidden'],
    ['PUT', '{id}/info', { include_metadata_in_prompt: 'yes' }, ['body', 'include_metadata_in_prompt'], 'bool_type'],
    ['POST', '{id}/records', { phone: ANN }, ['body'], 'list_type'],
    ['POST', '{id}/records', [{ phone: 12025550101 }], ['body', 0, 'phone'], 'string_type'],
    ['POST', '{id}/records', [{ phone: ANN, name: 'Ann' }], ['body', 0, 'name'], 'extra_forbidden'],
    ['POST', '{id}/records', [{ phone: ANN, metadata: [] }], ['body', 0, 'metadata'], 'dict_type'],
    ['GET', '{id}/records?status=called', undefined, ['query', 'status'], 'enum'],
    ['GET', '{id}/records?limit=1001', undefined, ['query', 'limit'], 'less_than_equal'],
    [
      'POST',
      '{id}/schedule',
      { calling_hours: { start: '09:60', end: '20:00', days: ['mon'] } },
      ['body', 'calling_hours', 'start'],
      'string_pattern_mismatch',
    ],
    [
      'POST',
      '{id}/schedule',
      { calling_hours: { start: '20:00', end: '09:00', days: ['mon'] } },
      ['body', 'calling_hours', 'end'],
      'calling_hours',
    ],
    ['POST', '{id}/schedule', { timezone: 'Mars/Base' }, ['body', 'timezone'], 'timezone'],
    ['POST', '{id}/schedule', { retries: { busy: [0] } }, ['body', 'retries', 'busy', 0], 'greater_than_equal'],
  ])('%s %s %j: 422 at %j', async (method, path, body, loc, type) => {
    callers = await Callers.open();
    const { body: made } = await ask('POST', '/campaigns', { name: 'Autumn' });
    const answer = await ask(method, path.replace('{id}', `/campaigns/${String(made['id'])}`), body);
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc, type }] } });
  });

  it('starts with a number of ours that has an agent, and with records', async () => {
    callers = await Callers.open();
    const { body: made } = await ask('POST', '/campaigns', { name: 'Autumn' });
    const path = `/campaigns/${String(made['id'])}`;
    const start = async () => (await ask('POST', `${path}/start`)).body['detail'];
    expect(await start()).toMatch(/cannot start: it has no number to call with/);
    expect(await ask('POST', `${path}/set_caller`, { phone: ANN })).toMatchObject({ status: 404 });
    await ask('POST', `${path}/set_caller`, { phone: callers.ours });
    expect(await start()).toMatch(/cannot start: it has no records/);
    await ask('POST', `/phones/${callers.ours}/set_agent`, { agent_id: null });
    expect(await ask('POST', `${path}/start`)).toMatchObject({ status: 409 });
    expect(await start()).toMatch(/has no agent/);
    await ask('POST', `/phones/${callers.ours}/set_agent`, { agent_id: 'baker' });
    await ask('POST', `${path}/records`, [{ phone: ANN }]);
    await ask('POST', '/agents/baker/status', { status: 'disabled' });
    expect(await ask('POST', `${path}/start`)).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/disabled/) as string },
    });
  });

  it('needs a private key', async () => {
    callers = await Callers.open();
    const path = await campaign();
    for (const [method, end] of [
      ['GET', '/info'],
      ['POST', '/records'],
      ['POST', '/start'],
      ['GET', '/progress'],
      ['DELETE', ''],
    ]) {
      expect((await callers.house.request(path + (end ?? ''), { method: method ?? '' })).status).toBe(401);
    }
  });
});

describe('records', () => {
  it('are added, the good ones; the others are listed with the reason', async () => {
    callers = await Callers.open();
    const path = await campaign();
    const upload = await ask('POST', `${path}/records`, [
      { phone: '+1 (202) 555-0101', metadata: { Name: 'Ann' } },
      { phone: BUSY, metadata: null },
      { phone: '202-555-0102', metadata: { Name: 'Bob' } },
      { phone: ANN, metadata: { Name: 'Ann again' } },
      { phone: '+1202555' },
      { phone: 'nobody' },
      { phone: NOBODY_HOME, metadata: { timezone: 'Mars/Base' } },
    ]);
    expect(upload).toMatchObject({ status: 200, body: { success: false } });
    expect(Object.keys(upload.body)).toEqual(['success']);
    expect(await records(path)).toEqual([
      {
        phone: ANN,
        metadata: { Name: 'Ann' },
        session_id: null,
        call_status: 'not_started',
        attempts: 0,
        next_call_at: expect.any(Number) as number,
        reason: null,
      },
      expect.objectContaining({ phone: BUSY, metadata: {} }),
    ]);
    expect((await records(path, '?status=rejected')).map(({ phone, reason }) => [phone, reason])).toEqual([
      ['202-555-0102', 'not a phone number with its country code, such as +12025550123'],
      ['+1202555', 'there is no such phone number'],
      ['nobody', 'not a phone number'],
      [NOBODY_HOME, 'its "timezone" is not an IANA time zone such as Europe/Berlin'],
      [ANN, `${ANN} is in this campaign already`],
    ]);
    expect((await ask('POST', `${path}/records`, [{ phone: OUT_OF_ORDER }])).body).toEqual({ success: true });
    expect((await ask('POST', `${path}/records`, [])).body).toEqual({ success: true });
  });

  it('are listed page by page, by status, and taken out', async () => {
    callers = await Callers.open();
    const path = await campaign();
    const phones = Array.from({ length: 7 }, (_, index) => `+1202555020${String(index)}`);
    await ask(
      'POST',
      `${path}/records`,
      phones.map((phone) => ({ phone })),
    );
    const seen: unknown[] = [];
    let cursor = 0;
    do {
      const { body } = await ask('GET', `${path}/records?limit=3&status=not_started&start_after=${String(cursor)}`);
      seen.push(...(body['records'] as { phone: string }[]).map(({ phone }) => phone));
      cursor = body['next_cursor'] as number;
    } while (cursor !== 0);
    expect(seen).toEqual(phones);
    expect(await records(path, '?status=finished')).toEqual([]);
    expect((await ask('DELETE', `${path}/records/${phones[2] ?? ''}`)).body).toEqual({ success: true });
    expect((await ask('DELETE', `${path}/records/%2B1%20202%20555%200203`)).body).toEqual({ success: true });
    expect((await ask('DELETE', `${path}/records/${phones[2] ?? ''}`)).status).toBe(404);
    expect(await records(path)).toHaveLength(5);
    expect((await ask('POST', `${path}/records`, [{ phone: phones[2] }])).body).toEqual({ success: true });
  });

  it('are taken 10,000 in a request, and no more', async () => {
    callers = await Callers.open();
    const path = await campaign();
    const many = Array.from({ length: 10_001 }, (_, index) => ({
      phone: `+1${String(2125550000 + index)}`,
      metadata: { Name: `Person ${String(index)}`, note: 'x'.repeat(200) },
    }));
    expect(await ask('POST', `${path}/records`, many)).toMatchObject({ status: 413 });
    expect((await ask('POST', `${path}/records`, many.slice(1))).body).toEqual({ success: true });
    expect(await progress(path, () => true)).toMatchObject({ total: 10_000, not_started: 10_000 });
    expect(await ask('POST', `${path}/records`, 'x'.repeat(9_000_000))).toMatchObject({ status: 413 });
  });

  it('are erased by number', async () => {
    callers = await Callers.open();
    const path = await campaign();
    await ask('POST', `${path}/records`, [{ phone: ANN }, { phone: BUSY }, { phone: '+1 202 555 0101' }]);
    expect((await ask('POST', '/erase', { phone: ANN })).body).toMatchObject({ erased: { campaign_records: 2 } });
    expect(await records(path)).toHaveLength(1);
    expect(await records(path, '?status=rejected')).toEqual([]);
  });
});

describe('calling', () => {
  it('settles every record by what came of its calls, and is finished then', async () => {
    callers = await Callers.open({ ringS: 5 });
    const path = await campaign({ retries: { busy: [1], no_answer: [] } });
    await ask('PUT', '/agents/baker', {
      config: {
        prompt: 'Sell bread.',
        first_message: 'Hello {Name}.',
        llm: { model: 'scripted' },
        session_timeout: { max_duration: 4 },
      },
    });
    await ask('PUT', `${path}/info`, { include_metadata_in_prompt: true });
    await ask('POST', '/do-not-call', { phone: '+12025550199' });
    await ask('POST', `${path}/records`, [
      ...[BUSY, NOBODY_HOME, OUT_OF_ORDER, '+12025550199', '+442079460000'].map((phone) => ({ phone })),
      { phone: ANN, metadata: { Name: 'Ann' } },
    ]);
    expect((await ask('POST', `${path}/start`)).body).toMatchObject({ status: 'started' });
    expect((await ask('DELETE', path)).status).toBe(409);
    expect(await finished(path)).toMatchObject({ total: 6, finished: 1, failed: 5, calls: 0, next_call_at: null });
    const all = await records(path);
    expect(all.map(({ phone, call_status, attempts, reason }) => [phone, call_status, attempts, reason])).toEqual([
      [BUSY, 'failed', 2, expect.stringMatching(/^busy/)],
      [NOBODY_HOME, 'failed', 1, expect.stringMatching(/^no-answer/)],
      [OUT_OF_ORDER, 'failed', 1, expect.stringMatching(/^failed: /)],
      ['+12025550199', 'failed', 0, '+12025550199 is on the do-not-call list'],
      ['+442079460000', 'failed', 0, expect.stringMatching(/allowedPrefixes/)],
      [ANN, 'finished', 1, null],
    ]);
    const id = path.split('/').at(-1) ?? '';
    const { body: logs } = await ask('GET', `/call-logs?campaign_id=${id}`);
    const histories = logs['histories'] as Record<string, unknown>[];
    expect(histories).toHaveLength(5);
    const withAnn = histories.find(({ session_id: session }) => session === all[5]?.['session_id']);
    expect(withAnn).toMatchObject({ campaign_id: id, metadata: { Name: 'Ann' }, call_status: 'timeout' });
    expect(withAnn?.['chat']).toContain('Hello Ann.');
    for (const [method, end, body] of [
      ['PUT', '/info', { name: 'Winter' }],
      ['POST', '/records', [{ phone: '+12025550102' }]],
      ['POST', '/set_caller', { phone: callers.ours }],
      ['POST', '/schedule', {}],
      ['POST', '/start', undefined],
      ['DELETE', `/records/${ANN}`, undefined],
    ] as const) {
      expect(await ask(method, path + end, body)).toMatchObject({ status: 409 });
    }
    expect((await ask('DELETE', path)).body).toEqual({ success: true });
  }, 40_000);

  it('pauses: calls that are under way end, nobody else is called; a start goes on', async () => {
    callers = await Callers.open({ ringS: 5 });
    const path = await campaign({ max_concurrent_calls: 1, retries: { no_answer: [], busy: [] } });
    await ask('POST', `${path}/records`, [{ phone: NOBODY_HOME }, { phone: BUSY }]);
    await ask('POST', `${path}/start`);
    await progress(path, ({ calls }) => calls === 1);
    expect((await ask('DELETE', `${path}/records/${NOBODY_HOME}`)).status).toBe(409);
    expect((await ask('POST', `${path}/stop`)).body).toMatchObject({ status: 'paused' });
    expect((await ask('DELETE', path)).status).toBe(409);
    expect(await progress(path, ({ calls }) => calls === 0)).toMatchObject({
      status: 'paused',
      failed: 1,
      not_started: 1,
    });
    await ask('POST', `${path}/start`);
    expect(await finished(path)).toMatchObject({ failed: 2 });
  }, 30_000);

  it('waits for calling hours, and says until when', async () => {
    callers = await Callers.open();
    const path = await campaign();
    const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
    const other = days[(new Date().getUTCDay() + 3) % 7];
    const schedule = await ask('POST', `${path}/schedule`, {
      calling_hours: { start: '09:00', end: '17:00', days: [other] },
    });
    expect(schedule.body).toMatchObject({ calling_hours: { start: '09:00', end: '17:00', days: [other] } });
    await ask('POST', `${path}/records`, [{ phone: BUSY, metadata: { timezone: 'Europe/Berlin' } }]);
    await ask('POST', `${path}/start`);
    const { next_call_at: at, next_call_reason: why } = await progress(path, (data) => data['next_call_at'] !== null);
    expect(why).toBe('outside the calling hours');
    const local = new Date((at as number) * 1000).toLocaleString('en-GB', {
      timeZone: 'Europe/Berlin',
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
    });
    expect(local.toLowerCase()).toBe(`${other ?? ''} 09:00`);
    // Null gives the operator's back.
    expect((await ask('POST', `${path}/schedule`, { calling_hours: null })).body).toMatchObject({
      calling_hours: { start: '09:00', end: '20:00', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
    });
    expect((await ask('POST', `${path}/stop`)).body).toMatchObject({ status: 'paused' });
  });

  it('fails with a reason where its agent is gone, and can be started again', async () => {
    callers = await Callers.open();
    const path = await campaign({ retries: { busy: [] } });
    await ask('POST', `${path}/schedule`, { calls_per_minute: 6 });
    await ask('POST', `${path}/records`, [{ phone: BUSY }, { phone: OUT_OF_ORDER }]);
    await ask('POST', `${path}/start`);
    await progress(path, ({ failed }) => failed === 1);
    await ask('PUT', `/phones/${callers.ours}`, { status: 'inactive' });
    await ask('POST', `${path}/schedule`, { calls_per_minute: 60_000 });
    expect(await progress(path, ({ status }) => status === 'failed')).toMatchObject({
      reason: `${callers.ours} is inactive`,
      not_started: 1,
    });
    await ask('PUT', `/phones/${callers.ours}`, { status: 'active' });
    expect((await ask('POST', `${path}/start`)).body).toMatchObject({ status: 'started' });
    expect(await finished(path)).toMatchObject({ reason: null, failed: 2 });
  }, 30_000);

  it('goes on after a restart', async () => {
    callers = await Callers.open();
    const path = await campaign({ calls_per_minute: 30, retries: { busy: [] } });
    await ask('POST', `${path}/records`, [{ phone: BUSY }, { phone: OUT_OF_ORDER }]);
    await ask('POST', `${path}/start`);
    await progress(path, ({ failed }) => failed === 1);
    await callers.reopen();
    await callers.house.daemon.warmUp();
    expect(await finished(path)).toMatchObject({ failed: 2 });
    expect((await records(path)).map(({ attempts }) => attempts)).toEqual([1, 1]);
  }, 30_000);

  it('lets those who watch go when the daemon closes', async () => {
    callers = await Callers.open();
    const path = await campaign();
    const response = await callers.house.request(`${path}/progress`, { headers: { authorization: PRIVATE_KEY } });
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const text = response.text();
    await callers.close();
    expect(await text).toMatch(/^event: progress\ndata: \{"status":"idle"/);
  });
});
