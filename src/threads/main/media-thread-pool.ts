import type { AgentLine, CallMediaHost } from '../../telephony/carriers/sip/call-media-host.js';
import type { Cancel } from '../../base/clock.js';
import type { EngineOptions } from '../../engine/options.js';
import { errorOf } from '../../base/errors.js';
import type { PeerSettings } from '../../transports/webrtc/peer.js';
import { MediaThread, type MediaThreadOptions } from './media-thread.js';
import { PhoneLineProxy } from './phone-line-proxy.js';
import type { ThreadSettings } from '../wire/protocol.js';
import type { MediaHost, BrowserLine } from '../media-host.js';

export interface MediaThreadPoolOptions extends Pick<MediaThreadOptions, 'settings' | 'stores' | 'voices' | 'clock'> {
  count: number;
  settings: ThreadSettings;
  stores: Pick<
    EngineOptions,
    'knowledge' | 'memories' | 'doNotCall' | 'sessionMemory' | 'onMcpFault' | 'mcpTokens' | 'plugins'
  >;
  /** The media host while no thread is up. */
  local: MediaHost;
  onFault: (error: Error) => void;
}

/** Delay before a thread restarts; doubles each time that the thread ends soon. */
const RESTART_MS = 1_000;
const LONGEST_RESTART_MS = 60_000;
/** A thread that ran this long did not fail at its start. */
const LASTED_MS = 60_000;

interface Place {
  thread: MediaThread;
  startedMs: number;
  waitMs: number;
  cancelRestart: Cancel;
}

/**
 * Worker threads for sessions: a line opens in the thread with the fewest lines, and its session runs there. While no
 * thread is up (loading, or ended), lines open on the main thread.
 */
export class MediaThreadPool implements MediaHost {
  readonly isLocal = false;
  readonly #options: MediaThreadPoolOptions;
  readonly #places: Place[];
  #deaths = 0;
  #callMedia: Promise<CallMediaHost> | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: MediaThreadPoolOptions) {
    this.#options = options;
    this.#places = Array.from({ length: options.count }, (_, n) => this.#place(n, RESTART_MS));
  }

  /** Number of lines of each thread; null = it is not up. */
  get loads(): readonly (number | null)[] {
    return this.#places.map(({ thread }) => (thread.isUp ? thread.load : null));
  }

  /** Number of unexpected ends of threads. */
  get deaths(): number {
    return this.#deaths;
  }

  get threads(): readonly MediaThread[] {
    return this.#places.flatMap(({ thread }) => (thread.isUp ? thread : []));
  }

  /** Loads all engines, like `Engine.warmUp`. @throws the error of an engine that cannot be loaded */
  async warmUp(): Promise<readonly string[]> {
    const unreached = await Promise.all(this.#places.map(({ thread }) => thread.warmUp()));
    return [...new Set(unreached.flat())];
  }

  callMedia(): Promise<CallMediaHost> {
    this.#callMedia ??= this.#options.local.callMedia().then((local): CallMediaHost => ({
      openLine: (rateHz, events, near) => {
        const thread = near === null ? this.#freest() : near === 'here' ? null : this.#threadOf(near);
        return thread?.openPhone(rateHz, events) ?? local.openLine(rateHz, events, near);
      },
      openMedia: (line, ports, options) =>
        line instanceof PhoneLineProxy ? line.openMedia(ports, options) : local.openMedia(line, ports, options),
      bridge: (first, second) => this.#bridge(first, second) ?? local.bridge(first, second),
    }));
    return this.#callMedia;
  }

  async openWebRtc(peers: PeerSettings): Promise<BrowserLine> {
    return (await this.#freest()?.openWebRtc(peers)) ?? this.#options.local.openWebRtc(peers);
  }

  #bridge(first: AgentLine, second: AgentLine): { close: () => void } | null {
    const thread = this.#threadOf(first);
    if (!(first instanceof PhoneLineProxy && second instanceof PhoneLineProxy)) return null;
    return thread === null || thread !== this.#threadOf(second) ? null : thread.bridge(first, second);
  }

  #threadOf(line: AgentLine): MediaThread | null {
    return this.threads.find((thread) => line instanceof PhoneLineProxy && thread.has(line)) ?? null;
  }

  /** Resolves when all entries of a session so far are in its log file: with whether it may get more. */
  async flushTrace(session: string): Promise<boolean> {
    const open = await Promise.all(this.threads.map((thread) => thread.flushTrace(session)));
    return open.includes(true);
  }

  /** Ends all sessions and threads. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const { cancelRestart } of this.#places) cancelRestart();
    await Promise.all(this.#places.map(({ thread }) => thread.close()));
  }

  #freest(): MediaThread | null {
    return this.threads.reduce<MediaThread | null>(
      (best, thread) => (best === null || thread.load < best.load ? thread : best),
      null,
    );
  }

  #place(n: number, waitMs: number): Place {
    const { settings, stores, voices, clock, onFault } = this.#options;
    const thread = new MediaThread({
      number: n + 1,
      settings,
      stores,
      voices,
      clock,
      onFault,
      onGone: (reason) => this.#onGone(n, reason),
    });
    return { thread, startedMs: clock.nowMs(), waitMs, cancelRestart: () => undefined };
  }

  #onGone(n: number, reason: string): void {
    const place = this.#places[n];
    if (place === undefined || this.#closing !== null) return;
    const { clock, onFault } = this.#options;
    const waitMs = clock.nowMs() - place.startedMs >= LASTED_MS ? RESTART_MS : place.waitMs;
    this.#deaths++;
    onFault(
      new Error(`media thread ${String(n + 1)} has ended: ${reason}; it is started again in ${String(waitMs)} ms`),
    );
    place.cancelRestart = clock.schedule(clock.nowMs() + waitMs, () => {
      const next = this.#place(n, Math.min(LONGEST_RESTART_MS, 2 * waitMs));
      this.#places[n] = next;
      next.thread.warmUp().catch((error: unknown) => onFault(errorOf(error)));
    });
  }
}
