import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { CallEventBus } from '../../../src/daemon/call-event-bus.js';
import { CallLog } from '../../../src/daemon/call-log/call-log.js';
import {
  type CallRegistration,
  isCallId,
  REGISTERED_MS,
  type RegisteredCall,
  RegisteredCalls,
} from '../../../src/daemon/calls/registered-calls.js';
import { Engine } from '../../../src/engine/engine.js';
import { CallStore } from '../../../src/store/calls.js';
import { RegisteredCallStore } from '../../../src/store/registered-calls.js';
import { SecretBox } from '../../../src/store/secret-box.js';
import { sql } from '../../../src/store/sql/statement.js';
import { isPostgresInstalled, postgres, type TestDatabase } from '../../store/support/backends.js';
import { hosting } from '../hosting.js';

const REGISTRATION: CallRegistration = {
  agentId: 'baker',
  agentVersion: null,
  agentConfig: { first_message: 'Hi {Name}.' },
  agentExtensions: null,
  metadata: { Name: 'Ann' },
  includeMetadataInPrompt: true,
  continuation: null,
  phones: { from: '+12025550101', to: '' },
};

describe.skipIf(!isPostgresInstalled)('a registered call on several nodes', () => {
  const clock = new VirtualClock();
  const engine = new Engine({ clock });
  let test: TestDatabase;
  let log: string[];

  beforeEach(async () => {
    test = await postgres.open(() => clock.nowMs());
    log = [];
  });
  afterEach(() => test.remove());

  const node = (name: string): RegisteredCalls => {
    const calls = new CallStore(test.database, { id: name });
    const events = new CallEventBus();
    events.onCall(({ sessionId, status, item }) => {
      log.push(`${name}: ${sessionId} ${status} ${item.error_message ?? ''}`.trim());
    });
    return new RegisteredCalls({
      engine,
      clock,
      calls,
      agents: hosting({ id: 'baker', name: 'Baker', config: { llm: { model: 'scripted' } } }),
      log: new CallLog({ database: test.database, store: calls, events }),
      database: test.database,
      store: new RegisteredCallStore<RegisteredCall>(test.database, new SecretBox(Buffer.alloc(32))),
      onError: (error) => expect.fail(error.message),
    });
  };
  const nodeOf = (sessionId: string): Promise<unknown> =>
    test.database.first(sql`SELECT node_id FROM calls WHERE session_id = ${sessionId}`);

  it('is taken by one of them, with all that was registered', async () => {
    const [one, other] = [node('one'), node('other')];
    const { callId, sessionId, address } = await one.register(REGISTRATION, (id) => `sip:${id}@192.0.2.1`);
    expect([isCallId(callId), address]).toEqual([true, `sip:${callId}@192.0.2.1`]);
    expect(await nodeOf(sessionId)).toEqual({ node_id: null });
    await expect(other.take(callId, 'talk')).rejects.toThrow('no registered call');
    const all = await Promise.allSettled([other, other, other].map((each) => each.take(callId, 'phone')));
    const [taken, ...more] = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(more).toEqual([]);
    expect(taken).toMatchObject({
      callId,
      sessionId,
      agentId: 'baker',
      agent: { first_message: 'Hi {Name}.', llm: { model: 'scripted' } },
      metadata: { Name: 'Ann' },
      includeMetadataInPrompt: true,
      phones: { from: '+12025550101', to: '' },
    });
    expect(await nodeOf(sessionId)).toEqual({ node_id: 'other' });
    expect(await one.end(sessionId)).toBe(false);
    expect(log).toEqual([`one: ${sessionId} registered`]);
    await Promise.all([one.close(), other.close()]);
  });

  it('can be taken back at another one', async () => {
    const [one, other] = [node('one'), node('other')];
    const { callId, sessionId } = await one.register(REGISTRATION);
    expect([await other.end(sessionId), await one.end(sessionId)]).toEqual([true, false]);
    await expect(one.take(callId, 'talk')).rejects.toThrow('no registered call');
    expect(log).toEqual([`one: ${sessionId} registered`, `other: ${sessionId} canceled`]);
    await Promise.all([one.close(), other.close()]);
  });

  it('outlives its node, and is ended once by the others where nobody comes', async () => {
    const [one, other, third] = [node('one'), node('other'), node('third')];
    const first = await one.register(REGISTRATION);
    const second = await one.register(REGISTRATION);
    await one.close();
    expect(await other.take(first.callId, 'talk')).toMatchObject({ sessionId: first.sessionId });
    await other.recover();
    await third.recover();
    log = [];
    const limitMs = clock.nowMs() + REGISTERED_MS + 60_000;
    await clock.runUntil(() => log.length > 0, limitMs);
    await clock.advanceTo(limitMs);
    expect(log).toEqual([expect.stringContaining(`${second.sessionId} canceled no client connected`)]);
    await Promise.all([other.close(), third.close()]);
  });
});
