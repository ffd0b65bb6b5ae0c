import { describe, expect, it } from 'vitest';
import { encodeG711 } from '../../../src/audio/codecs/g711.js';
import { serialiseRtp } from '../../../src/transports/rtp/packet.js';
import { db, opened, sentBy, speak, way } from './spoken.js';

describe('packets of other lengths', () => {
  it.each([10, 30, 40, 60])('takes packets of %i ms', async (ms) => {
    const ends = await opened();
    await ends.clock.advanceBy(100);
    const [from, to] = way(ends, '10.0.0.1');
    await ends.caller.close();
    const length = ms * 8;
    for (let n = 0; n < 20; n++) {
      const payload = encodeG711(
        'mulaw',
        Int16Array.from({ length }, (_, i) =>
          Math.round(8_000 * Math.sin((2 * Math.PI * 440 * (n * length + i)) / 8_000)),
        ),
      );
      const packet = { payloadType: 0, marker: n === 0, sequence: n, timestamp: n * length, ssrc: 9, payload };
      ends.network.send(serialiseRtp(packet), from, to);
      await ends.clock.advanceBy(ms);
    }
    expect(Math.abs(ends.far.samples.length - 20 * length - 100 * 8)).toBeLessThan(640);
    expect(Math.abs(db(ends.far.samples.slice(-10 * length)) - -15.2)).toBeLessThan(0.6);
  });

  it.each((['PCMU', 'G722', 'opus'] as const).flatMap((codec) => [10, 30, 40, 60].map((ms) => [codec, ms] as const)))(
    'sends packets of the length that is wanted: %s, %i ms',
    async (codec, wantedMs) => {
      const ms = codec === 'opus' && wantedMs === 30 ? 20 : wantedMs;
      const ends = await opened({ codecs: [codec] });
      const { caller, callee, far } = ends;
      caller.accept(callee.answer(caller.offer()).replace(/a=ptime:\d+/, `a=ptime:${String(wantedMs)}`));
      await speak(ends, 600);
      const packets = sentBy(ends, '10.0.0.1');
      expect(packets).toHaveLength(600 / ms);
      const ticks = ms * (codec === 'opus' ? 48 : 8);
      packets.slice(1).forEach(({ timestamp, marker }, n) => {
        expect([(timestamp - (packets[n]?.timestamp ?? 0)) >>> 0, marker]).toEqual([ticks, false]);
      });
      const heard = far.samples.slice(-(caller.line.outputRateHz * 0.3));
      expect(Math.abs(db(heard) - -15.2)).toBeLessThan(0.6);
      expect(callee.stats()).toMatchObject({ lost: 0, undecodable: 0 });
      // A key in the middle of a packet, and sound behind it.
      const sending = caller.line.sendDigits?.('5', new AbortController().signal);
      await speak(ends, 460);
      await sending;
      expect(far.keys).toBe('5');
      expect(db(far.samples.slice(-800))).toBeGreaterThan(-17);
    },
  );
});

describe('comfort noise', () => {
  it('renders comfort noise, and hears who comes back from it', async () => {
    const ends = await opened();
    await speak(ends, 200);
    const last = sentBy(ends, '10.0.0.1').at(-1);
    if (last === undefined) throw new Error('nothing was sent');
    const [from, to] = way(ends, '10.0.0.1');
    const put = (payloadType: number, step: number, timestamp: number, payload: Uint8Array): void => {
      const { ssrc } = last;
      const sequence = (last.sequence + step) & 0xffff;
      const packet = {
        payloadType,
        marker: false,
        sequence,
        timestamp: (last.timestamp + timestamp) >>> 0,
        ssrc,
        payload,
      };
      ends.network.send(serialiseRtp(packet), from, to);
    };
    // From here on the test is the caller: the real one sends nothing more that is heard.
    await ends.caller.close();
    put(13, 1, 160, Uint8Array.of(50));
    ends.far.samples.length = 0;
    await ends.clock.advanceBy(1_000);
    expect(ends.far.samples.length).toBeGreaterThan(0.8 * 8_000);
    expect(Math.abs(db(ends.far.samples) - -50)).toBeLessThan(1);
    put(0, 2, 1_020 * 8, new Uint8Array(160).fill(0x90));
    ends.far.samples.length = 0;
    await ends.clock.advanceBy(20);
    expect(db(ends.far.samples.slice(-160))).toBeGreaterThan(-20);
  });

  it('sends silence as comfort noise where both want it, and is heard again at once', async () => {
    const ends = await opened({ comfortNoise: true });
    await speak(ends, 400);
    const before = sentBy(ends, '10.0.0.1').length;
    for (let n = 0; n < 100; n++) {
      ends.caller.line.play(null);
      await ends.clock.advanceBy(20);
    }
    const quiet = sentBy(ends, '10.0.0.1').slice(before);
    expect(quiet.map(({ payloadType }) => payloadType)).toEqual([
      ...Array.from({ length: 10 }, () => 0),
      13,
      13,
      13,
      13,
    ]);
    expect([...(quiet.at(-1)?.payload ?? [])]).toEqual([70]);
    expect(ends.far.samples.length / 8).toBeGreaterThan(2_300);
    expect(Math.abs(db(ends.far.samples.slice(-8_000)) - -70)).toBeLessThan(3);
    await speak(ends, 200);
    const [again] = sentBy(ends, '10.0.0.1').slice(before + quiet.length);
    expect([again?.marker, again?.payloadType]).toEqual([true, 0]);
    expect(db(ends.far.samples.slice(-800))).toBeGreaterThan(-16);
    expect(ends.callee.stats().lost).toBe(0);
  });
});
