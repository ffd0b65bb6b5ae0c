import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import type { TurnModel, TurnRequest } from '../../../src/providers/turn/turn.js';
import { together, TurnJudge } from '../../../src/session/hearing/turn-judge.js';
import { play, recording } from '../support.js';

type Judge = (request: TurnRequest) => Promise<number>;

function modelOf(judge: Judge): TurnModel & { closed: number } {
  const model = {
    name: 'double',
    virtualTime: true,
    windowS: 2,
    warmUp: () => Promise.resolve(),
    judge,
    closed: 0,
    close: () => {
      model.closed++;
      return Promise.resolve();
    },
  };
  return model;
}

function bench(judge: Judge) {
  const clock = new VirtualClock();
  const judged: number[] = [];
  const faults: string[] = [];
  const turnJudge = new TurnJudge(
    {
      clock,
      emit: (event) => event.type === 'turn.judged' && judged.push(event.probability),
      fault: (_name, reason) => faults.push(reason),
    },
    { model: modelOf(judge), language: () => 'en-US' },
  );
  return { clock, judged, faults, turnJudge };
}

const ramp = (length: number, from = 0): Int16Array => Int16Array.from({ length }, (_, at) => (from + at) % 20_000);

describe('TurnJudge', () => {
  it('gives the model the turn from just before it began to now', async () => {
    const seen: Int16Array[] = [];
    const { clock, judged, turnJudge } = bench(({ samples }) => {
      seen.push(samples);
      return Promise.resolve(0.7);
    });
    turnJudge.push(ramp(16_000), 0);
    turnJudge.speechStarted(8000);
    turnJudge.push(ramp(4000, 16_000), 16_000);
    turnJudge.speechStopped();
    await clock.advanceBy(100);
    expect(judged).toEqual([0.7]);
    expect(seen[0]).toEqual(ramp(20_000).subarray(4800));
  });

  it('gives it no more than its window, and after a turn nothing of it', async () => {
    const seen: Int16Array[] = [];
    const { clock, turnJudge } = bench(({ samples }) => {
      seen.push(samples);
      return Promise.resolve(0.5);
    });
    turnJudge.speechStarted(0);
    for (let at = 0; at < 48_000; at += 320) turnJudge.push(ramp(320, at), at);
    turnJudge.speechStopped();
    await clock.advanceBy(10);
    turnJudge.endTurn();
    turnJudge.speechStarted(47_000);
    turnJudge.speechStopped();
    await clock.advanceBy(10);
    expect(seen.map((samples) => samples.length)).toEqual([32_000, 48_000 - 43_800]);
    expect(seen[0]?.[0]).toBe(16_000);
  });

  it('drops a judgement when the user goes on', async () => {
    const { clock, judged, faults, turnJudge } = bench(({ clock: time }) =>
      time.settle(Promise.resolve(1), time.nowMs() + 100),
    );
    turnJudge.push(ramp(1600), 0);
    turnJudge.speechStopped();
    await clock.advanceBy(50);
    turnJudge.speechStarted(1600);
    await clock.advanceBy(1000);
    expect(judged).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('waits half a second at most, and tells of a model that is late or fails', async () => {
    let answer: Promise<number> = new Promise(() => undefined);
    const { clock, judged, faults, turnJudge } = bench(() => answer);
    turnJudge.speechStopped();
    await clock.advanceBy(499);
    expect(faults).toEqual([]);
    await clock.advanceBy(2);
    expect(faults).toEqual(['no judgement within 500 ms']);
    answer = Promise.reject(new Error('broken'));
    turnJudge.speechStopped();
    await clock.advanceBy(1);
    expect(faults[1]).toBe('broken');
    expect(judged).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('listens together with others', () => {
    const heard: string[] = [];
    const listener = (name: string) => ({
      push: () => heard.push(`${name} push`),
      speechStarted: () => heard.push(`${name} started`),
      speechStopped: () => heard.push(`${name} stopped`),
    });
    const both = together(listener('a'), listener('b'));
    both.push(ramp(1), 0);
    both.speechStarted(0);
    both.speechStopped(1);
    expect(heard).toEqual(['a push', 'b push', 'a started', 'b started', 'a stopped', 'b stopped']);
  });
});

describe('a session with an audio model', () => {
  const responseMs = async (probability: number): Promise<number> => {
    const { report, pending } = await play(recording(8000, [2000, 3000]), {
      lines: ['I would like a table'],
      turnModel: modelOf(({ clock }) => clock.settle(Promise.resolve(probability), clock.nowMs() + 30)),
    });
    expect(report.faults).toEqual({});
    expect(pending).toBe(0);
    return report.turns[0]?.responseMs ?? Number.NaN;
  };

  it('answers sooner where it hears the end, later where it hears that more follows', async () => {
    expect((await responseMs(0.02)) - (await responseMs(0.99))).toBeGreaterThan(400);
  });

  it('does without one that fails', async () => {
    const { report } = await play(recording(8000, [2000, 3000]), {
      lines: ['I would like a table'],
      turnModel: modelOf(() => Promise.reject(new Error('broken'))),
    });
    expect(report.faults).toEqual({ 'turnModel.failed': 1 });
    expect(report.messages.at(-1)?.content).toBe('That is fine.');
  });
});
