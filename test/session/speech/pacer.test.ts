import { describe, expect, it } from 'vitest';
import { Ticker } from '../../../src/base/ticker.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { lineOver } from '../../../src/session/line-over.js';
import { Pacer } from '../../../src/session/speech/pacer.js';
import { LineTaps } from '../../../src/session/tap.js';
import { MemoryTransport } from '../../../src/transports/memory.js';

/** A source of numbered frames, and when each reached the line; null = a silent tick. */
class Rig {
  readonly clock = new VirtualClock();
  readonly given: [atMs: number, frame: number | null][] = [];
  readonly faults: unknown[] = [];
  readonly queue: number[] = [];
  readonly pacer: Pacer;

  constructor(play?: () => void) {
    const line = new MemoryTransport({
      onFrame: (frame) => {
        play?.();
        this.given.push([this.clock.nowMs(), frame?.[0] ?? null]);
      },
    });
    line.start({ audio: () => {}, digits: () => {}, text: () => {}, formResult: () => {}, closed: () => {} });
    const source = {
      pull: () => {
        const next = this.queue.shift();
        return next === undefined ? null : new Int16Array(320).fill(next);
      },
      playable: () => this.queue.length > 0,
      rests: () => this.queue.length === 0,
    };
    this.pacer = new Pacer(line, source, (error) => this.faults.push(error));
    this.pacer.start(new Ticker(this.clock));
  }

  async say(atMs: number, ...frames: number[]): Promise<void> {
    await this.clock.advanceTo(atMs);
    this.queue.push(...frames);
    this.pacer.hurry();
  }
}

describe('the pacer', () => {
  it('gives the first frame after silence at once, the next at the tick, and leaves one silent tick out for it', async () => {
    const rig = new Rig();
    await rig.say(27, 1, 2, 3);
    await rig.clock.advanceTo(120);
    expect(rig.given).toEqual([
      [20, null],
      [27, 1],
      [40, 2],
      [60, 3],
      [100, null],
      [120, null],
    ]);
  });

  it('is never more than one frame ahead, however often it is hurried', async () => {
    const rig = new Rig();
    await rig.say(22, 1, 2);
    await rig.say(24, 3);
    await rig.say(26, 4);
    await rig.clock.advanceTo(100);
    expect(rig.given.map(([atMs]) => atMs)).toEqual([20, 22, 40, 60, 80]);
    await rig.say(105, 5);
    await rig.clock.advanceTo(120);
    expect(rig.given.slice(5)).toEqual([[105, 5]]);
  });

  it('does not hurry while the line is speaking, nor before the start, nor after the stop', async () => {
    const rig = new Rig();
    await rig.say(40, 1, 2);
    expect(rig.given.at(-1)).toEqual([40, 1]);
    await rig.clock.advanceTo(60);
    await rig.say(61, 3);
    expect(rig.given.at(-1)).toEqual([60, 2]);
    rig.pacer.stop();
    rig.pacer.stop();
    await rig.clock.advanceTo(100);
    await rig.say(101, 4);
    expect(rig.given.at(-1)).toEqual([60, 2]);
  });

  it('shares the tick with other lines: each keeps its place in it, an answer comes at once, and as many frames everywhere', async () => {
    const clock = new VirtualClock();
    const ticker = new Ticker(clock, { listenersPerPhase: 4 });
    const lines = Array.from({ length: 60 }, () => {
      const given: number[] = [];
      const queue: number[] = [];
      const line = new MemoryTransport({ onFrame: () => given.push(clock.nowMs()) });
      const source = {
        pull: () => (queue.shift() === undefined ? null : new Int16Array(320)),
        playable: () => queue.length > 0,
        rests: () => queue.length === 0,
      };
      const pacer = new Pacer(line, source, () => undefined);
      pacer.start(ticker);
      return { given, queue, pacer };
    });
    await clock.advanceTo(501);
    const places = lines.map(({ given }) => (given[0] ?? 0) % 20);
    for (let place = 0; place < 20; place += 2) expect(places.filter((one) => one === place)).toHaveLength(6);
    for (const { queue, pacer } of lines) {
      queue.push(1, 2, 3);
      pacer.hurry();
    }
    await clock.advanceTo(1000);
    for (const [index, { given }] of lines.entries()) {
      expect(given).toContain(501);
      const others = given.filter((atMs) => atMs !== 501);
      expect(others.every((atMs) => atMs % 20 === places[index])).toBe(true);
      // A silent tick is left out for the early frame.
      expect(given.length).toBe(Math.floor((1000 - (given[0] ?? 0)) / 20) + 1);
    }
  });

  it('asks a source that rests for nothing until it is woken, nor where frames were skipped', async () => {
    const clock = new VirtualClock();
    const pulled: number[] = [];
    let next: Int16Array | null = null;
    const given: (number | null)[] = [];
    const line = new MemoryTransport({ onFrame: (frame) => given.push(frame?.[0] ?? null) });
    const source = {
      pull: (skipped: number) => {
        pulled.push(clock.nowMs(), skipped);
        return next;
      },
      playable: () => false,
      rests: () => next === null && clock.nowMs() > 40,
    };
    const pacer = new Pacer(line, source, () => undefined);
    let tick: (skipped: number) => void = () => undefined;
    pacer.start({
      subscribe: (listener) => {
        tick = listener;
        return () => undefined;
      },
    });
    for (const [atMs, skipped] of [
      [20, 0],
      [40, 0],
      [60, 0],
      [80, 0],
      [200, 4],
      [220, 0],
    ] as const) {
      await clock.advanceTo(atMs);
      tick(skipped);
    }
    expect(pulled).toEqual([20, 0, 40, 0, 60, 0, 200, 4]);
    next = new Int16Array(320).fill(7);
    tick(0);
    pacer.wake();
    tick(0);
    expect(given).toEqual([null, null, null, null, null, null, null, 7]);
  });

  it('reports a line that throws', async () => {
    const rig = new Rig(() => {
      throw new Error('broken');
    });
    await rig.say(5, 1);
    expect(rig.faults).toEqual([new Error('broken')]);
  });
});

describe('taps of the pacer', () => {
  it('get what is heard of frames sent ahead of time, silence while the line is held, and nothing of what was dropped', async () => {
    const clock = new VirtualClock();
    const taps = new LineTaps('agent', 16_000);
    const ahead: Int16Array[] = [];
    const ready = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((value) => new Int16Array(320).fill(value));
    let isHeld = false;
    const line = lineOver(new MemoryTransport(), { leadMs: 100 });
    line.start({ audio: () => {}, digits: () => {}, text: () => {}, formResult: () => {}, closed: () => {} });
    const source = {
      pull: () => null,
      playable: () => false,
      rests: () => false,
      ahead: {
        count: () => ahead.length,
        ready: () => ready.length > 0 && !isHeld,
        pull: () => {
          const [next = null] = ready.splice(0, 1);
          if (next !== null) ahead.push(next);
          return next;
        },
        hear: () => {
          if (isHeld) return false;
          ahead.shift();
          return true;
        },
      },
    };
    const pacer = new Pacer(line, source, () => undefined, taps);
    const frames: [atSample: number, value: number][] = [];
    const reading = (async () => {
      for await (const { atSample, samples } of taps.open({})) frames.push([atSample / 320, samples[0] ?? 0]);
    })();
    pacer.start(new Ticker(clock));
    await clock.advanceTo(60); // a silent tick sends five frames ahead, two of which are heard by now
    isHeld = true;
    await clock.advanceTo(80);
    isHeld = false;
    await clock.advanceTo(100);
    ahead.length = 0; // dropped
    ready.length = 0;
    await clock.advanceTo(120);
    taps.close();
    await reading;
    expect(frames).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
      [3, 0],
      [4, 3],
      [5, 0],
    ]);
  });
});
