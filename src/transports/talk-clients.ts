import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../base/clock.js';
import { errorOf, ParleyError } from '../base/errors.js';
import type { TalkServerMessage } from './talk-protocol.js';
import { TalkSocketTransport } from './talk-socket.js';

/** Time limit for the first message of a client. */
const INITIATE_TIMEOUT_MS = 10_000;
/** Time limit for a refused client's answer to the close frame. */
const CLOSE_TIMEOUT_MS = 2000;
/** Largest message: 32 s of audio. */
const MAX_MESSAGE_BYTES = 1_048_576;
/** Maximum of clients without a session. */
const MAX_WAITING = 500;
/** WebSocket close codes of RFC 6455 and its registry. */
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;
const TOO_BIG = 1009;
const INTERNAL_ERROR = 1011;

export interface TalkClientsOptions {
  clock: Clock;
  /** How far ahead of real time audio is sent. Default 0. */
  leadMs?: number;
  /** An error that is no ParleyError; its client learns only that there was one. */
  onError: (error: Error) => void;
}

/** A client that has sent its first message. */
export interface TalkClient {
  /** Keeps messages until the session listens. */
  readonly transport: TalkSocketTransport;
  /** The first message, parsed. */
  readonly initiate: unknown;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  /** The client has a session: it no longer counts as waiting. */
  readonly begun: () => void;
}

/** The clients of a talk socket, from their request for a WebSocket to their session. */
export class TalkClients {
  readonly #options: TalkClientsOptions;
  /** Clients without a session, before or after it. */
  readonly #waiting = new Set<WebSocket>();
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });

  constructor(options: TalkClientsOptions) {
    this.#options = options;
  }

  /** @throws ParleyError SOCKETS_FULL if too many clients have no session */
  checkRoom(): void {
    if (this.#waiting.size >= MAX_WAITING) throw new ParleyError('SOCKETS_FULL', { limit: MAX_WAITING });
  }

  /**
   * Opens a client's WebSocket and waits for its first message.
   * @param begin gives the client a session. If it rejects, the client is told why and sent away
   */
  open(request: IncomingMessage, socket: Duplex, head: Buffer, begin: (client: TalkClient) => Promise<void>): void {
    this.#sockets.handleUpgrade(request, socket, head, (client) => this.#waitForInitiate(client, begin));
  }

  /** Refuses new clients and disconnects clients without a session. May be called twice. */
  close(): void {
    for (const client of this.#waiting) client.terminate();
    this.#sockets.close();
  }

  #waitForInitiate(client: WebSocket, begin: (client: TalkClient) => Promise<void>): void {
    const { clock, leadMs = 0 } = this.#options;
    const gone = new AbortController();
    this.#waiting.add(client);
    client.on('error', () => undefined); // a close always follows
    client.once('close', () => {
      this.#waiting.delete(client);
      gone.abort();
    });
    const cancel = clock.schedule(clock.nowMs() + INITIATE_TIMEOUT_MS, () => {
      this.#end(client, POLICY_VIOLATION, 'the first message did not come in time');
    });
    client.once('close', cancel);
    client.once('message', (data: Buffer, isBinary: boolean) => {
      cancel();
      const transport = new TalkSocketTransport(client, { clock, leadMs }); // buffers messages until the session listens
      const begun = (): void => void this.#waiting.delete(client);
      void (async () => {
        const initiate = parseJson(isBinary ? null : data.toString('utf8'));
        await begin({ transport, initiate, signal: gone.signal, begun });
      })().catch((error: unknown) => this.#sendAway(client, error));
    });
  }

  #sendAway(client: WebSocket, error: unknown): void {
    const known = error instanceof ParleyError;
    if (!known) this.#options.onError(errorOf(error));
    const reason = known ? error.message : 'an internal error occurred';
    const message: TalkServerMessage = { method: 'onerror', data: reason };
    client.resume();
    if (client.readyState === client.OPEN) client.send(JSON.stringify(message));
    this.#end(client, known ? closeCodeOf(error) : INTERNAL_ERROR, reason);
  }

  /** Closes with a reason, shortened to fit into a close frame. */
  #end(client: WebSocket, code: number, reason: string): void {
    const { clock } = this.#options;
    client.removeAllListeners('message');
    let text = reason;
    while (Buffer.byteLength(text) > 120) text = text.slice(0, -1);
    const cancel = clock.schedule(clock.nowMs() + CLOSE_TIMEOUT_MS, () => {
      client.terminate();
    });
    client.once('close', cancel);
    client.close(code, text);
  }
}

function closeCodeOf({ httpStatus, retryable }: ParleyError): number {
  if (httpStatus === 413) return TOO_BIG;
  return retryable ? TRY_AGAIN_LATER : POLICY_VIOLATION;
}

function parseJson(text: string | null): unknown {
  if (text === null) throw new ParleyError('CONFIG_INVALID', { reason: 'the first message must be initiate' });
  try {
    return JSON.parse(text);
  } catch {
    throw new ParleyError('CONFIG_INVALID', { reason: 'the first message is not JSON' });
  }
}
