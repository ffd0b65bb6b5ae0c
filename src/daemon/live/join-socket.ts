import type { WebSocket } from 'ws';
import * as z from 'zod';
import { frameSamples, FRAME_MS } from '../../audio/frame.js';
import type { Cancel, Clock } from '../../base/clock.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import type { JoinedParticipant } from '../../session/participants/joined.js';
import { InvalidConfigError, parseWith } from '../../schema/issues.js';
import { LineInput } from '../../transports/line-input.js';
import { PcmReader } from '../../transports/pcm.js';
import type { Transport, TransportSink } from '../../transports/transport.js';
import type { CallParticipants } from './call-participants.js';
import type { LiveSocket, LiveSockets } from './live-sockets.js';
import { modeSchema, nameOf, nameSchema } from './participant-shape.js';

export interface JoinSocketOptions {
  sockets: LiveSockets;
  participants: CallParticipants;
  clock: Clock;
  onError: (error: Error) => void;
}

/** Audio that may wait for a slow client; beyond it frames are dropped. */
const MAX_BUFFERED_BYTES = 128_000;
/** Longest audio of one message, in seconds. */
const MAX_MESSAGE_S = 1;
/** A client that has taken over and sends nothing for so long is gone: the caller must not wait in silence. */
const GONE_MS = 5_000;

const query = {
  name: nameSchema.optional(),
  mode: modeSchema.default('listen'),
  whisper_to: z.string().min(1).max(200).optional(),
  sample_rate: z.literal([8_000, 16_000, 24_000, 48_000]).default(16_000),
};
type Query = z.output<z.ZodObject<typeof query>>;

const messageSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('mode'), mode: modeSchema, whisper_to: z.string().min(1).max(200).nullish() }),
  z.strictObject({ type: z.literal('hold'), on: z.boolean().default(true), music: z.boolean().default(true) }),
  z.strictObject({ type: z.literal('mute'), on: z.boolean().default(true) }),
  z.strictObject({ type: z.literal('leave') }),
]);
type Message = z.output<typeof messageSchema>;

/**
 * `/calls/{session_id}/join`: somebody joins a running call over one WebSocket, with audio both ways. docs/live-calls.md
 * has the messages.
 */
export function joinSocket(options: JoinSocketOptions): void {
  const { sockets, participants } = options;
  sockets.at({
    path: /^\/calls\/([^/]+)\/join$/,
    query,
    admit: async (sessionId, { mode }) => void (await participants.admit(sessionId, mode)),
    serve: (socket, wish) => new JoinClient(socket, wish, options).run(),
  });
}

class JoinClient {
  readonly #socket: LiveSocket;
  readonly #wish: Query;
  readonly #options: JoinSocketOptions;
  readonly #line: SocketLine;
  #handle: JoinedParticipant | null = null;

  constructor(socket: LiveSocket, wish: Query, options: JoinSocketOptions) {
    this.#socket = socket;
    this.#wish = wish;
    this.#options = options;
    const hasCall = (): boolean => this.#handle?.state.mode === 'take_over' && !this.#handle.state.held;
    this.#line = new SocketLine(socket.ws, wish.sample_rate, options.clock, hasCall);
    socket.ws.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) this.#audio(data);
      else void this.#onMessage(data.toString('utf8'));
    });
    socket.left.addEventListener('abort', () => this.#line.gone(), { once: true });
  }

  async run(): Promise<void> {
    const { sessionId, key, ws } = this.#socket;
    const { mode, whisper_to: whisperTo = null, sample_rate: sampleRate } = this.#wish;
    const { participants, sockets } = this.#options;
    const name = nameOf(this.#wish.name, key);
    const guest = { sessionId, name, mode, whisperTo, channel: 'socket', by: key.id } as const;
    const handle = await participants.join(guest, this.#line);
    this.#handle = handle;
    const { id } = handle;
    this.#send({
      type: 'ready',
      session_id: sessionId,
      participant_id: id,
      mode,
      sample_rate: sampleRate,
      frame_ms: FRAME_MS,
    });
    const reason = await handle.left;
    sockets.end(ws, 1000, reason ?? 'the call has ended');
  }

  #audio(data: Buffer): void {
    const bytes = data.length;
    if (bytes % 2 === 0 && bytes <= 2 * this.#wish.sample_rate * MAX_MESSAGE_S) {
      this.#line.hear(data);
      return;
    }
    const reason = 'audio is whole samples of 16 bits, at most a second in a message';
    this.#send({ type: 'error', error: { code: 'ARGUMENT_INVALID', detail: reason } });
  }

  async #onMessage(text: string): Promise<void> {
    try {
      const message = parseWith(messageSchema, parsed(text), ['message']);
      if (this.#handle === null)
        throw new ParleyError('COMMAND_REFUSED', { command: message.type, reason: 'not joined' });
      await this.#carryOut(this.#handle, message);
    } catch (error) {
      this.#send({ type: 'error', error: this.#refusalOf(error) });
    }
  }

  async #carryOut({ id }: JoinedParticipant, message: Message): Promise<void> {
    const { participants } = this.#options;
    const { sessionId } = this.#socket;
    if (message.type === 'leave') {
      await this.#handle?.leave();
      return;
    }
    const changes =
      message.type === 'mode'
        ? { mode: message.mode, whisperTo: message.whisper_to ?? null }
        : message.type === 'hold'
          ? { held: message.on, music: message.music }
          : { muted: message.on };
    this.#send({ type: 'participant', ...(await participants.change(sessionId, id, changes)) });
  }

  #refusalOf(error: unknown): Readonly<Record<string, unknown>> {
    if (error instanceof InvalidConfigError) return { code: error.code, detail: error.issues };
    if (error instanceof ParleyError) return { code: error.code, detail: error.message };
    this.#options.onError(errorOf(error));
    const { code, message } = new ParleyError('INTERNAL');
    return { code, detail: message };
  }

  #send(message: Readonly<Record<string, unknown>>): void {
    const { ws } = this.#socket;
    if (ws.readyState === ws.OPEN) ws.send(JSON.stringify(message));
  }
}

/** The participant's side of the socket as a line: signed 16-bit little-endian audio both ways. */
class SocketLine implements Transport {
  readonly name = 'socket';
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  readonly #ws: WebSocket;
  readonly #clock: Clock;
  readonly #hasCall: () => boolean;
  readonly #input = new LineInput();
  readonly #silence: Int16Array;
  #dropped = 0;
  #heardMs: number;
  #cancel: Cancel | null = null;

  /** @param hasCall the client speaks with the user in place of the agent */
  constructor(ws: WebSocket, rateHz: number, clock: Clock, hasCall: () => boolean) {
    this.inputRateHz = rateHz;
    this.outputRateHz = rateHz;
    this.#ws = ws;
    this.#clock = clock;
    this.#hasCall = hasCall;
    this.#silence = new Int16Array(frameSamples(rateHz));
    this.#heardMs = clock.nowMs();
  }

  start(sink: TransportSink): void {
    this.#heardMs = this.#clock.nowMs();
    this.#watch();
    this.#input.start(sink);
  }

  hear(data: Buffer): void {
    this.#heardMs = this.#clock.nowMs();
    this.#input.audio(new PcmReader().read(data));
  }

  play(frame: Int16Array | null): void {
    const ws = this.#ws;
    if (ws.readyState !== ws.OPEN) return;
    if (ws.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.#dropped++;
      return;
    }
    if (this.#dropped > 0) ws.send(JSON.stringify({ type: 'dropped', frames: this.#dropped }));
    this.#dropped = 0;
    const { buffer, byteOffset, byteLength } = frame ?? this.#silence;
    ws.send(new Uint8Array(buffer, byteOffset, byteLength));
  }

  send(): void {
    // The client gets the messages of its own socket.
  }

  /** The client has left. */
  gone(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#input.end();
  }

  close(): Promise<void> {
    this.gone();
    return Promise.resolve();
  }

  #watch(): void {
    this.#cancel = this.#clock.schedule(this.#heardMs + GONE_MS, () => {
      if (!this.#hasCall()) this.#heardMs = this.#clock.nowMs();
      if (this.#clock.nowMs() - this.#heardMs < GONE_MS) this.#watch();
      else this.gone();
    });
  }
}

/** @throws InvalidConfigError */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidConfigError([{ loc: ['message'], msg: 'The message is not JSON', type: 'json_invalid' }]);
  }
}
