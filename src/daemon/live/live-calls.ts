import type { SessionEvent } from '../../session/session-options.js';
import type { StoredCall } from '../../store/calls.js';
import type { Cancel, Clock } from '../../base/clock.js';
import { ActivityTracker } from './call-activity.js';
import type { CallActivity, RunningCall } from './running-call.js';

export interface LiveCallsOptions {
  clock: Clock;
  nowUnixMs: () => number;
  /** Of agents without one. */
  language: string;
}

interface OwnCall {
  call: StoredCall;
  tracker: ActivityTracker;
}

/** How often it looks for what time alone changes, while somebody watches. */
const LOOK_MS = 1_000;

/** The running calls of this node and, while it is told of them, of other nodes. */
export class LiveCalls {
  readonly #options: LiveCallsOptions;
  readonly #own = new Map<string, OwnCall>();
  readonly #others = new Map<string, { nodeId: string; call: RunningCall }>();
  readonly #watchers = new Set<CallWatcher>();
  #cancelLook: Cancel = () => undefined;

  constructor(options: LiveCallsOptions) {
    this.#options = options;
  }

  /** A call of this node has started, changed its status or ended. */
  call(call: StoredCall): void {
    const { sessionId: id, endedUs, status } = call;
    const nowMs = this.#options.nowUnixMs();
    const known = this.#own.get(id);
    if (endedUs !== null) {
      this.#own.delete(id);
      this.#others.delete(id); // of a node that has died
    } else if (known === undefined) {
      this.#own.set(id, { call, tracker: new ActivityTracker(call, this.#options.language, nowMs) });
    } else {
      known.call = call;
      known.tracker.status(status, nowMs);
    }
    this.#changed(id, true);
  }

  /** An event of a session of this node. */
  session(sessionId: string, event: SessionEvent): void {
    const own = this.#own.get(sessionId);
    if (own === undefined) return;
    own.tracker.take(event, this.#options.nowUnixMs());
    this.#changed(sessionId, true);
  }

  /** What another node tells of its calls: events of `watch`. */
  fromNode(nodeId: string, name: string, data: string): void {
    if (name === 'ended') this.#forget([(JSON.parse(data) as { session_id: string }).session_id]);
    else if (name === 'call') this.#keep(nodeId, JSON.parse(data) as RunningCall);
    else if (name === 'calls') {
      const { calls } = JSON.parse(data) as { calls: RunningCall[] };
      const running = new Set(calls.map(({ session_id: id }) => id));
      this.#forget(this.#idsOf((of) => of === nodeId).filter((id) => !running.has(id)));
      for (const call of calls) this.#keep(nodeId, call);
    }
  }

  /** The calls of nodes that are gone are no longer known. */
  nodesAre(ids: readonly string[]): void {
    this.#forget(this.#idsOf((nodeId) => !ids.includes(nodeId)));
  }

  /** What goes on in the calls of this node. */
  own(): RunningCall[] {
    const nowMs = this.#options.nowUnixMs();
    return Array.from(this.#own.values(), (own) => {
      own.tracker.look(nowMs);
      return liveCallOf(own.call, own.tracker.activity());
    });
  }

  /** All running calls that are known. */
  all(): RunningCall[] {
    return [...this.own(), ...Array.from(this.#others.values(), ({ call }) => call)];
  }

  /** A running call; null = it has ended. */
  of(sessionId: string): RunningCall | null {
    const own = this.#own.get(sessionId);
    if (own !== undefined) return liveCallOf(own.call, own.tracker.activity());
    return this.#others.get(sessionId)?.call ?? null;
  }

  /** @param onlyOwn calls of this node */
  watch(onlyOwn: boolean): CallWatcher {
    const watcher = new CallWatcher(this, onlyOwn, () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.#cancelLook();
    });
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) this.#look();
    return watcher;
  }

  /** Ends all streams. May be called twice. */
  close(): void {
    for (const watcher of Array.from(this.#watchers)) watcher.close();
  }

  #look(): void {
    const { clock, nowUnixMs } = this.#options;
    const nowMs = nowUnixMs();
    for (const [id, { tracker }] of this.#own) if (tracker.look(nowMs)) this.#changed(id, true);
    this.#cancelLook = clock.schedule(clock.nowMs() + LOOK_MS, () => this.#look());
  }

  #keep(nodeId: string, call: RunningCall): void {
    this.#others.set(call.session_id, { nodeId, call });
    this.#changed(call.session_id, false);
  }

  #forget(ids: readonly string[]): void {
    for (const id of ids) if (this.#others.delete(id)) this.#changed(id, false);
  }

  #idsOf(is: (nodeId: string) => boolean): string[] {
    return [...this.#others].flatMap(([id, { nodeId }]) => (is(nodeId) ? [id] : []));
  }

  #changed(sessionId: string, isOwn: boolean): void {
    for (const watcher of this.#watchers) watcher.changed(sessionId, isOwn);
  }
}

/** Collects which calls have changed until its client reads them: a slow client gets the latest state only. */
export class CallWatcher {
  readonly #calls: LiveCalls;
  readonly #onlyOwn: boolean;
  readonly #onClose: () => void;
  readonly #closing = new AbortController();
  #changes = new Set<string>();
  #wake = (): void => undefined;

  constructor(calls: LiveCalls, onlyOwn: boolean, onClose: () => void) {
    this.#calls = calls;
    this.#onlyOwn = onlyOwn;
    this.#onClose = onClose;
  }

  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  changed(sessionId: string, isOwn: boolean): void {
    if (this.#onlyOwn && !isOwn) return;
    this.#changes.add(sessionId);
    this.#wake();
  }

  /** All calls as they are, which count as read. */
  all(): RunningCall[] {
    this.#changes.clear();
    return this.#onlyOwn ? this.#calls.own() : this.#calls.all();
  }

  /** The calls that have changed since; null = it has ended. */
  changes(): { id: string; call: RunningCall | null }[] {
    const ids = [...this.#changes];
    this.#changes = new Set();
    return ids.map((id) => ({ id, call: this.#calls.of(id) }));
  }

  /** Resolves when there are changes, or when no more follow. */
  async next(signal: AbortSignal): Promise<void> {
    if (this.#changes.size > 0 || signal.aborted || this.closed.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#wake = wake;
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  /** May be called twice. */
  close(): void {
    this.#closing.abort();
    this.#onClose();
    this.#wake();
  }
}

/** @param live null = unknown */
export function liveCallOf(call: StoredCall, live: CallActivity | null): RunningCall {
  const { sessionId, callId, status, channel, direction, agentId, campaignId, fromPhone, toPhone, tsUs } = call;
  return {
    session_id: sessionId,
    call_id: callId,
    call_status: status,
    channel,
    direction,
    agent_id: agentId,
    campaign_id: campaignId,
    from: fromPhone,
    to: toPhone,
    ts: tsUs / 1e6,
    live,
  };
}
