import { randomUUID } from 'node:crypto';
import type { Cancel, Clock } from '../../base/clock.js';
import { errorOf } from '../../base/errors.js';
import type { Lease, Leases } from '../../store/leases.js';
import type { KeyIds, NodeReport, NodeStore, StoredNode } from '../../store/nodes.js';
import type { ThisNode } from './this-node.js';

/** A node as operators see it. */
export interface ShownNode extends NodeReport {
  /** `silent`: its heartbeats are late, or others close its calls. */
  state: 'live' | 'draining' | 'silent';
  /** Milliseconds since 1970. */
  startedUnixMs: number;
  /** Milliseconds since its last heartbeat. */
  heartbeatAgoMs: number;
}

/** All nodes of a database. */
export interface Nodes {
  /** This one and all others that live or have not been cleared away. */
  list(): Promise<readonly ShownNode[]>;
  /** The address of another node that lives; null = there is no such node. */
  addressOf(id: string): Promise<string | null>;
  /** Ids of all other nodes that live. */
  others(): Promise<readonly string[]>;
  /** Enters this node before it takes calls. @throws ParleyError DATABASE_UNREACHABLE */
  join(): Promise<void>;
  /** Tells the others now what has changed of this node. */
  report(): void;
  /** Removes this node. Its calls have ended. May be called twice. */
  leave(): Promise<void>;
}

export interface NodeGroupOptions {
  store: NodeStore;
  leases: Leases;
  node: ThisNode;
  /** Of the keys that this node uses. */
  keys: KeyIds;
  /** A real one. */
  clock: Clock;
  /** What others learn about this node. */
  figures: () => Omit<NodeReport, 'id' | 'address'>;
  /** A node without a heartbeat for this long counts as dead, ms. */
  deadAfterMs: number;
  /** Ends what a dead node has left: closes its calls, puts its records back. May be called again for the same node. */
  takeOver: (nodeId: string) => Promise<void>;
  /** Others have declared this node dead, and end its calls in the log. It has a new id already: ends its lines. */
  onDisowned: (earlierId: string) => void;
  log: (message: string) => void;
  onError: (error: Error) => void;
}

/** Heartbeats in the time after which a node counts as dead. */
const BEATS = 5;

/** What a node saw of another one. */
interface Sight {
  heartbeatUs: number;
  /** When it saw this heartbeat for the first time, of its own clock. */
  sinceMs: number;
}

/**
 * The nodes of a PostgreSQL database. Each node writes heartbeats with the database's time. The node with the lease
 * watches the others: it declares one dead if it has seen no new heartbeat for the whole time and could read the table
 * meanwhile, so an outage of the database is no node's death. A node that was declared dead, but lives, learns it from
 * its next heartbeat.
 */
export class NodeGroup implements Nodes {
  readonly #options: NodeGroupOptions;
  readonly #beatMs: number;
  readonly #sights = new Map<string, Sight>();
  /** Dead nodes whose calls this one ends now. */
  readonly #clearing = new Map<string, Promise<void>>();
  #lookedMs = -Infinity;
  #watch: Lease | null = null;
  #cancelBeat: Cancel = () => undefined;
  #beats: Promise<void> = Promise.resolve();
  #hasFailed = false;
  #isIn = false;
  #leaving: Promise<void> | null = null;

  constructor(options: NodeGroupOptions) {
    this.#options = options;
    this.#beatMs = options.deadAfterMs / BEATS;
  }

  async join(): Promise<void> {
    const { store, leases, node, keys } = this.#options;
    await store.join(this.#reportOf(node.id), keys);
    this.#isIn = true;
    this.#scheduleBeat();
    this.#watch = leases.lead('nodes', (lost) => this.#lead(lost));
  }

  report(): void {
    if (!this.#isIn) return;
    this.#cancelBeat();
    this.#beats = this.#beats.then(() => this.#beat());
  }

  async list(): Promise<readonly ShownNode[]> {
    const { nodes, nowUs } = await this.#options.store.list();
    return nodes.map((node) => this.#shown(node, nowUs));
  }

  async addressOf(id: string): Promise<string | null> {
    const address = (await this.#options.store.live(id))?.address ?? '';
    return address === '' ? null : address;
  }

  async others(): Promise<readonly string[]> {
    const { nodes } = await this.#options.store.list();
    return nodes.flatMap(({ id, deadUs }) => (id === this.#options.node.id || deadUs !== null ? [] : [id]));
  }

  leave(): Promise<void> {
    this.#leaving ??= this.#leave();
    return this.#leaving;
  }

  async #leave(): Promise<void> {
    const { store, node } = this.#options;
    if (!this.#isIn) return;
    this.#isIn = false;
    this.#cancelBeat();
    await this.#watch?.release();
    await Promise.all(this.#clearing.values());
    await this.#beats;
    // If the database cannot be reached, the others find it dead, without calls.
    await store.remove(node.id).catch((error: unknown) => this.#failed(error));
  }

  #reportOf(id: string): NodeReport {
    const { node, figures } = this.#options;
    return { ...figures(), id, address: node.address };
  }

  #shown(node: StoredNode, nowUs: number): ShownNode {
    const { id, address, version, capacity, sessions, draining, startedUs, heartbeatUs, deadUs } = node;
    const heartbeatAgoMs = Math.max(0, nowUs - heartbeatUs) / 1000;
    const isSilent = deadUs !== null || heartbeatAgoMs > this.#options.deadAfterMs;
    const figures = { id, address, version, capacity, sessions, draining };
    const state = draining ? ('draining' as const) : ('live' as const);
    return { ...figures, state: isSilent ? 'silent' : state, startedUnixMs: startedUs / 1000, heartbeatAgoMs };
  }

  #scheduleBeat(): void {
    const { clock } = this.#options;
    if (!this.#isIn) return;
    this.#cancelBeat();
    this.#cancelBeat = clock.schedule(clock.nowMs() + this.#beatMs, () => this.report());
  }

  async #beat(): Promise<void> {
    const { store, node } = this.#options;
    if (!this.#isIn) return;
    try {
      if (!(await store.beat(this.#reportOf(node.id)))) await this.#rejoin();
      this.#hasFailed = false;
    } catch (error) {
      this.#failed(error);
    }
    this.#scheduleBeat();
  }

  /** Others have declared this node dead. */
  async #rejoin(): Promise<void> {
    const { store, node, log, onDisowned } = this.#options;
    const earlier = node.id;
    const id = randomUUID();
    await store.join(this.#reportOf(id), this.#options.keys);
    node.become(id);
    log(`other nodes missed the heartbeats of this one and have closed its calls; it goes on as node ${id}`);
    onDisowned(earlier);
  }

  /** Watches the other nodes while this one has the lease. */
  async #lead(lost: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    this.#sights.clear();
    while (!lost.aborted) {
      try {
        await this.#look(lost);
        this.#hasFailed = false;
      } catch (error) {
        this.#sights.clear();
        this.#failed(error);
      }
      await new Promise<void>((resolve) => {
        const done = (): void => {
          cancel();
          lost.removeEventListener('abort', done);
          resolve();
        };
        const cancel = clock.schedule(clock.nowMs() + this.#beatMs, done);
        lost.addEventListener('abort', done, { once: true });
      });
    }
  }

  async #look(lost: AbortSignal): Promise<void> {
    const { store, node, clock, deadAfterMs, log } = this.#options;
    // While this process stood still, it saw nothing.
    if (clock.nowMs() - this.#lookedMs > deadAfterMs / 2) this.#sights.clear();
    const [{ nodes }, strays] = [await store.list(), await store.strays()];
    this.#lookedMs = clock.nowMs();
    const seen = [...nodes, ...strays.map((id) => ({ id, heartbeatUs: 0, deadUs: null }))];
    this.#forgetBut(new Set(seen.map(({ id }) => id)));
    for (const { id, heartbeatUs, deadUs } of seen) {
      if (lost.aborted) return;
      if (id === node.id) continue;
      const isStray = !nodes.some((other) => other.id === id);
      if (deadUs === null) {
        if (!this.#isSilent(id, heartbeatUs)) continue;
        if (!isStray && !(await store.declareDead({ id, heartbeatUs }))) continue;
        log(`node ${id} stopped responding: this node closes its calls`);
      }
      this.#clear(id);
    }
  }

  /** Ends what a dead node has left. If that fails, it is done again. */
  #clear(id: string): void {
    const { store, takeOver } = this.#options;
    if (this.#clearing.has(id)) return;
    const clearing = takeOver(id)
      .then(() => store.remove(id))
      .catch((error: unknown) => this.#options.onError(errorOf(error)))
      .finally(() => this.#clearing.delete(id));
    this.#clearing.set(id, clearing);
  }

  /** Whether a node has sent no heartbeat for so long that it counts as dead. */
  #isSilent(id: string, heartbeatUs: number): boolean {
    const { clock, deadAfterMs } = this.#options;
    const sight = this.#sights.get(id);
    if (sight?.heartbeatUs === heartbeatUs) return clock.nowMs() - sight.sinceMs >= deadAfterMs;
    this.#sights.set(id, { heartbeatUs, sinceMs: clock.nowMs() });
    return false;
  }

  #forgetBut(ids: ReadonlySet<string>): void {
    for (const id of this.#sights.keys()) if (!ids.has(id)) this.#sights.delete(id);
  }

  /** Reports the first of several faults in a row. */
  #failed(error: unknown): void {
    if (!this.#hasFailed) this.#options.onError(errorOf(error));
    this.#hasFailed = true;
  }
}

export interface SoleNodeOptions extends Pick<NodeGroupOptions, 'node' | 'figures'> {
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
}

/** The only node of a data folder. */
export class SoleNode implements Nodes {
  readonly #options: SoleNodeOptions;
  readonly #startedUnixMs: number;

  constructor(options: SoleNodeOptions) {
    this.#options = options;
    this.#startedUnixMs = options.nowUnixMs();
  }

  async list(): Promise<readonly ShownNode[]> {
    const { node, figures } = this.#options;
    const report = figures();
    const state = report.draining ? 'draining' : 'live';
    const { id, address } = node;
    return [{ ...report, id, address, state, startedUnixMs: this.#startedUnixMs, heartbeatAgoMs: 0 }];
  }

  async addressOf(): Promise<null> {
    return null;
  }

  async others(): Promise<readonly string[]> {
    return [];
  }

  async join(): Promise<void> {
    // Nobody else has the folder.
  }

  report(): void {
    // Nobody asks for it.
  }

  async leave(): Promise<void> {
    // As `join`.
  }
}
