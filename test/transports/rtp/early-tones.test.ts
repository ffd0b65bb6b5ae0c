import { describe, expect, it } from 'vitest';
import { encodeG711 } from '../../../src/audio/codecs/g711.js';
import { loadOpus } from '../../../src/audio/codecs/opus.js';
import { type CodecName, CODECS, mediaEncoder } from '../../../src/transports/rtp/media-codec.js';
import { EarlyTones } from '../../../src/transports/rtp/early-media.js';
import type { Agreement } from '../../../src/transports/rtp/negotiation.js';
import type { RtpPacket } from '../../../src/transports/rtp/packet.js';

const opus = await loadOpus();
const TYPES: Readonly<Record<CodecName, number>> = { PCMU: 0, PCMA: 8, G722: 9, opus: 111 };
const codecs = new Map(Object.entries(TYPES).map(([name, type]) => [type, CODECS[name as CodecName]]));

/** A second of tones in packets of 20 ms. */
function packets(name: CodecName, frequencies: readonly number[], ssrc = 7): RtpPacket[] {
  const { sampleRateHz } = CODECS[name];
  const frame = sampleRateHz / 50;
  const encoder = mediaEncoder(CODECS[name], opus);
  const all = frequencies.flatMap((frequencyHz, tone) =>
    Array.from({ length: 17 }, (_, at) => {
      const sound = Int16Array.from(
        { length: frame },
        (_sample, n) => 6000 * Math.sin((2 * Math.PI * frequencyHz * (at * frame + n)) / sampleRateHz),
      );
      const payload = new Uint8Array(encoder.encode(sound));
      const sequence = (0xfff0 + tone * 17 + at) & 0xffff;
      return { payloadType: TYPES[name], marker: false, sequence, timestamp: 0, ssrc, payload };
    }),
  );
  encoder.close();
  return all;
}

function heard(...sent: readonly RtpPacket[]): string[] {
  const tones = new EarlyTones(opus);
  tones.configure({ codecs } as unknown as Agreement);
  const found = sent.flatMap((packet) => tones.packet(packet) ?? []);
  tones.close();
  return found;
}

const TONES = [950, 1400, 1800];

describe('special information tones in early media', () => {
  it.each(['PCMU', 'PCMA', 'G722', 'opus'] as const)('are found in %s', (name) => {
    expect(heard(...packets(name, TONES))).toEqual(['failed']);
  });

  it('are found with packets lost, late, twice and broken', () => {
    const sent = packets('PCMU', TONES);
    const kept = sent.filter((_, at) => at % 10 !== 3);
    const broken = { ...sent[20]!, sequence: sent[19]!.sequence, payload: new Uint8Array() };
    expect(heard(...kept.slice(0, 20), kept[4]!, kept[19]!, broken, ...kept.slice(20))).toEqual(['failed']);
  });

  it('are not put together from two sources, nor from what was not agreed upon', () => {
    const sent = packets('PCMU', TONES);
    const other = packets('PCMU', TONES, 8);
    expect(heard(...sent.slice(0, 30), ...other.slice(30))).toEqual([]);
    const keys = { ...sent[0]!, payloadType: 101, payload: encodeG711('mulaw', new Int16Array(160)) };
    expect(heard(...sent.slice(0, 30), keys, ...sent.slice(30))).toEqual(['failed']);
    expect(heard(...sent.map((packet) => ({ ...packet, payloadType: 18 })))).toEqual([]);
  });
});
