import { ParleyError } from '../../../base/errors.js';
import type { MediaMessage } from './dialect.js';

type Fields = Partial<Record<string, unknown>>;

/** Reads fields of a carrier's messages. All methods throw CARRIER_MESSAGE_BAD with the name of a missing field. */
export class MessageFields {
  readonly #carrier: string;

  constructor(carrier: string) {
    this.#carrier = carrier;
  }

  objectIn(message: Fields, name: string): Fields {
    const value = message[name];
    if (typeof value !== 'object' || value === null) throw this.unreadable(`${name} is missing`);
    return value;
  }

  text(value: unknown, name: string): string {
    if (typeof value !== 'string') throw this.unreadable(`${name} is no text`);
    return value;
  }

  /** An id that parley's messages send back to the carrier. */
  id(value: unknown, name: string): string {
    const id = this.text(value, name);
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) throw this.unreadable(`${name} is no id`);
    return id;
  }

  /**
   * The start of a stream with G.711 µ-law audio.
   * @param names of the fields with the stream's id and the call's id
   */
  mulawStart(start: Fields, names: { streamId: string; callId: string }): MediaMessage & { type: 'start' } {
    const format = this.objectIn(start, 'mediaFormat');
    const encoding = this.text(format['encoding'], 'start.mediaFormat.encoding');
    if (encoding !== 'audio/x-mulaw') throw this.unreadable(`start.mediaFormat.encoding is ${encoding.slice(0, 40)}`);
    return {
      type: 'start',
      streamId: this.id(start[names.streamId], `start.${names.streamId}`),
      callId: this.id(start[names.callId], `start.${names.callId}`),
      encoding: 'mulaw',
      sampleRateHz: Number(format['sampleRate']),
    };
  }

  digits(message: Fields): MediaMessage & { type: 'digits' } {
    return { type: 'digits', digits: this.text(this.objectIn(message, 'dtmf')['digit'], 'dtmf.digit') };
  }

  mark(message: Fields): MediaMessage & { type: 'mark' } {
    return { type: 'mark', name: this.text(this.objectIn(message, 'mark')['name'], 'mark.name') };
  }

  unknownEvent(message: Fields | null): ParleyError {
    return this.unreadable(`the event ${String(message?.['event']).slice(0, 40)} is not known`);
  }

  unreadable(reason: string): ParleyError {
    return new ParleyError('CARRIER_MESSAGE_BAD', { carrier: this.#carrier, reason });
  }
}
