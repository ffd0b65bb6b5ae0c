import { afterEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import type { ModelRoute } from '../../../src/settings/models.js';
import { LlmRegistry, llmRegistry } from '../../../src/providers/llm/registry.js';
import { scriptedProvider } from '../../../src/providers/llm/scripted/index.js';
import { OpenAiDouble } from './openai-double.js';

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

function route(baseUrl: string, model: string, apiKey: string | null = null): ModelRoute {
  return { provider: 'openai', baseUrl, apiKey, model };
}

describe('the registry of language models', () => {
  it('finds exact ids before beginnings, and longer beginnings before shorter ones', () => {
    const registry = new LlmRegistry();
    const [one, two, three] = [scriptedProvider({}), scriptedProvider({}), scriptedProvider({})];
    registry.register('local/*', one);
    registry.register('local/big/*', two);
    registry.register('local/big/best', three);
    expect(registry.resolve('local/small')).toBe(one);
    expect(registry.resolve('local/big/good')).toBe(two);
    expect(registry.resolve('local/big/best')).toBe(three);
    expect(registry.find('local/')).toBeNull();
    expect(registry.providers()).toEqual([three, one, two]);
  });

  it('refuses an unknown id and lists the known ones', () => {
    const registry = llmRegistry(new Map([['gpt-4o', route('http://127.0.0.1:1/v1', 'gpt-4o', 'key')]]));
    opened.push(registry);
    expect(() => registry.resolve('gpt-5')).toThrow('Known: gpt-4o, scripted');
    expect(() => registry.resolve('gpt-5')).toThrow(expect.objectContaining({ code: 'PROVIDER_UNKNOWN' }) as Error);
  });

  it('the scripted model is always there', () => {
    expect(llmRegistry(new Map()).resolve('scripted')).toMatchObject({ name: 'scripted', virtualTime: true });
  });

  it('models of one server share its connections and go by their own names', async () => {
    const double = new OpenAiDouble();
    const baseUrl = await double.listen();
    const registry = llmRegistry(
      new Map([
        ['fast', route(baseUrl, 'vendor/small')],
        ['clever', route(baseUrl, 'vendor/large')],
        ['other', route(baseUrl, 'vendor/large', 'another key')],
      ]),
      { headers: { 'x-team': 'voice' } },
    );
    opened.push(registry, double);
    expect(registry.resolve('fast')).toBe(registry.resolve('clever'));
    expect(registry.resolve('other')).not.toBe(registry.resolve('clever'));
    for (const model of ['fast', 'clever', 'other']) {
      const request = { model, messages: [], tools: [], temperature: 0, clock: new RealClock() };
      const reply = registry.resolve(model).complete({ ...request, signal: new AbortController().signal });
      for await (const piece of reply) expect(piece.type).toBe('text');
    }
    expect(double.requests.map(({ body }) => body['model'])).toEqual(['vendor/small', 'vendor/large', 'vendor/large']);
    expect(double.requests.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      undefined,
      'Bearer another key',
    ]);
    expect(double.requests[0]?.headers['x-team']).toBe('voice');
    await registry.close();
  });

  it('refuses adapters and addresses that do not exist', () => {
    const bad = (changes: Partial<ModelRoute>) => () =>
      llmRegistry(new Map([['x', { ...route('http://a/v1', 'x'), ...changes }]]));
    expect(bad({ provider: 'oracle' })).toThrow('Unknown language model provider "oracle"');
    expect(bad({ baseUrl: 'nowhere' })).toThrow('base URL');
  });
});
