import Anthropic from '@anthropic-ai/sdk';
import { expect, it } from 'vitest';
import { AnthropicDouble, KEY, reply, textBlock, toolCall } from '../anthropic.ts';

it('drives the double of the messages: a stream with calls of tools, and a wrong key', async () => {
  const double = new AnthropicDouble();
  const baseURL = await double.open();
  try {
    double.answer = (response) =>
      reply(response, [textBlock('Grüß ', 'Gott.'), toolCall('toolu_1', 'book', '{"people"', ':2}')], 'tool_use');
    const client = new Anthropic({ apiKey: KEY, baseURL });
    const request = {
      model: 'claude-haiku-5-5',
      max_tokens: 100,
      system: [{ type: 'text', text: 'You are a waiter.', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      tools: [{ name: 'book', description: 'Books.', input_schema: { type: 'object', properties: {} } }],
    };
    const message = await client.messages.stream(request).finalMessage();
    expect(message.stop_reason).toBe('tool_use');
    expect(message.content).toMatchObject([
      { type: 'text', text: 'Grüß Gott.' },
      { type: 'tool_use', id: 'toolu_1', name: 'book', input: { people: 2 } },
    ]);
    expect(message.usage).toMatchObject({ input_tokens: 12, cache_read_input_tokens: 100, output_tokens: 5 });
    const wrong = new Anthropic({ apiKey: 'wrong', baseURL, maxRetries: 0 });
    await expect(wrong.messages.stream(request).finalMessage()).rejects.toMatchObject({ status: 401 });
    expect(double.violations).toEqual([]);
  } finally {
    await double.close();
  }
});
