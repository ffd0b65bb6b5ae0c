import { describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { plainOptions } from '../../../src/threads/wire/plain-options.js';

describe('the options of an engine in another thread', () => {
  it('are those that are plain data, and none of the stores', () => {
    const options = {
      clock: new RealClock(),
      vad: 'webrtc',
      recordings: '/srv/recordings',
      onMcpFault: () => undefined,
      models: new Map([['m', { provider: 'openai', baseUrl: null, apiKey: 'k', model: 'x' }]]),
    };
    const { vad, recordings, models } = options;
    expect(plainOptions(options)).toEqual({ vad, recordings, models });
  });

  it('have the files of plug-ins, and what models are told of their functions', () => {
    const tool = { name: 'price', description: 'x', timeoutMs: 7, execute: () => 2 };
    const own = { name: 'own', functions: [tool] };
    const loaded = {
      name: 'loaded',
      file: '/srv/a.mjs',
      llm: { m: () => ({}) as never },
      redact: (text: string) => text,
    };
    expect(plainOptions({ plugins: [own, loaded] })).toEqual({
      pluginFiles: ['/srv/a.mjs'],
      functions: [
        {
          name: 'price',
          description: 'x',
          timeoutMs: 7,
          parameters: { type: 'object', properties: {}, additionalProperties: false },
        },
      ],
    });
  });

  it.each([
    ['a plug-in with a provider', { plugins: [{ name: 'own', llm: { m: () => ({}) as never } }] }],
    ['a clock that jumps', { clock: new VirtualClock() }],
    ['a sink for recordings', { recordings: { open: () => undefined } as never }],
    ['a turn model', { turnModel: { name: 'mine' } as never }],
    ['a function where data is expected', { vendors: { mine: () => undefined } as never }],
  ])('are not to be had where its embedder has given it %s', (_what, options) => {
    expect(plainOptions(options)).toBeNull();
  });
});
