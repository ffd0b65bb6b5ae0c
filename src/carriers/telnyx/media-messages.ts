import type { MediaDialect, MediaMessage } from '../media-socket/dialect.js';
import type { MediaEncoding } from '../media-socket/encodings.js';
import { MessageFields } from '../media-socket/message-fields.js';

/** How sound goes over the media socket. L16 is for calls with more than a telephone's bandwidth. */
export type TelnyxCodec = 'PCMU' | 'PCMA' | 'L16';

/**
 * The codecs. Telnyx does not say in which order L16 has its bytes; its own programs, and those who have tried, take
 * the low byte first (github.com/team-telnyx/eva, 2026-11-22), unlike L16 in RTP (RFC 3551, 4.5.11).
 */
export const TELNYX_CODECS: Readonly<Record<TelnyxCodec, { encoding: MediaEncoding; sampleRateHz: number }>> = {
  PCMU: { encoding: 'mulaw', sampleRateHz: 8_000 },
  PCMA: { encoding: 'alaw', sampleRateHz: 8_000 },
  L16: { encoding: 'l16', sampleRateHz: 16_000 },
};

const fields = new MessageFields('telnyx');
/** Pieces that are told to be missing, beyond which they are not believed. */
const MOST_MISSING = 100;
/** Nobody sends so much sound in one piece. */
const MOST_MS = 1_000;

/**
 * The messages of a call's media streams. The place of sound is made out by its chunk's number: what Telnyx calls its
 * timestamp is not explained further.
 * @see https://developers.telnyx.com/api-reference/websockets/stream-call-media-over-websocket (2026-11-22)
 */
export function telnyxMessages(): MediaDialect {
  let bytesPerMs = 8;
  let last = { chunk: 0, endMs: 0 };
  const placed = (payload: string, chunk: number): MediaMessage => {
    const lengthMs = bytesIn(payload) / bytesPerMs;
    if (chunk === 0 || lengthMs > MOST_MS) return { type: 'media', payload, atMs: null };
    const missing = chunk - last.chunk - 1;
    const atMs = last.endMs + (missing > 0 && missing <= MOST_MISSING ? missing * lengthMs : 0);
    last = { chunk, endMs: atMs + lengthMs };
    return { type: 'media', payload, atMs };
  };
  return {
    read: (text) => {
      const message = quickly(text) ?? slowly(text);
      if (message === null) return null;
      if (message.type === 'sound') return placed(message.payload, message.chunk);
      if (message.type === 'start') {
        bytesPerMs = ((message.encoding === 'l16' ? 2 : 1) * message.sampleRateHz) / 1000;
        last = { chunk: 0, endMs: 0 };
      }
      return message;
    },
    media: (_streamId, payload) => `{"event":"media","media":{"payload":"${payload}"}}`,
    mark: (_streamId, name) => `{"event":"mark","mark":{"name":"${name}"}}`,
    clear: () => '{"event":"clear"}',
  };
}

type Read = Exclude<MediaMessage, { type: 'media' }> | { type: 'sound'; payload: string; chunk: number };

const SOUND = /^\{[^{}]*"media":\{([^{}]*)\}[^{}]*\}$/;
const PAYLOAD = /"payload":"([A-Za-z0-9+/=]*)"/;
const CHUNK = /"chunk":"?(\d{1,12})"?[,}]?/;

/** Sound comes 50 times a second for each call: it is cut out of its text. Null = it has to be looked at as a whole. */
function quickly(text: string): Read | null {
  if (!text.includes('"event":"media"') || text.includes('"outbound"')) return null;
  const media = SOUND.exec(text)?.[1] ?? '';
  const payload = PAYLOAD.exec(media)?.[1];
  const chunk = CHUNK.exec(media)?.[1];
  return payload === undefined || chunk === undefined ? null : { type: 'sound', payload, chunk: Number(chunk) };
}

function slowly(text: string): Read | null {
  const message = JSON.parse(text) as Partial<Record<string, unknown>> | null;
  switch (message?.['event']) {
    case 'connected':
      return null;
    case 'start':
      return started(message);
    case 'media': {
      const { track, payload, chunk } = fields.objectIn(message, 'media');
      if (track === 'outbound' || track === 'outbound_track') return null;
      const number = Number(chunk);
      return {
        ...{ type: 'sound', payload: fields.text(payload, 'media.payload') },
        chunk: Number.isSafeInteger(number) && number > 0 ? number : 0,
      };
    }
    case 'dtmf':
      return { type: 'digits', digits: fields.text(fields.objectIn(message, 'dtmf')['digit'], 'dtmf.digit') };
    case 'mark':
      return { type: 'mark', name: fields.text(fields.objectIn(message, 'mark')['name'], 'mark.name') };
    case 'stop':
      return { type: 'stop' };
    case 'error': {
      const { code, title, detail } = fields.objectIn(message, 'payload');
      const words = [code, title, detail].filter((one) => typeof one === 'string' || typeof one === 'number');
      throw fields.unreadable(`it reports ${words.join(', ').slice(0, 200)}`);
    }
    default:
      throw fields.unreadable(`the event ${String(message?.['event']).slice(0, 40)} is not known`);
  }
}

function started(message: Partial<Record<string, unknown>>): Read {
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

/** Of base64. */
function bytesIn(payload: string): number {
  const padding = payload.endsWith('==') ? 2 : payload.endsWith('=') ? 1 : 0;
  return Math.floor((payload.length * 3) / 4) - padding;
}
