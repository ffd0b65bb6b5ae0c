import { describe, expect, it } from 'vitest';
import { Playout } from '../../../src/session/speech/playout.js';

const RATE = 16_000;
const FRAME = 320;
const FADE = 80;

interface Line {
  playout: Playout;
  events: string[];
  /** Pulls frames; silence as zeros. */
  pull: (frames?: number) => number[];
}

function line(rate = RATE): Line {
  const events: string[] = [];
  const playout = new Playout(
    { outputRateHz: rate },
    {
      onStarted: (id) => events.push(`started ${String(id)}`),
      onFinished: (id) => events.push(`finished ${String(id)}`),
      onSupply: (id, isDry) => events.push(`${isDry ? 'dry' : 'fed'} ${String(id)}`),
      onPlayable: () => undefined,
    },
  );
  const frame = rate / 50;
  return {
    playout,
    events,
    pull: (frames = 1) => Array.from({ length: frames }, () => [...(playout.pull() ?? new Int16Array(frame))]).flat(),
  };
}

/** Samples that count up, none of them nought. */
function ramp(from: number, length: number): Int16Array {
  return Int16Array.from({ length }, (_, index) => from + index);
}

/** `length` samples of one value. */
function flat(value: number, length: number): number[] {
  return Array.from({ length }, () => value);
}

function say(playout: Playout, id: number, samples: Int16Array, { text = 'some words', pauseMs = 0 } = {}): void {
  playout.add(id, text, pauseMs);
  playout.append(id, samples);
  playout.complete(id);
}

describe('playing', () => {
  it('is silent while there is nothing', () => {
    const { playout, events } = line();
    expect([playout.pull(), playout.pull()]).toEqual([null, null]);
    expect([playout.busy, playout.held, events]).toEqual([false, false, []]);
  });

  it('joins blocks and utterances to the sample, whatever their lengths', () => {
    const { playout, events, pull } = line();
    playout.add(1, 'one', 0);
    for (const [from, length] of [
      [1, 100],
      [101, 1],
      [102, 450],
    ] as const) {
      playout.append(1, ramp(from, length));
    }
    playout.append(1, new Int16Array(0));
    playout.complete(1);
    say(playout, 2, ramp(552, 200));
    expect(pull(3)).toEqual([...ramp(1, 751), ...flat(0, 3 * FRAME - 751)]);
    expect(events).toEqual(['started 1', 'finished 1', 'started 2', 'finished 2']);
    expect(playout.busy).toBe(false);
  });

  it('puts the pause of an utterance before the next one, and none after one that had no audio', () => {
    const { playout, pull } = line();
    say(playout, 1, ramp(1, FRAME), { pauseMs: 30 });
    say(playout, 2, new Int16Array(0), { pauseMs: 500 });
    say(playout, 3, ramp(1, FRAME));
    const heard = pull(4);
    expect(heard.slice(0, FRAME)).toEqual([...ramp(1, FRAME)]);
    const next = heard.findIndex((sample, index) => index >= FRAME && sample !== 0);
    expect(next).toBe(FRAME + 480);
  });

  it('lets the pause pass while the next utterance is still being made', () => {
    const { playout, pull } = line();
    say(playout, 1, ramp(1, FRAME), { pauseMs: 40 });
    pull(4);
    say(playout, 2, ramp(1, FRAME));
    expect(pull(1)).toEqual([...ramp(1, FRAME)]);
  });

  it('tells of an utterance without audio that it is over, and not that it began', () => {
    const { playout, events, pull } = line();
    playout.add(1, 'nothing', 0);
    pull(2);
    playout.complete(1);
    pull(1);
    expect(events).toEqual(['finished 1']);
  });

  it('ignores audio of utterances that it does not know', () => {
    const { playout } = line();
    playout.append(7, ramp(1, FRAME));
    playout.complete(7);
    playout.cancel(7);
    expect(playout.pull()).toBeNull();
  });

  it('refuses rates of which 20 ms are no whole samples', () => {
    expect(() => line(11_025)).toThrow('11025');
  });
});

describe('holding', () => {
  it('is silent within a frame: a fade of 5 ms and then nothing', () => {
    const { playout, pull } = line();
    say(playout, 1, new Int16Array(10 * FRAME).fill(1000));
    pull(2);
    playout.hold();
    playout.hold();
    const tail = pull(1);
    expect(tail[FADE - 1]).toBeLessThan(50);
    expect(tail.slice(0, FADE)).toEqual(tail.slice(0, FADE).toSorted((a, b) => b - a));
    expect(tail.slice(FADE).every((sample) => sample === 0)).toBe(true);
    expect([playout.pull(), playout.pull(), playout.held]).toEqual([null, null, true]);
  });

  it('goes on from the very sample at which it was held', () => {
    const { playout, pull } = line();
    say(playout, 1, ramp(1, 10 * FRAME));
    pull(2);
    playout.hold();
    pull(5);
    playout.resume();
    const heard = pull(8);
    // Faded in at first, then the samples themselves.
    expect(heard.slice(FADE)).toEqual([...ramp(2 * FRAME + 1 + FADE, 8 * FRAME - FADE)]);
    expect(heard[0]).toBeLessThan(2 * FRAME + 1);
  });

  it('was never held where it goes on before the next frame', () => {
    const { playout, pull } = line();
    say(playout, 1, ramp(1, 4 * FRAME));
    const heard = pull(2);
    playout.hold();
    playout.resume();
    expect([...heard, ...pull(2)]).toEqual([...ramp(1, 4 * FRAME)]);
  });

  it('does not begin what is queued meanwhile', () => {
    const { playout, events, pull } = line();
    playout.hold();
    say(playout, 1, ramp(1, FRAME));
    expect(playout.pull()).toBeNull();
    playout.resume();
    expect(pull(1)).toEqual([...ramp(1, FRAME)]);
    expect(events).toEqual(['started 1', 'finished 1']);
  });
});

describe('dropping and cancelling', () => {
  it('drops everything, and what comes next begins unfaded', () => {
    const { playout, events, pull } = line();
    say(playout, 1, new Int16Array(4 * FRAME).fill(500), { pauseMs: 400 });
    say(playout, 2, ramp(1, FRAME));
    pull(1);
    playout.drop();
    expect(playout.busy).toBe(false);
    expect(
      pull(1)
        .slice(FADE)
        .every((sample) => sample === 0),
    ).toBe(true);
    expect(playout.pull()).toBeNull();
    say(playout, 3, ramp(1, FRAME));
    expect(pull(1)).toEqual([...ramp(1, FRAME)]);
    expect(events).toEqual(['started 1', 'started 3', 'finished 3']);
  });

  it('drops what is held, and is not held any more', () => {
    const { playout, pull } = line();
    say(playout, 1, ramp(1, 4 * FRAME));
    pull(1);
    playout.hold();
    pull(2);
    playout.drop();
    expect([playout.held, playout.busy, playout.pull()]).toEqual([false, false, null]);
  });

  it('takes one utterance out of the middle; the others are joined', () => {
    const { playout, events, pull } = line();
    say(playout, 1, ramp(1, 100));
    say(playout, 2, ramp(5000, 100));
    say(playout, 3, ramp(101, 100));
    playout.cancel(2);
    expect(pull(1).slice(0, 200)).toEqual([...ramp(1, 200)]);
    expect(events.filter((event) => event.endsWith('2'))).toEqual([]);
  });

  it('cancels what is being played with a fade, and goes on with the next', () => {
    const { playout, pull } = line();
    say(playout, 1, new Int16Array(4 * FRAME).fill(900));
    say(playout, 2, ramp(1, FRAME));
    pull(1);
    playout.cancel(1);
    expect(
      pull(1)
        .slice(FADE)
        .every((sample) => sample === 0),
    ).toBe(true);
    expect(pull(1)).toEqual([...ramp(1, FRAME)]);
  });

  it("may be dropped by the listener of an utterance's start", () => {
    const playout: Playout = new Playout(
      { outputRateHz: RATE },
      {
        onStarted: () => playout.drop(),
        onFinished: () => undefined,
        onSupply: () => undefined,
        onPlayable: () => undefined,
      },
    );
    say(playout, 1, ramp(1, 4 * FRAME));
    expect([playout.pull(), playout.pull(), playout.busy]).toEqual([null, null, false]);
  });
});

describe('a voice that is late', () => {
  it('is reported once, until there is more', () => {
    const { playout, events, pull } = line();
    playout.add(1, 'late', 0);
    pull(3); // not begun: another deadline is for that
    playout.append(1, ramp(1, FRAME + 100));
    pull(5);
    playout.append(1, ramp(1, 2 * FRAME));
    pull(1);
    expect(events).toEqual(['started 1', 'dry 1', 'fed 1']);
    pull(4);
    playout.hold();
    pull(2);
    playout.resume();
    pull(2);
    expect(events.slice(3)).toEqual(['dry 1', 'dry 1']); // reported anew behind a hold
    playout.append(1, ramp(1, FRAME));
    playout.complete(1);
    pull(2);
    expect(events.slice(5)).toEqual(['finished 1']);
  });

  it('fades what there is out and what comes in, and counts the frames', () => {
    const { playout, pull } = line();
    playout.add(1, 'late', 0);
    expect(playout.pull()).toBeNull();
    expect(playout.stats.underruns).toBe(0); // it has not begun
    playout.append(1, new Int16Array(FRAME + 200).fill(1000));
    expect(pull(1)).toEqual(flat(1000, FRAME));
    const dry = pull(1);
    expect(dry.slice(0, 200 - FADE)).toEqual(flat(1000, 200 - FADE));
    expect(dry[199]).toBeLessThan(50);
    expect(dry.slice(200).every((sample) => sample === 0)).toBe(true);
    expect(playout.pull()).toBeNull();
    expect(playout.stats.underruns).toBe(2);
    playout.append(1, new Int16Array(FRAME).fill(1000));
    playout.complete(1);
    const back = pull(1);
    expect(back[0]).toBeLessThan(50);
    expect(back.slice(FADE)).toEqual(flat(1000, FRAME - FADE));
  });

  it('counts the frames that the machine was too late for and loses nothing by them', () => {
    const { playout } = line();
    say(playout, 1, ramp(1, 2 * FRAME));
    expect([...(playout.pull() ?? [])]).toEqual([...ramp(1, FRAME)]);
    expect([...(playout.pull(7) ?? [])]).toEqual([...ramp(FRAME + 1, FRAME)]);
    expect(playout.stats).toMatchObject({ skippedFrames: 7, speechMs: 40 });
  });
});

describe('the position', () => {
  it('tells how much of the text has been heard, by the words as far as they are known', () => {
    const { playout, pull } = line();
    playout.add(1, 'one two three', 0);
    expect(playout.position()).toEqual({ utteranceId: null, heardChars: 0 });
    playout.append(1, ramp(1, 3 * FRAME), [
      { text: 'one', startMs: 0, endMs: 20 },
      { text: 'two', startMs: 20, endMs: 45 },
    ]);
    pull(1);
    expect(playout.position()).toEqual({ utteranceId: 1, heardChars: 3 });
    pull(1);
    expect(playout.position()).toEqual({ utteranceId: 1, heardChars: 3 });
    pull(1);
    expect(playout.position()).toEqual({ utteranceId: 1, heardChars: 7 });
  });

  it('stands still while it is held, and is nothing after the end', () => {
    const { playout, pull } = line();
    say(playout, 1, ramp(1, 4 * FRAME), { text: 'abc def ghi' });
    pull(2);
    const before = playout.position();
    playout.hold();
    pull(4);
    expect(playout.position()).toEqual(before);
    playout.resume();
    pull(2);
    expect(playout.position().utteranceId).toBeNull();
  });
});

describe('a far end that holds audio back', () => {
  it('has not heard what it holds', () => {
    let unheardMs = 0;
    const playout = new Playout(
      { outputRateHz: RATE, unheardMs: () => unheardMs },
      {
        onStarted: () => undefined,
        onFinished: () => undefined,
        onSupply: () => undefined,
        onPlayable: () => undefined,
      },
    );
    const words = ['one', 'two', 'three', 'four'].map((text, at) => ({
      text,
      startMs: at * 100,
      endMs: at * 100 + 100,
    }));
    playout.add(1, 'one two three four', 0);
    playout.append(1, ramp(1, RATE), words);
    for (let frame = 0; frame < 15; frame++) playout.pull();
    expect([playout.position().heardChars, playout.playedMs(1)]).toEqual(['one two three'.length, 300]);
    unheardMs = 150;
    expect([playout.position().heardChars, playout.playedMs(1)]).toEqual(['one'.length, 150]);
    unheardMs = 1_000;
    expect([playout.position().heardChars, playout.playedMs(1)]).toEqual([0, 0]);
  });
});
