import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CallPlacing, type CallPlacingOptions } from '../../../src/daemon/calls/placing.js';
import { DEFAULT_SETTINGS } from '../../../src/settings/settings.js';
import { DialStore } from '../../../src/store/dials.js';
import { NodeStore } from '../../../src/store/nodes.js';
import { CallLog } from '../../../src/daemon/call-log/call-log.js';
import { CallStore } from '../../../src/store/calls.js';
import { UnconfirmedCommit } from '../../../src/store/sql/statement.js';
import {
  isPostgresInstalled,
  openPostgres,
  postgres,
  postgresUrl,
  type TestDatabase,
} from '../../store/support/backends.js';
import { Network } from '../../store/support/network.js';

const REPORT = { address: '', version: '1.0.0', capacity: 1, sessions: 0, draining: false };

describe.skipIf(!isPostgresInstalled)('an outbound call', () => {
  let opened: TestDatabase;

  beforeEach(async () => {
    opened = await postgres.open();
  });

  afterEach(() => opened.remove());

  it('is not placed by a node that others have declared dead', async () => {
    const { database } = opened;
    const node = { id: 'n1' };
    const nodes = new NodeStore(database);
    await nodes.join({ ...REPORT, ...node }, { secret: '', signing: '' });
    const dials = new DialStore(database, node);
    const begun: string[] = [];
    const log = {
      inOrder: (_id: string, work: () => Promise<unknown>) => work(),
      beginBy: (_id: string, transaction: () => Promise<unknown>) => transaction(),
      // oxlint-disable-next-line require-yield -- nothing is stored
      *beginning({ sessionId }: { sessionId: string }) {
        begun.push(sessionId);
        return null;
      },
    } as unknown as CallPlacingOptions['log'];
    const records = { begin: () => expect.unreachable() } as unknown as CallPlacingOptions['records'];
    const placing = new CallPlacing({ database, dials, log, records, node });
    const place = (sessionId: string): Promise<unknown> =>
      placing.place({
        reservation: { sessionId, callId: `${sessionId}-c`, to: '+12025550101', maxDurationS: 60, idempotency: null },
        limits: { ...DEFAULT_SETTINGS.calls, concurrent: 10 },
        call: { sessionId } as Parameters<CallPlacing['place']>[0]['call'],
        record: null,
      });
    await place('s1');
    const [row] = (await nodes.list()).nodes;
    expect(row !== undefined && (await nodes.declareDead(row))).toBe(true);
    await expect(place('s2')).rejects.toMatchObject({ code: 'NODE_DISOWNED' });
    expect((await dials.usage()).concurrent).toBe(1);
    node.id = 'n2';
    await nodes.join({ ...REPORT, ...node }, { secret: '', signing: '' });
    await place('s3');
    expect(begun).toEqual(['s1', 's3']);
  });

  it('is closed if the database does not say that it was stored', async () => {
    const { url, remove } = await postgresUrl();
    const direct = await openPostgres(url);
    const network = await Network.open(url);
    const database = await openPostgres(network.url);
    const faults: Error[] = [];
    const log = new CallLog({ database, store: new CallStore(database), onError: (error) => faults.push(error) });
    const dials = new DialStore(database, { id: 'n1' });
    const records = { begin: () => expect.unreachable() } as unknown as CallPlacingOptions['records'];
    const placing = new CallPlacing({ database, dials, log, records });
    const first = { sessionId: 's1', callId: 'c1' };
    const idempotency = { client: 'me', key: 'k', fingerprint: 'f' };
    const place = (ids: typeof first): Promise<unknown> =>
      placing.place({
        reservation: { ...ids, to: '+12025550101', maxDurationS: 60, idempotency },
        limits: { ...DEFAULT_SETTINGS.calls, concurrent: 10 },
        call: { ...ids, channel: 'phone', direction: 'outbound', agentId: null, agentConfig: {} },
        record: null,
      });
    try {
      network.breakAfter('COMMIT');
      await expect(place(first)).rejects.toBeInstanceOf(UnconfirmedCommit);
      await log.idle();
      expect(await new CallStore(direct).get('s1')).toMatchObject({
        status: 'error',
        endedUs: expect.any(Number) as number,
        item: { error_message: 'The connection to the database broke before the call was placed.' },
      });
      expect(faults).toEqual([]);
      // The client asks again: it learns of the call that came to nothing, and nobody is called twice.
      expect(await place({ sessionId: 's2', callId: 'c2' })).toEqual(first);
    } finally {
      await database.close();
      network.close();
      await direct.close();
      await remove();
    }
  });
});
