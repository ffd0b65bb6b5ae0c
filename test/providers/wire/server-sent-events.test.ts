import { expect, it } from 'vitest';
import { serverSentEvents } from '../../../src/providers/wire/server-sent-events.js';

async function read(...chunks: (string | Buffer)[]): Promise<string[]> {
  const events: string[] = [];
  async function* body(): AsyncGenerator<Buffer> {
    for (const chunk of chunks) yield await Promise.resolve(Buffer.from(chunk));
  }
  for await (const data of serverSentEvents(body())) events.push(data);
  return events;
}

it('gives the data of each event, wherever the chunks are cut', async () => {
  const text = Buffer.from('data: {"a":1}\n\n: keep-alive\n\nevent: x\r\ndata: é\r\ndata: two\r\n\r\n');
  expect(await read(text)).toEqual(['{"a":1}', 'é\ntwo']);
  expect(await read(...[...text].map((byte) => Buffer.of(byte)))).toEqual(['{"a":1}', 'é\ntwo']);
});

it('leaves out an event that has not ended', async () => {
  expect(await read('data: one\n\ndata: two')).toEqual(['one']);
});

it('refuses an event beyond the limit', async () => {
  const megabyte = 'x'.repeat(1_048_576);
  await expect(read('data: ', megabyte, megabyte)).rejects.toThrow('an event is too long');
});
