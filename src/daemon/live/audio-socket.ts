import type { WebSocket } from 'ws';
import * as z from 'zod';
import { loadOpus, type OpusEncoder } from '../../audio/codecs/opus.js';
import { ParleyError } from '../../base/errors.js';
import { TwoSides } from '../../audio/two-sides.js';
import { nameOf, nameSchema } from './participant-shape.js';
import type { ListeningRules } from './listening-rules.js';
import type { LiveSocket, LiveSockets } from './live-sockets.js';
import type { SessionControl } from './session-control.js';

export interface AudioSocketOptions {
  sockets: LiveSockets;
  control: SessionControl;
  rules: ListeningRules;
}

/** Audio that may wait for a slow client; beyond it frames are dropped. */
const MAX_BUFFERED_BYTES = 128_000;
const FRAME_MS = 20;
/** Frames for listeners in one turn of the event loop: some 0.3 ms of work. */
const FRAMES_A_TURN = 8;
const OPUS_BITRATE = 32_000;

const query = {
  channels: z.enum(['mixed', 'user', 'agent', 'stereo']).default('mixed'),
  sample_rate: z.literal([8_000, 16_000, 24_000, 48_000]).default(16_000),
  format: z.enum(['pcm', 'opus']).default('pcm'),
  name: nameSchema.optional(),
};
type Query = z.output<z.ZodObject<typeof query>>;

/**
 * `/calls/{session_id}/audio`: a listener hears both sides of a running call. docs/live-calls.md has the messages. The
 * call's log has who listened.
 */
export function audioSocket(options: AudioSocketOptions): void {
  const { sockets, control, rules } = options;
  const turns = new ListenerTurns();
  sockets.at({
    path: /^\/calls\/([^/]+)\/audio$/,
    query,
    admit: async (sessionId) => {
      await control.find(sessionId);
      await rules.check(sessionId);
    },
    serve: listen,
  });

  async function listen({ ws, sessionId, key, left }: LiveSocket, { name, ...wish }: Query): Promise<void> {
    const session = await control.find(sessionId);
    const listener = await Listener.open(ws, wish);
    try {
      await rules.announce(session);
      const noted = { type: 'command.listen', by: key.id, name: nameOf(name, key) } as const;
      await session.control({ ...noted, on: true });
      ws.send(JSON.stringify({ type: 'ready', session_id: sessionId, ...wish, frame_ms: FRAME_MS }));
      const pass = async (side: 'user' | 'agent'): Promise<void> => {
        for await (const frame of session.tap(side, { signal: left })) {
          await turns.next();
          listener.push(frame);
        }
      };
      await Promise.all([pass('user'), pass('agent')]);
      if (left.aborted) await session.control({ ...noted, on: false }).catch(() => undefined);
      else sockets.end(ws, 1000, 'the call has ended');
    } finally {
      listener.close();
    }
  }
}

/**
 * Calls come before their listeners: a frame that is due for a call waits for the work of a few listeners, not of all. The
 * taps bound what waits.
 */
class ListenerTurns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a later turn of the event loop. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(this.#run);
    });
  }

  readonly #run = (): void => {
    for (const go of this.#waiting.splice(0, FRAMES_A_TURN)) go();
    if (this.#waiting.length > 0) setImmediate(this.#run);
  };
}

/** Sends audio to one client. */
class Listener {
  readonly #ws: WebSocket;
  readonly #sides: TwoSides;
  readonly #encoder: OpusEncoder | null;
  #dropped = 0;

  private constructor(ws: WebSocket, sides: TwoSides, encoder: OpusEncoder | null) {
    this.#ws = ws;
    this.#sides = sides;
    this.#encoder = encoder;
  }

  /** @throws ParleyError LISTENING_REFUSED for two channels of Opus */
  static async open(
    ws: WebSocket,
    { channels, sample_rate: sampleRateHz, format }: Omit<Query, 'name'>,
  ): Promise<Listener> {
    if (format === 'opus' && channels === 'stereo') {
      throw new ParleyError('LISTENING_REFUSED', {
        reason: 'Opus has one channel here: ask for `mixed`, or for `pcm`',
      });
    }
    const options = { sampleRateHz, bitrate: OPUS_BITRATE, expectedLoss: 0, dtx: false };
    const encoder = format === 'opus' ? (await loadOpus()).encoder(options) : null;
    return new Listener(ws, new TwoSides(sampleRateHz, channels), encoder);
  }

  push(frame: Parameters<TwoSides['push']>[0]): void {
    for (const block of this.#sides.push(frame)) this.#send(block);
  }

  /** Frees the encoder. May be called twice. */
  close(): void {
    this.#encoder?.close();
  }

  #send(block: Int16Array): void {
    const ws = this.#ws;
    if (ws.readyState !== ws.OPEN) return;
    if (ws.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.#dropped++;
      return;
    }
    if (this.#dropped > 0) {
      ws.send(JSON.stringify({ type: 'dropped', frames: this.#dropped }));
      this.#dropped = 0;
    }
    ws.send(this.#encoder?.encode(block) ?? new Uint8Array(block.buffer, block.byteOffset, block.byteLength));
  }
}
