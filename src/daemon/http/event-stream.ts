import type { FastifyReply } from 'fastify';
import type { Cancel, Clock } from '../../base/clock.js';

/** A stream that sends nothing for this long gets a comment: proxies and clients close silent streams. */
const PING_MS = 10_000;
/** A client that reads nothing for this long counts as gone. */
const ROOM_MS = 30_000;

/**
 * Server-sent events as the answer of a request (WHATWG HTML, 9.2). Sends nothing before `begin`, so that the request
 * can still get an error.
 */
export class EventStream {
  /** Aborts when the client leaves before the end, or reads too slowly. */
  readonly left: AbortSignal;
  readonly #reply: FastifyReply;
  readonly #clock: Clock;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #leaving = new AbortController();
  #begun = false;
  #ended = false;
  #cancelPing: Cancel = () => undefined;

  /** @param headers beside the usual ones */
  constructor(reply: FastifyReply, clock: Clock, headers: Readonly<Record<string, string>> = {}) {
    this.#reply = reply;
    this.#headers = headers;
    this.#clock = clock;
    this.left = this.#leaving.signal;
    reply.raw.once('close', () => {
      this.#cancelPing();
      if (!this.#ended) this.#leave('the client has gone');
    });
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** Sends the headers. */
  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#reply.hijack();
    this.#reply.raw.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      ...this.#headers,
    });
    // The first event may take a while. The headers show the client that the stream is open.
    this.#reply.raw.flushHeaders();
    this.keepAlive();
  }

  /** Sends an event with one line of data. Resolves when there is room for the next one. @throws the reason of `left` */
  async send(data: string, { event, id }: { event?: string; id?: string } = {}): Promise<void> {
    this.left.throwIfAborted();
    this.begin();
    this.keepAlive();
    const fields = `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}`;
    if (!this.#reply.raw.write(`${fields}data: ${data}\n\n`)) await this.#room();
  }

  /** Sends the headers and a comment whenever nothing has been sent for a while. */
  keepAlive(): void {
    this.#cancelPing();
    if (this.#ended || this.left.aborted) return;
    this.#cancelPing = this.#clock.schedule(this.#clock.nowMs() + PING_MS, () => {
      this.begin();
      this.#reply.raw.write(': ping\n\n');
      this.keepAlive();
    });
  }

  /** Ends the answer if it has begun. */
  end(): void {
    this.#cancelPing();
    if (this.#ended) return;
    this.#ended = true;
    if (this.#begun && !this.left.aborted) this.#reply.raw.end();
  }

  #leave(reason: string): void {
    this.#cancelPing();
    if (!this.left.aborted) this.#leaving.abort(new Error(reason));
  }

  #room(): Promise<void> {
    const { raw } = this.#reply;
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        cancel();
        raw.off('drain', settle);
        this.left.removeEventListener('abort', settle);
        if (this.left.aborted) reject(this.left.reason as Error);
        else resolve();
      };
      const cancel = this.#clock.schedule(this.#clock.nowMs() + ROOM_MS, () => {
        this.#leave('the client reads too slowly');
        raw.destroy();
      });
      raw.once('drain', settle);
      this.left.addEventListener('abort', settle, { once: true });
    });
  }
}

/**
 * Sends each state as JSON in `event: progress`, or only the latest if the client is slower than the changes, and ends
 * the stream behind the last one. Never rejects.
 * @param watch calls back with each new state, null = there is no more; returns its cancel
 */
export async function sendProgress<T>(
  stream: EventStream,
  first: T,
  {
    watch,
    reply,
    isLast,
  }: {
    watch: (listener: (state: T | null) => void) => Cancel;
    reply: (state: T) => unknown;
    isLast: (state: T) => boolean;
  },
): Promise<void> {
  let latest: T | null | undefined = first;
  let wake = (): void => undefined;
  const stop = watch((state) => {
    latest = state;
    wake();
  });
  stream.left.addEventListener('abort', () => wake(), { once: true });
  try {
    while (latest !== null && !stream.left.aborted) {
      if (latest === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else {
        const state: T = latest;
        latest = undefined;
        await stream.send(JSON.stringify(reply(state)), { event: 'progress' });
        if (isLast(state)) break;
      }
    }
  } catch {
    // The client has gone.
  } finally {
    stop();
    stream.end();
  }
}
