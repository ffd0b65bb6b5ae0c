import type { InboundRoute } from '../../../src/daemon/calls/inbound-webhook.js';
import { mkdtempSync, rmSync } from 'node:fs';
import type { SessionLine } from '../../../src/engine/remote-line.js';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CarrierCall } from '../../../src/telephony/carriers/carrier.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { AdmissionControl } from '../../../src/daemon/admission-control.js';
import { CallEventBus } from '../../../src/daemon/call-event-bus.js';
import { CallLog } from '../../../src/daemon/call-log/call-log.js';
import { DEFAULT_SETTINGS } from '../../../src/settings/settings.js';
import { Telephone, type TelephoneOptions } from '../../../src/daemon/calls/telephone.js';
import { CallQueues } from '../../../src/daemon/queues/call-queues.js';
import { Engine } from '../../../src/engine/engine.js';
import { CallStore } from '../../../src/store/calls.js';
import { SoleLeases } from '../../../src/store/leases.js';
import { openDatabase } from '../../../src/store/database.js';
import { PhoneStore, type StoredPhone } from '../../../src/store/phones.js';
import { SqliteDatabase } from '../../../src/store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../../src/store/sqlite/sqlite-live-tables.js';
import { SecretBox } from '../../../src/store/secret-box.js';
import { hosting } from '../hosting.js';

const OURS = '+12025550199';
const SILENT_CALLER = '+12025550153';
const PHONE: StoredPhone = {
  number: OURS,
  carrier: 'simulated',
  status: 'active',
  agentId: 'baker',
  agentVersion: null,
  queue: null,
  agentConfigOverride: null,
  tags: [],
  address: null,
  createdAt: 0,
};
const BAKER = { id: 'baker', name: 'Baker', config: { prompt: 'You sell bread.', llm: { model: 'scripted' } } };

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-phone-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

interface Rung {
  call: CarrierCall<SessionLine>;
  sessions: number;
  faults: unknown[];
}

/** How much room there is for a call. */
interface Room {
  maxSessions?: number;
  /** Sessions of others that are being made. */
  pending?: number;
  isOpen?: boolean;
}

/** Somebody calls; what has come of it after ten seconds. */
async function rings(
  phone: Partial<StoredPhone>,
  options: Partial<TelephoneOptions> = {},
  to = OURS,
  room: Room = {},
): Promise<Rung> {
  const [rung] = await ringAtOnce(1, phone, options, to, room);
  if (rung === undefined) throw new Error('nobody called');
  return rung;
}

/** As many call in the same moment. */
async function ringAtOnce(
  count: number,
  phone: Partial<StoredPhone>,
  options: Partial<TelephoneOptions> = {},
  to = OURS,
  { maxSessions = 10, pending = 0, isOpen = true }: Room = {},
): Promise<Rung[]> {
  const clock = new VirtualClock();
  const engine = new Engine({ clock });
  const database = openDatabase(dataDir);
  const faults: unknown[] = [];
  const admission = new AdmissionControl({ clock, engine, maxSessions });
  admission.count({ pending: () => pending });
  if (!isOpen) admission.shut();
  try {
    const [sqlite, tables] = [new SqliteDatabase(database), new SqliteLiveTables(database)];
    const phones = await PhoneStore.open(sqlite, tables, new SecretBox(Buffer.alloc(32)));
    await phones.add({ ...PHONE, ...phone });
    const log = new CallLog({ database: sqlite, store: new CallStore(sqlite) });
    const events = new CallEventBus();
    const telephone = await Telephone.open({
      settings: DEFAULT_SETTINGS,
      registered: {
        take: (id) => {
          throw new Error(`${id} is not registered`);
        },
      },
      engine,
      phones,
      log,
      queues: new CallQueues({
        engine,
        admission,
        events,
        log,
        callBacks: { read: async () => null, add: () => Promise.reject(new Error('none')), wake: () => undefined },
        nowUnixMs: () => 0,
        timezone: 'UTC',
        onError: (error) => faults.push(error),
      }),
      admission,
      leases: new SoleLeases(),
      events,
      inbound: null,
      mayTransfer: () => null,
      agents: hosting(BAKER),
      onError: (error) => faults.push(error),
      ...options,
    });
    const calls = Array.from({ length: count }, () => telephone.callIn(SILENT_CALLER, to));
    const isOver = (): boolean => calls.every(({ end }) => end !== null);
    await clock.runUntil(isOver, clock.nowMs() + 10_000);
    const rung = calls.map((call) => ({ call, sessions: engine.sessions.size, faults }));
    const closed = telephone.close();
    await clock.runUntil(isOver, clock.nowMs() + 10_000);
    await closed;
    expect(telephone.coming).toBe(0);
    return rung;
  } finally {
    await engine.close();
    database.close();
  }
}

describe('a call to a number of the daemon', () => {
  it('is answered by its agent', { timeout: 60_000 }, async () => {
    const { call, sessions, faults } = await rings({});
    expect(call.record().answeredMs).not.toBeNull();
    expect([sessions, faults]).toEqual([1, []]);
  });

  it.each<[string, number, Partial<StoredPhone>, Partial<TelephoneOptions>, Room?]>([
    ['that is switched off', 480, { status: 'inactive' }, {}],
    ['without an agent', 480, { agentId: null }, {}],
    ['whose agent is disabled', 480, {}, { agents: hosting({ ...BAKER, config: { status: 'disabled' } }) }],
    ['whose agent is disabled there', 480, { agentConfigOverride: { status: 'disabled' } }, {}],
    ['while as many sessions as may be are under way', 503, {}, {}, { maxSessions: 0 }],
    ['while others have all the places for sessions', 503, {}, {}, { maxSessions: 3, pending: 3 }],
    ['while the daemon shuts down', 503, {}, {}, { isOpen: false }],
  ])('%s is refused: %i', async (_which, status, phone, options, room) => {
    const { call, sessions, faults } = await rings(phone, options, OURS, room);
    expect(call.end).toMatchObject({ cause: 'rejected' });
    expect(call.end?.reason).toMatch(new RegExp(`^${String(status)} `));
    expect(call.record().answeredMs).toBeNull();
    expect([sessions, faults]).toEqual([0, []]);
  });

  it(
    'is refused with 503 where others of the same moment have taken the last places',
    { timeout: 60_000 },
    async () => {
      const rung = await ringAtOnce(8, {}, {}, OURS, { maxSessions: 3 });
      const answered = rung.filter(({ call }) => call.record().answeredMs !== null);
      expect(answered).toHaveLength(3);
      const refused = rung.filter((one) => !answered.includes(one)).map(({ call }) => call.end?.reason?.slice(0, 3));
      expect(refused).toEqual(Array(5).fill('503'));
      expect([rung[0]?.sessions, rung[0]?.faults]).toEqual([3, []]);
    },
  );

  it('is answered by whom the operator names, with what they give', { timeout: 60_000 }, async () => {
    const asked: unknown[] = [];
    const named: string[] = [];
    const { call, sessions, faults } = await rings(
      { agentId: null },
      {
        agents: hosting(BAKER, (id) => named.push(id)),
        inbound: {
          ask: async (question) => {
            asked.push(question);
            return { agent_id: 'night', metadata: { name: 'Ann' } };
          },
        },
      },
    );
    expect(asked).toEqual([expect.objectContaining({ to: OURS, agentId: null }) as unknown]);
    expect(named).toEqual(['night']);
    expect(call.record().answeredMs).not.toBeNull();
    expect([sessions, faults]).toEqual([1, []]);
  });

  it.each([
    ['busy', '603 Decline'],
    ['unavailable', '480 Temporarily Unavailable'],
  ] as const)('is refused where the operator says %s', async (reject, reason) => {
    const { call } = await rings({}, { inbound: { ask: async () => ({ reject }) } });
    expect(call.end).toMatchObject({ cause: 'rejected', reason });
  });

  it.each<[string, () => Promise<InboundRoute>]>([
    ['fails', () => Promise.reject(new Error('no answer'))],
    ['names settings that no agent may have', async () => ({ agent_config: { voice: { voice_id: 'nobody' } } })],
  ])("is answered by the number's own agent where the operator's answer %s", async (_how, ask) => {
    const { call, sessions, faults } = await rings({}, { inbound: { ask } });
    expect(call.record().answeredMs).not.toBeNull();
    expect(sessions).toBe(1);
    expect(faults).toEqual([
      expect.objectContaining({ message: expect.stringContaining('inboundWebhook') as string }) as unknown,
    ]);
  });

  it('that is not one of its own is not in service', async () => {
    const { call } = await rings({}, {}, '+12025550198');
    expect(call.end).toMatchObject({ cause: 'failed', reason: '404 Not Found' });
  });
});
