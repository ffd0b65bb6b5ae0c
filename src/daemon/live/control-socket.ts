import * as z from 'zod';
import { errorOf, ParleyError } from '../../base/errors.js';
import { InvalidConfigError, parseWith } from '../../schema/issues.js';
import { commandSchema } from './commands.js';
import type { LiveEvents } from './live-events.js';
import type { LiveSocket, LiveSockets } from './live-sockets.js';
import type { SessionControl } from './session-control.js';

export interface ControlSocketOptions {
  sockets: LiveSockets;
  control: SessionControl;
  events: LiveEvents;
  onError: (error: Error) => void;
}

/** Commands of a client that are under way at once. */
const MAX_PENDING = 100;
/** Bytes that may wait for a slow client before it is disconnected. */
const MAX_BUFFERED_BYTES = 1_000_000;

const idSchema = z.string().min(1).max(255);
const messageSchema = z.looseObject({ id: idSchema });

/**
 * `/sessions/{session_id}/control`: commands to a session, and its events, over one WebSocket. The client's commands are
 * those of `POST …/control` with an `id`, which is also the key that makes a repeated command count once. A client that
 * leaves changes nothing: commands under way go on.
 */
export function controlSocket({ sockets, control, events, onError }: ControlSocketOptions): void {
  sockets.at({
    path: /^\/sessions\/([^/]+)\/control$/,
    query: {},
    admit: async (sessionId) => void (await control.find(sessionId)),
    serve: (socket) => {
      new ControlClient(socket, { sockets, control, events, onError }).open();
    },
  });
}

class ControlClient {
  readonly #socket: LiveSocket;
  readonly #options: ControlSocketOptions;
  #pending = 0;

  constructor(socket: LiveSocket, options: ControlSocketOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  open(): void {
    const { ws, sessionId } = this.#socket;
    ws.on('message', (data: Buffer, isBinary: boolean) => {
      void this.#onMessage(isBinary ? null : data.toString('utf8'));
    });
    this.#send({ type: 'ready', session_id: sessionId });
    this.#sendEvents().catch((error: unknown) => this.#options.onError(errorOf(error)));
  }

  async #onMessage(text: string | null): Promise<void> {
    const { control } = this.#options;
    const { sessionId, key } = this.#socket;
    let id: string | null = null;
    this.#pending++;
    try {
      const given = parse(text);
      ({ id } = parseWith(messageSchema, given, ['message']));
      const { id: _id, ...rest } = given as { id: string };
      const command = parseWith(commandSchema, rest, ['message']);
      if (this.#pending > MAX_PENDING) {
        throw new ParleyError('COMMAND_REFUSED', {
          command: command.type,
          reason: 'too many commands are under way',
          why: 'tooMany',
        });
      }
      const result = await control.carryOut(sessionId, command, { client: key.id, key: id });
      this.#send({ type: 'result', id, result });
    } catch (error) {
      this.#send({ type: 'error', id, error: this.#refusalOf(error) });
    } finally {
      this.#pending--;
    }
  }

  /** The form of REST's errors. */
  #refusalOf(error: unknown): Readonly<Record<string, unknown>> {
    if (error instanceof InvalidConfigError) return { code: error.code, detail: error.issues };
    if (error instanceof ParleyError) return { code: error.code, detail: error.message, why: error.details['why'] };
    this.#options.onError(errorOf(error));
    const { code, message } = new ParleyError('INTERNAL');
    return { code, detail: message };
  }

  /** Events from now on, until the client leaves or the call has ended. */
  async #sendEvents(): Promise<void> {
    const { events, sockets } = this.#options;
    const { ws, sessionId, left } = this.#socket;
    let at = events.newestId;
    while (!left.aborted && !events.closed.aborted) {
      const event = events.after(at, { sessionId });
      if (event === null) {
        at = events.newestId;
        await events.next(left);
        continue;
      }
      at = event.id;
      const data: unknown = JSON.parse(event.data);
      this.#send({ type: 'event', event: event.name, data });
      if (event.name === 'status' && (data as { ended: boolean }).ended) sockets.end(ws, 1000, 'the call has ended');
    }
  }

  #send(message: Readonly<Record<string, unknown>>): void {
    const { ws } = this.#socket;
    if (ws.readyState !== ws.OPEN) return;
    ws.send(JSON.stringify(message));
    if (ws.bufferedAmount > MAX_BUFFERED_BYTES) ws.terminate();
  }
}

/** @throws InvalidConfigError */
function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    const msg = text === null ? 'Commands are text messages' : 'The message is not JSON';
    throw new InvalidConfigError([{ loc: ['message'], msg, type: 'json_invalid' }]);
  }
}
