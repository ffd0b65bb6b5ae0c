import * as z from 'zod';
import type { MediaSocket } from '../../../../src/telephony/carriers/media-socket/media-socket.js';
import { FarStream } from '../far-stream.js';
import type { Person } from '../people.js';

const streamSid = z.string().regex(/^MZ[0-9a-f]{32}$/);
/** What Twilio takes over the media socket. */
const messageSchema = z.discriminatedUnion('event', [
  z.strictObject({ event: z.literal('media'), streamSid, media: z.strictObject({ payload: z.base64().min(1) }) }),
  z.strictObject({ event: z.literal('mark'), streamSid, mark: z.strictObject({ name: z.string().min(1) }) }),
  z.strictObject({ event: z.literal('clear'), streamSid }),
]);

export interface StreamFacts {
  accountSid: string;
  callSid: string;
  streamSid: string;
}

/** Twilio's end of a bidirectional media stream; a message that Twilio would not take is its error 31951. */
export class DoubleStream extends FarStream {
  readonly #facts: StreamFacts;
  #sequence = 0;
  #chunk = 0;

  constructor(socket: MediaSocket, facts: StreamFacts, person: Person, onClosed: () => void) {
    super(socket, person, onClosed);
    this.#facts = facts;
    this.listen();
    socket.send(JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }));
    this.#tell('start', {
      start: {
        ...facts,
        tracks: ['inbound'],
        mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
        customParameters: {},
      },
    });
  }

  digits(keys: string): void {
    for (const digit of keys) this.#tell('dtmf', { dtmf: { track: 'inbound_track', digit } });
  }

  protected speak(sound: Uint8Array): void {
    const payload = Buffer.from(sound).toString('base64');
    const chunk = ++this.#chunk;
    const timestamp = String((chunk - 1) * 20);
    this.#tell('media', { media: { track: 'inbound', chunk: String(chunk), timestamp, payload } });
  }

  protected tellMark(name: string): void {
    this.#tell('mark', { mark: { name } });
  }

  protected tellStop(): void {
    const { accountSid, callSid } = this.#facts;
    this.#tell('stop', { stop: { accountSid, callSid } });
  }

  protected take(read: unknown, text: string): void {
    const message = messageSchema.safeParse(read);
    if (!message.success || message.data.streamSid !== this.#facts.streamSid) {
      this.violations.push(text.slice(0, 200));
      return;
    }
    const { data } = message;
    if (data.event === 'media') this.queue.push(Buffer.from(data.media.payload, 'base64'));
    else if (data.event === 'mark') this.queue.push({ mark: data.mark.name });
    else this.clear();
  }

  #tell(event: string, rest: object): void {
    const sequenceNumber = String(++this.#sequence);
    this.socket.send(JSON.stringify({ event, sequenceNumber, ...rest, streamSid: this.#facts.streamSid }));
  }
}
