import type { Cancel, Clock } from '../../base/clock.js';
import type { McpServerSetting } from '../../settings/setting-items.js';
import { errorOf } from '../../base/errors.js';
import {
  McpConnection,
  type McpToolInfo,
  type LinkEvents,
  type McpLink,
  type JsonRpcMessage,
  MAX_MESSAGE_BYTES,
  readMessage,
} from './connection.js';
import { createParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import { readBody } from '../../net/guarded-client.js';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { waitAtMost } from '../../base/deadlines.js';
import { McpAuthorizationNeeded, type McpGrant, type McpTokenSource } from './oauth/grant.js';

export interface McpServerOptions {
  name: string;
  setting: McpServerSetting;
  /** A real clock. */
  clock: Clock;
  tokens: McpTokenSource;
  /** The server is unreachable or has disconnected. Retries follow. */
  onFault: (reason: string) => void;
}

/** Reconnect backoff, in milliseconds; the last delay repeats. */
const AGAIN_MS = [1_000, 5_000, 30_000, 120_000];
/** While an operator's authorization is missing. No request is sent before it is there. */
const AUTHORIZED_MS = 2_000;

/** One of the operator's servers: connects in the background and reconnects. */
export class McpServer {
  readonly timeoutMs: number;
  readonly #options: McpServerOptions;
  #connection: McpConnection | null = null;
  /** The connection being opened. */
  #opening: McpConnection | null = null;
  #tools: readonly McpToolInfo[] = [];
  #failures = 0;
  /** Why the last attempt to connect has failed. */
  #fault: Error | null = null;
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
    if (connection === null) {
      throw this.#fault instanceof McpAuthorizationNeeded ? this.#fault : new Error('it cannot be reached');
    }
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
        if (this.#connection === connection) this.#lost(connection, new Error(reason));
      },
      onToolsChanged: () =>
        void this.#list(connection).catch((error: unknown) => this.#lost(connection, errorOf(error))),
    });
    this.#opening = connection;
    try {
      await connection.open();
      await this.#list(connection);
      if (this.#closed) throw new Error('the connection has been closed');
      this.#connection = connection;
      this.#failures = 0;
      this.#fault = null;
    } catch (error) {
      this.#lost(connection, errorOf(error));
    } finally {
      this.#opening = null;
    }
  }

  async #list(connection: McpConnection): Promise<void> {
    this.#tools = await connection.tools();
  }

  #lost(connection: McpConnection, fault: Error): void {
    if (this.#connection === connection) this.#connection = null;
    void connection.close();
    if (this.#closed) return;
    const { clock, onFault } = this.#options;
    const isNeeded = fault instanceof McpAuthorizationNeeded;
    // It is looked for often, and reported once.
    if (!isNeeded || this.#fault?.message !== fault.message) onFault(fault.message);
    this.#fault = fault;
    const waitMs = isNeeded ? AUTHORIZED_MS : (AGAIN_MS[Math.min(this.#failures, AGAIN_MS.length - 1)] ?? 0);
    if (!isNeeded) this.#failures++;
    this.#cancelAgain = clock.schedule(clock.nowMs() + waitMs, () => void this.connect());
  }

  #link(events: LinkEvents): McpLink {
    const { name, setting, clock, tokens } = this.#options;
    if ('url' in setting) {
      return new HttpLink({ ...events, name, url: setting.url, headers: setting.headers ?? {}, tokens });
    }
    const { command, args = [], env = {} } = setting;
    return new StdioLink({ ...events, command, args, env, clock });
  }
}

interface HttpLinkOptions extends LinkEvents {
  /** The server's, for its tokens. */
  name: string;
  tokens: McpTokenSource;
  /** The operator's URL: it may be private. */
  url: string;
  headers: Readonly<Record<string, string>>;
}

/** Timeout for the request that ends a session. */
const GOODBYE_MS = 2_000;

/** A server behind a URL: each message is a POST (MCP 2025-06-18, transports: streamable HTTP). */
class HttpLink implements McpLink {
  readonly #options: HttpLinkOptions;
  readonly #url: URL;
  readonly #agent = import('../../base/undici.js').then(
    ({ Agent }) => new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 10_000 } }),
  );
  readonly #abort = new AbortController();
  #session: string | null = null;
  #version: string | null = null;
  /** The access token of the last request; null = it had none. */
  #token: string | null = null;
  #over = false;
  #closing: Promise<void> | null = null;

  constructor(options: HttpLinkOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
  }

  async send(message: JsonRpcMessage, signal: AbortSignal): Promise<void> {
    const all = AbortSignal.any([signal, this.#abort.signal]);
    all.throwIfAborted();
    const { statusCode, headers, body } = await this.#authorized(JSON.stringify(message), all);
    const session = headers['mcp-session-id'];
    if (typeof session === 'string') this.#session = session;
    const type = String(headers['content-type'] ?? '');
    if (statusCode === 404 && this.#session !== null) this.#gone('its session has ended');
    if (statusCode < 200 || statusCode > 299) {
      await body.dump();
      throw new Error(`it answered with status ${String(statusCode)}`);
    }
    if (type.includes('text/event-stream')) await this.#readEvents(body);
    else this.#take((await readBody(body, MAX_MESSAGE_BYTES)).toString('utf8'));
  }

  agreed(protocolVersion: string): void {
    this.#version = protocolVersion;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#over = true;
    this.#abort.abort(new Error('the connection has been closed'));
    if (this.#session !== null) {
      // A server that does not let clients end a session answers 405.
      const bye = this.#request('DELETE', null, AbortSignal.timeout(GOODBYE_MS), this.#token).then(({ body }) =>
        body.dump(),
      );
      await bye.catch(() => undefined);
    }
    await (await this.#agent).destroy();
  }

  /** Sends a message with a token if the server wants one, and a second time if it refuses the first token. */
  async #authorized(body: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { name, tokens } = this.#options;
    // While the tokens cannot be read, the last one may do.
    const last: McpGrant = this.#token === null ? { kind: 'none' } : { kind: 'token', token: this.#token };
    // Others send at the same time, and may get another token meanwhile.
    const token = this.#use(await tokens.grant(name, signal).catch(() => last));
    const reply = await this.#request('POST', body, signal, token);
    const { statusCode: status, headers } = reply;
    const challenge = [headers['www-authenticate'] ?? []].flat().join(', ');
    if (status !== 401 && !(status === 403 && challenge.includes('insufficient_scope'))) return reply;
    await reply.body.dump();
    const grant = await tokens.renew(name, { token, status, challenge }, signal);
    if (grant.kind === 'none') throw new Error(`it answered with status ${String(status)}`);
    return this.#request('POST', body, signal, this.#use(grant));
  }

  /** The token to send; null = none. @throws McpAuthorizationNeeded */
  #use(grant: McpGrant): string | null {
    if (grant.kind === 'needed') throw new McpAuthorizationNeeded(this.#options.name, grant.scopes);
    this.#token = grant.kind === 'token' ? grant.token : null;
    return this.#token;
  }

  async #request(
    method: 'POST' | 'DELETE',
    body: string | null,
    signal: AbortSignal,
    token: string | null,
  ): Promise<Dispatcher.ResponseData> {
    const lower = Object.entries(this.#options.headers).map(([name, value]) => [name.toLowerCase(), value]);
    return (await this.#agent).request({
      origin: this.#url.origin,
      path: this.#url.pathname + this.#url.search,
      method,
      body,
      signal,
      headers: {
        'user-agent': 'parley',
        ...(Object.fromEntries(lower) as Record<string, string>),
        accept: 'application/json, text/event-stream',
        'content-type': body === null ? undefined : 'application/json',
        'mcp-protocol-version': this.#version ?? undefined,
        'mcp-session-id': this.#session ?? undefined,
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
    });
  }

  async #readEvents(body: AsyncIterable<Uint8Array>): Promise<void> {
    const parser = createParser({ onEvent: ({ data }) => this.#take(data), maxBufferSize: MAX_MESSAGE_BYTES });
    const decoder = new TextDecoder();
    for await (const chunk of body) parser.feed(decoder.decode(chunk, { stream: true }));
  }

  #take(text: string): void {
    const message = this.#over ? null : readMessage(text);
    if (message !== null) this.#options.onMessage(message);
  }

  #gone(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.onClosed(reason);
  }
}

interface StdioLinkOptions extends LinkEvents {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  clock: Clock;
}

/** Environment variables that a program needs to start; it must not see parley's own keys and settings. */
const PASSED_ON = ['PATH', 'HOME', 'USER', 'SHELL', 'TERM', 'LANG', 'LC_ALL', 'TMPDIR', 'TZ', 'SystemRoot'];
/** Shutdown steps: close stdin, send SIGTERM, then SIGKILL, with this delay between them. */
const END_MS = 2_000;

/** A server that runs as a child process: each line of JSON is a message (MCP 2025-06-18, transports: stdio). */
class StdioLink implements McpLink {
  readonly #options: StdioLinkOptions;
  readonly #child: ChildProcessWithoutNullStreams;
  #rest = '';
  #over = false;
  #closing: Promise<void> | null = null;

  constructor(options: StdioLinkOptions) {
    this.#options = options;
    const passed = PASSED_ON.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    });
    this.#child = spawn(options.command, [...options.args], {
      env: { ...(Object.fromEntries(passed) as Record<string, string>), ...options.env },
      stdio: 'pipe',
    });
    const { stdin, stdout, stderr } = this.#child;
    stdout.setEncoding('utf8');
    stdout.on('data', (text: string) => this.#read(text));
    stderr.resume(); // discards its log
    stdin.on('error', () => undefined); // the exit event reports it
    this.#child.on('error', (error) => this.#gone(error.message));
    this.#child.on('exit', (code, signal) => this.#gone(`it ended with ${String(code ?? signal)}`));
  }

  send(message: JsonRpcMessage, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#over || !this.#child.stdin.writable) return Promise.reject(new Error('its process is not running'));
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
    return Promise.resolve();
  }

  agreed(): void {
    // This transport does not send the version.
  }

  close(): Promise<void> {
    this.#over = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const ended = once(child, 'exit');
    child.stdin.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if ((await waitAtMost(this.#options.clock, END_MS, ended)) !== undefined) return;
      child.kill(signal);
    }
    await ended;
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const message = this.#over ? null : readMessage(line);
      if (message !== null) this.#options.onMessage(message);
    }
    if (this.#rest.length <= MAX_MESSAGE_BYTES) return;
    this.#gone('it sent a message that is too large');
    void this.close();
  }

  #gone(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.onClosed(reason);
  }
}
