import { waitAtMost } from '../base/deadlines.js';
import type { CallMediaHost } from '../telephony/carriers/sip/call-media-host.js';
import type { MediaThreadPool } from '../threads/main/media-thread-pool.js';
import { type MediaHost, type BrowserLine, LocalMediaHost } from '../threads/media-host.js';
import type { PeerSettings } from '../transports/webrtc/peer.js';
import { traceFolder } from './call-log/call-archive.js';
import type { DaemonContext } from './context.js';
import type { DaemonModule } from './module.js';
import type { EventLoop } from './operations/node-load.js';

/** How long sessions may take to end when the daemon closes. */
const DRAIN_MS = 10_000;

/** Runs calls in media threads if the settings ask for them, else on the main thread. */
export class Media implements DaemonModule, MediaHost {
  readonly name = 'media';
  readonly #context: DaemonContext;
  readonly #local: LocalMediaHost;
  /** Null = there are none. */
  #threads: MediaThreadPool | null = null;
  #opening: Promise<MediaThreadPool | null> | null = null;
  #isClosed = false;

  constructor(context: DaemonContext) {
    this.#context = context;
    this.#local = new LocalMediaHost(context.engine);
  }

  async callMedia(): Promise<CallMediaHost> {
    return ((await this.#openThreads()) ?? this.#local).callMedia();
  }

  #openThreads(): Promise<MediaThreadPool | null> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /** Loads the engines of all threads, as `Engine.warmUp`. */
  async warmUp(): Promise<readonly string[]> {
    const threads = this.#openThreads().then((pool) => pool?.warmUp() ?? []);
    return (await Promise.all([this.#context.engine.warmUp(), threads])).flat();
  }

  openWebRtc(peers: PeerSettings): Promise<BrowserLine> {
    return (this.#threads ?? this.#local).openWebRtc(peers);
  }

  get isLocal(): boolean {
    return this.#threads === null;
  }

  /** The number of lines of each thread; null = it is not up. */
  get loads(): readonly (number | null)[] {
    return this.#threads?.loads ?? [];
  }

  /** The event loops of the threads that are up. */
  get loops(): readonly EventLoop[] {
    return this.#threads?.threads.map(({ eventLoop }) => eventLoop) ?? [];
  }

  /** Threads that have ended unexpectedly. */
  get deaths(): number {
    return this.#threads?.deaths ?? 0;
  }

  async flushTrace(sessionId: string): Promise<boolean> {
    return (await this.#threads?.flushTrace(sessionId)) ?? false;
  }

  /** Ends all sessions. */
  disown(): void {
    for (const session of this.#context.engine.sessions) void session.close();
  }

  /** Ends all sessions, the engine and the threads. */
  async close(): Promise<void> {
    const { engine, clock } = this.#context;
    this.#isClosed = true;
    await waitAtMost(clock, DRAIN_MS, engine.close());
    await (await this.#opening?.catch(() => null))?.close();
  }

  async #open(): Promise<MediaThreadPool | null> {
    const { settings, engine, log, faults } = this.#context;
    const count = settings.media.threads;
    if (count === 0) return null;
    // Loaded on demand: neither a daemon without threads nor the first health check waits for it.
    const [{ MediaThreadPool }, { plainOptions }] = await Promise.all([
      import('../threads/main/media-thread-pool.js'),
      import('../threads/wire/plain-options.js'),
    ]);
    const options = plainOptions(engine.options);
    if (options === null) {
      log.write(
        'warn',
        'media.threads has no effect: the engine has custom parts, so all sessions stay on the main thread',
      );
    }
    if (options === null || this.#isClosed) return null;
    this.#threads = new MediaThreadPool({
      count,
      local: this.#local,
      clock: engine.clock,
      stores: engine.options,
      onFault: faults.report,
      voices: () => this.#context.stores.voices.list(),
      settings: { options, traces: settings.traces ? traceFolder(settings) : null },
    });
    return this.#threads;
  }
}
