import { parseJson } from '../../json.js';
import type { MediaDialect } from '../media-socket/dialect.js';
import type { MediaEncoding } from '../media-socket/encodings.js';
import { MessageFields } from '../media-socket/message-fields.js';
import { type NumberedMessage, numberedReader, soundIn } from '../media-socket/numbered-sound.js';

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

/**
 * The messages of a call's media streams. The place of sound is made out by its chunk's number: what Telnyx calls its
 * timestamp is not explained further.
 * @see https://developers.telnyx.com/api-reference/websockets/stream-call-media-over-websocket (2026-11-22)
 */
export function telnyxMessages(): MediaDialect {
  return {
    read: numberedReader(read),
    media: (_streamId, payload) => `{"event":"media","media":{"payload":"${payload}"}}`,
    mark: (_streamId, name) => `{"event":"mark","mark":{"name":"${name}"}}`,
    clear: () => '{"event":"clear"}',
  };
}

function read(text: string): NumberedMessage | null {
  const message = parseJson(text) as Partial<Record<string, unknown>> | null;
  switch (message?.['event']) {
    case 'connected':
      return null;
    case 'start':
      return started(message);
    case 'media':
      return soundIn(message, fields);
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

function started(message: Partial<Record<string, unknown>>): NumberedMessage {
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
