import { describe, expect, it } from 'vitest';
import { turnsOf } from '../../../src/testing/labels/turns.js';

const says = (speaker: string, startMs: number, endMs: number) => ({ speaker, startMs, endMs });

describe('turns of stretches of speech', () => {
  it('a silence in which nobody speaks is a pause, a short one belongs to the speech', () => {
    const [turn, ...more] = turnsOf([says('ann', 0, 1000), says('ann', 1100, 2000), says('ann', 2600, 3000)]);
    expect(more).toEqual([]);
    expect(turn).toEqual({
      speaker: 'ann',
      startMs: 0,
      endMs: 3000,
      speech: [
        { startMs: 0, endMs: 2000 },
        { startMs: 2600, endMs: 3000 },
      ],
      pauses: [{ startMs: 2000, endMs: 2600 }],
    });
  });

  it('a long silence ends a turn', () => {
    const turns = turnsOf([
      { startMs: 0, endMs: 1000 },
      { startMs: 2600, endMs: 3000 },
    ]);
    expect(turns.map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
      [0, 1000],
      [2600, 3000],
    ]);
    expect(turns[0]?.pauses).toEqual([]);
  });

  it('somebody else who takes the floor ends it, in the silence or a little before', () => {
    for (const bobMs of [700, 1200]) {
      const turns = turnsOf([says('ann', 0, 1000), says('bob', bobMs, 2000), says('ann', 2200, 3000)]);
      expect(turns.map(({ speaker, startMs }) => [speaker, startMs])).toEqual([
        ['ann', 0],
        ['bob', bobMs],
        ['ann', 2200],
      ]);
    }
  });

  it('an acknowledgement ends nothing, and the silence in which it falls is no pause', () => {
    const [ann] = turnsOf([says('ann', 0, 1000), says('bob', 1200, 1500), says('ann', 1900, 3000)]);
    expect(ann).toMatchObject({ endMs: 3000, pauses: [] });
  });

  it('what others say while somebody goes on does not count', () => {
    const turns = turnsOf([says('ann', 0, 3000), says('bob', 500, 1800), says('ann', 3300, 4000)]);
    expect(turns[0]).toMatchObject({ speaker: 'ann', endMs: 4000, pauses: [{ startMs: 3000, endMs: 3300 }] });
  });
});
