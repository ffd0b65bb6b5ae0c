import { describe, expect, it } from 'vitest';
import { CallerError, type CallerView } from '../../../src/eval/caller/caller.js';
import { ScriptCaller } from '../../../src/eval/caller/caller-of.js';
import type { CallerStep } from '../../../src/eval/suite/caller-schema.js';

const SOUND = { samples: new Int16Array(8), sampleRateHz: 8000 };

function callerWith(steps: readonly CallerStep[]) {
  const time = { nowMs: 0 };
  const caller = new ScriptCaller({ steps, nowMs: () => time.nowMs, audioOf: () => SOUND });
  return { caller, time };
}

const heard = (agentSaid: string, agentIsSilent = false): CallerView => ({
  agentSaid,
  agentIsSilent,
  transcript: [],
  turn: 0,
});

describe('a scripted caller', () => {
  it('does one step a turn, and hangs up when all is said', () => {
    const { caller } = callerWith([{ say: 'one' }, { press: '2' }, { play: 'a.wav', text: 'three' }]);
    expect(caller.next(heard('a'))).toEqual([{ say: 'one' }]);
    expect(caller.next(heard('b'))).toEqual([{ press: '2' }]);
    expect(caller.reactionMs).toBeLessThan(1000);
    expect(caller.next(heard('c'))).toEqual([{ play: SOUND, text: 'three' }]);
    expect(caller.reactionMs).toBeGreaterThan(3000);
    expect(caller.next(heard('d'))).toEqual([{ hangUp: true }]);
  });

  it('goes on by itself after a silence, and hangs up with its last words', () => {
    const { caller } = callerWith([{ wait_ms: 5000 }, { say: 'still here' }, { say: 'bye' }, { hang_up: true }]);
    expect(caller.next(heard('a'))).toEqual([{ waitMs: 5000 }, { say: 'still here' }]);
    expect(caller.next(heard('b'))).toEqual([{ say: 'bye' }, { hangUp: true }]);
  });

  it('lets a turn pass', () => {
    const { caller } = callerWith([{ listen: true }, { say: 'one' }]);
    expect(caller.next(heard('a'))).toEqual([]);
    expect(caller.next(heard('b'))).toEqual([{ say: 'one' }]);
  });

  it('waits for words, for so long', () => {
    const { caller, time } = callerWith([{ wait_for: 'your name', within_s: 10 }, { say: 'Ann' }]);
    expect(caller.next(heard('one moment'))).toEqual([]);
    time.nowMs = 9000;
    expect(caller.next(heard('one moment. What is your name?'))).toEqual([{ say: 'Ann' }]);
    const late = callerWith([{ wait_for: 'your name', within_s: 10 }]);
    expect(late.caller.next(heard('x'))).toEqual([]);
    late.time.nowMs = 10_000;
    expect(() => late.caller.next(heard('x'))).toThrow(
      new CallerError('failed', 'the agent did not say "your name", which the caller waited for'),
    );
  });

  it('interrupts when the agent begins, or speaks where it says nothing', () => {
    const { caller } = callerWith([{ interrupt: 'stop', after_ms: 300 }, { say: 'one' }]);
    expect(caller.next(heard('a'))).toEqual([]);
    expect(caller.bargeIn()).toEqual({ say: 'stop', afterMs: 300 });
    expect(caller.bargeIn()).toBeNull();
    expect(callerWith([{ interrupt: 'stop' }]).caller.next(heard('', true))).toEqual([{ say: 'stop' }]);
  });
});
