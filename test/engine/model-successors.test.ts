import { expect, it } from 'vitest';
import { Engine } from '../../src/engine/engine.js';

it('a model that was renamed or retired is served by its successor, with a warning', async () => {
  const engine = new Engine({ models: { 'gpt-4.1': { apiKey: 'a-key' } } });
  try {
    const msg = 'The language model "gpt-4" has been renamed or retired: "gpt-4.1" answers in its place.';
    expect(await engine.checkAgent({ agent: { llm: { model: 'gpt-4' } } })).toEqual([{ loc: ['llm', 'model'], msg }]);
    // Nothing here takes the place of these.
    await expect(engine.checkAgent({ agent: { llm: { model: 'gpt-3.5-turbo' } } })).rejects.toThrow('gpt-4.1');
    await expect(engine.checkAgent({ agent: { llm: { model: 'gpt-5000' } } })).rejects.toThrow('llm.model');
  } finally {
    await engine.close();
  }
});
