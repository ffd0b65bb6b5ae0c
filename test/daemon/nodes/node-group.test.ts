import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { ParleyError } from '../../../src/base/errors.js';
import { NodeGroup } from '../../../src/daemon/nodes/node-group.js';
import { ThisNode } from '../../../src/daemon/nodes/this-node.js';
import type { Lease, Leases, LeadWork } from '../../../src/store/leases.js';
import { NodeStore } from '../../../src/store/nodes.js';
import { sql, type SqlDatabase } from '../../../src/store/sql/statement.js';
import { backends, type TestDatabase } from '../../store/support/backends.js';

const DEAD_AFTER_MS = 10_000;
const STEP_MS = 500;

/** A database that one node can lose, and that tells when it is idle. */
class Line {
  isCut = false;
  underWay = 0;
  readonly database: SqlDatabase;

  constructor(database: SqlDatabase) {
    const through = async <T>(work: () => Promise<T>): Promise<T> => {
      if (this.isCut) throw new ParleyError('DATABASE_UNREACHABLE', { reason: 'cut' });
      this.underWay++;
      return work().finally(() => this.underWay--);
    };
    this.database = {
      dialect: database.dialect,
      all: (statement) => through(() => database.all(statement)),
      first: (statement) => through(() => database.first(statement)),
      run: (statement) => through(() => database.run(statement)),
      transaction: (work, lock) => through(() => database.transaction(work, lock)),
      read: (work) => through(() => database.read(work)),
      lazyTransaction: (work) => through(() => database.lazyTransaction(work)),
      scrub: () => through(() => database.scrub()),
      nowUs: () => database.nowUs(),
      close: () => database.close(),
    };
  }
}

/** Gives its lease when the test says so. */
class TestLeases implements Leases {
  #work: LeadWork | null = null;
  #lost = new AbortController();

  lead(_name: string, work: LeadWork): Lease {
    this.#work = work;
    return { isHeld: false, release: () => this.close() };
  }

  give(): void {
    this.#lost = new AbortController();
    void this.#work?.(this.#lost.signal);
  }

  async close(): Promise<void> {
    this.#lost.abort();
  }
}

/** A node with a clock of its own, which stands still while the node is paused. */
class Member {
  readonly clock = new VirtualClock();
  readonly node = new ThisNode();
  readonly leases = new TestLeases();
  readonly line: Line;
  readonly group: NodeGroup;
  readonly takenOver: string[] = [];
  readonly disowned: string[] = [];
  readonly faults: Error[] = [];
  isPaused = false;
  draining = false;
  /** What `takeOver` rejects with the next time. */
  fault: Error | null = null;

  constructor(database: SqlDatabase, address: string) {
    this.node.address = address;
    this.line = new Line(database);
    this.group = new NodeGroup({
      store: new NodeStore(this.line.database),
      leases: this.leases,
      node: this.node,
      clock: this.clock,
      keys: { secret: 'one', signing: 'two' },
      figures: () => ({ version: '1.0.0', capacity: 100, sessions: 3, draining: this.draining }),
      deadAfterMs: DEAD_AFTER_MS,
      takeOver: async (id) => {
        this.takenOver.push(id);
        const { fault } = this;
        this.fault = null;
        if (fault !== null) throw fault;
      },
      onDisowned: (id) => this.disowned.push(id),
      log: () => undefined,
      onError: (error) => this.faults.push(error),
    });
  }
}

describe.each(backends)('nodes on $name', ({ open }) => {
  let opened: TestDatabase;
  let unixMs = 1_795_448_092_000;
  const members: Member[] = [];

  beforeEach(async () => {
    opened = await open(() => unixMs);
  });

  afterEach(async () => {
    for (const { leases } of members) await leases.close();
    members.length = 0;
    await opened.remove();
  });

  async function join(count: number): Promise<Member[]> {
    for (let at = 0; at < count; at++) {
      const member = new Member(opened.database, `http://10.0.0.${String(at + 1)}:8080`);
      await member.group.join();
      members.push(member);
    }
    return members;
  }

  /** Lets time pass for the database and all nodes that are not paused. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      unixMs += STEP_MS;
      for (const { clock, isPaused } of members) if (!isPaused) await clock.advanceBy(STEP_MS);
      await vi.waitUntil(() => members.every(({ line }) => line.underWay === 0), { interval: 1 });
    }
  }

  async function ids(): Promise<string[]> {
    return (await new NodeStore(opened.database).list()).nodes.map(({ id }) => id).sort();
  }

  it('know each other, and lose one that leaves', async () => {
    const [one, other] = (await join(2)) as [Member, Member];
    other.draining = true;
    other.group.report();
    await pass(2_000);
    const known = { version: '1.0.0', capacity: 100, sessions: 3 };
    const startedUnixMs = 1_795_448_092_000;
    const found = (await one.group.list()).toSorted((a, b) => a.address.localeCompare(b.address));
    expect(found).toMatchObject([
      { ...known, id: one.node.id, address: 'http://10.0.0.1:8080', draining: false, state: 'live' },
      { ...known, id: other.node.id, address: 'http://10.0.0.2:8080', draining: true, state: 'draining' },
    ]);
    expect(found[0]?.startedUnixMs).toBeGreaterThanOrEqual(startedUnixMs);
    expect(await one.group.addressOf(other.node.id)).toBe('http://10.0.0.2:8080');
    await other.group.leave();
    await other.group.leave();
    expect(await ids()).toEqual([one.node.id]);
    expect(await one.group.addressOf(other.node.id)).toBeNull();
  });

  it('lets the watching node end what a silent one has left, once', async () => {
    const [one, other, third] = (await join(3)) as [Member, Member, Member];
    one.leases.give();
    await pass(4_000);
    third.isPaused = true;
    await pass(DEAD_AFTER_MS - 2 * STEP_MS);
    expect(one.takenOver).toEqual([]);
    await pass(5_000);
    expect([one.takenOver, other.takenOver]).toEqual([[third.node.id], []]);
    expect(await ids()).toEqual([one.node.id, other.node.id].sort());
    await pass(20_000);
    expect(one.takenOver).toEqual([third.node.id]);
  });

  it('tells a node that was declared dead, which goes on under another id', async () => {
    const [one, other] = (await join(2)) as [Member, Member];
    one.leases.give();
    await pass(2_000);
    other.isPaused = true;
    await pass(15_000);
    const earlier = other.node.id;
    expect(one.takenOver).toEqual([earlier]);
    other.isPaused = false;
    await pass(4_000);
    expect(other.disowned).toEqual([earlier]);
    expect(other.node.id).not.toBe(earlier);
    expect(await ids()).toEqual([one.node.id, other.node.id].sort());
    await pass(20_000);
    expect([one.takenOver, other.disowned]).toEqual([[earlier], [earlier]]);
  });

  it('takes an outage of the database for no death', async () => {
    const [one, other] = (await join(2)) as [Member, Member];
    one.leases.give();
    await pass(4_000);
    for (const { line } of members) line.isCut = true;
    await pass(60_000);
    one.line.isCut = false;
    // The other one needs a little longer to reach it again.
    await pass(6_000);
    other.line.isCut = false;
    await pass(20_000);
    expect([one.takenOver, other.disowned]).toEqual([[], []]);
    expect(one.faults).toHaveLength(1);
    expect(other.faults).toHaveLength(1);
  });

  it('takes its own pause for no death of others', async () => {
    const [one, other] = (await join(2)) as [Member, Member];
    one.leases.give();
    await pass(4_000);
    one.isPaused = true;
    await pass(60_000);
    one.isPaused = false;
    await pass(2_000);
    expect([one.takenOver, other.disowned]).toEqual([[], []]);
  });

  it('ends what is left again if that failed, also what another node had begun', async () => {
    const [one, other, third] = (await join(3)) as [Member, Member, Member];
    one.leases.give();
    await pass(2_000);
    third.isPaused = true;
    one.fault = new Error('the disk is full');
    await pass(14_000);
    expect(one.takenOver.slice(0, 2)).toEqual([third.node.id, third.node.id]);
    expect(one.faults).toHaveLength(1);
    other.isPaused = true;
    one.fault = new Error('this one dies, too');
    for (let left = 60; left > 0 && !one.takenOver.includes(other.node.id); left--) await pass(STEP_MS);
    one.isPaused = true;
    const [last] = (await join(1)).slice(-1) as [Member];
    last.leases.give();
    await pass(DEAD_AFTER_MS + 4_000);
    expect(last.takenOver).toContain(other.node.id);
    expect(await ids()).toEqual([last.node.id]);
  });

  it('closes calls of a node without a row', async () => {
    const [one] = (await join(1)) as [Member];
    await opened.database.run(
      sql`INSERT INTO calls (ts_us, session_id, channel, direction, status, item, node_id)
          VALUES (1, 's1', 'phone', 'inbound', 'in-progress', '{}', 'gone')`,
    );
    one.leases.give();
    await pass(DEAD_AFTER_MS - STEP_MS);
    expect(one.takenOver).toEqual([]);
    await pass(4_000);
    expect(new Set(one.takenOver)).toEqual(new Set(['gone']));
  });
});
