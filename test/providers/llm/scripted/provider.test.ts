import { describe, expect, it } from 'vitest';
import { RealClock } from '../../../../src/base/real-clock.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { LlmRequest } from '../../../../src/providers/llm/llm.js';
import { scriptedProvider } from '../../../../src/providers/llm/scripted/index.js';

const provider = scriptedProvider({ rules: [{ when: 'hours', say: 'We open at nine.' }] });

function request(changes: Partial<LlmRequest>): LlmRequest {
  return {
    model: 'scripted',
    messages: [{ role: 'user', content: 'your hours' }],
    tools: [],
    temperature: 0,
    clock: new RealClock(),
    signal: new AbortController().signal,
    ...changes,
  };
}

describe('the scripted model as a provider', () => {
  it('streams words', async () => {
    const pieces: string[] = [];
    for await (const piece of provider.complete(request({}))) if (piece.type === 'text') pieces.push(piece.text);
    expect(pieces).toEqual(['We', ' open', ' at', ' nine.']);
  });

  it('gives its first word after two milliseconds of virtual time', async () => {
    const clock = new VirtualClock();
    const pieces = provider.complete(request({ clock }))[Symbol.asyncIterator]();
    const first = pieces.next();
    await clock.runUntil(() => false);
    expect((await first).value).toEqual({ type: 'text', text: 'We' });
    expect(clock.nowMs()).toBe(2);
    expect(clock.pending).toBe(0);
  });

  it('throws the reason when it is aborted, before, while it waits and between words', async () => {
    const reason = new Error('interrupted');
    const before = provider.complete(request({ signal: AbortSignal.abort(reason) }))[Symbol.asyncIterator]();
    await expect(before.next()).rejects.toBe(reason);

    const clock = new VirtualClock();
    const waiting = new AbortController();
    const waited = provider.complete(request({ clock, signal: waiting.signal }))[Symbol.asyncIterator]();
    const first = waited.next();
    waiting.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(clock.pending).toBe(0);

    const between = new AbortController();
    const pieces = provider.complete(request({ signal: between.signal }))[Symbol.asyncIterator]();
    await pieces.next();
    between.abort(reason);
    await expect(pieces.next()).rejects.toBe(reason);
  });

  it('runs in virtual time, warms up and closes as often as you like', async () => {
    expect(provider).toMatchObject({ name: 'scripted', virtualTime: true });
    await provider.warmUp();
    await provider.close();
    await provider.close();
  });
});
