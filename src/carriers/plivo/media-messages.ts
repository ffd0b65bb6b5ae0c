import { parseJson } from '../../json.js';
import type { MediaDialect } from '../media-socket/dialect.js';
import { MessageFields } from '../media-socket/message-fields.js';
import { type NumberedMessage, numberedReader, soundIn } from '../media-socket/numbered-sound.js';

const fields = new MessageFields('plivo');

/**
 * The messages of a call's audio streams. The place of sound is made out by its chunk's number: its timestamp is the time
 * of day. A checkpoint comes back as `playedStream` when what was sent before it has been played; those that were waiting
 * when the sound was cleared do not come back.
 * @see https://docs.plivo.com/docs/voice-agents/audio-streaming/concepts/audio-streaming-reference (2026-11-22), and
 * github.com/plivo/plivo-stream-sdk-node, src/types.ts; `sendDTMF` as github.com/plivo-labs/agent-transport has it
 */
export function plivoMessages(): MediaDialect {
  return {
    read: numberedReader(read),
    media: (_streamId, payload) =>
      `{"event":"playAudio","media":{"contentType":"audio/x-mulaw","sampleRate":8000,"payload":"${payload}"}}`,
    mark: (streamId, name) => `{"event":"checkpoint","streamId":"${streamId}","name":"${name}"}`,
    clear: (streamId) => `{"event":"clearAudio","streamId":"${streamId}"}`,
    keys: (keys) => `{"event":"sendDTMF","dtmf":"${keys}"}`,
  };
}

function read(text: string): NumberedMessage | null {
  const message = parseJson(text) as Partial<Record<string, unknown>> | null;
  switch (message?.['event']) {
    case 'start':
      return fields.mulawStart(fields.objectIn(message, 'start'), { streamId: 'streamId', callId: 'callId' });
    case 'media':
      return soundIn(message, fields);
    case 'dtmf':
      return { type: 'digits', digits: fields.text(fields.objectIn(message, 'dtmf')['digit'], 'dtmf.digit') };
    case 'playedStream':
      return { type: 'mark', name: fields.text(message['name'], 'name') };
    case 'clearedAudio':
      return null;
    case 'stop':
      return { type: 'stop' };
    case 'playFailed':
    case 'error':
      throw fields.unreadable(`it reports ${message['event']}: ${String(message['reason']).slice(0, 200)}`);
    default:
      throw fields.unreadable(`the event ${String(message?.['event']).slice(0, 40)} is not known`);
  }
}
