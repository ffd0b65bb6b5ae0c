import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.js';
import { WarmModels } from '../../src/engine/services.js';
import type { LlmProvider } from '../../src/providers/llm/llm.js';

function model(virtualTime = false): LlmProvider & { warmed: number } {
  return {
    name: 'vendor',
    virtualTime,
    warmed: 0,
    warmUp() {
      this.warmed++;
      return Promise.reject(new Error('not reachable now'));
    },
    async *complete() {},
    close: () => Promise.resolve(),
  };
}

describe("the model's connection", () => {
  let nowMs = 0;
  const clock = { virtual: false, nowMs: () => nowMs, schedule: () => () => undefined } as unknown as Clock;

  it('is opened when a call begins, and again only when it may have been closed', () => {
    const [models, llm] = [new WarmModels(clock), model()];
    for (const atMs of [0, 1000, 44_000, 46_000, 50_000]) {
      nowMs = atMs;
      models.open(llm, 'gpt-4o-mini');
    }
    expect(llm.warmed).toBe(2);
    models.open(llm, 'another');
    expect(llm.warmed).toBe(3);
  });

  it('is none for a model in this process', () => {
    const [models, llm] = [new WarmModels(clock), model(true)];
    models.open(llm, 'scripted');
    expect(llm.warmed).toBe(0);
  });
});
