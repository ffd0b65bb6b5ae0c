import { describe, expect, it } from 'vitest';
import { type Channels, type SideFrame, TwoSides } from '../../src/audio/two-sides.js';

const RATE = 16_000;
const BLOCK = 320;

/** A ramp that tells each sample's position. */
function ramp(from: number, count: number, step = 1): Int16Array {
  return Int16Array.from({ length: count }, (_, i) => ((from + i) * step) % 10_000);
}

function frame(side: SideFrame['side'], atSample: number, samples: Int16Array, sampleRateHz = RATE): SideFrame {
  return { side, samples, sampleRateHz, atSample };
}

function joined(blocks: readonly Int16Array[]): number[] {
  return blocks.flatMap((block) => [...block]);
}

/** Both sides in frames of the given lengths, one after the other. */
function play(channels: Channels, userLength: number, agentLength: number, total = 3_200): number[] {
  const sides = new TwoSides(RATE, channels);
  const blocks: Int16Array[] = [];
  let [user, agent] = [0, 0];
  while (user < total || agent < total) {
    if (user <= agent && user < total) {
      blocks.push(...sides.push(frame('user', user, ramp(user, userLength))));
      user += userLength;
    } else {
      blocks.push(...sides.push(frame('agent', agent, ramp(agent, agentLength, 2))));
      agent += agentLength;
    }
  }
  return joined(blocks);
}

describe('two sides', () => {
  it.each([
    [320, 320],
    [160, 320],
    [7, 320],
    [960, 100],
  ])('are joined to the sample, in pieces of %i and %i', (userLength, agentLength) => {
    const count = play('user', userLength, agentLength).length;
    expect(count).toBeGreaterThanOrEqual(3_200 - BLOCK);
    expect(play('user', userLength, agentLength)).toEqual([...ramp(0, count)]);
    expect(play('agent', userLength, agentLength)).toEqual([...ramp(0, count, 2)]);
    const sum = Array.from({ length: count }, (_, i) => (i % 10_000) + ((2 * i) % 10_000));
    expect(play('mixed', userLength, agentLength)).toEqual(sum);
    const both = Array.from({ length: 2 * count }, (_, i) => ((i >> 1) * (i % 2 === 0 ? 1 : 2)) % 10_000);
    expect(play('stereo', userLength, agentLength)).toEqual(both);
  });

  it('begin with the frame that comes first, and keep their distance', () => {
    const sides = new TwoSides(RATE, 'stereo');
    // The agent's line has counted from elsewhere: 20 ms ahead.
    expect(sides.push(frame('user', 16_000, ramp(1, 640)))).toEqual([]);
    const [first, second] = sides.push(frame('agent', 16_320, ramp(5, 320)));
    expect([first?.[0], first?.[1], second?.[0], second?.[1]]).toEqual([1, 0, 321, 5]);
  });

  it('go on when one side sends nothing, and when it begins late', () => {
    const sides = new TwoSides(RATE, 'stereo');
    const blocks: Int16Array[] = [];
    for (let at = 0; at < 6_400; at += 320) blocks.push(...sides.push(frame('agent', at, ramp(at + 1, 320))));
    // 80 ms behind: the user may still come.
    expect(blocks.length).toBe(16);
    const [next] = sides.push(frame('user', 0, ramp(1, 320)));
    expect([next?.[0], next?.[1]]).toEqual([1, 5_121]);
    const [then] = sides.push(frame('user', 320, ramp(321, 320)));
    expect([then?.[0], then?.[1]]).toEqual([321, 5_441]);
  });

  it('fill a gap with silence', () => {
    const sides = new TwoSides(RATE, 'user');
    sides.push(frame('user', 0, ramp(1, 320)));
    sides.push(frame('user', 640, ramp(1, 320)));
    const heard = joined(sides.push(frame('agent', 0, ramp(0, 960))));
    expect(heard).toEqual([...ramp(1, 320), ...new Int16Array(320), ...ramp(1, 320)]);
  });

  it('come at one rate', () => {
    const sides = new TwoSides(RATE, 'stereo');
    const tone = Int16Array.from({ length: 8_000 }, (_, i) =>
      Math.round(8_000 * Math.sin((2 * Math.PI * 440 * i) / 8_000)),
    );
    const blocks = [
      ...sides.push(frame('user', 0, tone, 8_000)),
      ...sides.push(frame('agent', 0, new Int16Array(48_000), 48_000)),
    ];
    const left = joined(blocks)
      .filter((_, i) => i % 2 === 0)
      .slice(100);
    expect(left.length).toBeGreaterThan(15_000);
    const crossings = left.filter((sample, i) => i > 0 && sample >= 0 && (left[i - 1] ?? 0) < 0).length;
    expect(Math.abs(crossings / (left.length / RATE) - 440)).toBeLessThan(2);
  });
});
