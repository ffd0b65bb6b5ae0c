import { decodeG711, encodeG711, G711_SILENCE, type G711Law } from '../../audio/codecs/g711.js';
import { g722Decoder, g722Encoder } from '../../audio/codecs/g722.js';
import { type Opus, OPUS_FRAMES_MS } from '../../audio/codecs/opus.js';
import { LossConcealer } from '../../audio/dsp/plc.js';
import { Scratch } from '../../audio/dsp/scratch.js';
import { ParleyError } from '../../base/errors.js';
import { type MediaDecoder, OpusMediaDecoder } from './inbound-stream.js';
import { INITIAL_LOSS } from './rtcp.js';

/** Codecs of calls, by their names in SDP. */
export type CodecName = 'PCMU' | 'PCMA' | 'G722' | 'opus';

export interface CodecFacts {
  name: CodecName;
  /** The payload type of RFC 3551, or that of parley's offers. */
  payloadType: number;
  /** Clock rate of the timestamps. G.722's 8000 is a historical error (RFC 3551, 4.5.2). */
  clockRateHz: number;
  /** Channels in SDP; Opus always says 2 (RFC 7587, 7). */
  channels: 1 | 2;
  /** Sample rate in parley. */
  sampleRateHz: 8_000 | 16_000;
  /** Format parameters that differ from the defaults. */
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

/** Maximum length of sent packets, whatever the other side requests. */
export const LONGEST_SENT_MS = 60;

/** Payload type of comfort noise (RFC 3389) at 8 kHz; some send it without an offer. */
export const COMFORT_NOISE_TYPE = 13;

/** Formats that may be offered without a=rtpmap (RFC 3551, 6). */
export const STATIC_FORMATS: ReadonlyMap<number, { name: string; clockRateHz: number }> = new Map(
  [CODECS.PCMU, CODECS.PCMA, CODECS.G722, { payloadType: COMFORT_NOISE_TYPE, name: 'CN', clockRateHz: 8_000 }].map(
    ({ payloadType, name, clockRateHz }) => [payloadType, { name, clockRateHz }],
  ),
);

/** The codec of a name, in any case, at its clock rate; null for others. */
export function codecOf(name: string, clockRateHz: number): CodecFacts | null {
  const known = Object.values(CODECS).find((codec) => codec.name.toLowerCase() === name.toLowerCase());
  return known?.clockRateHz === clockRateHz ? known : null;
}

/** The longest packet length, a multiple of 10 ms, that a codec supports up to the requested one. */
export function packetMsOf({ name }: CodecFacts, wantedMs: number): number {
  const ms = Math.min(Math.max(Math.floor(wantedMs / 10) * 10, 10), LONGEST_SENT_MS);
  return name === 'opus' ? (OPUS_FRAMES_MS.findLast((each) => each <= ms) ?? 10) : ms;
}

/** Encodes mono audio at the codec's rate, 10 to 60 ms at a time. */
export interface MediaEncoder {
  /** The result is overwritten by the next call of any encoder. */
  encode(frame: Int16Array): Uint8Array;
  /** Encoded silence. Omitted if silence depends on the audio before. */
  silence?(samples: number): Uint8Array;
  /** Expected packet loss, 0 to 1, for codecs that can adapt. */
  expectLoss?(share: number): void;
  /** May be called twice. */
  close(): void;
}

/** For G.711 and G.722. */
const BYTES_PER_MS = 8;
/** Longest accepted packet: 120 ms (RFC 3551 has no limit, but longer ones do not occur). */
const MAX_PACKET_MS = 120;
/** Longest gap that is concealed at once. */
const MAX_GAP_MS = 120;

/** @param opus loaded; required for Opus */
export function mediaEncoder(facts: CodecFacts, opus: Opus | null): MediaEncoder {
  switch (facts.name) {
    case 'PCMU':
      return new G711Encoder('mulaw');
    case 'PCMA':
      return new G711Encoder('alaw');
    case 'G722':
      return new WidebandEncoder();
    case 'opus':
      // No DTX: gateways take silence on the wire for a broken call.
      return loaded(opus).encoder({ sampleRateHz: facts.sampleRateHz, expectedLoss: INITIAL_LOSS, dtx: false });
  }
}

/** @param opus loaded; required for Opus */
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

/** Payloads of G.711 and G.722 until they are copied to a datagram. */
const payloadOut = new Scratch(new Uint8Array(LONGEST_SENT_MS * BYTES_PER_MS));
/** Decoded audio until it is processed. */
const soundOut = new Scratch(new Int16Array(MAX_PACKET_MS * 2 * BYTES_PER_MS));

/** Shared by all calls. */
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
    // nothing to free
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
    // nothing to free
  }
}

class WidebandEncoder implements MediaEncoder {
  readonly #encoder = g722Encoder();

  encode(frame: Int16Array): Uint8Array {
    return this.#encoder.encode(frame, payloadOut.of(frame.length >> 1));
  }

  close(): void {
    // nothing to free
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
    // nothing to free
  }
}

function checkLength({ length }: Uint8Array): void {
  if (length > 0 && length <= MAX_PACKET_MS * BYTES_PER_MS) return;
  throw new ParleyError('AUDIO_UNDECODABLE', { reason: `a packet of ${String(length)} bytes` });
}
