import * as z from 'zod';
import type { MediaSocket } from '../../../../src/carriers/media-socket/media-socket.js';
import type { Person } from '../people.js';
import { PlayQueue } from '../play-queue.js';

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

/**
 * Twilio's end of a bidirectional media stream: what it is sent is played in its order, 20 ms a tick; a mark comes back
 * when what was sent before it has been played, and all of them at once when the buffer is cleared.
 */
export class DoubleStream {
  /** Messages of ours that Twilio would not take (its error 31951). */
  readonly violations: string[] = [];
  clears = 0;
  readonly #socket: MediaSocket;
  readonly #facts: StreamFacts;
  readonly #person: Person;
  readonly #queue = new PlayQueue();
  #sequence = 0;
  #chunk = 0;
  #ticks = 0;
  #isOver = false;

  constructor(socket: MediaSocket, facts: StreamFacts, person: Person, onClosed: () => void) {
    this.#socket = socket;
    this.#facts = facts;
    this.#person = person;
    socket.listen({
      onText: (text) => this.#take(text),
      onClosed: () => {
        if (this.#isOver) return;
        this.#isOver = true;
        onClosed();
      },
    });
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

  /** How much of what was sent has not been played, in milliseconds. */
  get bufferedMs(): number {
    return this.#queue.ms;
  }

  tick(): void {
    if (this.#isOver) return;
    const payload = Buffer.from(this.#person.speak()).toString('base64');
    this.#tell('media', {
      media: { track: 'inbound', chunk: String(++this.#chunk), timestamp: String(this.#ticks++ * 20), payload },
    });
    this.#person.hear(this.#queue.tick((name) => this.#mark(name)));
  }

  digits(keys: string): void {
    for (const digit of keys) this.#tell('dtmf', { dtmf: { track: 'inbound_track', digit } });
  }

  /** As a message, whatever it is. */
  raw(text: string): void {
    this.#socket.send(text);
  }

  /** Twilio ends the stream. */
  stop(): void {
    if (this.#isOver) return;
    const { accountSid, callSid } = this.#facts;
    this.#tell('stop', { stop: { accountSid, callSid } });
    this.#isOver = true;
    this.#socket.close();
  }

  /** The socket breaks, without a word. */
  break(): void {
    this.#isOver = true;
    this.#socket.close();
  }

  #mark(name: string): void {
    this.#tell('mark', { mark: { name } });
  }

  #take(text: string): void {
    let read: unknown;
    try {
      read = JSON.parse(text);
    } catch {
      read = null;
    }
    const message = messageSchema.safeParse(read);
    if (!message.success || message.data.streamSid !== this.#facts.streamSid) {
      this.violations.push(text.slice(0, 200));
      return;
    }
    const { data } = message;
    if (data.event === 'media') this.#queue.push(Buffer.from(data.media.payload, 'base64'));
    else if (data.event === 'mark') this.#queue.push({ mark: data.mark.name });
    else {
      this.clears++;
      for (const mark of this.#queue.clear()) this.#mark(mark);
    }
  }

  #tell(event: string, rest: object): void {
    const sequenceNumber = String(++this.#sequence);
    this.#socket.send(JSON.stringify({ event, sequenceNumber, ...rest, streamSid: this.#facts.streamSid }));
  }
}
