import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '../../base/clock.js';
import { waitAtMost } from '../../base/deadlines.js';
import { type JsonRpcMessage, type LinkEvents, MAX_MESSAGE_BYTES, type McpLink, readMessage } from './link.js';

export interface StdioLinkOptions extends LinkEvents {
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
export class StdioLink implements McpLink {
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
