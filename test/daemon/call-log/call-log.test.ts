import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nowUnixMs } from '../../../src/base/real-clock.js';
import { CallEventBus } from '../../../src/daemon/call-event-bus.js';
import { CallLog } from '../../../src/daemon/call-log/call-log.js';
import type { SessionReport } from '../../../src/session/record/session-report.js';
import { CallStore, type StoredCall } from '../../../src/store/calls.js';
import { openDatabase } from '../../../src/store/database.js';
import { SqliteDatabase } from '../../../src/store/sqlite/sqlite-database.js';
import { type Client, House } from '../house.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-log-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

async function read<T>(work: (store: CallStore) => Promise<T>): Promise<T> {
  const database = opened();
  try {
    return await work(new CallStore(database));
  } finally {
    await database.close();
  }
}

function opened(now = nowUnixMs): SqliteDatabase {
  return new SqliteDatabase(openDatabase(dataDir), now);
}

/** Waits for a message of the daemon's. */
async function told(client: Client, method: string): Promise<void> {
  await client.inbox.find((message) => message['method'] === method);
}

describe('a call in the log', () => {
  const beginning = {
    ...({ sessionId: 's1', callId: 'c1', channel: 'phone', direction: 'outbound', agentId: 'baker' } as const),
    agentConfig: { prompt: 'Sell.' },
    metadata: { name: 'Ann' },
    phones: { from: '+1202', to: '+1303' },
    status: 'registered',
  };

  it('is there from its beginning, and its status follows', async () => {
    const database = opened(() => 1_700_000_000_000.25);
    const changes: string[] = [];
    const store = new CallStore(database);
    const events = new CallEventBus();
    events.onCall(({ status }) => changes.push(status));
    const log = new CallLog({ database, store, events });
    await log.begin(beginning);
    await log.status('s1', 'ringing');
    await log.status('unknown', 'ringing');
    expect(await store.byCallId('c1')).toMatchObject({
      sessionId: 's1',
      status: 'ringing',
      fromPhone: '+1202',
      toPhone: '+1303',
      endedUs: null,
      tsUs: 1_700_000_000_000_250,
      item: { call_status: 'ringing', ts: 1_700_000_000.00025, metadata: { name: 'Ann' }, voip: { to: '+1303' } },
    });
    expect(changes).toEqual(['registered', 'ringing']);
    await database.close();
  });

  it('has a time of its own, later than all before, also where the clock goes back', async () => {
    const times = [1000, 1000, 500, 1001];
    const database = opened(() => times.shift() ?? 0);
    const store = new CallStore(database);
    const log = new CallLog({ database, store });
    const all: StoredCall[] = [];
    for (const n of ['1', '2', '3', '4']) {
      all.push(await log.begin({ ...beginning, sessionId: `s${n}`, callId: `c${n}` }));
    }
    expect(all.map(({ tsUs }) => tsUs)).toEqual([1_000_000, 1_000_001, 1_000_002, 1_001_000]);
    await database.close();
  });

  it('has its end status and the reason of it from one update on', async () => {
    const database = opened(() => 1000);
    const changes: [string, string | null][] = [];
    const events = new CallEventBus();
    events.onCall(({ status, item }) => changes.push([status, item.error_message]));
    const log = new CallLog({ database, store: new CallStore(database), events });
    await log.begin(beginning);
    await log.status('s1', 'ringing');
    await log.status('s1', 'failed', 'The call was not connected: 503.');
    expect(changes).toEqual([
      ['registered', null],
      ['ringing', null],
      ['failed', 'The call was not connected: 503.'],
    ]);
    await database.close();
  });

  it('that could have no session ends with its reason, once', async () => {
    const database = opened(() => 1000);
    const store = new CallStore(database);
    const log = new CallLog({ database, store });
    await log.begin(beginning);
    await log.fail('s1', 'failed', 'the agent was late');
    await log.fail('s1', 'error', 'again');
    await log.status('s1', 'ringing');
    expect(await store.get('s1')).toMatchObject({ status: 'failed', item: { error_message: 'the agent was late' } });
    await database.close();
  });

  it('that another node has closed keeps its status, and gets what was said in it', async () => {
    const database = opened();
    const store = new CallStore(database);
    const log = new CallLog({ database, store });
    const { item } = await log.begin(beginning);
    const others = new CallLog({ database, store });
    await others.fail('s1', 'error', 'the node is dead');
    await log.keep({ ...item, call_status: 'user-ended', chat: '["said"]' }, { recording: null } as SessionReport);
    expect(await store.get('s1')).toMatchObject({
      status: 'error',
      item: { chat: '["said"]', call_status: 'error', error_message: 'the node is dead' },
    });
    await database.close();
  });

  it('whose line had ended when the process died keeps its status', async () => {
    const database = opened();
    const log = new CallLog({ database, store: new CallStore(database) });
    await log.begin(beginning);
    await log.status('s1', 'busy');
    await database.close();
    const house = await House.open({ dataDir });
    const call = await read((store) => store.get('s1'));
    expect(call).toMatchObject({ status: 'busy', item: { error_message: 'The line was busy. Call again later.' } });
    expect(call?.endedUs).not.toBeNull();
    await house.close();
  });

  it('keeps the reason that came with its status when the process died', async () => {
    const database = opened();
    const log = new CallLog({ database, store: new CallStore(database) });
    await log.begin(beginning);
    await log.status('s1', 'failed', 'The call was not connected: 503 Service Unavailable.');
    await database.close();
    const house = await House.open({ dataDir });
    const call = await read((store) => store.get('s1'));
    expect(call).toMatchObject({
      status: 'failed',
      item: { error_message: 'The call was not connected: 503 Service Unavailable.' },
    });
    expect(call?.endedUs).not.toBeNull();
    await house.close();
  });

  it('that went on when the process died is closed with a reason at the next start', async () => {
    const database = opened();
    await new CallLog({ database, store: new CallStore(database) }).begin(beginning);
    await database.close();
    const house = await House.open({ dataDir });
    const orphan = await read((store) => store.get('s1'));
    expect(orphan).toMatchObject({
      status: 'error',
      item: { error_message: expect.stringContaining('stopped') as string },
    });
    expect(orphan?.endedUs).not.toBeNull();
    await house.close();
  });
});

it('a talk session is logged with what was said in it', { timeout: 30_000 }, async () => {
  const house = await House.open({ dataDir });
  const client = house.connect();
  await client.initiate({ metadata: { table: 4 } });
  await told(client, 'onready');
  const during = await read((store) => store.open());
  expect(during).toMatchObject([{ channel: 'talk', agentId: 'baker', status: 'in-progress' }]);
  await told(client, 'onresponsetext');
  client.socket.close();
  await house.ended;
  await house.daemon.close();
  const [call] = during as [StoredCall];
  expect(await read((store) => store.get(call.sessionId))).toMatchObject({
    status: 'user-ended',
    recording: null,
    item: { metadata: { table: 4 }, call_status: 'user-ended', session_id: call.sessionId },
  });
  await house.close();
});
