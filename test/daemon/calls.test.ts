import { afterEach, describe, expect, it } from 'vitest';
import { Callers } from './callers.js';

const ANN = '+12025550101';
const BUSY = '+12025550107';
const NOBODY_HOME = '+12025550108';
const OUT_OF_ORDER = '+12025550115';

let callers: Callers;

afterEach(async () => {
  await callers.close();
  expect(callers.house.faults).toEqual([]);
});

describe('POST /start_outbound_call', () => {
  it('answers with the ids of a call that then goes its way, each status as it happens', async () => {
    callers = await Callers.open({ ringS: 5 });
    const busy = await callers.started(BUSY, { metadata: { Name: 'Ann' } });
    expect(Object.keys(busy)).toEqual(['call_id', 'session_id']);
    expect(await callers.logged(busy.session_id)).toMatchObject({
      call_id: busy.call_id,
      metadata: { Name: 'Ann' },
      agent_id: 'baker',
      voip: { from: callers.ours, to: BUSY, direction: 'outbound' },
    });
    const unanswered = await callers.started(NOBODY_HOME);
    expect(await callers.statuses(busy.session_id)).toEqual([
      'registered',
      'queued',
      'dispatching',
      'initiated',
      'busy',
    ]);
    expect(await callers.logged(busy.session_id)).toMatchObject({ call_status: 'busy', duration: 0 });
    expect(await callers.statuses(unanswered.session_id)).toEqual([
      'registered',
      'queued',
      'dispatching',
      'initiated',
      'ringing',
      'no-answer',
    ]);
    const broken = await callers.started(OUT_OF_ORDER);
    expect((await callers.statuses(broken.session_id)).at(-1)).toBe('failed');
    expect((await callers.logged(broken.session_id))['error_message']).toMatch(/./);
    // Its events are over, and it is still told how it ended.
    expect((await callers.statuses(broken.session_id)).at(-1)).toBe('failed');
  });

  it('takes the agent of the request, else of the number, each changed by what comes after it', async () => {
    callers = await Callers.open();
    const of = async (more: Record<string, unknown>): Promise<unknown> => {
      const { session_id: id } = await callers.started(BUSY, more);
      const { agent_config: config, agent_id: agentId } = await callers.logged(id);
      return { agentId, ...(config as object) };
    };
    await callers.ask('POST', `/phones/${callers.ours}/agent-config-override`, {
      agent_config_override: { first_message: 'From the number.', language: 'en-GB' },
    });
    const baker = { agentId: 'baker', prompt: 'You sell bread.', language: 'en-GB' };
    expect(await of({})).toMatchObject({ ...baker, first_message: 'From the number.' });
    expect(await of({ agent_id: 'baker', agent_config: { first_message: 'Mine.', prompt: null } })).toMatchObject({
      ...baker,
      first_message: 'Mine.',
    });
    await callers.ask('POST', `/phones/${callers.ours}/set_agent`, { agent_id: null });
    const alone = await of({ agent_config: { prompt: 'Temporary.', llm: { model: 'scripted' } } });
    expect(alone).toMatchObject({ agentId: null, prompt: 'Temporary.' });
    expect(await callers.start(BUSY)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'agent_id'], type: 'missing' }] },
    });
  });

  it('lets no call last longer than the guards say', async () => {
    callers = await Callers.open({ maxDurationS: 100 });
    const { session_id: id } = await callers.started(BUSY, {
      agent_config: { session_timeout: { max_duration: 900 } },
    });
    expect((await callers.logged(id))['agent_config']).toMatchObject({ session_timeout: { max_duration: 100 } });
    const { session_id: shorter } = await callers.started(BUSY, {
      agent_config: { session_timeout: { max_duration: 50, message: 'Time is up.' } },
    });
    expect((await callers.logged(shorter))['agent_config']).toMatchObject({
      session_timeout: { max_duration: 50, message: 'Time is up.' },
    });
  });

  it('calls nobody to go on from a session that is not known', async () => {
    callers = await Callers.open();
    expect(await callers.start(BUSY, { session_continuation: { session_id: 'nowhere' } })).toMatchObject({
      status: 404,
      body: { detail: 'There is no session "nowhere"' },
    });
    const { histories } = (await callers.ask('GET', '/call-logs')).body as { histories: unknown[] };
    expect(histories).toEqual([]);
    // Messages of the request come first, and an identifier that is not known begins anew.
    await callers.started(BUSY, { session_continuation: { session_id: 'nowhere', messages: [] } });
    await callers.started(BUSY, { session_continuation: { identifier_variable: 'ToPhone' } });
  });

  it('refuses what can be known to be wrong, before anything is placed', async () => {
    callers = await Callers.open();
    const refused = async (to: string, more: Record<string, unknown> = {}): Promise<unknown> => {
      const { status, body } = await callers.start(to, more);
      const { detail } = body as { detail: string | { loc: unknown; type: string }[] };
      return typeof detail === 'string' ? [status] : [status, detail[0]?.loc, detail[0]?.type];
    };
    const other = await callers.bought();
    expect(await refused('2025550101')).toEqual([422, ['body', 'to_phone'], 'phone_number']);
    expect(await refused(ANN, { to_phone: undefined })).toEqual([422, ['body', 'to_phone'], 'missing']);
    expect(await refused(ANN, { from_phone: 'me' })).toEqual([422, ['body', 'from_phone'], 'phone_number']);
    expect(await refused(ANN, { from_phone: '+14155559999' })).toEqual([404]);
    expect(await refused(ANN, { agent_id: 'nobody' })).toEqual([404]);
    expect(await refused(ANN, { from_phone: other })).toEqual([422, ['body', 'agent_id'], 'missing']);
    expect(await refused(ANN, { agent_config: { vad_threshold: 9 } })).toEqual([
      422,
      ['body', 'agent_config', 'vad_threshold'],
      'less_than_equal',
    ]);
    expect(await refused(ANN, { agent_config: { llm: { model: 'nonsense' } } })).toEqual([
      422,
      ['body', 'agent_config', 'llm', 'model'],
      'enum',
    ]);
    expect(await refused(ANN, { agent_config: { status: 'disabled' } })).toEqual([409]);
    expect(await refused(ANN, { campaign_id: 'x' })).toEqual([422, ['body', 'campaign_id'], 'extra_forbidden']);
    for (const number of ['911', '+19005551234', '+442079460000', '+18765551234', '+881612345678']) {
      expect([number, await refused(number)]).toEqual([number, [403]]);
    }
    await callers.ask('POST', '/do-not-call', { phone: BUSY });
    expect(await refused(BUSY)).toEqual([409]);
    await callers.ask('PUT', `/phones/${callers.ours}`, { status: 'inactive' });
    expect(await refused(ANN)).toEqual([409]);
    const { body } = await callers.ask('GET', '/call-logs');
    expect(body).toMatchObject({ histories: [] });
  });

  it('answers 429 with Retry-After where a limit is reached', async () => {
    callers = await Callers.open({ perMinute: 1 });
    await callers.started(BUSY);
    const { status, body, retryAfter } = await callers.start(BUSY);
    expect([status, body['detail']]).toEqual([
      429,
      expect.stringContaining('The limit of 1 calls per minute is reached'),
    ]);
    expect(Number(retryAfter)).toBeGreaterThan(50);
    expect(await callers.ask('GET', '/calls/guards')).toMatchObject({
      body: { per_minute: { used: 1, limit: 1 }, stopped: false },
    });
  });

  it('takes as many of 200 requests at once as the limit says', { timeout: 60_000 }, async () => {
    callers = await Callers.open({ concurrent: 10, ringS: 180 });
    const answers = await Promise.all(Array.from({ length: 200 }, () => callers.start(NOBODY_HOME)));
    const taken = answers.filter(({ status }) => status === 200);
    expect(taken).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(190);
    expect((await callers.ask('GET', '/calls/guards')).body).toMatchObject({ concurrent: { used: 10, limit: 10 } });
    // Those that are taken end when they are told to, and make room.
    for (const { body } of taken) await callers.ask('POST', `/sessions/${String(body['session_id'])}/terminate`);
    for (const { body } of taken) {
      expect((await callers.statuses(String(body['session_id']))).at(-1)).toBe('canceled');
    }
    await callers.started(BUSY);
  });
});

describe('an Idempotency-Key', () => {
  const KEY = { 'idempotency-key': 'order-7' };

  it('has a request that comes again answered alike, also at the same time, and dials once', async () => {
    callers = await Callers.open({ ringS: 180 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => callers.start(NOBODY_HOME, {}, KEY)));
    const [first] = answers;
    expect(first?.status).toBe(200);
    for (const answer of answers) expect(answer.body).toEqual(first?.body);
    const { body } = await callers.ask('GET', '/call-logs');
    expect(body['histories']).toHaveLength(1);
    expect((await callers.start(NOBODY_HOME, { metadata: { a: 1 } }, KEY)).status).toBe(409);
    expect((await callers.start(NOBODY_HOME, {}, { 'idempotency-key': 'é' })).status).toBe(422);
  });

  it('is remembered over a restart, which closes the call and does not dial again', async () => {
    callers = await Callers.open({ ringS: 180 });
    const first = await callers.start(NOBODY_HOME, { metadata: { a: 1, b: 2 } }, KEY);
    await callers.reopen();
    const again = await callers.start(NOBODY_HOME, { metadata: { b: 2, a: 1 } }, KEY);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect((await callers.ask('GET', '/call-logs')).body['histories']).toHaveLength(1);
    expect((await callers.ask('GET', '/calls/guards')).body).toMatchObject({ concurrent: { used: 0 } });
  });
});

describe('POST /calls/stop', () => {
  it('stops calls that are placed, ends those that run if asked to, and holds over a restart', async () => {
    callers = await Callers.open({ ringS: 180 });
    const { session_id: id } = await callers.started(NOBODY_HOME);
    expect((await callers.ask('POST', '/calls/stop', { end_running: true })).body).toEqual({ success: true, ended: 1 });
    expect((await callers.statuses(id)).at(-1)).toBe('canceled');
    expect((await callers.start(BUSY)).status).toBe(409);
    await callers.reopen();
    expect((await callers.start(BUSY)).status).toBe(409);
    expect((await callers.ask('GET', '/calls/guards')).body).toMatchObject({ stopped: true });
    expect((await callers.ask('POST', '/calls/resume')).status).toBe(200);
    await callers.started(BUSY);
  });

  it('is a setting as well', async () => {
    callers = await Callers.open({ enabled: false });
    expect(await callers.start(BUSY)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('calls.enabled') as string },
    });
  });
});

describe('POST /sessions/{id}/terminate', () => {
  it('ends a call that somebody has answered', { timeout: 30_000 }, async () => {
    callers = await Callers.open();
    const { session_id: id } = await callers.started(ANN);
    await callers.until(id, 'in-progress');
    expect(await callers.ask('POST', `/sessions/${id}/terminate`)).toMatchObject({
      status: 200,
      body: { success: true },
    });
    expect((await callers.statuses(id)).at(-1)).toBe('api-ended');
    expect((await callers.ask('POST', `/sessions/${id}/terminate`)).status).toBe(409);
    expect((await callers.ask('POST', '/sessions/nobody/terminate')).status).toBe(404);
  });
});

describe('calls that come in', () => {
  it('have other ids than those of an earlier process', { timeout: 30_000 }, async () => {
    callers = await Callers.open();
    const rings = async (): Promise<unknown> => {
      const { body } = await callers.ask('POST', `/phones/${callers.ours}/simulate_call`, { caller: '+12025550153' });
      for await (const { data } of callers.events('/events', { 'last-event-id': '1' })) {
        if (data['call_id'] === body['call_id'] && data['call_status'] === 'in-progress') return body['call_id'];
      }
      return null;
    };
    const first = await rings();
    await callers.reopen();
    const second = await rings();
    expect(first).not.toBeNull();
    expect(second).not.toBe(first);
    expect((await callers.ask('GET', '/call-logs')).body['histories']).toMatchObject([
      { call_id: second, call_status: 'in-progress' },
      { call_id: first },
    ]);
  });
});
