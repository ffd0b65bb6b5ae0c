import { parseJson } from '../../../base/json.js';
import type { MediaDialect, MediaEncoding } from '../media-socket/dialect.js';
import { MessageFields } from '../media-socket/message-fields.js';
import { type SequencedMessage, sequenceReader, soundIn, cutNumber } from '../media-socket/audio-sequence.js';
import type { MediaSocket } from '../media-socket/media-socket.js';

/** The codec on the media socket. L16 is for wideband calls. */
export type TelnyxCodec = 'PCMU' | 'PCMA' | 'L16';

/**
 * The codecs. Telnyx does not document the byte order of L16; its own programs use little-endian
 * (github.com/team-telnyx/eva, 2026-11-22), unlike L16 in RTP (RFC 3551, 4.5.11).
 */
export const TELNYX_CODECS: Readonly<Record<TelnyxCodec, { encoding: MediaEncoding; sampleRateHz: number }>> = {
  PCMU: { encoding: 'mulaw', sampleRateHz: 8_000 },
  PCMA: { encoding: 'alaw', sampleRateHz: 8_000 },
  L16: { encoding: 'l16', sampleRateHz: 16_000 },
};

const fields = new MessageFields('telnyx');

/**
 * The messages of a call's media streams. The chunk number gives the position of audio, because Telnyx's timestamp is
 * not documented.
 * @see https://developers.telnyx.com/api-reference/websockets/stream-call-media-over-websocket (2026-11-22)
 */
export function telnyxMessages(): MediaDialect {
  return {
    read: sequenceReader(read),
    media: (_streamId, payload) => `{"event":"media","media":{"payload":"${payload}"}}`,
    mark: (_streamId, name) => `{"event":"mark","mark":{"name":"${name}"}}`,
    clear: () => '{"event":"clear"}',
  };
}

function read(text: string): SequencedMessage | null {
  const message = parseJson(text) as Partial<Record<string, unknown>> | null;
  switch (message?.['event']) {
    case 'connected':
      return null;
    case 'start':
      return started(message);
    case 'media':
      return soundIn(message, fields);
    case 'dtmf':
      return fields.digits(message);
    case 'mark':
      return fields.mark(message);
    case 'stop':
      return { type: 'stop' };
    case 'error': {
      const { code, title, detail } = fields.objectIn(message, 'payload');
      const words = [code, title, detail].filter((one) => typeof one === 'string' || typeof one === 'number');
      throw fields.unreadable(`it reports ${words.join(', ').slice(0, 200)}`);
    }
    default:
      throw fields.unknownEvent(message);
  }
}

function started(message: Partial<Record<string, unknown>>): SequencedMessage {
  const start = fields.objectIn(message, 'start');
  const format = fields.objectIn(start, 'media_format');
  const name = fields.text(format['encoding'], 'start.media_format.encoding');
  const codec = Object.hasOwn(TELNYX_CODECS, name) ? TELNYX_CODECS[name as TelnyxCodec] : null;
  if (codec === null) throw fields.unreadable(`start.media_format.encoding is ${name.slice(0, 40)}`);
  return {
    type: 'start',
    streamId: fields.text(message['stream_id'], 'stream_id'),
    callId: fields.text(start['call_control_id'], 'start.call_control_id'),
    encoding: codec.encoding,
    sampleRateHz: Number(format['sample_rate']),
  };
}

/** Early audio waits for this many later messages: 60 ms. */
const PATIENCE = 3;
/** A larger jump of the chunk number is a restart, not reordering. */
const FAR = 100;
const CHUNK = '"chunk":';
const SPACED_CHUNK = /"chunk":\s*"?(\d{1,12})\b/;

/**
 * Sorts audio by chunk number, because Telnyx does not guarantee the order. Duplicates and late chunks are left out;
 * other messages pass at once.
 */
export class MediaOrder {
  readonly #held = new Map<number, string>();
  #next: number | null = null;

  /** Takes a message; returns the messages that are due. */
  push(text: string): readonly string[] {
    const chunk = chunkOf(text);
    if (chunk === null) return [text];
    if (chunk === this.#next && this.#held.size === 0) {
      this.#next++;
      return [text];
    }
    if (this.#next !== null && Math.abs(chunk - this.#next) > FAR) return [...this.flush(), text];
    if (this.#next !== null && chunk < this.#next) return [];
    this.#held.set(chunk, text);
    if (this.#held.size > PATIENCE) this.#next = Math.min(...this.#held.keys());
    return this.#due(this.#next ?? chunk);
  }

  /** Returns the waiting messages in order, and resets the numbering. */
  flush(): readonly string[] {
    const waiting = [...this.#held].sort(([one], [other]) => one - other).map(([, text]) => text);
    this.#held.clear();
    this.#next = null;
    return waiting;
  }

  #due(from: number): string[] {
    const due: string[] = [];
    let next = from;
    for (let text = this.#held.get(next); text !== undefined; text = this.#held.get(next)) {
      due.push(text);
      this.#held.delete(next++);
    }
    this.#next = next;
    return due;
  }
}

/** A media socket with sorted audio. */
export function inOrder(socket: MediaSocket): MediaSocket {
  return {
    send: (text) => socket.send(text),
    get bufferedBytes() {
      return socket.bufferedBytes;
    },
    listen: (events) => {
      const order = new MediaOrder();
      socket.listen({
        onText: (text) => {
          for (const one of order.push(text)) events.onText(one);
        },
        onClosed: () => {
          for (const one of order.flush()) events.onText(one);
          events.onClosed();
        },
      });
    },
    close: () => socket.close(),
  };
}

/** The chunk number of audio; null = not audio. */
function chunkOf(text: string): number | null {
  if (!text.includes('"media":')) return null;
  const number = cutNumber(text, CHUNK);
  if (number !== null) return number;
  const spaced = SPACED_CHUNK.exec(text)?.[1];
  return spaced === undefined ? null : Number(spaced);
}
