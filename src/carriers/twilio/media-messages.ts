import { parseJson } from '../../json.js';
import type { MediaDialect, MediaMessage } from '../media-socket/dialect.js';
import { MessageFields } from '../media-socket/message-fields.js';
import { cutNumber, cutPayload } from '../media-socket/sound-text.js';

/** Twilio Media Streams' messages. @see https://www.twilio.com/docs/voice/media-streams/websocket-messages (2026-11-22) */
export const TWILIO_MESSAGES: MediaDialect = {
  read: (text) => quickly(text) ?? slowly(text),
  media: (streamId, payload) => `{"event":"media","streamSid":"${streamId}","media":{"payload":"${payload}"}}`,
  mark: (streamId, name) => `{"event":"mark","streamSid":"${streamId}","mark":{"name":"${name}"}}`,
  clear: (streamId) => `{"event":"clear","streamSid":"${streamId}"}`,
};

const fields = new MessageFields('twilio');
const TIMESTAMP = '"timestamp":';

/** Null = it has to be looked at as a whole. */
function quickly(text: string): MediaMessage | null {
  const payload = cutPayload(text);
  const atMs = payload === null ? null : cutNumber(text, TIMESTAMP);
  return payload === null || atMs === null ? null : { type: 'media', payload, atMs };
}

function slowly(text: string): MediaMessage | null {
  const message = parseJson(text) as Partial<Record<string, unknown>> | null;
  switch (message?.['event']) {
    case 'connected':
      return null;
    case 'start':
      return fields.mulawStart(fields.objectIn(message, 'start'), { streamId: 'streamSid', callId: 'callSid' });
    case 'media': {
      const { track, payload, timestamp } = fields.objectIn(message, 'media');
      if (track === 'outbound') return null;
      return { type: 'media', payload: fields.text(payload, 'media.payload'), atMs: numberOf(timestamp) };
    }
    case 'dtmf':
      return { type: 'digits', digits: fields.text(fields.objectIn(message, 'dtmf')['digit'], 'dtmf.digit') };
    case 'mark':
      return { type: 'mark', name: fields.text(fields.objectIn(message, 'mark')['name'], 'mark.name') };
    case 'stop':
      return { type: 'stop' };
    default:
      throw fields.unreadable(`the event ${String(message?.['event']).slice(0, 40)} is not known`);
  }
}

function numberOf(value: unknown): number | null {
  const number = typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : NaN;
  return Number.isFinite(number) && number >= 0 ? number : null;
}
