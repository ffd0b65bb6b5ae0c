import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { MockTools } from '../../../src/eval/tools/mock-tools.js';
import type { ToolMock } from '../../../src/eval/suite/suite-schema.js';
import type { ToolResult } from '../../../src/tools/tool.js';

const REAL: ToolResult = { ok: true, content: 'real' };

function using(mocks: Record<string, ToolMock>) {
  const clock = new VirtualClock();
  const mocked: string[] = [];
  const tools = new MockTools(mocks, clock, (name) => mocked.push(name));
  const call = async (name: string, args: Record<string, unknown> = {}): Promise<ToolResult> => {
    const { signal } = new AbortController();
    let result: ToolResult | undefined;
    const running = tools.intercept({ name, arguments: args, afterCall: false, signal }, () => Promise.resolve(REAL));
    void running.then((done) => (result = done));
    await clock.runUntil(() => result !== undefined);
    return running;
  };
  return { call, clock, mocked, tools };
}

describe('mocked tools', () => {
  it('answer with a result or an error, after a delay', async () => {
    const { call, clock, mocked } = using({ a: { result: { id: 1 }, delay_ms: 700 }, b: { error: 'full' }, c: {} });
    expect(await call('a')).toEqual({ ok: true, content: '{"id":1}' });
    expect(clock.nowMs()).toBe(700);
    expect(await call('b')).toEqual({ ok: false, content: 'full' });
    expect(await call('c')).toEqual({ ok: true, content: 'Done.' });
    expect(mocked).toEqual(['a', 'b', 'c']);
  });

  it('answer in sequence, and repeat the last reply', async () => {
    const { call } = using({ a: { sequence: [{ error: 'busy' }, { result: 'ok' }] } });
    expect([await call('a'), await call('a'), await call('a')].map(({ content }) => content)).toEqual([
      'busy',
      'ok',
      'ok',
    ]);
  });

  it('choose by arguments, and note what no reply is for', async () => {
    const { call, tools } = using({
      a: {
        sequence: [
          { when: { day: 'monday' }, result: 'full' },
          { when: { day: 'friday' }, result: 'free' },
        ],
      },
    });
    expect((await call('a', { day: 'Friday' })).content).toBe('free');
    expect((await call('a', { day: 'sunday' })).ok).toBe(false);
    expect(tools.unexpected).toEqual(['a({"day":"sunday"}) matches no mock']);
  });

  it('leave other tools and real ones alone, unless all others are mocked', async () => {
    const some = using({ a: { real: true } });
    expect([await some.call('a'), await some.call('toString')]).toEqual([REAL, REAL]);
    const all = using({ '*': { error: 'no' }, a: { real: true } });
    expect([(await all.call('a')).content, (await all.call('b')).content]).toEqual(['real', 'no']);
  });
});
