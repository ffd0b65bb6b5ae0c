import { OPUS_FRAMES_MS } from '../audio/opus.js';

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
