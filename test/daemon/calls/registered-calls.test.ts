import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { CallEventBus } from '../../../src/daemon/call-event-bus.js';
import { CallLog } from '../../../src/daemon/call-log/call-log.js';
import { REGISTERED_MS, RegisteredCalls } from '../../../src/daemon/calls/registered-calls.js';
import { Engine } from '../../../src/engine/engine.js';
import { CallStore } from '../../../src/store/calls.js';
import { openDatabase } from '../../../src/store/database.js';
import { RegisteredCallStore } from '../../../src/store/registered-calls.js';
import { SecretBox } from '../../../src/store/secret-box.js';
import { SqliteDatabase } from '../../../src/store/sqlite/sqlite-database.js';
import { Callers } from '../callers.js';
import { PUBLIC_KEY } from '../house.js';
import { hosting } from '../hosting.js';

let callers: Callers;

beforeEach(async () => {
  callers = await Callers.open();
});

afterEach(async () => {
  await callers.close();
  expect(callers.house.faults).toEqual([]);
});

const register = (body: unknown) => callers.ask('POST', '/register_call', body);

describe('POST /register_call', () => {
  it('has a client of /talk get the session that was registered, once', async () => {
    const { status, body } = await register({
      agent_id: 'baker',
      agent_config: { first_message: 'Hi {Name}.' },
      metadata: { Name: 'Ann' },
    });
    expect(status).toBe(200);
    const { call_id: callId, session_id: id } = body as { call_id: string; session_id: string };
    expect(await callers.logged(id)).toMatchObject({ call_status: 'registered', call_id: callId });
    const client = callers.house.connect();
    await client.send({ method: 'initiate', data: { public_key: PUBLIC_KEY, call_id: callId } });
    expect(await client.inbox.find(({ method }) => method === 'onready')).toMatchObject({
      payload: { session_id: id },
    });
    expect(await client.inbox.find(({ method }) => method === 'onresponsetext')).toMatchObject({ data: 'Hi Ann.' });
    const second = callers.house.connect();
    await second.send({ method: 'initiate', data: { public_key: PUBLIC_KEY, call_id: callId } });
    expect(await second.inbox.find(({ method }) => method === 'onerror')).toMatchObject({
      data: `There is no registered call "${callId}"`,
    });
    expect((await callers.ask('POST', `/sessions/${id}/terminate`)).status).toBe(200);
    expect(await callers.statuses(id)).toEqual(['registered', 'in-progress', 'api-ended']);
    expect(await callers.logged(id)).toMatchObject({
      call_id: callId,
      metadata: { Name: 'Ann' },
      call_status: 'api-ended',
    });
  });

  it('is for a whole agent of the request, too', async () => {
    const { body } = await register({ agent_config: { first_message: 'Only today.', llm: { model: 'scripted' } } });
    const client = callers.house.connect();
    await client.send({ method: 'initiate', data: { public_key: PUBLIC_KEY, call_id: body['call_id'] } });
    expect(await client.inbox.find(({ method }) => method === 'onresponsetext')).toMatchObject({ data: 'Only today.' });
  });

  it('refuses what cannot be had', async () => {
    const refused = async (body: unknown): Promise<unknown> => {
      const { status, body: answer } = await register(body);
      const detail = answer['detail'] as string | { loc: unknown }[];
      return typeof detail === 'string' ? status : [status, detail[0]?.loc];
    };
    expect(await refused({})).toEqual([422, ['body', 'agent_id']]);
    expect(await refused({ agent_id: 'nobody' })).toBe(404);
    expect(await refused({ agent_id: 'baker', session_continuation: { session_id: 'nowhere' } })).toBe(404);
    expect(await refused({ agent_id: 'baker', to_phone_number: '+1' })).toEqual([422, ['body', 'to_phone_number']]);
    expect(await refused({ agent_config: { voice: { voice_id: 'nobody' } } })).toEqual([
      422,
      ['body', 'agent_config', 'voice', 'voice_id'],
    ]);
    expect(await refused({ agent_id: 'baker', agent_config: { status: 'disabled' } })).toBe(409);
  });

  it('can be taken back', async () => {
    const { body } = await register({ agent_id: 'baker' });
    const id = String(body['session_id']);
    expect((await callers.ask('POST', `/sessions/${id}/terminate`)).status).toBe(200);
    expect(await callers.statuses(id)).toEqual(['registered', 'canceled']);
    const client = callers.house.connect();
    await client.send({ method: 'initiate', data: { public_key: PUBLIC_KEY, call_id: body['call_id'] } });
    expect(await client.inbox.find(({ method }) => method === 'onerror')).toMatchObject({ method: 'onerror' });
  });

  it('is canceled where nobody comes in time', async () => {
    const clock = new VirtualClock();
    const engine = new Engine({ clock });
    const database = new SqliteDatabase(openDatabase(`${callers.house.dataDir}/other`), () => 0);
    const store = new CallStore(database);
    const events = new CallEventBus();
    let isOver = false;
    events.on('call.ended', () => (isOver = true));
    const log = new CallLog({ database, store, events });
    const agents = hosting({ id: 'baker', name: 'Baker', config: { llm: { model: 'scripted' } } });
    const registered = new RegisteredCalls({
      engine,
      agents,
      log,
      clock,
      database,
      calls: store,
      store: new RegisteredCallStore(database, new SecretBox(Buffer.alloc(32))),
      onError: (error) => expect.fail(error.message),
    });
    const wish = { agentVersion: null, agentConfig: null, agentExtensions: null };
    const registration = { ...wish, agentId: 'baker', metadata: {} };
    const ids = await registered.register({
      ...registration,
      includeMetadataInPrompt: false,
      continuation: null,
      phones: null,
    });
    await clock.runUntil(() => isOver, REGISTERED_MS + 1000);
    expect(clock.nowMs()).toBe(REGISTERED_MS);
    expect(await store.get(ids.sessionId)).toMatchObject({ status: 'canceled' });
    await expect(registered.take(ids.callId, 'talk')).rejects.toThrow('no registered call');
    await engine.close();
    await database.close();
  });
});
