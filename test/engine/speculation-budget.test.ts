import { describe, expect, it } from 'vitest';
import { speculationOf } from '../../src/engine/speculation-budget.js';

const asked = { llm: { name: 'openai' }, model: 'gpt-4.1' };

describe('the budget for answers that are begun while the user speaks', () => {
  it('has defaults, and the price of the most specific name', () => {
    expect(speculationOf({}, asked)).toMatchObject({
      enabled: true,
      early: true,
      tokensPerTurn: 8000,
      costPerTurn: null,
    });
    const prices = { openai: { prompt: 1, completion: 1 }, 'openai/gpt-4.1': { prompt: 2, completion: 8 } };
    const early = { tokensPerTurn: 500, costPerTurn: 0.01, prices };
    expect(speculationOf({ earlySpeculation: early }, asked)).toEqual({
      enabled: true,
      early: true,
      earlySilenceMs: 600,
      tokensPerTurn: 500,
      costPerTurn: 0.01,
      promptPrice: 2,
      completionPrice: 8,
    });
  });

  it('leaves the silence that ends a turn to an embedder who sets it', () => {
    expect(speculationOf({ endpointing: { minSilenceMs: 400 } }, asked).earlySilenceMs).toBe(0);
    expect(speculationOf({ endpointing: { maxSilenceMs: 1000 } } as object, asked).earlySilenceMs).toBe(600);
  });

  it('is nothing without tokens, without speculation, and for the scripted model', () => {
    expect(speculationOf({ earlySpeculation: { tokensPerTurn: 0 } }, asked).early).toBe(false);
    expect(speculationOf({ speculation: false }, asked)).toMatchObject({ enabled: false, early: false });
    expect(speculationOf({}, { llm: { name: 'scripted' }, model: 'scripted' }).early).toBe(false);
  });
});
