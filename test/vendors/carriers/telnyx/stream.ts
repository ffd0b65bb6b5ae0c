import * as z from 'zod';
import { decodeG711, encodeG711 } from '../../../../src/audio/codecs/g711.js';
import type { MediaSocket } from '../../../../src/telephony/carriers/media-socket/media-socket.js';
import { FarStream } from '../far-stream.js';
import type { Person } from '../people.js';

/** What Telnyx takes over the media socket: no more than the published frames have. */
const messageSchema = z.discriminatedUnion('event', [
  z.strictObject({ event: z.literal('media'), media: z.strictObject({ payload: z.base64().min(1) }) }),
  z.strictObject({ event: z.literal('mark'), mark: z.strictObject({ name: z.string().min(1) }) }),
  z.strictObject({ event: z.literal('clear') }),
]);

export type StreamCodec = 'PCMU' | 'PCMA' | 'L16';

export interface StreamFacts {
  callControlId: string;
  streamId: string;
  from: string;
  to: string;
  clientState: string;
  codec: StreamCodec;
  sampleRateHz: number;
  authToken: string | null;
}

/** RTP media that is sent back has 20 ms to 30 s. */
const LENGTH_MS = { least: 20, most: 30_000 };

/** Telnyx's end of a bidirectional media stream. */
export class DoubleStream extends FarStream {
  /** Pieces of sound are sent in another order; known by their numbers, each a piece behind its place. */
  swaps = new Set<number>();
  /** Pieces that are never sent. */
  losses = new Set<number>();
  readonly #facts: StreamFacts;
  #late: object | null = null;
  #sequence = 0;
  #chunk = 0;

  constructor(socket: MediaSocket, facts: StreamFacts, person: Person, onClosed: () => void) {
    super(socket, person, onClosed);
    this.#facts = facts;
    this.listen();
    const { authToken, callControlId, from, to, clientState, codec, sampleRateHz } = facts;
    const metadata = authToken === null ? {} : { connected: { 'x-telnyx-streaming-auth-token': authToken } };
    socket.send(JSON.stringify({ event: 'connected', version: '1.0.0', ...metadata }));
    this.#tell('start', {
      start: {
        user_id: '3E6F995F-85F7-4705-9741-53B116D28237',
        call_control_id: callControlId,
        from,
        to,
        call_session_id: callControlId.replace('v3:', 's-'),
        client_state: clientState,
        tags: [],
        media_format: { encoding: codec, sample_rate: sampleRateHz, channels: 1 },
      },
    });
  }

  get id(): string {
    return this.#facts.streamId;
  }

  digits(keys: string): void {
    for (const digit of keys) this.#tell('dtmf', { dtmf: { digit }, occurred_at: '2026-11-22T00:00:00.000000Z' });
  }

  protected speak(sound: Uint8Array): void {
    const payload = this.#encoded(sound);
    const chunk = ++this.#chunk;
    const media = { track: 'inbound', chunk: String(chunk), timestamp: String((chunk - 1) * 20), payload };
    if (this.swaps.has(chunk)) this.#late = media;
    else if (!this.losses.has(chunk)) this.#tell('media', { media });
    if (this.#late !== null && !this.swaps.has(chunk)) {
      this.#tell('media', { media: this.#late });
      this.#late = null;
    }
  }

  protected tellMark(name: string): void {
    this.#tell('mark', { mark: { name } });
  }

  protected tellStop(): void {
    this.#tell('stop', { stop: { user_id: '', call_control_id: this.#facts.callControlId } });
  }

  protected take(read: unknown, text: string): void {
    const message = messageSchema.safeParse(read);
    if (!message.success) {
      this.#wrong('100003', 'malformed_frame', text);
      return;
    }
    const { data } = message;
    if (data.event === 'media') {
      const sound = this.#decoded(Buffer.from(data.media.payload, 'base64'));
      const lengthMs = sound.length / 8;
      if (lengthMs < LENGTH_MS.least || lengthMs > LENGTH_MS.most) this.#wrong('100004', 'invalid_media', text);
      else this.queue.push(sound);
    } else if (data.event === 'mark') this.queue.push({ mark: data.mark.name });
    else this.clear();
  }

  #wrong(code: string, title: string, text: string): void {
    this.violations.push(text.slice(0, 200));
    this.#tell('error', { payload: { code, title, detail: text.slice(0, 40) } });
  }

  /** People speak mulaw at 8 kHz. */
  #encoded(mulaw: Uint8Array): string {
    const { codec, sampleRateHz } = this.#facts;
    if (codec === 'PCMU') return Buffer.from(mulaw).toString('base64');
    const samples = decodeG711('mulaw', mulaw);
    if (codec === 'PCMA') return Buffer.from(encodeG711('alaw', samples)).toString('base64');
    const bytes = Buffer.alloc((samples.length * 2 * sampleRateHz) / 8_000);
    for (let at = 0; at < bytes.length / 2; at++) {
      bytes.writeInt16LE(samples[Math.floor((at * 8_000) / sampleRateHz)] ?? 0, at * 2);
    }
    return bytes.toString('base64');
  }

  #decoded(bytes: Buffer): Uint8Array {
    const { codec, sampleRateHz } = this.#facts;
    if (codec === 'PCMU') return bytes;
    if (codec === 'PCMA') return encodeG711('mulaw', decodeG711('alaw', bytes));
    const step = sampleRateHz / 8_000;
    const length = Math.floor(bytes.length / 2 / step);
    const samples = Int16Array.from({ length }, (_, at) => bytes.readInt16LE(Math.floor(at * step) * 2));
    return encodeG711('mulaw', samples);
  }

  #tell(event: string, rest: object): void {
    const sequence_number = String(++this.#sequence);
    this.socket.send(JSON.stringify({ event, sequence_number, ...rest, stream_id: this.#facts.streamId }));
  }
}
