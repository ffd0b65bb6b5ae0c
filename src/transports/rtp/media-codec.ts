import { decodeG711, encodeG711, G711_SILENCE, type G711Law } from '../../audio/codecs/g711.js';
import { g722Decoder, g722Encoder } from '../../audio/codecs/g722.js';
import { type Opus, OPUS_FRAMES_MS, type OpusDecoder } from '../../audio/codecs/opus.js';
import { LossConcealer } from '../../audio/dsp/plc.js';
import { Scratch } from '../../audio/dsp/scratch.js';
import { ParleyError } from '../../base/errors.js';
import { INITIAL_LOSS } from './reports.js';

/** Codecs of calls, by their names in SDP. */
export type CodecName = 'PCMU' | 'PCMA' | 'G722' | 'opus';

export interface CodecFacts {
  name: CodecName;
  /** The payload type of RFC 3551, or the one that our offers give it. */
  payloadType: number;
  /** Ticks a second of its timestamps. G.722's 8000 is an error of 1991 that stays (RFC 3551, 4.5.2). */
  clockRateHz: number;
  /** What SDP says of channels; Opus says 2 whatever it carries (RFC 7587, 7). */
  channels: 1 | 2;
  /** Rate of its sound here. */
  sampleRateHz: 8_000 | 16_000;
  /** Parameters of its format, where ours differ from the defaults. */
  fmtp?: string;
}

export const CODECS: Readonly<Record<CodecName, CodecFacts>> = {
  PCMU: { name: 'PCMU', payloadType: 0, clockRateHz: 8_000, channels: 1, sampleRateHz: 8_000 },
  PCMA: { name: 'PCMA', payloadType: 8, clockRateHz: 8_000, channels: 1, sampleRateHz: 8_000 },
  G722: { name: 'G722', payloadType: 9, clockRateHz: 8_000, channels: 1, sampleRateHz: 16_000 },
  opus: {
    name: 'opus',
    payloadType: 107,
    clockRateHz: 48_000,
    channels: 2,
    sampleRateHz: 16_000,
    fmtp: 'maxplaybackrate=16000;sprop-maxcapturerate=16000;useinbandfec=1',
  },
};

/** What is sent is cut into packets of so much at most, whatever is asked for. */
export const LONGEST_SENT_MS = 60;

/** Comfort noise (RFC 3389) has this type at 8 kHz; it comes from some who never offered it. */
export const COMFORT_NOISE_TYPE = 13;

/** Formats that a description may leave without a=rtpmap (RFC 3551, 6). */
export const STATIC_FORMATS: ReadonlyMap<number, { name: string; clockRateHz: number }> = new Map(
  [CODECS.PCMU, CODECS.PCMA, CODECS.G722, { payloadType: COMFORT_NOISE_TYPE, name: 'CN', clockRateHz: 8_000 }].map(
    ({ payloadType, name, clockRateHz }) => [payloadType, { name, clockRateHz }],
  ),
);

/** The codec of that name in whatever case, at its clock; null for others. */
export function codecOf(name: string, clockRateHz: number): CodecFacts | null {
  const known = Object.values(CODECS).find((codec) => codec.name.toLowerCase() === name.toLowerCase());
  return known?.clockRateHz === clockRateHz ? known : null;
}

/** The length of packets that is nearest to the wanted one, and not above it, that a codec has: a multiple of 10 ms. */
export function packetMsOf({ name }: CodecFacts, wantedMs: number): number {
  const ms = Math.min(Math.max(Math.floor(wantedMs / 10) * 10, 10), LONGEST_SENT_MS);
  return name === 'opus' ? (OPUS_FRAMES_MS.findLast((each) => each <= ms) ?? 10) : ms;
}

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
