import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runLatency } from '../../src/benchmark/latency-run.js';
import { INSTANT, PUBLISHED } from '../../src/benchmark/provider-set.js';
import { readRecordings } from '../../src/benchmark/recording.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';

const FIXTURES = fileURLToPath(new URL('../../fixtures/audio', import.meta.url));
const CALLER = { prompt: 'You help.', flow: { user_start_first: true } };
const { signal } = new AbortController();
const few = (name: string): boolean => /^clean\/(?:no|table|opening)-slt$/.test(name);

describe('runLatency', () => {
  it('measures every turn in virtual time, alike twice, and the engine alone is the wait for the end of the turn', async () => {
    const recordings = await readRecordings(FIXTURES, few);
    expect(recordings.map(({ name, labels, turns }) => [name, labels, turns.length])).toEqual([
      ['clean/no-slt', 'file', 1],
      ['clean/opening-slt', 'file', 1],
      ['clean/table-slt', 'file', 1],
    ]);
    const run = (times: typeof INSTANT, rounds = 1): ReturnType<typeof runLatency> =>
      runLatency({ recordings, agent: CALLER, times, rounds, engine: { clock: new VirtualClock() }, signal });
    const [alone, again] = [await run(INSTANT), await run(INSTANT)];
    expect(alone).toEqual(again);
    expect(alone.summary).toMatchObject({ turns: 3, answered: 3, cutOff: 0 });
    expect(alone.faults).toEqual({});
    for (const { responseMs, stages } of alone.turns) {
      expect(responseMs).toBeGreaterThan(150);
      const { endOfTurn, llm, sentence, tts, playout } = stages;
      const parts = [endOfTurn, llm, sentence, tts, playout].reduce<number>((sum, ms) => sum + (ms ?? Number.NaN), 0);
      expect(parts).toBeCloseTo(responseMs ?? 0, 5);
    }
    const published = await run(PUBLISHED, 2);
    expect(published.summary.turns).toBe(6);
    const times = published.turns.map(({ responseMs }) => responseMs);
    // Each round draws its own; answers that are ready sooner wait for the same silence.
    expect(new Set(times).size).toBeGreaterThan(3);
    expect(published.summary.response?.p50).toBeGreaterThan(alone.summary.response?.p50 ?? 0);
  });

  it('calls a tool before each answer where it is asked to', async () => {
    const recordings = await readRecordings(FIXTURES, few);
    const agent = { ...CALLER, tools: [{ name: 'look_up', description: 'Looks something up.' }] };
    const engine = { clock: new VirtualClock() };
    const run = await runLatency({ recordings, agent, times: PUBLISHED, tool: { name: 'look_up' }, engine, signal });
    expect(run.turns.map(({ tool }) => tool)).toEqual([true, true, true]);
    expect(run.summary.byKind).toMatchObject({ first: null, later: null, tool: { count: 3 } });
  });

  it('ends when it is aborted', async () => {
    const recordings = await readRecordings(FIXTURES, few);
    const stopped = AbortSignal.abort(new Error('stopped'));
    const options = {
      recordings,
      agent: CALLER,
      times: INSTANT,
      engine: { clock: new VirtualClock() },
      signal: stopped,
    };
    await expect(runLatency(options)).rejects.toThrow('stopped');
  });
});
