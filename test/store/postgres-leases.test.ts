import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { type Leases, SoleLeases } from '../../src/store/leases.js';
import { PostgresLeases } from '../../src/store/postgres/postgres-leases.js';
import { isPostgresInstalled, postgresUrl } from './support/backends.js';
import { Network } from './support/network.js';

/** Work that notes when it runs. */
class Work {
  signal: AbortSignal | null = null;
  begun = 0;

  readonly run = (lost: AbortSignal): void => {
    this.begun++;
    this.signal = lost;
  };

  get isRunning(): boolean {
    return this.signal?.aborted === false;
  }
}

describe('the only node', () => {
  it('leads at once, and until it releases', async () => {
    const leases = new SoleLeases();
    const work = new Work();
    const lease = leases.lead('retention', work.run);
    expect([work.isRunning, lease.isHeld]).toEqual([true, true]);
    await leases.close();
    expect([work.isRunning, lease.isHeld]).toEqual([false, false]);
  });
});

describe.skipIf(!isPostgresInstalled)('leases on PostgreSQL', () => {
  let url: string;
  let remove: () => Promise<void>;
  const opened: Leases[] = [];
  const faults: Error[] = [];

  beforeAll(async () => {
    ({ url, remove } = await postgresUrl());
  });
  afterEach(async () => {
    for (const leases of opened.splice(0)) await leases.close();
    faults.length = 0;
  });
  afterAll(() => remove());

  function open(termMs: number): PostgresLeases {
    const onError = (error: Error): number => faults.push(error);
    const leases = new PostgresLeases({ url, clock: new RealClock(), onError, termMs });
    opened.push(leases);
    return leases;
  }

  /** Runs a statement beside the nodes. */
  async function administer(text: string): Promise<readonly unknown[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  it('lets exactly one node lead, another one after its release', async () => {
    const works = [new Work(), new Work(), new Work()];
    const leases = works.map((work) => open(5_000).lead('sweep', work.run));
    await vi.waitUntil(() => works.some(({ isRunning }) => isRunning));
    for (let left = works.length; left > 0; left--) {
      await vi.waitUntil(() => works.filter(({ isRunning }) => isRunning).length === 1, { timeout: 10_000 });
      const at = works.findIndex(({ isRunning }) => isRunning);
      expect(leases.map(({ isHeld }) => isHeld)).toEqual(works.map((_, index) => index === at));
      await leases[at]?.release();
      expect(leases[at]?.isHeld).toBe(false);
    }
    expect(works.map(({ begun }) => begun)).toEqual([1, 1, 1]);
    expect(faults).toEqual([]);
  });

  it('keeps names apart, and gives all back when it closes', async () => {
    const [one, other] = [open(5_000), open(5_000)];
    const works = ['a', 'b'].map((name) => {
      const work = new Work();
      one.lead(name, work.run);
      return work;
    });
    await vi.waitUntil(() => works.every(({ isRunning }) => isRunning));
    const waiting = new Work();
    other.lead('a', waiting.run);
    await one.close();
    await one.close();
    await vi.waitUntil(() => waiting.isRunning, { timeout: 10_000 });
    expect(works.some(({ isRunning }) => isRunning)).toBe(false);
  });

  it('waits for the end of the work before it gives a lease back', async () => {
    const [one, other] = [open(2_000), open(2_000)];
    let end = (): void => undefined;
    const order: string[] = [];
    const lease = one.lead('slow', async (lost) => {
      order.push('begin');
      await new Promise<void>((resolve) => (end = resolve));
      order.push(`end ${String(lost.aborted)}`);
    });
    await vi.waitUntil(() => order.length > 0);
    other.lead('slow', () => void order.push('other'));
    const released = lease.release();
    end();
    await released;
    await vi.waitUntil(() => order.includes('other'), { timeout: 10_000 });
    expect(order).toEqual(['begin', 'end true', 'other']);
  });

  it('loses leadership with its connection, reports that once, and leads again', async () => {
    const work = new Work();
    open(2_000).lead('sweep', work.run);
    await vi.waitUntil(() => work.isRunning);
    await administer(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'parley leases' AND datname = current_database()`,
    );
    await vi.waitUntil(() => work.begun === 2 && work.isRunning, { timeout: 10_000 });
    expect(faults.map((fault) => (fault as { code?: string }).code)).toEqual(['DATABASE_UNREACHABLE']);
  });

  it('stops before the server gives the lease of a silent node to another', async () => {
    const network = await Network.open(url);
    const silent = new PostgresLeases({
      url: network.url,
      clock: new RealClock(),
      onError: (error) => faults.push(error),
      termMs: 1_000,
    });
    opened.push(silent);
    const works = [new Work(), new Work()] as const;
    const lease = silent.lead('sweep', works[0].run);
    await vi.waitUntil(() => works[0].isRunning);
    network.cut();
    open(1_000).lead('sweep', (lost) => {
      works[1].run(lost);
      expect([works[0].isRunning, lease.isHeld]).toEqual([false, false]);
    });
    await vi.waitUntil(() => works[1].isRunning, { timeout: 10_000 });
    expect(works[0].isRunning).toBe(false);
    network.close();
  });
});
