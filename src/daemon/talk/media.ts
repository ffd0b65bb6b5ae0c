import { waitAtMost } from '../../base/deadlines.js';
import type { Settings } from '../../settings/settings.js';
import type { Engine } from '../../engine/engine.js';
import type { MediaThreadPool } from '../../threads/main/media-thread-pool.js';
import type { PeerSettings } from '../../transports/webrtc/peer.js';
import type { CallArchive } from '../call-log/call-archive.js';
import type { Log } from '../operations/log.js';
import type { WebRtcLine } from './webrtc-calls.js';

export interface MediaOptions {
  settings: Pick<Settings, 'media'>;
  engine: Engine;
  /** The file of the daemon's database. */
  database: string;
  archive: Pick<CallArchive, 'traceFolder'>;
  log: Log;
  onError: (error: Error) => void;
}

/** How long sessions may take to end when the daemon closes. */
const DRAIN_MS = 10_000;

/** Where calls run: in media threads, where the settings ask for them, else on the main thread. */
export class Media {
  readonly #options: MediaOptions;
  /** Null = there are none. */
  #threads: MediaThreadPool | null = null;
  #opening: Promise<MediaThreadPool | null> | null = null;
  #isClosed = false;

  constructor(options: MediaOptions) {
    this.#options = options;
  }

  /** Starts the threads, where there are to be any. */
  open(): Promise<MediaThreadPool | null> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /** Loads the engines of the threads, as `Engine.warmUp`. */
  async warmUp(): Promise<readonly string[]> {
    return (await this.open())?.warmUp() ?? [];
  }

  /** A line for a browser in a thread; null = it is the main thread's. */
  async openWebRtc(peers: PeerSettings): Promise<WebRtcLine | null> {
    return this.#threads?.openWebRtc(peers) ?? null;
  }

  /** Each thread, by how many lines it has; null = it is not up. */
  get loads(): readonly (number | null)[] {
    return this.#threads?.loads ?? [];
  }

  /** Threads that have ended unbidden. */
  get deaths(): number {
    return this.#threads?.deaths ?? 0;
  }

  /** Resolves when what has happened so far in a session is in the file of its log. */
  async flushTrace(sessionId: string): Promise<void> {
    await this.#threads?.flushTrace(sessionId);
  }

  /** Ends all sessions, the engine and the threads. May be called twice. */
  async close(): Promise<void> {
    const { engine } = this.#options;
    this.#isClosed = true;
    await waitAtMost(engine.clock, DRAIN_MS, engine.close());
    await (await this.#opening?.catch(() => null))?.close();
  }

  async #open(): Promise<MediaThreadPool | null> {
    const { settings, engine, database, archive, log, onError } = this.#options;
    const count = settings.media.threads;
    if (count === 0) return null;
    // Loaded late: who has no threads, and who asks whether the daemon is there, does not wait for it.
    const [{ MediaThreadPool }, { plainOptions }] = await Promise.all([
      import('../../threads/main/media-thread-pool.js'),
      import('../../threads/wire/plain-options.js'),
    ]);
    const options = plainOptions(engine.options);
    if (options === null) {
      log.write(
        'warn',
        'media.threads: the engine has parts of its embedder, so that all sessions stay on the main thread',
      );
    }
    if (options === null || this.#isClosed) return null;
    this.#threads = new MediaThreadPool({
      count,
      clock: engine.clock,
      stores: engine.options,
      onFault: onError,
      settings: { options, database, traces: archive.traceFolder },
    });
    return this.#threads;
  }
}
