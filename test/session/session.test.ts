import { describe, expect, it } from 'vitest';
import { msToSamples } from '../../src/audio/frame.js';
import type { LlmRequest } from '../../src/providers/llm/llm.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import type { Toolbox } from '../../src/tools/tool.js';
import { play, type Played, recording } from './support.js';

function energyBetween(samples: Int16Array, fromMs: number, toMs: number): number {
  return samples
    .subarray(msToSamples(fromMs, 16_000), msToSamples(toMs, 16_000))
    .reduce((sum, sample) => sum + Math.abs(sample), 0);
}

describe('a session over a recording', () => {
  it('greets, hears, answers and ends when the user hangs up', async () => {
    const { report, pending } = await play(recording(5000, [2000, 3000]), { lines: ['can you help me please'] });
    expect(report.status).toBe('user-ended');
    expect(report.messages).toEqual([
      { role: 'assistant', content: 'Hello there.' },
      { role: 'user', content: 'can you help me please' },
      { role: 'assistant', content: 'That is fine.' },
    ]);
    expect(report.faults).toEqual({});
    expect(pending).toBe(0);
  });

  it('measures the response from the end of speech to the first audio at the line', async () => {
    const { report, audio } = await play(recording(6000, [2000, 3000]), { lines: ['can you help me please'] });
    const [turn] = report.turns;
    expect(turn?.speechEndMs).toBeCloseTo(3000, -2);
    expect(turn?.responseMs).toBeGreaterThan(0);
    const startMs = turn?.audioStartMs ?? 0;
    expect(energyBetween(audio, 2900, startMs - 1)).toBe(0);
    expect(energyBetween(audio, startMs, startMs + 40)).toBeGreaterThan(0);
  });

  it('falls silent within a frame when it is interrupted and keeps only what was heard', async () => {
    const long = 'one two three four five six seven eight nine ten eleven twelve.';
    const { report, audio, log } = await play(recording(9000, [1500, 2000], [4000, 5000]), {
      lines: ['please tell me a story', 'stop that right now please'],
      llm: functionLlm(({ messages }) => (messages.length > 3 ? 'Very well.' : long)),
    });
    const hold = log.find((entry) => entry.kind === 'effect' && entry.effect.type === 'playout.hold');
    expect(hold?.t).toBeGreaterThan(4000);
    expect(hold?.t).toBeLessThan(4150);
    expect(energyBetween(audio, (hold?.t ?? 0) + 40, 5000)).toBe(0);
    const said = report.messages[2];
    expect(long.startsWith(said?.content ?? '-')).toBe(true);
    expect(said?.content.length).toBeLessThan(long.length);
    expect(report.messages.at(-1)).toEqual({ role: 'assistant', content: 'Very well.' });
  });

  it('decides alike to the bit in two runs', async () => {
    const run = (): Promise<Played> => play(recording(5000, [2000, 3000]), { lines: ['can you help me please'] });
    const [first, second] = [await run(), await run()];
    expect(second.log).toEqual(first.log);
    expect(second.audio).toEqual(first.audio);
  });

  it('says external texts, and handles typed ones', async () => {
    const played = await play(recording(9000), {
      before: (session, clock) => {
        clock.schedule(2000, () => void session.say('The shop closes soon.'));
        clock.schedule(5000, () => session.sendText('  thank you '));
      },
    });
    expect(played.report.messages.map(({ content }) => content)).toEqual([
      'Hello there.',
      'The shop closes soon.',
      'thank you',
      'That is fine.',
    ]);
    expect(played.events.filter(({ type }) => type === 'agent')).toHaveLength(3);
    expect(played.report.turns[0]).toMatchObject({ heard: 'thank you', endOfTurnMs: null });
  });

  it('sums up how long the answers took', async () => {
    const { report } = await play(recording(12_000, [2000, 3000], [6000, 7000]), {
      lines: ['one more', 'and another one'],
    });
    expect(report.turns).toHaveLength(2);
    const times = report.turns.map(({ responseMs }) => responseMs ?? 0);
    expect(report.latency.responseMs).toMatchObject({ p50: Math.min(...times), p99: Math.max(...times) });
    expect(report.playout).toMatchObject({ underruns: 0, skippedFrames: 0 });
    expect(report.playout.speechMs).toBe(50 * ('Hello there.'.length + 2 * 'That is fine.'.length));
  });
});

describe('tools after the call', () => {
  const after = { name: 'rate', description: 'Rates the call.', parameters: { type: 'object', properties: {} } };
  const asked: LlmRequest[] = [];
  const toolbox: Toolbox = {
    specs: [],
    run: () => Promise.resolve({ ok: true, content: '' }),
    runAfterCall: async (known, { signal }) => {
      const text = await known(after);
      signal.throwIfAborted();
      return [
        {
          name: 'rate',
          arguments: JSON.parse(text) as Record<string, unknown>,
          result: { ok: true, content: 'thanks' },
          tookMs: 5,
        },
      ];
    },
  };

  it('run once the line is closed, with what the model knows', async () => {
    const llm = functionLlm((request) => {
      if (request.requiredTool === undefined) return 'That is fine.';
      asked.push(request);
      return { calls: [{ name: 'rate', arguments: '{"score":5}' }] };
    });
    const played = await play(recording(6000, [2000, 3000]), { lines: ['it was very good'], llm, toolbox });
    expect(played.report.functionCalls).toEqual([
      { name: 'rate', arguments: '{"score":5}', ok: true, result: 'thanks', tookMs: 5, runAfterCall: true },
    ]);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ requiredTool: 'rate', tools: [after], temperature: 0 });
    expect(asked[0]?.messages.map(({ role }) => role)).toEqual(['system', 'assistant', 'user', 'assistant', 'user']);
    expect(played.pending).toBe(0);
    // The line was closed before: its length is that of the conversation.
    const noTools = await play(recording(6000, [2000, 3000]), { lines: ['it was very good'] });
    expect(played.report.durationMs).toBe(noTools.report.durationMs);
  });

  it('run without arguments where the model stalls, and hold nothing up for ever', async () => {
    const llm = functionLlm((request) => (request.requiredTool === undefined ? 'That is fine.' : { stall: true }));
    const box: Toolbox = {
      ...toolbox,
      runAfterCall: async (known) => {
        const text = await Promise.resolve(after)
          .then(known)
          .catch(() => '{}');
        return [
          {
            name: 'rate',
            arguments: JSON.parse(text) as Record<string, unknown>,
            result: { ok: true, content: text },
            tookMs: 0,
          },
        ];
      },
    };
    const played = await play(recording(3000), { llm, toolbox: box });
    expect(played.report.functionCalls[0]).toMatchObject({ arguments: '{}', runAfterCall: true });
    const stuck: Toolbox = { ...toolbox, runAfterCall: () => new Promise(() => undefined) };
    const hung = await play(recording(3000), { toolbox: stuck });
    expect(hung.report.faults).toEqual({ 'afterCall.failed': 1 });
    expect([played.pending, hung.pending]).toEqual([0, 0]);
  });
});
