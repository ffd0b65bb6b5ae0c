import * as z from 'zod';
import type { MediaSocket } from '../../../../src/telephony/carriers/media-socket/media-socket.js';
import { FarStream } from '../far-stream.js';
import type { Person } from '../people.js';

const streamId = z.uuid();
/** What Plivo takes over the media socket; no more than 64 KB a message. */
const messageSchema = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('playAudio'),
    media: z.strictObject({
      contentType: z.literal('audio/x-mulaw'),
      sampleRate: z.literal(8_000),
      payload: z.base64().min(1).max(65_536),
    }),
  }),
  z.strictObject({ event: z.literal('checkpoint'), streamId, name: z.string().min(1) }),
  z.strictObject({ event: z.literal('clearAudio'), streamId }),
  z.strictObject({ event: z.literal('sendDTMF'), dtmf: z.string().regex(/^[0-9*#]+$/) }),
]);

export interface StreamFacts {
  accountId: string;
  callId: string;
  streamId: string;
}

/** The time of day at which all streams begin. */
const EPOCH_MS = 1_795_312_800_000;

/** Plivo's end of a bidirectional audio stream. */
export class PlivoStream extends FarStream {
  readonly #facts: StreamFacts;
  readonly #person: Person;
  #sequence = 0;
  #chunk = 0;

  constructor(socket: MediaSocket, facts: StreamFacts, person: Person, onClosed: () => void) {
    super(socket, person, onClosed);
    this.#facts = facts;
    this.#person = person;
    this.listen();
    const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8_000 };
    this.#tell('start', { start: { ...facts, tracks: ['inbound'], mediaFormat }, extra_headers: '' });
  }

  digits(keys: string): void {
    for (const digit of keys) {
      this.#tell('dtmf', { ...this.#id, dtmf: { track: 'inbound', digit, timestamp: this.#time }, extra_headers: '' });
    }
  }

  protected speak(sound: Uint8Array): void {
    const payload = Buffer.from(sound).toString('base64');
    const chunk = ++this.#chunk;
    const media = { track: 'inbound', timestamp: this.#time, chunk, payload };
    this.#tell('media', { ...this.#id, media, extra_headers: '' });
  }

  protected tellMark(name: string): void {
    this.#tell('playedStream', { ...this.#id, name });
  }

  /** Plivo says nothing: the socket is closed. */
  protected tellStop(): void {
    this.queue.clear();
  }

  /** Checkpoints that wait are of what was not played: they do not come back. */
  protected override clear(): void {
    this.clears++;
    this.queue.clear();
    this.#tell('clearedAudio', this.#id);
  }

  protected take(read: unknown, text: string): void {
    const message = messageSchema.safeParse(read);
    const isOurs = message.success && (!('streamId' in message.data) || message.data.streamId === this.#facts.streamId);
    if (!isOurs) {
      this.violations.push(text.slice(0, 200));
      return;
    }
    const { data } = message;
    if (data.event === 'playAudio') this.queue.push(Buffer.from(data.media.payload, 'base64'));
    else if (data.event === 'checkpoint') this.queue.push({ mark: data.name });
    else if (data.event === 'clearAudio') this.clear();
    else this.#person.keys += data.dtmf;
  }

  get #id(): { streamId: string } {
    return { streamId: this.#facts.streamId };
  }

  get #time(): string {
    return String(EPOCH_MS + this.#chunk * 20);
  }

  #tell(event: string, rest: object): void {
    this.socket.send(JSON.stringify({ event, sequenceNumber: ++this.#sequence, ...rest }));
  }
}
