import type { Cancel, Clock } from '../../base/clock.js';
import type { McpServerSetting } from '../../settings/setting-items.js';
import { reasonOf } from '../../base/errors.js';
import { McpConnection, type McpToolInfo } from './connection.js';
import { HttpLink } from './http-link.js';
import type { LinkEvents, McpLink } from './link.js';
import { StdioLink } from './stdio-link.js';

export interface McpServerOptions {
  setting: McpServerSetting;
  /** A real clock. */
  clock: Clock;
  /** The server is unreachable or has disconnected. Retries follow. */
  onFault: (reason: string) => void;
}

/** Reconnect backoff, in milliseconds; the last delay repeats. */
const AGAIN_MS = [1_000, 5_000, 30_000, 120_000];

/** One of the operator's servers: connects in the background and reconnects. */
export class McpServer {
  readonly timeoutMs: number;
  readonly #options: McpServerOptions;
  #connection: McpConnection | null = null;
  /** The connection being opened. */
  #opening: McpConnection | null = null;
  #tools: readonly McpToolInfo[] = [];
  #failures = 0;
  #connecting: Promise<void> | null = null;
  #cancelAgain: Cancel = () => undefined;
  #closed = false;

  constructor(options: McpServerOptions) {
    this.#options = options;
    this.timeoutMs = (options.setting.timeout ?? 30) * 1_000;
  }

  /** The tools as of the last listing; does not wait. */
  get tools(): readonly McpToolInfo[] {
    return this.#tools;
  }

  /** Connects unless connected. Resolves on success and on failure; never rejects. */
  connect(): Promise<void> {
    if (this.#closed || this.#connection !== null) return Promise.resolve();
    this.#cancelAgain();
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = null));
    return this.#connecting;
  }

  /** Calls a tool. Rejects with an error text on failure, and with the signal's reason. */
  async call(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<unknown> {
    await this.connect();
    signal.throwIfAborted();
    const connection = this.#connection;
    if (connection === null) throw new Error('it cannot be reached');
    return connection.request('tools/call', { name, arguments: args }, this.timeoutMs, signal);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelAgain();
    const connection = this.#connection;
    this.#connection = null;
    await Promise.all([connection?.close(), this.#opening?.close()]);
    await this.#connecting;
  }

  async #connect(): Promise<void> {
    const { clock } = this.#options;
    const connection: McpConnection = new McpConnection({
      clock,
      link: (events) => this.#link(events),
      onClosed: (reason) => {
        if (this.#connection === connection) this.#lost(connection, reason);
      },
      onToolsChanged: () =>
        void this.#list(connection).catch((error: unknown) => this.#lost(connection, reasonOf(error))),
    });
    this.#opening = connection;
    try {
      await connection.open();
      await this.#list(connection);
      if (this.#closed) throw new Error('the connection has been closed');
      this.#connection = connection;
      this.#failures = 0;
    } catch (error) {
      this.#lost(connection, reasonOf(error));
    } finally {
      this.#opening = null;
    }
  }

  async #list(connection: McpConnection): Promise<void> {
    this.#tools = await connection.tools();
  }

  #lost(connection: McpConnection, reason: string): void {
    if (this.#connection === connection) this.#connection = null;
    void connection.close();
    if (this.#closed) return;
    const { clock, onFault } = this.#options;
    onFault(reason);
    const waitMs = AGAIN_MS[Math.min(this.#failures, AGAIN_MS.length - 1)] ?? 0;
    this.#failures++;
    this.#cancelAgain = clock.schedule(clock.nowMs() + waitMs, () => void this.connect());
  }

  #link(events: LinkEvents): McpLink {
    const { setting, clock } = this.#options;
    if ('url' in setting) return new HttpLink({ ...events, url: setting.url, headers: setting.headers ?? {} });
    const { command, args = [], env = {} } = setting;
    return new StdioLink({ ...events, command, args, env, clock });
  }
}
