import { decodeG711, encodeG711, G711_SILENCE, type G711Law } from '../audio/g711.js';
import { g722Decoder, g722Encoder } from '../audio/g722-coders.js';
import type { Opus, OpusDecoder } from '../audio/opus.js';
import { LossConcealer } from '../audio/plc.js';
import { Scratch } from '../audio/scratch.js';
import { ParleyError } from '../errors.js';
import { INITIAL_LOSS } from '../transports/webrtc/reported-loss.js';
import { type CodecFacts, LONGEST_SENT_MS } from './codecs.js';

/** Mono sound at the codec's rate, 10 to 60 ms at a time, into payloads. */
export interface MediaEncoder {
  /** What it gives may be overwritten by the next call, of any encoder. */
  encode(frame: Int16Array): Uint8Array;
  /** Silence of so many samples. Left out: what it is depends on what came before. */
  silence?(samples: number): Uint8Array;
  /** How much is lost on the way, 0..1, where the codec can do something about it. */
  expectLoss?(share: number): void;
  /** May be called twice. */
  close(): void;
}

/** Payloads into mono sound at the codec's rate. What it gives may be overwritten by the next call, of any decoder. */
export interface MediaDecoder {
  /** @throws ParleyError AUDIO_UNDECODABLE; the decoder goes on with the next one */
  decode(payload: Uint8Array): Int16Array;
  /** What might have been there. @param following the packet behind the gap, which may hold a copy (Opus) */
  conceal(ms: number, following: Uint8Array | null): Int16Array;
  close(): void;
}

/** G.711 and G.722 alike. */
const BYTES_PER_MS = 8;
/** The longest packet that is taken: 120 ms (RFC 3551 knows no limit; nobody sends longer ones). */
const MAX_PACKET_MS = 120;
/** A gap of this length at most is filled in one go. */
const MAX_GAP_MS = 120;

/** @param opus loaded; needed where the codec is Opus */
export function mediaEncoder(facts: CodecFacts, opus: Opus | null): MediaEncoder {
  switch (facts.name) {
    case 'PCMU':
      return new G711Encoder('mulaw');
    case 'PCMA':
      return new G711Encoder('alaw');
    case 'G722':
      return new WidebandEncoder();
    case 'opus':
      // A telephone call is never silent on the wire: gateways take silence for a call that has broken off.
      return loaded(opus).encoder({ sampleRateHz: facts.sampleRateHz, expectedLoss: INITIAL_LOSS, dtx: false });
  }
}

/** @param opus loaded; needed where the codec is Opus */
export function mediaDecoder(facts: CodecFacts, opus: Opus | null): MediaDecoder {
  switch (facts.name) {
    case 'PCMU':
      return new G711Decoder('mulaw');
    case 'PCMA':
      return new G711Decoder('alaw');
    case 'G722':
      return new WidebandDecoder();
    case 'opus':
      return new OpusMediaDecoder(loaded(opus).decoder(facts.sampleRateHz));
  }
}

function loaded(opus: Opus | null): Opus {
  if (opus === null) throw new Error('Opus is not loaded');
  return opus;
}

/** Payloads of G.711 and G.722, until they are in their datagram. */
const payloadOut = new Scratch(new Uint8Array(LONGEST_SENT_MS * BYTES_PER_MS));
/** Sound of them, until it has been heard. */
const soundOut = new Scratch(new Int16Array(MAX_PACKET_MS * 2 * BYTES_PER_MS));

/** Made once for all calls. */
const SILENCE: Record<G711Law, Scratch<Uint8Array>> = { mulaw: silenceOf('mulaw'), alaw: silenceOf('alaw') };

function silenceOf(law: G711Law): Scratch<Uint8Array> {
  return new Scratch(new Uint8Array(LONGEST_SENT_MS * BYTES_PER_MS).fill(G711_SILENCE[law]));
}

class G711Encoder implements MediaEncoder {
  readonly #law: G711Law;

  constructor(law: G711Law) {
    this.#law = law;
  }

  encode(frame: Int16Array): Uint8Array {
    return encodeG711(this.#law, frame, payloadOut.of(frame.length));
  }

  silence(samples: number): Uint8Array {
    return SILENCE[this.#law].of(samples);
  }

  close(): void {
    // It holds nothing.
  }
}

class G711Decoder implements MediaDecoder {
  readonly #law: G711Law;
  readonly #concealer = new LossConcealer(8_000);

  constructor(law: G711Law) {
    this.#law = law;
  }

  decode(payload: Uint8Array): Int16Array {
    checkLength(payload);
    const samples = decodeG711(this.#law, payload, soundOut.of(payload.length));
    this.#concealer.accept(samples);
    return samples;
  }

  conceal(ms: number): Int16Array {
    const out = soundOut.of(Math.round(Math.min(ms, MAX_GAP_MS) * 8));
    this.#concealer.conceal(out);
    return out;
  }

  close(): void {
    // It holds nothing.
  }
}

class WidebandEncoder implements MediaEncoder {
  readonly #encoder = g722Encoder();

  encode(frame: Int16Array): Uint8Array {
    return this.#encoder.encode(frame, payloadOut.of(frame.length >> 1));
  }

  close(): void {
    // It holds nothing.
  }
}

class WidebandDecoder implements MediaDecoder {
  readonly #decoder = g722Decoder();
  readonly #concealer = new LossConcealer(16_000);

  decode(payload: Uint8Array): Int16Array {
    checkLength(payload);
    const samples = this.#decoder.decode(payload, soundOut.of(2 * payload.length));
    this.#concealer.accept(samples);
    return samples;
  }

  conceal(ms: number): Int16Array {
    const out = soundOut.of(Math.round(Math.min(ms, MAX_GAP_MS) * 16));
    this.#concealer.conceal(out);
    return out;
  }

  close(): void {
    // It holds nothing.
  }
}

class OpusMediaDecoder implements MediaDecoder {
  readonly #decoder: OpusDecoder;

  constructor(decoder: OpusDecoder) {
    this.#decoder = decoder;
  }

  decode(payload: Uint8Array): Int16Array {
    return this.#decoder.decode(payload);
  }

  conceal(ms: number, following: Uint8Array | null): Int16Array {
    return following === null ? this.#decoder.conceal(ms) : this.#decoder.recover(following, ms);
  }

  close(): void {
    this.#decoder.close();
  }
}

function checkLength({ length }: Uint8Array): void {
  if (length > 0 && length <= MAX_PACKET_MS * BYTES_PER_MS) return;
  throw new ParleyError('AUDIO_UNDECODABLE', { reason: `a packet of ${String(length)} bytes` });
}
